"""Parses conditions into clauses; a tag in a condition is parsed by the subclass."""

from abc import ABC, abstractmethod
from collections.abc import Callable

from ingest.expressions.grammar import CORE_NAMES, TEXT_COMPARISONS, TokenKind, is_number, quoted, suggestion
from ingest.expressions.nodes import (
    And,
    Attribute,
    Clause,
    Comparison,
    Core,
    Exists,
    Match,
    Membership,
    Node,
    Not,
    Number,
    Or,
    Text,
)
from ingest.expressions.reader import BETWEEN, KEYWORDS, TokenReader
from ingest.suggest import closest

_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_OPPOSITES = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_CALLED = ("exists", "not")  # words that may be followed by a parenthesis


class ClauseParser(TokenReader, ABC):
    """The part of the parser that reads conditions."""

    @abstractmethod
    def tag(self) -> Node:
        """The tag that begins here, through its closing brace."""

    def condition(self) -> Clause:
        """A condition that is the whole text."""
        clause = self.any_of()
        token = self._next()
        if token.kind is not TokenKind.END:
            raise self._unexpected(token, '"and", "or" or the end')
        return clause

    def any_of(self) -> Clause:
        """A condition as far as it goes."""
        clauses = self._joined("or", self._all_of)
        return clauses[0] if len(clauses) == 1 else Or(clauses)

    def _all_of(self) -> Clause:
        clauses = self._joined("and", self._negation)
        return clauses[0] if len(clauses) == 1 else And(clauses)

    def _joined(self, word: str, part: Callable[[], Clause]) -> tuple[Clause, ...]:
        clauses = [part()]
        while self._accept_word(word):
            clauses.append(part())
        return tuple(clauses)

    def _negation(self) -> Clause:
        token = self._peek()
        self._enter(token)
        clause: Clause
        if self._accept_word("not"):
            clause = Not(self._negation())
        elif token.kind is TokenKind.OPEN:
            self._next()
            clause = self.any_of()
            close = self._next()
            if close.kind is not TokenKind.CLOSE:
                raise self._unexpected(close, '"and", "or" or ")"')
        elif self._accept_word("exists"):
            clause = self._exists()
        else:
            clause = self._comparison()
        self._depth -= 1
        return clause

    def _exists(self) -> Clause:
        if self._accept(TokenKind.OPEN) is None:
            raise self._unexpected(self._peek(), '"(" after exists')
        token = self._peek()
        node: Node
        if token.kind is TokenKind.TAG:
            self._position = token.start
            node = self.tag()
        elif token.kind is TokenKind.QUOTED:
            self._next()
            node = Attribute(token.value, quoted=True, column=token.start + 1)
        elif token.kind is TokenKind.WORD:
            self._next()
            node = named(token.value, token.start + 1)
        else:
            raise self._unexpected(token, "a name")
        if self._accept(TokenKind.CLOSE) is None:
            inside = self._text[token.start :].partition(")")[0].strip()
            if token.kind is TokenKind.WORD and self._peek().kind is TokenKind.OTHER:
                corrected = f"exists({quoted(inside)})"
                raise self._error(f'"{inside}": a name like this must be quoted: {corrected}', token.start)
            raise self._unexpected(self._peek(), '")" (a function is written exists(%{name(…)}))')
        return Exists(node)

    def _comparison(self) -> Clause:
        left = self._operand()
        token = self._next()
        if token.kind is TokenKind.OPERATOR and token.value in _COMPARISONS:
            return Comparison(token.value, left, self._operand())
        negated = token.kind is TokenKind.WORD and token.value == "not"
        if negated:
            token = self._next()
            if token.kind is TokenKind.OPERATOR and token.value in _COMPARISONS:
                opposite = _OPPOSITES[token.value]
                raise self._error(f'"not" cannot precede a sign; did you mean "{opposite}"?', token.start)
        clause: Clause
        match token:
            case (TokenKind.WORD, "in", _, _):
                clause = Membership(left, self._items())
            case (TokenKind.WORD, "matches", _, _):
                clause = Match(left, self._pattern())
            case (TokenKind.WORD, word, _, _) if word in TEXT_COMPARISONS:
                clause = Comparison(word, left, self._operand())
            case _:
                raise self._unexpected(token, f"a comparison ({' '.join((*_COMPARISONS, *BETWEEN))})")
        return Not(clause) if negated else clause

    def _pattern(self) -> Text:
        token = self._next()
        if token.kind is not TokenKind.QUOTED:
            raise self._unexpected(token, "a quoted pattern")
        return Text(token.value, token.start + 1)

    def _items(self) -> tuple[Text | Number, ...]:
        if self._accept(TokenKind.OPEN) is None:
            raise self._unexpected(self._peek(), "a list such as ('a', 'b')")
        items: list[Text | Number] = []
        while True:
            token = self._peek()
            item = self._operand()
            if not isinstance(item, Text | Number):
                raise self._error("a list can contain only quoted text and numbers", token.start)
            items.append(item)
            token = self._next()
            if token.kind is TokenKind.CLOSE:
                return tuple(items)
            if token.kind is not TokenKind.COMMA:
                raise self._unexpected(token, '"," or ")"')

    def _operand(self) -> Node:
        token = self._peek()
        if token.kind is TokenKind.TAG:
            self._position = token.start
            return self.tag()
        self._next()
        if token.kind is TokenKind.QUOTED:
            return Text(token.value, token.start + 1)
        if token.kind is TokenKind.WORD:
            if is_number(token.value):
                return Number(token.value, token.start + 1)
            if token.value not in KEYWORDS:
                if token.value.lower() in KEYWORDS:
                    near = suggestion(token.value, KEYWORDS)
                    raise self._error(f'"{token.value}" is not a keyword{near}', token.start)
                is_call = self._peek().kind is TokenKind.OPEN
                if is_call and closest(token.value, _CALLED) is not None:
                    near = suggestion(token.value, _CALLED)
                    raise self._error(f'"{token.value}" is not a keyword{near}', token.start)
                tag = f"%{{{token.value}(…)}}" if is_call else f"%{{{token.value}}}"
                raise self._error(
                    f'"{token.value}" is neither a value nor text; write {tag} for the value, '
                    f"{quoted(token.value)} for the text",
                    token.start,
                )
            if token.value in BETWEEN and self._peek().kind is TokenKind.OPEN:
                raise self._error(f'"{token.value}" needs a value before it: %{{name}} {token.value} …', token.start)
        raise self._unexpected(token, "a value (%{name}, 'text' or 5)")


def named(name: str, column: int) -> Node:
    """The node of a bare name."""
    return Core(name, column) if name in CORE_NAMES else Attribute(name, column=column)
