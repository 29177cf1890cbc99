"""Compiles nodes into closures over events; constants are evaluated once, at compile time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar
from zoneinfo import ZoneInfo

from ingest.api.errors import ExpressionError
from ingest.api.event import Event, Priority
from ingest.api.event_errors import BadTimeError, NotANumberError
from ingest.api.notation import name_to_bytes, shown_start
from ingest.expressions.dates import date_format, date_pieces, letters_for, zone_of
from ingest.expressions.functions import FUNCTIONS, OF_EVENT, OURS, Function, Kind, Parameter
from ingest.expressions.grammar import TEXT_COMPARISONS, ExpressionSyntaxError, is_name, is_number, quoted, suggestion
from ingest.expressions.nodes import Attribute, Call, Core, DateLetter, Node, Number, Text
from ingest.expressions.numbers import Number as Numeric
from ingest.expressions.numbers import read_number, write_number
from ingest.expressions.parser import parse_template
from ingest.expressions.pattern import Pattern
from ingest.suggest import DISTRIBUTE, SALTING


class LintWarning(NamedTuple):
    """
    A part of an expression that is valid but probably a mistake.

    Attributes:
        column: of the part in the text, from 1.
        hint: what to write instead; may be "".
    """

    column: int
    message: str
    hint: str


Value = Callable[[Event], bytes | None]
Count = Callable[[Event], Numeric | None]
T = TypeVar("T")

_PRIORITIES = {priority: priority.value.encode("ascii") for priority in Priority}


@dataclass(frozen=True, slots=True)
class Expression:
    """
    A compiled node.

    Attributes:
        value: its bytes for an event, None if absent.
        number: its number for an event, if it is always a number, such as an offset; else None.
        constant: its bytes if they are the same for every event, else None.
        attributes: names of the attributes it reads, in the order of the text.
        core: the core names it reads.
        filled: as `value`, but empty if absent; None if it has to be derived from `value`.
        integer: its number for an event, if that is always an integer, written as `value`; else None.
    """

    value: Value
    number: Count | None = None
    constant: bytes | None = None
    attributes: tuple[str, ...] = ()
    core: frozenset[str] = frozenset()
    filled: Callable[[Event], bytes] | None = None
    integer: Callable[[Event], int] | None = None

    @property
    def may_lack(self) -> tuple[str | None, ...]:
        """What it reads that an event may lack: attributes, and None for the key."""
        return (*self.attributes, None) if "key" in self.core else self.attributes

    @property
    def references(self) -> frozenset[str]:
        """All it reads: core names, and attributes as `attribute:NAME`."""
        return self.core | {f"attribute:{name}" for name in self.attributes}


def constant(data: bytes) -> Expression:
    """An expression with a constant value."""
    return Expression(value=lambda _event: data, constant=data)


class Compiler:
    """
    Compiles the nodes of one text, in one time zone.

    Attributes:
        lint_warnings: for the nodes compiled so far.
    """

    def __init__(self, text: str, zone: str) -> None:
        self.lint_warnings: list[LintWarning] = []
        self._text = text
        self._zone_name = zone

    def expression(self, node: Node) -> Expression:
        """
        A node as an expression.

        Raises:
            ExpressionSyntaxError: a function is unknown or misused.
        """
        match node:
            case Text(text) | Number(text):
                return constant(name_to_bytes(text))
            case Attribute(name):
                value, filled = lambda event: event.attributes.get(name), lambda event: event.attributes.get(name, b"")
                return Expression(value, attributes=(name,), filled=filled)
            case Core(name):
                return _CORE[name]
            case DateLetter():
                return self.dates([node])
            case Call():
                return self._call(node)

    def dates(self, pieces: Sequence[Text | DateLetter]) -> Expression:
        """The event's timestamp, formatted with date letters and the text between them."""
        match pieces:
            case [DateLetter("t")]:
                return _CORE["timestamp"]
            case _:
                write = date_format(pieces, self._zone(self._zone_name, pieces[0].column))
                return _core("timestamp", lambda event: write(event.timestamp_ms))

    def _zone(self, name: str, column: int) -> ZoneInfo:
        try:
            return zone_of(name)
        except ValueError as error:
            raise self._error(str(error), column) from error

    # calls

    def _call(self, call: Call) -> Expression:
        function = FUNCTIONS.get(call.name)
        if function is None:
            near = _near(call.name)
            raise self._error(f'unknown function "{call.name}"{near}', call.column)
        values: list[Expression] = []
        getters: list[Callable[[Event], object]] = []
        constants: list[object] = []
        for parameter, node in self._bound(function, call):
            if parameter.kind not in OF_EVENT:
                constants.append(self._constant(parameter, node, call))
                continue
            expression = _CORE["timestamp"] if node is None else self.expression(node)
            values.append(expression)
            if parameter.kind is Kind.VALUE:
                getters.append(expression.value)
            else:
                getters.append(self._number(function, parameter, node, expression))
        try:
            apply = function.make(*constants)
        except ValueError as error:
            raise self._error(str(error), call.column) from error
        return self._applied(function, call, apply, getters, values)

    def _applied(
        self,
        function: Function,
        call: Call,
        apply: Callable[..., bytes | Numeric | None],
        getters: list[Callable[[Event], object]],
        values: list[Expression],
    ) -> Expression:
        result = _strict(apply, getters) if not function.lenient else _lenient(apply, getters)
        if function.of_event:
            result = apply
        number: Count | None = None
        value: Value
        if function.gives_number:
            number = result  # type: ignore[assignment]  # what `gives_number` declares
            value = _written(number)  # type: ignore[arg-type]
        else:
            value = result  # type: ignore[assignment]  # bytes, by the same declaration
        if not function.of_event and all(part.constant is not None for part in values):
            self._warn_constant(function, call)
            return self._folded(value, number, call)
        core = function.reads.union(*(part.core for part in values))
        return Expression(value, number, None, tuple(name for part in values for name in part.attributes), core)

    def _folded(self, value: Value, number: Count | None, call: Call) -> Expression:
        nothing = Event(b"")
        try:
            data = value(nothing)
            counted = None if number is None else number(nothing)
        except ExpressionError as error:
            raise self._error(error.message, call.column) from error
        if data is None:
            raise self._error(f"{call.name} never has a value here", call.column)
        folded = constant(data)
        return folded if number is None else Expression(folded.value, lambda _event: counted, data)

    def _warn_constant(self, function: Function, call: Call) -> None:
        """Warn of a function of quoted text; not of `decode`, which writes bytes, nor of functions of numbers."""
        if function.parameters[0].kind is not Kind.VALUE or function.name == "decode":
            return
        text = call.arguments[0]
        if isinstance(text, Text):
            message = f"{call.written()} is the same for every event, because quoted text is a constant"
            self.lint_warnings.append(LintWarning(call.column, message, attribute_hint(text.text)))

    def _bound(self, function: Function, call: Call) -> list[tuple[Parameter, Node | None]]:
        """Each parameter with its argument, None for one left out; a repeated parameter once for each argument."""
        arguments: list[Node | None] = list(call.arguments)
        parameters = list(function.parameters)
        if (
            parameters
            and parameters[0].kind is Kind.TIME
            and (not arguments or (isinstance(arguments[0], Text) and _starts_with_constant(parameters[1:])))
        ):
            arguments.insert(0, None)
        if parameters and parameters[-1].repeated:
            parameters += [parameters[-1]] * (len(arguments) - len(parameters))
        required = sum(parameter.required for parameter in function.parameters)
        given = sum(argument is not None for argument in arguments)
        if len(arguments) > len(parameters) or given < required:
            raise self._error(
                f"{function.signature} takes {_count_of(function)}, not {len(call.arguments)}",
                call.column,
            )
        arguments += [None] * (len(parameters) - len(arguments))
        for parameter, argument in zip(parameters, arguments, strict=True):
            if argument is None and parameter.required:
                raise self._error(f'{function.signature} needs "{parameter.name}"', call.column)
        return list(zip(parameters, arguments, strict=True))

    def _number(self, function: Function, parameter: Parameter, node: Node | None, read: Expression) -> Count:
        if read.number is not None:
            return read.number
        if read.constant is not None and node is not None:
            number = read_number(read.constant)
            if number is None or isinstance(node, Text):
                raise self._misfit(function.name, parameter, node)
            return lambda _event: number
        value, name = read.value, function.name

        def count(event: Event) -> Numeric | None:
            data = value(event)
            if data is None:
                return None
            number = read_number(data)
            if number is None:
                text = shown_start(data)
                if parameter.kind is Kind.TIME:
                    raise ExpressionError(f"{name}: {text} is not a time in milliseconds", code=BadTimeError.code)
                raise NotANumberError(f"{name}: {text} is not a number")
            return number

        return count

    # constants

    def _constant(self, parameter: Parameter, node: Node | None, call: Call) -> object:  # noqa: PLR0911 - a case each
        if node is None:
            if parameter.kind is Kind.ZONE:
                return self._zone(self._zone_name, call.column)
            return parameter.default
        match parameter.kind, node:
            case Kind.INTEGER, Number(text) if "." not in text and len(text) < 20:  # noqa: PLR2004 - 64 bits
                number = int(text)
                if not parameter.minimum <= number <= parameter.maximum:
                    limits = f"{parameter.minimum} to {parameter.maximum}"
                    raise self._error(f'{call.name}: "{parameter.name}" must be {limits}, not {text}', node.column)
                return number
            case Kind.TEXT, Text(text) if len(text) >= parameter.minimum:
                return name_to_bytes(text)
            case Kind.TEXT, Text():
                raise self._error(f'{call.name}: "{parameter.name}" must not be empty', node.column)
            case Kind.CHOICE, Text(text):
                if text not in parameter.choices:
                    words = ", ".join(parameter.choices)
                    near = suggestion(text, parameter.choices)
                    raise self._error(f"{call.name}: {quoted(text)} is not one of {words}{near}", node.column)
                return text
            case Kind.ZONE, Text(text):
                return self._zone(text, node.column)
            case Kind.PATTERN, Text():
                return self.pattern(node)
            case Kind.FORMAT, Text():
                return self._format(node)
            case _:
                raise self._misfit(call.name, parameter, node)

    def _format(self, node: Text) -> tuple[Text | DateLetter, ...]:
        pieces = self._inside(node, lambda text: date_pieces(parse_template(text), text))
        if not any(isinstance(piece, DateLetter) for piece in pieces):
            message = f"the date format {node.written()} has no date letter, so it is the same for every event"
            self.lint_warnings.append(LintWarning(node.column, message, letters_for(node.text)))
        return pieces

    def _inside(self, node: Text, parse: Callable[[str], T]) -> T:
        """Parse quoted text; columns of its errors become columns of the whole expression."""
        try:
            return parse(node.text)
        except ExpressionSyntaxError as error:
            raise self._error(error.message, node.column + error.column) from error

    def pattern(self, node: Text) -> Pattern:
        """A quoted pattern."""
        return self._inside(node, Pattern.parse)

    def _misfit(self, name: str, parameter: Parameter, node: Node) -> ExpressionSyntaxError:
        wanted = parameter.kind.value
        return self._error(f'{name}: "{parameter.name}" must be {wanted}, not {node.written()}', node.column)

    def _error(self, message: str, column: int) -> ExpressionSyntaxError:
        return ExpressionSyntaxError(message, column, self._text)


def attribute_hint(text: str) -> str:
    """A hint for quoted text that may be the name of an attribute."""
    if is_name(text) and not is_number(text):
        return f"for the attribute write %{{{text}}}, inside a function {text} without quotes"
    return f"for the attribute write %{{{quoted(text)}}}" if ":" in text else ""


def _near(name: str) -> str:
    """What may have been meant by a name no function has."""
    if name in TEXT_COMPARISONS:
        return f"; in a condition write %{{name}} {name} 'text'"
    if name in _CORE:
        return f"; this value has no parentheses: %{{{name}}}"
    if name in SALTING:
        return f"; {DISTRIBUTE}"
    if name in OURS:
        return f'; did you mean "{OURS[name]}"?'
    return suggestion(name, FUNCTIONS) or "; docs/reference/expressions.md lists them"


def _starts_with_constant(parameters: Sequence[Parameter]) -> bool:
    return any(parameter.kind not in OF_EVENT for parameter in parameters[:1])


def _count_of(function: Function) -> str:
    least = sum(parameter.required for parameter in function.parameters)
    most = len(function.parameters)
    if function.parameters and function.parameters[-1].repeated:
        return f"{least} or more arguments"
    if most == 0:
        return "no arguments"
    count = str(most) if least == most else f"{least} to {most}"
    return f"{count} argument{'s' if most > 1 else ''}"


def _strict(apply: Callable[..., object], getters: list[Callable[[Event], object]]) -> Callable[[Event], object]:
    if len(getters) == 1:
        getter = getters[0]

        def one(event: Event) -> object:
            value = getter(event)
            return None if value is None else apply(value)

        return one

    def several(event: Event) -> object:
        values = [getter(event) for getter in getters]
        return None if None in values else apply(*values)

    return several


def _lenient(apply: Callable[..., object], getters: list[Callable[[Event], object]]) -> Callable[[Event], object]:
    return lambda event: apply(*[getter(event) for getter in getters])


def _written(number: Count) -> Value:
    def value(event: Event) -> bytes | None:
        count = number(event)
        return None if count is None else write_number(count)

    return value


def _core(name: str, value: Callable[[Event], bytes]) -> Expression:
    return Expression(value, core=frozenset({name}), filled=value)


def _core_number(name: str, number: Callable[[Event], int]) -> Expression:
    def value(event: Event) -> bytes:
        return b"%d" % number(event)

    return Expression(value, number, core=frozenset({name}), filled=value, integer=number)


_HOST = _core("host", lambda event: name_to_bytes(event.host))
_CORE = {
    "body": _core("body", lambda event: event.body),
    "host": _HOST,
    "hostname": _HOST,
    "key": Expression(lambda event: event.key or None, core=frozenset({"key"}), filled=lambda event: event.key),
    "nanos": _core_number("nanos", lambda event: event.nanos),
    "offset": _core_number("offset", lambda event: event.origin.offset),
    "partition": _core_number("partition", lambda event: event.origin.partition),
    "priority": _core("priority", lambda event: _PRIORITIES[event.priority]),
    "timestamp": _core_number("timestamp", lambda event: event.timestamp_ms),
    "topic": _core("topic", lambda event: name_to_bytes(event.origin.topic)),
}
