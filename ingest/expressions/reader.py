"""Reads the tokens of one text; errors have the column."""

from ingest.expressions.grammar import (
    MAX_DEPTH,
    OPERATORS,
    TEXT_COMPARISONS,
    ExpressionSyntaxError,
    Token,
    TokenKind,
    quoted,
    suggestion,
    token_at,
)

_SPELLINGS = {"=": "==", "!": "not", "&": "and", "&&": "and", "|": "or", "||": "or", "=~": "matches"}
BETWEEN = ("in", "matches", *TEXT_COMPARISONS)
"""Words between the operands of a condition."""
KEYWORDS = ("and", "or", "not", "exists", *BETWEEN)
"""Words of conditions."""
BLANKS_AROUND = "arithmetic is inside of braces, with a blank on both sides of an operator: %{a + b}"
"""Hint for a sign that is no operator where it stands."""


class TokenReader:
    """A place in a text, and how deep it is nested; the base of the parsers."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._depth = 0

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
        elif token.value[:1] in OPERATORS:
            hint = f"; {BLANKS_AROUND}"
        elif token.kind is TokenKind.WORD and token.value not in KEYWORDS:
            hint = suggestion(token.value, KEYWORDS)
        return self._error(f"expected {wanted}, found {shown(token)}{hint}", token.start)

    def _error(self, message: str, position: int) -> ExpressionSyntaxError:
        return ExpressionSyntaxError(message, position + 1, self._text)


def shown(token: Token) -> str:
    """A token in a message."""
    match token.kind:
        case TokenKind.END:
            return "the end"
        case TokenKind.QUOTED:
            return quoted(token.value)
        case _:
            return f'"{token.value}"'
