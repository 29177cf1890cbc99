"""The parts of an event that options read and set, as references: core names, and attributes as `attribute:NAME`."""

from collections.abc import Sequence

from ingest.api import Model, Settings, attribute_references
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
    match value:
        case Template() | Condition():
            return value.references
        case Model():
            return frozenset().union(*(read_by(part) for _, part in value))
        case list():
            return frozenset().union(*map(read_by, value))
        case dict():
            return frozenset().union(*map(read_by, value.values()))
        case _:
            return frozenset()
