"""Declarations of functions: parameters, documentation and examples."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from ingest.api.event import Event
from ingest.expressions.numbers import Number


class Kind(Enum):
    """The kinds of arguments; the value is their name in messages."""

    VALUE = "any value"
    NUMBER = "a number"
    TIME = "a time in milliseconds"
    TEXT = "quoted text"
    CHOICE = "one of the listed words, quoted"
    INTEGER = "a whole number, written out"
    PATTERN = "a quoted pattern"
    ZONE = "a quoted time zone"
    FORMAT = "a quoted date format"
    CONDITION = "a condition, as in `when`"


OF_EVENT = frozenset({Kind.VALUE, Kind.NUMBER, Kind.TIME})
"""Kinds of arguments that are evaluated for each event; all others are constants."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """
    A parameter of a function.

    A leading TIME may be left out, also before quoted text, and is then the event's timestamp; a ZONE that is left out
    is the pipeline's.

    Attributes:
        required: False if it may be left out.
        default: value of a constant that is left out.
        repeated: whether any number of arguments may follow; only for the last parameter.
        choices: allowed words, for CHOICE.
        minimum: least value, for INTEGER; least number of characters, for TEXT.
        maximum: greatest value, for INTEGER.
        nonzero: whether 0 is an error, which a constant is at once; for NUMBER.
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
    nonzero: bool = False


@dataclass(frozen=True, slots=True)
class FunctionExample:
    """
    An example of a function; part of its documentation, and run as a test.

    Attributes:
        template: a template with the function.
        result: its result; bytes if it is not text.
        error: code of the ExpressionError that it raises instead.
    """

    template: str
    result: str | bytes = ""
    attributes: dict[str, str] = field(default_factory=dict, hash=False)
    event: Callable[[], Event] = field(default=lambda: Event(b""), hash=False)
    error: str | None = None

    def input(self) -> Event:
        """The event for which the template is rendered."""
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
        doc: its result, in one or two sentences.
        make: called once with the constants, in the order of the parameters; returns a function that is called for each
            event with the other arguments, in order: bytes for VALUE, numbers for NUMBER and TIME. Raises ValueError if
            the constants exclude each other.
        of_event: whether it is called with the event alone; then it has only constants as parameters.
        reads: core names that it reads from the event itself.
        lenient: whether it is called with None for an absent argument.
        gives_number: whether it returns numbers instead of bytes.
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
        """Its name and parameters, as in `date([time], format, [zone])`."""
        shown = []
        for parameter in self.parameters:
            name = parameter.name + (", …" if parameter.repeated else "")
            shown.append(name if parameter.required else f"[{name}]")
        return f"{self.name}({', '.join(shown)})"
