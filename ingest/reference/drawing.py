"""A pipeline file as boxes and arrows: where events come from, what they pass, where they go."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeVar

from ingest.api import OnError, Settings
from ingest.config.model import Component, Configuration, Pipeline, names_of
from ingest.config.options import DeadLetterTopic

S = TypeVar("S", bound=Settings)


class Shape(StrEnum):
    """What a box stands for."""

    SOURCE = "source"
    STEP = "step"
    SINK = "sink"
    TABLE = "table"
    DEAD_LETTERS = "dead_letters"


@dataclass(frozen=True, slots=True)
class Box:
    """
    Something events come to.

    Attributes:
        lines: what is written in it.
        pipeline: "" for tables, which several pipelines may share.
    """

    id: str
    shape: Shape
    lines: tuple[str, ...]
    pipeline: str = ""


@dataclass(frozen=True, slots=True)
class Arrow:
    """A way events take; those that fail take others than those that pass."""

    start: str
    end: str
    text: str = ""
    failed: bool = False


@dataclass(slots=True)
class Drawing:
    """Boxes in the order events come to them, and the arrows between them."""

    boxes: list[Box] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)

    def pipelines(self) -> list[str]:
        """Names of the pipelines in it."""
        return list(dict.fromkeys(box.pipeline for box in self.boxes if box.pipeline))

    def of(self, pipeline: str) -> list[Box]:
        """The boxes of a pipeline; of "" those that belong to none."""
        return [box for box in self.boxes if box.pipeline == pipeline]


def drawing_of(configuration: Configuration, pipelines: Iterable[Pipeline]) -> Drawing:
    """The drawing of some pipelines of a file; secrets are masked."""
    drawing = Drawing()
    tables: dict[tuple[str, str], Box] = {}
    for number, pipeline in enumerate(pipelines, 1):
        _add(drawing, tables, pipeline, f"p{number}", configuration.masks.hide)
    drawing.boxes.extend(tables.values())
    return drawing


def _add(
    drawing: Drawing,
    tables: dict[tuple[str, str], Box],
    pipeline: Pipeline,
    prefix: str,
    hide: Callable[[str], str],
) -> None:
    letters = Box(f"{prefix}_dead_letters", Shape.DEAD_LETTERS, ("dead letters", _letters(pipeline)), pipeline.name)

    failing: list[Arrow] = []

    def add(name: str, shape: Shape, lines: Sequence[str], on_error: OnError) -> str:
        box = Box(f"{prefix}_{name}", shape, tuple(hide(line) for line in lines if line), pipeline.name)
        drawing.boxes.append(box)
        if on_error is OnError.DEAD_LETTER:
            failing.append(Arrow(box.id, letters.id, failed=True))
        return box.id

    last = add("source", Shape.SOURCE, (pipeline.source.kind, pipeline.source.settings.summary), pipeline.on_error)
    for number, (name, step) in enumerate(_named(pipeline.decorators), 1):
        lines, on_error = _step(name, step, pipeline.on_error)
        box = add(f"step{number}", Shape.STEP, lines, on_error)
        drawing.arrows.append(Arrow(last, box))
        last = box
    for number, (name, sink) in enumerate(_named(pipeline.sinks), 1):
        settings = sink.settings
        lines, on_error = _fate([name, *_own(name, sink)], settings.on_error, pipeline.on_error)
        box = add(f"sink{number}", Shape.SINK, lines, on_error)
        drawing.arrows.append(Arrow(last, box, hide(f"when {settings.when}") if settings.when else ""))
        if settings.store_name is None:
            continue
        store, table = hide(settings.store_name), hide(settings.table_text or "")
        place = tables.setdefault((store, table), Box(f"table{len(tables) + 1}", Shape.TABLE, (table, f"in {store}")))
        drawing.arrows.append(Arrow(box, place.id))
    if failing:
        drawing.boxes.append(letters)
        drawing.arrows += failing


def _named(components: Sequence[Component[S]]) -> Iterator[tuple[str, Component[S]]]:
    return zip(names_of(components), components, strict=True)


def _letters(pipeline: Pipeline) -> str:
    letters = pipeline.dead_letters
    return (
        f"{letters.kind}: {letters.settings.topic}" if isinstance(letters.settings, DeadLetterTopic) else letters.kind
    )


def _step(name: str, step: Component[Settings], otherwise: OnError) -> tuple[list[str], OnError]:
    settings = step.settings
    lines = [name, *_own(name, step)]
    if step.chain:
        lines.append(f"chain {' > '.join(step.chain)}")
    if settings.when:
        lines.append(f"when {settings.when}")
    return _fate(lines, settings.on_error, otherwise)


def _fate(lines: list[str], own: OnError | None, otherwise: OnError) -> tuple[list[str], OnError]:
    """The lines with what becomes of events that fail, where it is not what the pipeline says; and what that is."""
    if own is not None and own is not otherwise:
        lines.append(f"on_error: {own}")
    return lines, own or otherwise


def _own(name: str, component: Component[Settings]) -> tuple[str, ...]:
    """The kind, where the name does not say it."""
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
    Shape.STEP: ("[", "]"),
    Shape.SINK: ("[/", "/]"),
    Shape.TABLE: ("[(", ")]"),
    Shape.DEAD_LETTERS: ("[[", "]]"),
}
_DOT = {
    Shape.SOURCE: "shape=box, style=rounded",
    Shape.STEP: "shape=box",
    Shape.SINK: "shape=parallelogram",
    Shape.TABLE: "shape=cylinder",
    Shape.DEAD_LETTERS: "shape=note",
}
# what Mermaid takes for the end of a text, for HTML, Markdown or a formula
_MERMAID_CODES = str.maketrans({char: f"#{ord(char)};" for char in '"#<>&`$\\'} | {"\n": " ", "\r": " "})


def mermaid(drawing: Drawing) -> str:
    """The drawing as a flowchart of Mermaid, which Markdown pages show."""
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
    """The boxes that stand in no pipeline's frame."""
    return [box for box in drawing.boxes if box.shape is Shape.DEAD_LETTERS] + drawing.of("")


def _gathered(drawing: Drawing) -> list[Arrow]:
    """The arrows, with one from a whole pipeline for all of its ways to its dead letters; boxes say what differs."""
    found: dict[Arrow, None] = {}
    letters = {box.id for box in drawing.boxes if box.shape is Shape.DEAD_LETTERS}
    arrows = set(drawing.arrows)
    for arrow in drawing.arrows:
        usual = replace(arrow, start=_source_of(arrow))
        is_usual = arrow.failed and arrow.end in letters and usual in arrows
        found[replace(arrow, start=arrow.start.partition("_")[0]) if is_usual else arrow] = None
    return list(found)


def _source_of(arrow: Arrow) -> str:
    """The box of the source, from which an arrow goes to the dead letters where they are the pipeline's rule."""
    return f"{arrow.start.partition('_')[0]}_source"


def _mermaid_box(box: Box) -> str:
    opening, closing = _MERMAID[box.shape]
    text = "<br>".join(map(_mermaid_text, box.lines))
    return f'{box.id}{opening}"{text}"{closing}'


def _mermaid_text(text: str) -> str:
    return text.translate(_MERMAID_CODES).replace("%%", "#37;#37;")  # two of them begin a comment


def dot(drawing: Drawing) -> str:
    """The drawing in the language of Graphviz."""
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
        if start not in starts:  # an arrow begins at a box, and is drawn from the edge of what is around it
            about.append(f"ltail=cluster_{start}")
            start = f"{start}_source"
        lines.append(f"  {start} -> {arrow.end}{' [' + ', '.join(about) + ']' if about else ''};")
    return "\n".join([*lines, "}"]) + "\n"


def _dot_box(box: Box) -> str:
    return f"{box.id} [{_DOT[box.shape]}, label={_dot_text(*box.lines)}];"


def _dot_text(*lines: str) -> str:
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") for line in lines)
    return '"' + "\\n".join(escaped) + '"'
