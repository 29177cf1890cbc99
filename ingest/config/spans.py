"""Where in the text of a file each value begins and ends, to the character: for changing one and nothing else."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import yaml

from ingest.config.nodes import Path


@dataclass(slots=True)
class Span:
    """
    A value in its text.

    Attributes:
        end: after its last character; blanks, comments and empty lines behind it are not part of it.
        column: of its first character, from 0; of a list in lines that of its dashes.
        style: of text the quote around it, `|` or `>`, or ""; of a list or mapping "flow" in brackets, else "block".
        shared: it has an anchor or is an alias, so it stands for more than this one place; or it has a tag.
        keys: of a mapping, the column of each key.
    """

    start: int
    end: int
    column: int
    style: str
    shared: bool = False
    entries: dict[str, "Span"] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)
    items: list["Span"] = field(default_factory=list)

    @property
    def children(self) -> list["Span"]:
        """What is inside it."""
        return [*self.items, *self.entries.values()]

    def any_shared(self) -> bool:
        """Whether it or anything in it is shared."""
        return self.shared or any(child.any_shared() for child in self.children)

    def along(self, path: Path) -> Iterator["Span"]:
        """
        This one and those on the way to another, as far as it is written.

        Keys of mappings and indexes of lists lead there.
        """
        yield self
        if not path:
            return
        head, *rest = path
        inside = self.items[head] if isinstance(head, int) and head < len(self.items) else self.entries.get(str(head))
        if inside is not None:
            yield from inside.along(tuple(rest))


def span_of(text: str) -> Span:
    """
    The whole of a file that has been read without problems.

    Uses the library's slower reader: the faster one does not give places in characters.
    """
    events = iter(yaml.parse(text, Loader=yaml.SafeLoader))
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            return _span(text, next(events), events)
    return Span(0, 0, 0, "")


def _span(text: str, event: Any, events: Iterator[Any]) -> Span:
    start, end = event.start_mark, event.end_mark
    shared = getattr(event, "anchor", None) is not None or getattr(event, "tag", None) is not None
    if isinstance(event, yaml.AliasEvent):
        return Span(start.index, end.index, start.column, "", shared=True)
    if isinstance(event, yaml.ScalarEvent):
        stop = start.index + len(text[start.index : end.index].rstrip(" \r\n"))
        return Span(start.index, stop, start.column, event.style or "", shared)
    span = Span(start.index, start.index, start.column, "flow" if event.flow_style else "block", shared)
    while not isinstance(inner := next(events), yaml.CollectionEndEvent):
        if isinstance(event, yaml.SequenceStartEvent):
            span.items.append(_span(text, inner, events))
        else:
            name = inner.value if isinstance(inner, yaml.ScalarEvent) else ""
            span.keys[name] = inner.start_mark.column
            span.entries[name] = _span(text, next(events), events)
    if span.style == "flow":
        span.end = cast("Any", inner).end_mark.index
    else:
        span.end = max([span.start, *(child.end for child in span.children)])
    return span
