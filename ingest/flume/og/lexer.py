r"""
Splits Flume's data-flow text into tokens.

White space, `/* */` and `//` to the end of the line separate them. Flume treats all literals as text: hexadecimal and
octal numbers become decimal, others are unchanged.

Source: the lexer of Flume 0.9; `tests/unit/ingest/flume/og` covers each rule.
"""

import re
from enum import StrEnum
from typing import NamedTuple

from ingest.flume.original import Original
from ingest.flume.utf16 import joined


class TokenKind(StrEnum):
    """Kinds of tokens."""

    NAME = "a name"
    RESERVED = "a reserved word"
    ADDRESS = "an address"
    NUMBER = "a number"
    STRING = "a string"
    ARROW = "=>"
    SIGN = "a sign"
    END = "the end"


class Token(NamedTuple):
    """A token; `text` is its value."""

    kind: TokenKind
    text: str
    at: int
    end: int


class Comment(NamedTuple):
    """
    A comment.

    Attributes:
        trails: whether it follows a token on the same line and ends the line.
    """

    text: str
    at: int
    trails: bool


RESERVED = frozenset({"roll", "collector", "true", "false"})
_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r\n\f]+)
    |(?P<comment>/\*.*?\*/|//[^\r\n]*)
    |(?P<name>[A-Za-z][A-Za-z0-9._-]*)
    |(?P<address>[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+)
    |(?P<float>(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?|[0-9]+[eE][+-]?[0-9]+[fFdD]?|[0-9]+[fFdD](?![0-9A-Za-z]))
    |(?P<hex>0[xX][0-9a-fA-F]+)
    |(?P<octal>0[0-7]+)
    |(?P<integer>0|[1-9][0-9]*)
    |(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<arrow>=>)
    |(?P<sign>[:|;(){}\[\]<>?,=])""",
    re.VERBOSE | re.DOTALL,
)
_KINDS = {
    "name": TokenKind.NAME,
    "reserved": TokenKind.RESERVED,
    "address": TokenKind.ADDRESS,
    "float": TokenKind.NUMBER,
    "hex": TokenKind.NUMBER,
    "octal": TokenKind.NUMBER,
    "integer": TokenKind.NUMBER,
    "string": TokenKind.STRING,
    "arrow": TokenKind.ARROW,
    "sign": TokenKind.SIGN,
}
_ENDS_LINE = re.compile(r"[ \t\r\f]*(?:\n|//|\Z)")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "'": "'", "\\": "\\"}
_OCTAL_DIGITS = "01234567"
_MAX_DIGITS = 18  # of a hexadecimal or octal number with its prefix: 64 bits


def tokens_of(original: Original) -> tuple[list[Token], list[Comment]]:
    """
    The tokens, with END as the last, and the comments.

    Raises:
        ConfigSyntaxError: the text contains an invalid token.
    """
    tokens: list[Token] = []
    comments: list[Comment] = []
    text, at = original.text, 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise original.syntax_error(at, *_why(text, at))
        kind, end = str(match.lastgroup), match.end()
        if kind == "comment":
            trails = bool(tokens) and "\n" not in text[tokens[-1].end : at] and _ENDS_LINE.match(text, end) is not None
            comments.append(Comment(_comment(match[0]), at, trails))
        elif kind != "blank":
            tokens.append(_token(original, kind, match[0], at, end))
        at = end
    tokens.append(Token(TokenKind.END, "", len(text), len(text)))
    return tokens, comments


def _why(text: str, at: int) -> tuple[str, str]:
    if text.startswith("/*", at):
        return "this comment is never closed", ""
    if text[at] == '"':
        return "this string is never closed", 'write a double quote inside a string as \\"'
    if text[at] == "-":
        return "a number cannot have a sign here", 'quote it: "-1"'
    if text[at] == "'":
        return "strings have no single quotes", "use double quotes"
    return f"{text[at]!r} cannot stand here", ""


def _comment(written: str) -> str:
    return written.removeprefix("//").removeprefix("/*").removesuffix("*/").strip()


def _token(original: Original, kind: str, written: str, at: int, end: int) -> Token:
    meant = written
    if kind == "name" and written in RESERVED:
        kind = "reserved"
    elif kind in {"octal", "hex"} and len(written) > _MAX_DIGITS:
        raise original.syntax_error(at, "this number is too large")
    elif kind == "octal":
        meant = str(int(written, 8))
    elif kind == "hex":
        if written[1] == "X":
            raise original.syntax_error(at, f'"{written}" is not a number in Flume', "write 0x in lower case")
        meant = str(int(written, 16))
    elif kind == "string":
        meant = _unescaped(original, written[1:-1], at + 1)
    return Token(_KINDS[kind], meant, at, end)


def _unescaped(original: Original, written: str, at: int) -> str:
    def meant(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        letter = match[2]
        if letter in _ESCAPED:
            return _ESCAPED[letter]
        if letter in _OCTAL_DIGITS:
            message = f'Flume takes "\\{letter}" for "{letter}" alone: octal escapes lose their backslash'
            original.warning(
                at + match.start(), message, f'write "\\\\{letter}" for a backslash, "\\u00…" for a character'
            )
            return str(letter)
        hint = f'write a backslash twice: "\\\\{letter}"'
        raise original.syntax_error(at + match.start(), f'"\\{letter}" is not a valid escape', hint)

    return joined(_ESCAPE.sub(meant, written))
