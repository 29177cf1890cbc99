"""Compiles nodes into closures over events; constants are evaluated once, at compile time."""

from collections.abc import Callable, Sequence
from typing import TypeVar
from zoneinfo import ZoneInfo

from ingest.api.errors import ExpressionError
from ingest.api.event import Event
from ingest.api.event_errors import BadTimeError, NotANumberError
from ingest.api.notation import name_to_bytes, shown_start
from ingest.expressions.clauses import ClauseBuilder, Holds
from ingest.expressions.compiled import CORE, Count, Expression, LintWarning, Value, attribute_hint, constant, core
from ingest.expressions.dates import date_format, date_pieces, letters_for, zone_of
from ingest.expressions.functions import FUNCTIONS, OF_EVENT, OURS, Function, Kind, Parameter
from ingest.expressions.grammar import TEXT_COMPARISONS, ExpressionSyntaxError, quoted, suggestion
from ingest.expressions.nodes import Attribute, Call, Choice, Core, DateLetter, Node, Number, Text
from ingest.expressions.numbers import Number as Numeric
from ingest.expressions.numbers import read_number, write_number
from ingest.expressions.parser import parse_template
from ingest.expressions.pattern import Pattern
from ingest.suggest import DISTRIBUTE, SALTING

T = TypeVar("T")


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
                return CORE[name]
            case DateLetter():
                return self.dates([node])
            case Call():
                return self._call(node)
            case Choice():
                return self._choice(node)

    def dates(self, pieces: Sequence[Text | DateLetter]) -> Expression:
        """The event's timestamp, formatted with date letters and the text between them."""
        match pieces:
            case [DateLetter("t")]:
                return CORE["timestamp"]
            case _:
                write = date_format(pieces, self._zone(self._zone_name, pieces[0].column))
                return core("timestamp", lambda event: write(event.timestamp_ms))

    def _zone(self, name: str, column: int) -> ZoneInfo:
        try:
            return zone_of(name)
        except ValueError as error:
            instead = "" if name == self._zone_name else f"; an attribute of that name is written %{{{quoted(name)}}}"
            raise self._error(f"{error}{instead}", column) from error

    def _choice(self, choice: Choice) -> Expression:
        """The function `if`, which evaluates only the argument that it chooses."""
        builder = ClauseBuilder(self)
        holds = builder.clause(choice.condition)
        then, otherwise = self.expression(choice.then), self.expression(choice.otherwise)
        asked = frozenset(builder.references)
        if not asked:
            self.lint_warnings.append(LintWarning(choice.column, "the condition of if is the same for every event", ""))
            return then if self._always(holds, choice) else otherwise

        def branch(event: Event) -> Expression:
            return then if holds(event) else otherwise

        first, second = _count(choice.then, then), _count(choice.otherwise, otherwise)
        number: Count | None = None
        if first is not None and second is not None:
            number = lambda event: first(event) if holds(event) else second(event)  # noqa: E731 - as the value
        value, other = then.value, otherwise.value
        return Expression(
            lambda event: value(event) if holds(event) else other(event),
            number,
            attributes=then.attributes + otherwise.attributes,
            core=then.core | otherwise.core,
            branch=branch,
            asked=asked | then.asked | otherwise.asked,
        )

    def _always(self, holds: Holds, choice: Choice) -> bool:
        try:
            return holds(Event(b""))
        except ExpressionError as error:
            raise self._error(error.message, choice.column) from error

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
            expression = CORE["timestamp"] if node is None else self.expression(node)
            values.append(expression)
            if parameter.kind is Kind.VALUE:
                getters.append(expression.value)
            else:
                getters.append(self._number(call, parameter, node, expression))
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
        return Expression(
            value,
            number,
            attributes=tuple(name for part in values for name in part.attributes),
            core=function.reads.union(*(part.core for part in values)),
            parts=tuple(values),
            asked=frozenset().union(*(part.asked for part in values)),
        )

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

    def _number(self, call: Call, parameter: Parameter, node: Node | None, read: Expression) -> Count:
        self._refuse_text(call, parameter, node)
        number = None if read.constant is None else read_number(read.constant)
        if number == 0 and parameter.nonzero:
            raise self._error("division by zero", call.column)
        if read.number is not None:
            return read.number
        if read.constant is not None and node is not None:
            if number is None:
                raise self._misfit(call.shown, parameter, node)
            return lambda _event: number
        value, name = read.value, call.shown
        owner = f' of attribute "{node.name}"' if isinstance(node, Attribute) else ""

        def count(event: Event) -> Numeric | None:
            data = value(event)
            if data is None:
                return None
            number = read_number(data)
            if number is None:
                text = f"{shown_start(data)}{owner}"
                if parameter.kind is Kind.TIME:
                    raise ExpressionError(f"{name}: {text} is not a time in milliseconds", code=BadTimeError.code)
                raise NotANumberError(f"{name}: {text} is not a number")
            return number

        return count

    def _refuse_text(self, call: Call, parameter: Parameter, node: Node | None) -> None:
        """Refuse quoted text as a number, also as an argument of `if`."""
        match node:
            case Text():
                raise self._misfit(call.shown, parameter, node)
            case Choice():
                self._refuse_text(call, parameter, node.then)
                self._refuse_text(call, parameter, node.otherwise)

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


def _near(name: str) -> str:
    """What may have been meant by a name no function has."""
    if name in TEXT_COMPARISONS:
        return f"; in a condition write %{{name}} {name} 'text'"
    if name in CORE:
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


def _count(node: Node, expression: Expression) -> Count | None:
    """The number of an argument that is always one."""
    if not isinstance(node, Number):
        return expression.number
    number = read_number(name_to_bytes(node.text))
    return lambda _event: number


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
