r"""
Text of Flume's data-flow language as tokens.

White space, `/* */` and `//` to the end of the line separate them. All literals are text to Flume: hexadecimal and
octal numbers become decimal, others stay as written.

Source: the lexer of Flume 0.9, as `tests/unit/ingest/flume/og` has it row by row.
"""

import re
from enum import StrEnum
from typing import NamedTuple

from ingest.flume.original import Original
from ingest.flume.utf16 import joined


class TokenKind(StrEnum):
    """What there is."""

    NAME = "a name"
    RESERVED = "a reserved word"
    ADDRESS = "an address"
    NUMBER = "a number"
    STRING = "a string"
    ARROW = "=>"
    SIGN = "a sign"
    END = "the end"


class Token(NamedTuple):
    """A piece of the text; `text` is what it stands for."""

    kind: TokenKind
    text: str
    at: int
    end: int


class Comment(NamedTuple):
    """
    What people wrote for people.

    Attributes:
        trails: it stands behind something, at the end of the line.
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
_MAX_DIGITS = 18  # of a hexadecimal or octal number with its 0x: 64 bits, more than anything of Flume counts


def tokens_of(original: Original) -> tuple[list[Token], list[Comment]]:
    """
    The tokens, an END last, and the comments between them.

    Raises:
        ConfigSyntaxError: something is no token.
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
        return "this string is never closed", 'strings end with a double quote; one inside is written \\"'
    if text[at] == "-":
        return "a number has no sign here", 'quote it: "-1"'
    if text[at] == "'":
        return "single quotes make no strings", "use double quotes"
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
            raise original.syntax_error(at, f'Flume reads no number "{written}"', "write 0x in small letters")
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
            message = f'Flume takes "\\{letter}" for "{letter}" alone: an octal escape loses its backslash'
            original.warning(
                at + match.start(), message, f'write "\\\\{letter}" for a backslash, "\\u00…" for a character'
            )
            return str(letter)
        hint = f'a backslash itself is written twice: "\\\\{letter}"'
        raise original.syntax_error(at + match.start(), f'"\\{letter}" is no escape of a string', hint)

    return joined(_ESCAPE.sub(meant, written))
