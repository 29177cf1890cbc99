"""A pipeline file as a graph of boxes and arrows, in Mermaid and Graphviz."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple, TypeVar

from ingest.api import OnError, Settings
from ingest.config.model import Component, Configuration, Pipeline, names_of
from ingest.kafka.settings import has_common_broker, topic_of

S = TypeVar("S", bound=Settings)


class Shape(StrEnum):
    """The kind of a box."""

    SOURCE = "source"
    DECORATOR = "decorator"
    SINK = "sink"
    TABLE = "table"
    DEAD_LETTERS = "dead_letters"


@dataclass(frozen=True, slots=True)
class Box:
    """
    A node of the graph.

    Attributes:
        lines: its text.
        pipeline: "" for tables and topics, which several pipelines may write.
    """

    id: str
    shape: Shape
    lines: tuple[str, ...]
    pipeline: str = ""


@dataclass(frozen=True, slots=True)
class Arrow:
    """An edge along which events move; `failed` for those that failed."""

    start: str
    end: str
    text: str = ""
    failed: bool = False


@dataclass(slots=True)
class Drawing:
    """Boxes in the order in which events reach them, and arrows."""

    boxes: list[Box] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)

    def pipelines(self) -> list[str]:
        """Names of the pipelines in it."""
        return list(dict.fromkeys(box.pipeline for box in self.boxes if box.pipeline))

    def of(self, pipeline: str) -> list[Box]:
        """The boxes of a pipeline; of "" those that belong to no pipeline."""
        return [box for box in self.boxes if box.pipeline == pipeline]


class _Place(NamedTuple):
    """What a sink writes: a table of a store, or a topic of a cluster."""

    where: str
    written: str
    brokers: str

    def is_same(self, other: "_Place") -> bool:
        """Whether two sinks write the same; lists of brokers of a cluster may differ."""
        is_one_cluster = self.brokers == other.brokers or has_common_broker(self.brokers, other.brokers)
        return self[:2] == other[:2] and is_one_cluster


def drawing_of(configuration: Configuration, pipelines: Iterable[Pipeline]) -> Drawing:
    """The drawing of some pipelines of a file; secrets are masked."""
    drawing = Drawing()
    tables: dict[_Place, Box] = {}
    for number, pipeline in enumerate(pipelines, 1):
        _add(drawing, tables, pipeline, f"p{number}", configuration.masks.hide)
    written = Counter(place[:2] for place in tables)
    for place, box in tables.items():
        is_ambiguous = written[place[:2]] > 1
        drawing.boxes.append(replace(box, lines=(*box.lines, place.brokers)) if is_ambiguous else box)
    return drawing


def _add(
    drawing: Drawing,
    tables: dict[_Place, Box],
    pipeline: Pipeline,
    prefix: str,
    hide: Callable[[str], str],
) -> None:
    destination = ("dead letters", _dead_letter_destination(pipeline))
    dead_letters = Box(f"{prefix}_dead_letters", Shape.DEAD_LETTERS, destination, pipeline.name)

    failing: list[Arrow] = []

    def add(name: str, shape: Shape, lines: Sequence[str], on_error: OnError) -> str:
        box = Box(f"{prefix}_{name}", shape, tuple(hide(line) for line in lines if line), pipeline.name)
        drawing.boxes.append(box)
        if on_error is OnError.DEAD_LETTER:
            failing.append(Arrow(box.id, dead_letters.id, failed=True))
        return box.id

    last = add("source", Shape.SOURCE, (pipeline.source.kind, pipeline.source.settings.summary), pipeline.on_error)
    for number, (name, decorator) in enumerate(_named(pipeline.decorators), 1):
        lines, on_error = _decorator(name, decorator, pipeline.on_error)
        box = add(f"decorator{number}", Shape.DECORATOR, lines, on_error)
        drawing.arrows.append(Arrow(last, box))
        last = box
    for number, (name, sink) in enumerate(_named(pipeline.sinks), 1):
        settings = sink.settings
        lines, on_error = _with_policy([name, *_kind(name, sink)], settings.on_error, pipeline.on_error)
        box = add(f"sink{number}", Shape.SINK, lines, on_error)
        drawing.arrows.append(Arrow(last, box, hide(f"when {settings.when}") if settings.when else ""))
        if (topic := topic_of(settings)) is not None:
            written, where, brokers = hide(topic.topic), "a topic", hide(topic.brokers or "")
        elif settings.store_name is not None:
            written, where, brokers = hide(settings.table_text or ""), f"in {hide(settings.store_name)}", ""
        else:
            continue
        place = _Place(where, written, brokers)
        place = next(filter(place.is_same, tables), place)
        table = tables.setdefault(place, Box(f"table{len(tables) + 1}", Shape.TABLE, (written, where)))
        drawing.arrows.append(Arrow(box, table.id))
    if failing:
        drawing.boxes.append(dead_letters)
        drawing.arrows += failing


def _named(components: Sequence[Component[S]]) -> Iterator[tuple[str, Component[S]]]:
    return zip(names_of(components), components, strict=True)


def _dead_letter_destination(pipeline: Pipeline) -> str:
    kind, topic = pipeline.dead_letters.kind, topic_of(pipeline.dead_letters.settings)
    return kind if topic is None else f"{kind}: {topic.topic}"


def _decorator(name: str, decorator: Component[Settings], default: OnError) -> tuple[list[str], OnError]:
    settings = decorator.settings
    lines = [name, *_kind(name, decorator)]
    if decorator.chain:
        lines.append(f"chain {' > '.join(decorator.chain)}")
    if settings.when:
        lines.append(f"when {settings.when}")
    return _with_policy(lines, settings.on_error, default)


def _with_policy(lines: list[str], own: OnError | None, default: OnError) -> tuple[list[str], OnError]:
    """The lines, with the error policy if it differs from that of the pipeline; and the policy."""
    if own is not None and own is not default:
        lines.append(f"on_error: {own}")
    return lines, own or default


def _kind(name: str, component: Component[Settings]) -> tuple[str, ...]:
    """The kind, unless the name already contains it."""
    return () if name.partition("#")[0] == component.kind else (component.kind,)


def plain(drawing: Drawing) -> dict[str, object]:
    """The drawing as plain data."""
    boxes = [{"id": box.id, "shape": box.shape, "lines": box.lines, "pipeline": box.pipeline} for box in drawing.boxes]
    arrows = [
        {"start": arrow.start, "end": arrow.end, "text": arrow.text, "failed": arrow.failed} for arrow in drawing.arrows
    ]
    return {"boxes": boxes, "arrows": arrows}


_MERMAID = {
    Shape.SOURCE: ("([", "])"),
    Shape.DECORATOR: ("[", "]"),
    Shape.SINK: ("[/", "/]"),
    Shape.TABLE: ("[(", ")]"),
    Shape.DEAD_LETTERS: ("[[", "]]"),
}
_DOT = {
    Shape.SOURCE: "shape=box, style=rounded",
    Shape.DECORATOR: "shape=box",
    Shape.SINK: "shape=parallelogram",
    Shape.TABLE: "shape=cylinder",
    Shape.DEAD_LETTERS: "shape=note",
}
# characters that Mermaid would interpret as the end of a text, or as HTML, Markdown or a formula
_MERMAID_CODES = str.maketrans({char: f"#{ord(char)};" for char in '"#<>&`$\\'} | {"\n": " ", "\r": " "})


def mermaid(drawing: Drawing) -> str:
    """The drawing as a Mermaid flowchart."""
    lines = ["flowchart LR"]
    for pipeline in drawing.pipelines():
        boxes = drawing.of(pipeline)
        lines.append(f'  subgraph {boxes[0].id.partition("_")[0]}["{_mermaid_text(pipeline)}"]')
        lines += [f"    {_mermaid_box(box)}" for box in boxes if box.shape is not Shape.DEAD_LETTERS]
        lines.append("  end")
    lines += [f"  {_mermaid_box(box)}" for box in _outside(drawing)]
    for arrow in _gathered(drawing):
        line = "-.->" if arrow.failed else "-->"
        text = f'|"{_mermaid_text(arrow.text)}"|' if arrow.text else ""
        lines.append(f"  {arrow.start} {line}{text} {arrow.end}")
    return "\n".join(lines) + "\n"


def _outside(drawing: Drawing) -> list[Box]:
    """The boxes outside the frames of pipelines."""
    return [box for box in drawing.boxes if box.shape is Shape.DEAD_LETTERS] + drawing.of("")


def _gathered(drawing: Drawing) -> list[Arrow]:
    """The arrows, with a single one from a pipeline's frame to its dead letters where that is the pipeline's policy."""
    found: dict[Arrow, None] = {}
    dead_letters = {box.id for box in drawing.boxes if box.shape is Shape.DEAD_LETTERS}
    arrows = set(drawing.arrows)
    for arrow in drawing.arrows:
        of_source = replace(arrow, start=_source_of(arrow))
        is_policy = arrow.failed and arrow.end in dead_letters and of_source in arrows
        found[replace(arrow, start=arrow.start.partition("_")[0]) if is_policy else arrow] = None
    return list(found)


def _source_of(arrow: Arrow) -> str:
    """The box of the source; it has an arrow to the dead letters if they are the pipeline's policy."""
    return f"{arrow.start.partition('_')[0]}_source"


def _mermaid_box(box: Box) -> str:
    opening, closing = _MERMAID[box.shape]
    text = "<br>".join(map(_mermaid_text, box.lines))
    return f'{box.id}{opening}"{text}"{closing}'


def _mermaid_text(text: str) -> str:
    return text.translate(_MERMAID_CODES).replace("%%", "#37;#37;")  # %% starts a comment


def dot(drawing: Drawing) -> str:
    """The drawing as a Graphviz graph."""
    lines = ["digraph pipelines {", "  rankdir=LR;", "  compound=true;", '  node [fontname="sans-serif"];']
    for pipeline in drawing.pipelines():
        boxes = drawing.of(pipeline)
        lines.append(f"  subgraph cluster_{boxes[0].id.partition('_')[0]} {{")
        lines.append(f"    label={_dot_text(pipeline)};")
        lines += [f"    {_dot_box(box)}" for box in boxes if box.shape is not Shape.DEAD_LETTERS]
        lines.append("  }")
    lines += [f"  {_dot_box(box)}" for box in _outside(drawing)]
    starts = {box.id for box in drawing.boxes}
    for arrow in _gathered(drawing):
        about = ([f"label={_dot_text(arrow.text)}"] if arrow.text else []) + (["style=dashed"] if arrow.failed else [])
        start = arrow.start
        if start not in starts:  # Graphviz draws an arrow from a frame as one from a box, clipped at the frame
            about.append(f"ltail=cluster_{start}")
            start = f"{start}_source"
        lines.append(f"  {start} -> {arrow.end}{' [' + ', '.join(about) + ']' if about else ''};")
    return "\n".join([*lines, "}"]) + "\n"


def _dot_box(box: Box) -> str:
    return f"{box.id} [{_DOT[box.shape]}, label={_dot_text(*box.lines)}];"


def _dot_text(*lines: str) -> str:
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") for line in lines)
    return '"' + "\\n".join(escaped) + '"'
