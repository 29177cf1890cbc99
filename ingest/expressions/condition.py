"""Conditions: what `when:` and rules ask of an event, compiled once; an option type."""

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
from ingest.expressions.compiler import Compiler, Count, Expression, LintWarning, meant_by
from ingest.expressions.grammar import TEXT_COMPARISONS
from ingest.expressions.numbers import read_number
from ingest.expressions.option_type import DEFAULT_ZONE, option_schema
from ingest.expressions.parser import parse_condition

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
    A condition on an event with these attributes and whether it holds; shown in the reference and run as a test.

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
    ConditionExample("%{status} < 500", {"status": "-"}, holds=False, says="what is no number is not smaller"),
    ConditionExample("%{status} != 500", {"status": "-"}, says="and equal to none"),
    ConditionExample("%{n} == 7.0", {"n": "7"}, says="numbers are equal as numbers"),
    ConditionExample("%{offset} == %{n}", {"n": "7"}, says="two values; an offset is a number by nature"),
    ConditionExample("%{level} in ('WARN', 'ERROR')", {"level": "INFO"}, holds=False, says="one of a list"),
    ConditionExample("%{level} not in ('WARN', 3)", {"level": "INFO"}, says="text and numbers in one list"),
    ConditionExample("%{path} matches '^/api/v[0-9]+/'", {"path": "/api/v2/x"}, says="a pattern is found anywhere"),
    ConditionExample("%{path} not matches '\\.css$'", {"path": "/a.css"}, holds=False, says="or is not"),
    ConditionExample("%{path} starts_with '/health'", {"path": "/healthz"}, says="text as it is, no pattern"),
    ConditionExample("%{host} not ends_with '.internal'", says="the same at the end"),
    ConditionExample("%{lower(agent)} contains 'bot'", {"agent": "GoogleBot/2.1"}, says="or anywhere"),
    ConditionExample("exists(user)", {"user": ""}, says="an empty attribute is there"),
    ConditionExample("%{user} == ''", says="an absent one is empty"),
    ConditionExample("exists(%{add(n, 1)})", holds=False, says="a function of an absent one is absent"),
    ConditionExample("exists('2hb_cf:q')", {"2hb_cf:q": "x"}, says="any name, in quotes"),
    ConditionExample("exists(%{extract(path, '[0-9]+')})", {"path": "/x"}, holds=False, says="what a function gives"),
    ConditionExample("exists(a) or exists(b) and not exists(a)", {"a": "1"}, says="not, then and, then or"),
    ConditionExample("(exists(a) or exists(b)) and not exists(a)", {"a": "1"}, holds=False, says="parentheses"),
    ConditionExample("%{name} == 'it''s'", {"name": "it's"}, says="a quote inside is written twice"),
)


@dataclass(frozen=True, slots=True)
class Condition:
    """
    A question to an event, answered yes or no; an option type.

    Values compare as bytes, and as numbers when one side is a number (written without quotes, or a number by nature
    such as `%{offset}`) and the other side is not quoted text. What is not a number equals none and is neither smaller
    nor greater. `contains`, `starts_with` and `ends_with` look at bytes alone. An absent attribute is empty, as
    everywhere; `exists` tells the difference. A core value exists when it is not empty.

    Equal to another of the same text and zone; pickled as those two.

    Attributes:
        text: as it was written.
        zone: name of the time zone of its dates.
        references: what it reads: core names, attributes as `attribute:NAME`.
        holds: whether an event meets it. Raises ExpressionError when a function has no value.
        doubts: what is right in it and can hardly be meant.
    """

    text: str
    zone: str
    references: frozenset[str] = field(compare=False, repr=False)
    holds: Holds = field(compare=False, repr=False)
    lint_warnings: tuple[LintWarning, ...] = field(default=(), compare=False, repr=False)

    @property
    def constant(self) -> bool | None:
        """What it answers for every event, where it reads nothing of one; None when it depends, or always fails."""
        if self.references:
            return None
        try:
            return bool(self.holds(Event(b"")))
        except EventError:
            return None

    @classmethod
    def parse(cls, text: str, zone: str = DEFAULT_ZONE) -> "Condition":
        """
        Read and compile a condition.

        Raises:
            ExpressionSyntaxError: the text is no condition; with the column.
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
    """Clauses -> closures; collects what they read."""

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
                self._doubt_text(left)
                search, value = self._compiler.pattern(pattern).search, _text(self._expression(left))
                return lambda event: search(value(event)) is not None
            case nodes.Exists(node):
                return self._exists(node)

    def _expression(self, node: nodes.Node) -> Expression:
        expression = self._compiler.expression(node)
        self.references |= expression.references
        return expression

    def _doubt_text(self, node: nodes.Node) -> None:
        """What is compared with constants, and is itself one."""
        if isinstance(node, nodes.Text):
            message = f"{node.written()} is text and the same for every event"
            self._compiler.lint_warnings.append(LintWarning(node.column, message, meant_by(node.text)))

    def _doubt_order(self, node: nodes.Node, other: Expression) -> None:
        """Text beside a number: `9` comes behind `10` then, and a date never behind milliseconds."""
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
            self._doubt_text(clause.left)
        if clause.operator in _ORDERS:
            self._doubt_order(clause.left, right)
            self._doubt_order(clause.right, left)
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
        self._doubt_text(left)
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


def _text(expression: Expression) -> Callable[[Event], bytes]:
    value = expression.value
    return lambda event: value(event) or b""


def _count(expression: Expression) -> Count:
    """The number an expression stands for, None when it is not one."""
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
