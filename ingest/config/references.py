"""What options read and set of an event, by the references of templates."""

from collections.abc import Sequence

from ingest.api import Model, Settings, attribute_references
from ingest.expressions import Condition, Template


def set_by(settings: Settings) -> frozenset[str]:
    """References of all that a decorator sets, as far as its options name it."""
    return attribute_references(settings.sets()) | settings.sets_core()


def read_when(settings: Model, zone: str) -> frozenset[str]:
    """References of the condition `when`."""
    when = getattr(settings, "when", None)
    return Condition.parse(when, zone).references if isinstance(when, str) else frozenset()


def read_at(settings: Model, path: Sequence[str]) -> frozenset[str]:
    """References of the templates at one place of the options."""
    option, *keys = path
    value = getattr(settings, option)
    for key in keys:
        value = value[key]
    return read_by(value)


def read_by(value: object) -> frozenset[str]:
    """References of the templates and conditions in an option."""
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
