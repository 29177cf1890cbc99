"""Parses templates and conditions into nodes; errors have the column."""

import re
from collections.abc import Callable

from ingest.expressions.grammar import (
    CORE_NAMES,
    DATE_LETTERS,
    MAX_DEPTH,
    TEXT_COMPARISONS,
    ExpressionSyntaxError,
    Token,
    TokenKind,
    is_number,
    quoted,
    suggestion,
    token_at,
)
from ingest.expressions.nodes import (
    And,
    Attribute,
    Call,
    Clause,
    Comparison,
    Core,
    DateLetter,
    Exists,
    Match,
    Membership,
    Node,
    Not,
    Number,
    Or,
    Text,
)
from ingest.suggest import closest

_PLAIN = re.compile(r"[^%]+")
_FUNCTION_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_OPPOSITES = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_SPELLINGS = {"=": "==", "!": "not", "&": "and", "&&": "and", "|": "or", "||": "or", "=~": "matches"}
_BETWEEN = ("in", "matches", *TEXT_COMPARISONS)
_KEYWORDS = ("and", "or", "not", "exists", *_BETWEEN)
_CALLED = ("exists", "not")  # words that may be followed by a parenthesis


def parse_template(text: str) -> tuple[Node, ...]:
    """
    The nodes of a template; adjacent text is one node.

    Raises:
        ExpressionSyntaxError: a stray percent sign, an unclosed or unknown tag.
    """
    return _Parser(text).template()


def parse_condition(text: str) -> Clause:
    """
    The tree of a condition.

    Raises:
        ExpressionSyntaxError: the text is not a valid condition.
    """
    return _Parser(text).condition()


class _Parser:
    """A recursive-descent parser of one text; used once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._depth = 0

    # templates

    def template(self) -> tuple[Node, ...]:
        nodes: list[Node] = []
        text, length = self._text, len(self._text)
        while self._position < length:
            start = self._position
            plain = _PLAIN.match(text, start)
            if plain is not None:
                self._position = plain.end()
                _append_text(nodes, plain[0], start + 1)
            elif text.startswith("%%", start):
                self._position += 2
                _append_text(nodes, "%", start + 1)
            elif text.startswith("%{", start):
                nodes.append(self._tag())
            else:
                nodes.append(self._date_letter())
        return tuple(nodes)

    def _date_letter(self) -> DateLetter:
        start = self._position
        letter = self._text[start + 1 : start + 2]
        if letter and letter in DATE_LETTERS:
            self._position += 2
            return DateLetter(letter, start + 1)
        if letter.isascii() and (letter.isalnum() or letter == "_"):
            other = letter.swapcase()
            near = f'; did you mean "%{other}"?' if other in DATE_LETTERS and other != letter else ""
            raise self._error(f'unknown tag "%{letter}": a percent sign itself is written "%%"{near}', start)
        raise self._error('stray "%"; a percent sign itself is written "%%"', start)

    def _tag(self) -> Node:
        """The tag that begins here, through its closing brace."""
        start = self._position
        self._position += 2
        token = self._next()
        node: Node
        match token.kind:
            case TokenKind.QUOTED:
                node = Attribute(token.value, quoted=True, column=start + 1)
            case TokenKind.WORD if self._peek().kind is TokenKind.OPEN:
                node = self._call(token)
            case TokenKind.WORD:
                node = _named(token.value, start + 1)
            case _:
                raise self._bad_tag(start, token)
        end = self._next()
        if end.kind is not TokenKind.END_TAG:
            raise self._bad_tag(start, end)
        return node

    def _bad_tag(self, start: int, token: Token) -> ExpressionSyntaxError:
        if token.kind is TokenKind.UNCLOSED:
            return self._error("the quote is never closed; write a quote inside quoted text twice", token.start)
        close = self._text.find("}", start)
        if close < 0:
            return self._error('unclosed tag: a "}" is missing; a percent sign itself is written "%%"', start)
        inside = self._text[start + 2 : close]
        if not inside.strip():
            return self._error("empty tag: a name is missing between the braces", start)
        if "(" in inside or "'" in inside or '"' in inside:
            return self._error(f"unexpected {_shown(token)} in a tag", token.start)
        return self._error(
            f'"{inside}" cannot stand in a tag; a name like this must be quoted: %{{{quoted(inside)}}}', start
        )

    def _call(self, name: Token) -> Call:
        if _FUNCTION_NAME.fullmatch(name.value) is None:
            raise self._error(f'"{name.value}" cannot be the name of a function', name.start)
        self._enter(name)
        self._next()  # the parenthesis
        arguments: list[Node] = []
        if self._peek().kind is TokenKind.CLOSE:
            self._next()
        else:
            while True:
                arguments.append(self._argument())
                token = self._next()
                if token.kind is TokenKind.CLOSE:
                    break
                if token.kind is not TokenKind.COMMA:
                    raise self._unexpected(token, f'"," or ")" after an argument of {name.value}')
        self._depth -= 1
        return Call(name.value, tuple(arguments), name.start + 1)

    def _argument(self) -> Node:
        token = self._peek()
        if token.kind is TokenKind.TAG:
            self._enter(token)
            self._position = token.start
            node = self._tag()
            self._depth -= 1
            return node
        self._next()
        column = token.start + 1
        match token.kind:
            case TokenKind.QUOTED:
                return Text(token.value, column)
            case TokenKind.WORD if self._peek().kind is TokenKind.OPEN:
                return self._call(token)
            case TokenKind.WORD if is_number(token.value):
                return Number(token.value, column)
            case TokenKind.WORD:
                return _named(token.value, column)
            case _:
                raise self._unexpected(token, "an argument")

    # conditions

    def condition(self) -> Clause:
        clause = self._any_of()
        token = self._next()
        if token.kind is not TokenKind.END:
            raise self._unexpected(token, '"and", "or" or the end')
        return clause

    def _any_of(self) -> Clause:
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
            clause = self._any_of()
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
            node = self._tag()
        elif token.kind is TokenKind.QUOTED:
            self._next()
            node = Attribute(token.value, quoted=True, column=token.start + 1)
        elif token.kind is TokenKind.WORD:
            self._next()
            node = _named(token.value, token.start + 1)
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
                raise self._unexpected(token, f"a comparison ({' '.join((*_COMPARISONS, *_BETWEEN))})")
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
            return self._tag()
        self._next()
        if token.kind is TokenKind.QUOTED:
            return Text(token.value, token.start + 1)
        if token.kind is TokenKind.WORD:
            if is_number(token.value):
                return Number(token.value, token.start + 1)
            if token.value not in _KEYWORDS:
                if token.value.lower() in _KEYWORDS:
                    near = suggestion(token.value, _KEYWORDS)
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
            if token.value in _BETWEEN and self._peek().kind is TokenKind.OPEN:
                raise self._error(f'"{token.value}" needs a value before it: %{{name}} {token.value} …', token.start)
        raise self._unexpected(token, "a value (%{name}, 'text' or 5)")

    # tokens

    def _peek(self) -> Token:
        return token_at(self._text, self._position)

    def _next(self) -> Token:
        token = token_at(self._text, self._position)
        self._position = token.end
        return token

    def _accept(self, kind: TokenKind) -> Token | None:
        """Consume and return the next token if it is of this kind."""
        return self._next() if self._peek().kind is kind else None

    def _accept_word(self, word: str) -> bool:
        """Whether this word is next; if so, it is consumed."""
        token = self._peek()
        if token.kind is TokenKind.WORD and token.value == word:
            self._position = token.end
            return True
        return False

    def _enter(self, token: Token) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(f"nested more than {MAX_DEPTH} deep", token.start)

    def _unexpected(self, token: Token, wanted: str) -> ExpressionSyntaxError:
        if token.kind is TokenKind.UNCLOSED:
            return self._error("the quote is never closed; write a quote inside quoted text twice", token.start)
        hint = ""
        if token.kind is TokenKind.OPERATOR and token.value in _SPELLINGS:
            hint = f'; did you mean "{_SPELLINGS[token.value]}"?'
        elif token.kind is TokenKind.WORD and token.value not in _KEYWORDS:
            hint = suggestion(token.value, _KEYWORDS)
        return self._error(f"expected {wanted}, found {_shown(token)}{hint}", token.start)

    def _error(self, message: str, position: int) -> ExpressionSyntaxError:
        return ExpressionSyntaxError(message, position + 1, self._text)


def _append_text(nodes: list[Node], text: str, column: int) -> None:
    if nodes and isinstance(nodes[-1], Text):
        nodes[-1] = Text(nodes[-1].text + text, nodes[-1].column)
    else:
        nodes.append(Text(text, column))


def _named(name: str, column: int) -> Node:
    return Core(name, column) if name in CORE_NAMES else Attribute(name, column=column)


def _shown(token: Token) -> str:
    match token.kind:
        case TokenKind.END:
            return "the end"
        case TokenKind.QUOTED:
            return quoted(token.value)
        case _:
            return f'"{token.value}"'
