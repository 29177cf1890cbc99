"""Conditions, as in `when:` and rules, compiled once; an option type."""

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from ingest.api.errors import EventError
from ingest.api.event import Event
from ingest.api.notation import name_to_bytes
from ingest.expressions import nodes
from ingest.expressions.compiler import Compiler, Count, Expression, LintWarning, attribute_hint
from ingest.expressions.grammar import TEXT_COMPARISONS
from ingest.expressions.numbers import read_number
from ingest.expressions.option_type import DEFAULT_ZONE, option_schema
from ingest.expressions.parser import parse_condition
from ingest.expressions.pattern import Pattern

Holds = Callable[[Event], bool]

_Compare = Callable[[Any, Any], bool]

_OPERATORS: dict[str, _Compare] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "contains": operator.contains,
    "starts_with": bytes.startswith,
    "ends_with": bytes.endswith,
}
_ORDERS = frozenset({"<", "<=", ">", ">="})


@dataclass(frozen=True, slots=True)
class ConditionExample:
    """
    A condition and its result for an event with these attributes; part of the reference, and run as a test.

    The event's priority is DEBUG and its offset is 7.
    """

    written: str
    attributes: dict[str, str] = field(default_factory=dict, hash=False)
    holds: bool = True
    says: str = ""


CONDITION_EXAMPLES = (
    ConditionExample("%{priority} == 'DEBUG'", says="text is equal byte for byte"),
    ConditionExample("%{status} >= 500", {"status": "503"}, says="a number without quotes: both sides are numbers"),
    ConditionExample("%{status} >= '500'", {"status": "60"}, says="quoted text: both sides are bytes"),
    ConditionExample("%{status} < 500", {"status": "-"}, holds=False, says="text that is not a number is not smaller"),
    ConditionExample("%{status} != 500", {"status": "-"}, says="and not equal to any number"),
    ConditionExample("%{n} == 7.0", {"n": "7"}, says="numbers are equal as numbers"),
    ConditionExample("%{offset} == %{n}", {"n": "7"}, says="two values; an offset is always a number"),
    ConditionExample("%{level} in ('WARN', 'ERROR')", {"level": "INFO"}, holds=False, says="one of a list"),
    ConditionExample("%{level} not in ('WARN', 3)", {"level": "INFO"}, says="text and numbers in one list"),
    ConditionExample("%{path} matches '^/api/v[0-9]+/'", {"path": "/api/v2/x"}, says="a pattern matches anywhere"),
    ConditionExample("%{path} not matches '\\.css$'", {"path": "/a.css"}, holds=False, says="or does not match"),
    ConditionExample("%{city} matches '^.öln$'", {"city": "Köln"}, says="a dot is a character"),
    ConditionExample("%{path} starts_with '/health'", {"path": "/healthz"}, says="literal text, not a pattern"),
    ConditionExample("%{host} not ends_with '.internal'", says="the same at the end"),
    ConditionExample("%{lower(agent)} contains 'bot'", {"agent": "GoogleBot/2.1"}, says="or anywhere"),
    ConditionExample("exists(user)", {"user": ""}, says="an empty attribute exists"),
    ConditionExample("%{user} == ''", says="an absent one compares as empty"),
    ConditionExample("exists(%{add(n, 1)})", holds=False, says="a function of an absent one is absent"),
    ConditionExample("exists('2hb_cf:q')", {"2hb_cf:q": "x"}, says="any name, in quotes"),
    ConditionExample(
        "exists(%{extract(path, '[0-9]+')})", {"path": "/x"}, holds=False, says="the result of a function"
    ),
    ConditionExample("exists(a) or exists(b) and not exists(a)", {"a": "1"}, says="precedence: not, and, or"),
    ConditionExample("(exists(a) or exists(b)) and not exists(a)", {"a": "1"}, holds=False, says="parentheses"),
    ConditionExample("%{name} == 'it''s'", {"name": "it's"}, says="a quote inside is written twice"),
)


@dataclass(frozen=True, slots=True)
class Condition:
    """
    A predicate on events; an option type.

    Values are compared as numbers if one side is a number (written without quotes, or always a number, such as
    `%{offset}`) and the other side is not quoted text; otherwise as bytes. A value that is not a number is not equal to
    any number, nor smaller or greater. `contains`, `starts_with` and `ends_with` always compare bytes. An absent
    attribute compares as empty text; only `exists` distinguishes the two. A core value exists if it is not empty.

    Conditions with the same text and zone are equal, and are pickled as these two.

    Attributes:
        text: the source text.
        zone: name of the time zone for dates.
        references: what it reads: core names, and attributes as `attribute:NAME`.
        holds: evaluates it for an event. Raises ExpressionError if a function fails.
        lint_warnings: parts that are valid but probably a mistake.
    """

    text: str
    zone: str
    references: frozenset[str] = field(compare=False, repr=False)
    holds: Holds = field(compare=False, repr=False)
    lint_warnings: tuple[LintWarning, ...] = field(default=(), compare=False, repr=False)

    @property
    def constant(self) -> bool | None:
        """Its result, if it reads nothing of the event; None if it does, or if it always fails."""
        if self.references:
            return None
        try:
            return bool(self.holds(Event(b"")))
        except EventError:
            return None

    @classmethod
    def parse(cls, text: str, zone: str = DEFAULT_ZONE) -> "Condition":
        """
        Parse and compile a condition.

        Raises:
            ExpressionSyntaxError: the text is not a valid condition.
        """
        compiler = Compiler(text, zone)
        builder = _Builder(compiler)
        holds = builder.clause(parse_condition(text))
        return cls(
            text=text,
            zone=zone,
            references=frozenset(builder.references),
            holds=holds,
            lint_warnings=tuple(compiler.lint_warnings),
        )

    def __reduce__(self) -> tuple[object, ...]:
        return Condition.parse, (self.text, self.zone)

    def __str__(self) -> str:
        return self.text

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return option_schema(cls, cls.parse, "bad_expression")

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "format": "condition"}


class _Builder:
    """Compiles clauses into closures and collects their references."""

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        self.references: set[str] = set()

    def clause(self, clause: nodes.Clause) -> Holds:  # noqa: PLR0911 - a case each
        match clause:
            case nodes.And(parts):
                return _all_of([self.clause(part) for part in parts])
            case nodes.Or(parts):
                return _any_of([self.clause(part) for part in parts])
            case nodes.Not(part):
                holds = self.clause(part)
                return lambda event: not holds(event)
            case nodes.Comparison():
                return self._comparison(clause)
            case nodes.Membership(left, items):
                return self._membership(left, items)
            case nodes.Match(left, pattern):
                self._warn_constant(left)
                return _found(self._compiler.pattern(pattern), _text(self._expression(left)))
            case nodes.Exists(node):
                return self._exists(node)

    def _expression(self, node: nodes.Node) -> Expression:
        expression = self._compiler.expression(node)
        self.references |= expression.references
        return expression

    def _warn_constant(self, node: nodes.Node) -> None:
        """Warn of a constant that is compared with constants."""
        if isinstance(node, nodes.Text):
            message = f"{node.written()} is text and the same for every event"
            self._compiler.lint_warnings.append(LintWarning(node.column, message, attribute_hint(node.text)))

    def _warn_order(self, node: nodes.Node, other: Expression) -> None:
        """Warn of an order between text and a number, which compares bytes: '9' is greater than 10."""
        if isinstance(node, nodes.Text) and other.number is not None:
            message = f"{node.written()} is text, so a number is compared with it byte by byte"
            self._compiler.lint_warnings.append(LintWarning(node.column, message, "write a number, without quotes"))

    def _exists(self, node: nodes.Node) -> Holds:
        value = self._expression(node).value
        match node:
            case nodes.Attribute(name):
                return lambda event: name in event.attributes
            case nodes.Core():
                return lambda event: bool(value(event))
            case _:
                return lambda event: value(event) is not None

    def _comparison(self, clause: nodes.Comparison) -> Holds:
        left, right = self._expression(clause.left), self._expression(clause.right)
        if right.constant is not None:
            self._warn_constant(clause.left)
        if clause.operator in _ORDERS:
            self._warn_order(clause.left, right)
            self._warn_order(clause.right, left)
        compare = _OPERATORS[clause.operator]
        if clause.operator not in TEXT_COMPARISONS and _compares_numbers((clause.left, left), (clause.right, right)):
            return _of_numbers(compare, _count(left), _count(right), otherwise=clause.operator == "!=")
        fixed = right.constant
        match clause.left:
            case nodes.Attribute(name) if fixed is not None and clause.operator == "==":
                return lambda event: event.attributes.get(name, b"") == fixed
        first, second = _text(left), _text(right)
        if fixed is not None:
            return lambda event: compare(first(event), fixed)
        return lambda event: compare(first(event), second(event))

    def _membership(self, left: nodes.Node, items: tuple[nodes.Text | nodes.Number, ...]) -> Holds:
        self._warn_constant(left)
        expression = self._expression(left)
        texts = frozenset(name_to_bytes(item.text) for item in items if isinstance(item, nodes.Text))
        numbers = frozenset(read_number(item.text.encode("ascii")) for item in items if isinstance(item, nodes.Number))
        text = _text(expression)
        if not numbers:
            return lambda event: text(event) in texts
        count = _count(expression)

        def holds(event: Event) -> bool:
            if text(event) in texts:
                return True
            number = count(event)
            return number is not None and number in numbers

        return holds


def _compares_numbers(*sides: tuple[nodes.Node, Expression]) -> bool:
    is_number = any(isinstance(node, nodes.Number) or expression.number is not None for node, expression in sides)
    return is_number and not any(isinstance(node, nodes.Text) for node, _ in sides)


def _of_numbers(compare: _Compare, first: Count, second: Count, *, otherwise: bool) -> Holds:
    def holds(event: Event) -> bool:
        left, right = first(event), second(event)
        return otherwise if left is None or right is None else compare(left, right)

    return holds


def _found(pattern: Pattern, text: Callable[[Event], bytes]) -> Holds:
    search, search_ascii = pattern.search, pattern.search_ascii

    def holds(event: Event) -> bool:
        value = text(event)
        return (search_ascii(value) if value.isascii() else search(value)) is not None

    return holds


def _text(expression: Expression) -> Callable[[Event], bytes]:
    value = expression.value
    return expression.filled or (lambda event: value(event) or b"")


def _count(expression: Expression) -> Count:
    """The number of an expression, None if it is not one."""
    if expression.number is not None:
        return expression.number
    value = expression.value
    if expression.constant is not None:
        number = read_number(expression.constant)
        return lambda _event: number
    return lambda event: read_number(value(event) or b"")


def _all_of(parts: list[Holds]) -> Holds:
    match parts:
        case [first, second]:
            return lambda event: first(event) and second(event)
        case _:
            return lambda event: all(part(event) for part in parts)


def _any_of(parts: list[Holds]) -> Holds:
    match parts:
        case [first, second]:
            return lambda event: first(event) or second(event)
        case _:
            return lambda event: any(part(event) for part in parts)
