"""Compiles clauses of conditions into predicates on events."""

import operator
from collections.abc import Callable
from typing import Any, Protocol

from ingest.api.event import Event
from ingest.api.notation import name_to_bytes
from ingest.expressions import nodes
from ingest.expressions.compiled import Count, Expression, LintWarning, attribute_hint
from ingest.expressions.grammar import TEXT_COMPARISONS
from ingest.expressions.numbers import read_number
from ingest.expressions.pattern import Pattern

Holds = Callable[[Event], bool]
"""Whether a condition is true for an event."""

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


class Expressions(Protocol):
    """What compiles the expressions and patterns of a condition."""

    lint_warnings: list[LintWarning]

    def expression(self, node: nodes.Node) -> Expression:
        """A node as an expression."""

    def pattern(self, node: nodes.Text) -> Pattern:
        """A quoted pattern."""


class ClauseBuilder:
    """Compiles clauses into closures and collects their references."""

    def __init__(self, compiler: Expressions) -> None:
        self._compiler = compiler
        self.references: set[str] = set()

    def clause(self, clause: nodes.Clause) -> Holds:  # noqa: PLR0911 - a case each
        """A predicate on events; raises ExpressionError if a function fails."""
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
