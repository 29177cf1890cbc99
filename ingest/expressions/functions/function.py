"""What a function of the language is: a declared value with its parameters, its documentation and its examples."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from ingest.api.event import Event
from ingest.expressions.numbers import Number


class Kind(Enum):
    """What may stand for a parameter; the value is how a reader is told."""

    VALUE = "any value"
    NUMBER = "a number"
    TIME = "a time in milliseconds"
    TEXT = "quoted text"
    CHOICE = "one of the listed words, quoted"
    INTEGER = "a whole number, written out"
    PATTERN = "a quoted pattern"
    ZONE = "a quoted time zone"
    FORMAT = "a quoted date format"


OF_EVENT = frozenset({Kind.VALUE, Kind.NUMBER, Kind.TIME})
"""Kinds that may differ from event to event; all others are known when the expression is read."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """
    One parameter.

    A leading TIME is the event's timestamp when it is left out, also in front of quoted text; a ZONE left out is the
    pipeline's.

    Attributes:
        required: False when it may be left out.
        default: what a constant is when it is left out.
        repeated: any number of further arguments like it may follow; the last parameter only.
        choices: for CHOICE, the words.
        minimum: for INTEGER, the least; for TEXT, how many characters at least.
        maximum: for INTEGER, the greatest.
    """

    name: str
    kind: Kind
    doc: str
    required: bool = True
    default: str | bytes | int | None = None
    repeated: bool = False
    choices: tuple[str, ...] = ()
    minimum: int = 0
    maximum: int = 2**31 - 1


@dataclass(frozen=True, slots=True)
class FunctionExample:
    """
    One use of a function, shown in its page and run as a test.

    Attributes:
        template: what is written.
        result: what it gives; bytes when it is not text.
        error: the code of the ExpressionError it ends with instead.
    """

    template: str
    result: str | bytes = ""
    attributes: dict[str, str] = field(default_factory=dict, hash=False)
    event: Callable[[], Event] = field(default=lambda: Event(b""), hash=False)
    error: str | None = None

    def input(self) -> Event:
        """The event it is tried on."""
        event = self.event()
        for name, value in self.attributes.items():
            event.set(name, value.encode())
        return event


@dataclass(frozen=True, slots=True)
class Function:
    """
    A function of the language.

    An argument that is absent makes the result absent, unless the function is `lenient`.

    Attributes:
        doc: what it gives, in one or two sentences.
        make: called once with the constants, in the order of the parameters; returns what is called for each event with
            the values, in the order of the parameters: bytes for VALUE, numbers for NUMBER and TIME. A ValueError says
            that the constants do not go together.
        of_event: it is called with the event alone; such a function has no values.
        reads: core names of what it takes from the event by itself.
        lenient: it is called with None for an absent value.
        gives_number: it returns numbers, not bytes.
    """

    name: str
    doc: str
    make: Callable[..., Callable[..., bytes | Number | None]]
    parameters: tuple[Parameter, ...] = ()
    examples: tuple[FunctionExample, ...] = ()
    of_event: bool = False
    reads: frozenset[str] = frozenset()
    lenient: bool = False
    gives_number: bool = False

    @property
    def signature(self) -> str:
        """How it is written: `date([time], format, [zone])`."""
        shown = []
        for parameter in self.parameters:
            name = parameter.name + (", …" if parameter.repeated else "")
            shown.append(name if parameter.required else f"[{name}]")
        return f"{self.name}({', '.join(shown)})"
