"""What decorators, sinks, stores, sources and processors have in common."""

from abc import ABC
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, Generic, TypeVar, cast, get_args

from pydantic import BaseModel

from ingest.api.event import Priority
from ingest.api.schemas import WriterSchema

M = TypeVar("M", bound=BaseModel)


class Stability(Enum):
    """Whether the options and behaviour of a component may still change."""

    STABLE = "stable"
    BETA = "beta"
    EXPERIMENTAL = "experimental"


@dataclass(frozen=True, slots=True)
class Example:
    """
    One use of a component, shown on its page and run by the conformance suite.

    Attributes:
        title: what it shows.
        settings: the options as YAML text.
        body: text, or bytes when it is not text.
        attributes: of the event before; a value is text, or bytes when it is not text.
        offset: of its record, or of the first record in `earlier`.
        earlier: bodies of the previous events of its split, in order; their other fields are as in this event.
        after: attributes that differ afterwards, name -> value, text or bytes; None if it was removed.
        body_after: the body afterwards when it differs.
        timestamp_ms_after: event time afterwards when it differs.
        made: for a fan-out, (body, attributes) of each output event, instead of the three fields above.
        dropped: the event is dropped on purpose.
        error: the event fails with this code.
        files: files that the settings name, name -> content, in the current folder; the same in all examples.
        schemas: of the registry; values with the ID of another one fail.
    """

    title: str
    settings: str = "{}"
    body: str | bytes = ""
    attributes: Mapping[str, str | bytes] = field(default_factory=dict)
    host: str = ""
    priority: Priority = Priority.INFO
    key: str = ""
    timestamp_ms: int = 0
    nanos: int = 0
    offset: int = 0
    earlier: tuple[str | bytes, ...] = ()
    after: dict[str, str | bytes | None] = field(default_factory=dict)
    body_after: str | bytes | None = None
    timestamp_ms_after: int | None = None
    made: tuple[tuple[str | bytes, dict[str, str]], ...] | None = None
    dropped: bool = False
    error: str | None = None
    files: dict[str, str | bytes] = field(default_factory=dict)
    schemas: tuple[WriterSchema, ...] = ()

    def given(self) -> dict[str, object]:
        """The fields of the event before, without those that have their default."""
        names = ("earlier", "body", "attributes", "host", "priority", "key", "timestamp_ms", "nanos", "offset")
        found = {name: getattr(self, name) for name in names}
        return {name: value for name, value in found.items() if value and value is not Priority.INFO}


class ComponentBase(ABC, Generic[M]):
    """
    The base of all contracts of components, which are constructed from their settings.

    Attributes:
        kind: its name in a pipeline file.
        settings_base: the settings that all components of a contract have; theirs extend it.
    """

    kind: ClassVar[str]
    stability: ClassVar[Stability] = Stability.STABLE
    examples: ClassVar[tuple[Example, ...]] = ()
    settings_base: ClassVar[type[BaseModel]]

    def __init__(self, settings: M) -> None:
        self.settings = settings

    @classmethod
    def settings_class(cls) -> type[M]:
        """Its options: the type argument of the class, as in `class Split(Decorator[SplitSettings])`."""
        return cast("type[M]", next(_arguments(cls, cls.settings_base), cls.settings_base))


def names_settings(component: type, bound: type[BaseModel]) -> bool:
    """Whether a component class names a settings model of this type; if not, it has only the options of `bound`."""
    return next(_arguments(component, bound), None) is not None


def _arguments(component: type, bound: type[M]) -> Iterator[type[M]]:
    for parent in component.__mro__:
        for base in getattr(parent, "__orig_bases__", ()):
            for argument in get_args(base):
                if isinstance(argument, type) and issubclass(argument, bound):
                    yield argument
