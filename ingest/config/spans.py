"""Start and end of each value in the text of a file, in characters, for editing one value in place."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import yaml

from ingest.config.nodes import NodePath


@dataclass(slots=True)
class Span:
    """
    The position of a value in the text.

    Attributes:
        end: position after its last character, without trailing blanks, comments and empty lines.
        column: column of its first character, from 0; for a block list of its dashes.
        style: for a scalar its quote, `|`, `>` or ""; for a list or mapping "flow" or "block".
        shared: whether it has an anchor or a tag, or is an alias.
        keys: for a mapping, the column of each key.
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
        """The spans directly inside this one."""
        return [*self.items, *self.entries.values()]

    def any_shared(self) -> bool:
        """Whether it or anything in it is shared."""
        return self.shared or any(child.any_shared() for child in self.children)

    def along(self, path: NodePath) -> Iterator["Span"]:
        """This span and those on the path to another one, as far as the path exists."""
        yield self
        if not path:
            return
        head, *rest = path
        inside = self.items[head] if isinstance(head, int) and head < len(self.items) else self.entries.get(str(head))
        if inside is not None:
            yield from inside.along(tuple(rest))


def span_of(text: str) -> Span:
    """
    The span of the root of a valid file.

    Uses the Python parser: the faster C parser does not report positions in characters.
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
