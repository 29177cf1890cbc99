"""The parts of an event that options read and set, as references: core names, and attributes as `attribute:NAME`."""

from collections.abc import Iterable, Iterator, Sequence

from ingest.api import Model, Settings, attribute_references
from ingest.config.nodes import NodePath
from ingest.expressions import Condition, Template


def set_by(settings: Settings) -> frozenset[str]:
    """References that a decorator sets, as far as its options name them."""
    return attribute_references(settings.sets()) | settings.sets_core()


def read_when(settings: Model, zone: str) -> frozenset[str]:
    """References that the condition `when` reads."""
    when = getattr(settings, "when", None)
    return Condition.parse(when, zone).references if isinstance(when, str) else frozenset()


def read_at(settings: Model, path: Sequence[str]) -> frozenset[str]:
    """References that the templates at one path of the options read."""
    option, *keys = path
    value = getattr(settings, option)
    for key in keys:
        value = value[key]
    return read_by(value)


def read_by(value: object) -> frozenset[str]:
    """References that the templates and conditions in an option read."""
    return frozenset().union(*(expression.references for _, expression in expressions_in(value)))


def expressions_in(value: object, path: NodePath = ()) -> Iterator[tuple[NodePath, Template | Condition]]:
    """The templates and conditions in options, each with its path; not `when`, which is text."""
    children: Iterable[tuple[str | int, object]] = ()
    match value:
        case Template() | Condition():
            yield path, value
        case Model():
            children = value
        case list():
            children = enumerate(value)
        case dict():
            children = value.items()
    for key, child in children:
        yield from expressions_in(child, (*path, key))
