"""Parses templates and conditions into nodes; errors have the column."""

import re
from collections.abc import Callable

from ingest.expressions.clause_parser import ClauseParser, named
from ingest.expressions.grammar import (
    DATE_LETTERS,
    MAX_OPERATORS,
    OPERATORS,
    ExpressionSyntaxError,
    Token,
    TokenKind,
    is_number,
    quoted,
)
from ingest.expressions.nodes import Attribute, Call, Choice, Clause, DateLetter, Node, Number, Text
from ingest.expressions.reader import BLANKS_AROUND, shown

_PLAIN = re.compile(r"[^%]+")
_FUNCTION_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UNCLEAR = re.compile(r"[0-9.-].*|.*-[0-9.]*")  # names that look like numbers or arithmetic
_BEGINS = frozenset({TokenKind.WORD, TokenKind.QUOTED, TokenKind.OPEN, TokenKind.TAG})  # tokens that begin an argument


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


class _Parser(ClauseParser):
    """A recursive-descent parser of one text; used once."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._operators = 0  # in the tags that are open here

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
                nodes.append(self.tag())
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

    def tag(self) -> Node:
        """The tag that begins here, through its closing brace."""
        start = self._position
        self._position += 2
        token = self._next()
        node: Node | None = None
        if self._peek().kind is TokenKind.END_TAG:
            if token.kind is TokenKind.QUOTED:
                node = Attribute(token.value, quoted=True, column=start + 1)
            elif token.kind is TokenKind.WORD:
                node = named(token.value, start + 1)
        elif token.kind in _BEGINS:
            operators = self._operators
            self._position = token.start
            node = self._argument()
            self._operators = operators
        end = self._next() if node is not None else token
        if end.kind is not TokenKind.END_TAG or node is None:
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
        hint = f"; {BLANKS_AROUND}" if token.value[:1] in OPERATORS else ""
        if any(sign in inside for sign in "()'\"{"):
            return self._error(f"unexpected {shown(token)} in a tag{hint}", token.start)
        return self._error(
            f'"{inside}" cannot stand in a tag; a name like this must be quoted: %{{{quoted(inside)}}}{hint}', start
        )

    def _call(self, name: Token) -> Call | Choice:
        if _FUNCTION_NAME.fullmatch(name.value) is None:
            raise self._error(f'"{name.value}" cannot be the name of a function', name.start)
        self._enter(name)
        self._next()  # the parenthesis
        condition = None
        if name.value == "if" and self._peek().kind is not TokenKind.CLOSE:
            condition = self.any_of()
            if self._accept(TokenKind.COMMA) is None and self._peek().kind is not TokenKind.CLOSE:
                raise self._unexpected(self._peek(), '"and", "or" or "," after the condition of if')
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
        if name.value != "if":
            return Call(name.value, tuple(arguments), name.start + 1)
        if condition is None or len(arguments) != 2:  # noqa: PLR2004 - then and otherwise
            count = len(arguments) + (condition is not None)
            raise self._error(f"if(condition, then, otherwise) takes 3 arguments, not {count}", name.start)
        return Choice(condition, arguments[0], arguments[1], name.start + 1)

    # arithmetic

    def _argument(self) -> Node:
        return self._operations("+-", lambda: self._operations("*/%", self._factor))

    def _operations(self, signs: str, operand: Callable[[], Node]) -> Node:
        """Operands between operators of one precedence, from left to right."""
        node = operand()
        while (operator := self._operator(signs)) is not None:
            sign, column = operator.value, operator.start + 1
            node = Call(OPERATORS[sign], (self._clear(node), self._clear(operand())), column, sign)
        return node

    def _operator(self, signs: str) -> Token | None:
        """Consume and return the next token if it is one of these signs, with a blank on both sides."""
        token = self._peek()
        around = self._text[token.start - 1 : token.start] + self._text[token.end : token.end + 1]
        if len(token.value) != 1 or token.value not in signs or len(around.strip(" \t\r\n")) > 0:
            return None
        self._next()
        self._count(token)
        return token

    def _count(self, operator: Token) -> None:
        self._operators += 1
        if self._operators > MAX_OPERATORS:
            raise self._error(f"more than {MAX_OPERATORS} operators in one tag", operator.start)

    def _clear(self, node: Node) -> Node:
        """An operand, if it cannot be mistaken for a number or arithmetic."""
        if isinstance(node, Attribute) and _UNCLEAR.fullmatch(node.name):
            at = node.column - 1
            if not self._text.startswith("%{", at):
                raise self._error(
                    f'"{node.name}" is a name; an operator has a blank on both sides, '
                    f"and the attribute is written {node.tag()} in arithmetic",
                    at,
                )
        return node

    def _factor(self) -> Node:
        token = self._peek()
        if token.kind is TokenKind.OPEN:
            self._enter(token)
            self._next()
            node = self._argument()
            if self._accept(TokenKind.CLOSE) is None:
                raise self._unexpected(self._peek(), 'an operator or ")"')
            self._depth -= 1
            return node
        if token.value == "-" and token.kind is TokenKind.WORD:
            self._next()
            if self._peek().kind in _BEGINS:
                self._enter(token)
                self._count(token)
                node = Call("sub", (Number("0", token.start + 1), self._clear(self._factor())), token.start + 1, "-")
                self._depth -= 1
                return node
            self._position = token.start
        return self._primary()

    def _primary(self) -> Node:
        token = self._peek()
        if token.kind is TokenKind.TAG:
            self._enter(token)
            self._position = token.start
            node = self.tag()
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
                return named(token.value, column)
            case _:
                raise self._unexpected(token, "an argument")


def _append_text(nodes: list[Node], text: str, column: int) -> None:
    if nodes and isinstance(nodes[-1], Text):
        nodes[-1] = Text(nodes[-1].text + text, nodes[-1].column)
    else:
        nodes.append(Text(text, column))
