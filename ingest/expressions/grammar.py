"""
The grammar of the `%{...}` language, its tokens, and its syntax error.

::

    template   = { text | "%%" | "%" letter | tag }
    tag        = "%{" ( name | quoted | argument ) "}"
    call       = word "(" [ argument { "," argument } ] ")"
               | "if" "(" condition "," argument "," argument ")"
    argument   = product { ( "+" | "-" ) product }
    product    = factor { ( "*" | "/" | "%" ) factor }
    factor     = name | number | quoted | call | tag | "(" argument ")" | "-" factor

    condition  = conjunct { "or" conjunct }
    conjunct   = negation { "and" negation }
    negation   = "not" negation | "(" condition ")" | exists | comparison
    exists     = "exists" "(" ( name | quoted | tag ) ")"
    comparison = operand ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) operand
               | operand [ "not" ] ( "contains" | "starts_with" | "ends_with" ) operand
               | operand [ "not" ] "in" "(" constant { "," constant } ")"
               | operand [ "not" ] "matches" quoted
    operand    = tag | constant
    constant   = quoted | number

    name       = one or more of A-Z a-z 0-9 _ . -
    number     = [ "-" ] digits [ "." digits ]
    quoted     = "'" … "'" | '"' … '"'       a quote inside is written twice
    letter     = one of the date letters

A quoted name that is a whole tag, as in `%{'2hb_cf:q'}`, or the argument of `exists` is always an attribute; quoted
text anywhere else is a constant. A bare name is a core name if there is one, else an attribute. Blanks inside tags and
conditions have no meaning, but an operator of [arithmetic](#arithmetic) has one on both sides.

A function with an absent argument is absent: `%{add(n, 1)}` is empty, not 1, if there is no attribute `n`. An absent
value is empty in a template, and absent for `exists` and `on_missing`. The key of a record without one, or with an
empty one, is absent, too. Three functions accept absent arguments: `concat`, which treats them as empty, `default`,
which replaces them, as in `%{md5(default(id, 'none'))}`, and `json`, which gives `null`. `if` is absent if the argument
that it chooses is.
"""

import re
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from ingest.formats.date_letters import WRITTEN
from ingest.suggest import did_you_mean

CORE_NAMES = (
    "body",
    "host",
    "hostname",
    "key",
    "nanos",
    "offset",
    "partition",
    "priority",
    "timestamp",
    "topic",
)
"""Names for parts of the event itself; they take precedence over attributes of the same name."""

DATE_LETTERS = "".join(WRITTEN)
"""Letters that may follow a percent sign."""

TEXT_COMPARISONS = ("contains", "starts_with", "ends_with")
"""Operators of conditions that always compare bytes."""

OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "ratio", "%": "mod"}
"""Sign of arithmetic -> the function of which it is another notation."""

MAX_DEPTH = 40  # bounds the recursion of the parser
MAX_OPERATORS = 40  # in one tag; bounds the depth of the tree


class ExpressionSyntaxError(ValueError):
    """
    The text is not a valid template, condition or pattern.

    Attributes:
        message: the mistake, without its place.
        column: place of the mistake, in characters from 1.
        text: the text; "" if unknown.
    """

    def __init__(self, message: str, column: int, text: str = "") -> None:
        super().__init__(message, column, text)
        self.message = message
        self.column = column
        self.text = text

    def __str__(self) -> str:
        return f"column {self.column}: {self.message}"

    @property
    def caret(self) -> str:
        """The text with a caret under the column, on two lines."""
        shown = self.text.replace("\n", " ").replace("\t", " ")
        return f"{shown}\n{' ' * (self.column - 1)}^"


class TokenKind(Enum):
    """Kinds of tokens inside tags and conditions."""

    WORD = "name or number"
    QUOTED = "quoted text"
    TAG = "%{"
    END_TAG = "}"
    OPEN = "("
    CLOSE = ")"
    COMMA = ","
    OPERATOR = "operator"
    UNCLOSED = "quote that is never closed"
    OTHER = "other"
    END = "end"


class Token(NamedTuple):
    """A token; `value` is its text, of quoted text without the quotes."""

    kind: TokenKind
    value: str
    start: int
    end: int


_TOKEN = re.compile(
    r"""(?P<WORD>[A-Za-z0-9_.-]+)
    |(?P<QUOTED>'(?:[^']|'')*'|"(?:[^"]|"")*")
    |(?P<UNCLOSED>['"])
    |(?P<TAG>%\{)
    |(?P<END_TAG>\})
    |(?P<OPEN>\()
    |(?P<CLOSE>\))
    |(?P<COMMA>,)
    |(?P<OPERATOR>=~|[=!<>]=?|&&?|\|\|?)
    |(?P<OTHER>.)""",
    re.VERBOSE | re.DOTALL,
)
_BLANKS = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_NAME = re.compile(r"[A-Za-z0-9_.-]+")


def token_at(text: str, position: int) -> Token:
    """The next token at or after a position; blanks are skipped."""
    blanks = _BLANKS.match(text, position)
    start = position if blanks is None else blanks.end()
    match = _TOKEN.match(text, start)
    if match is None:
        return Token(TokenKind.END, "", start, start)
    kind = TokenKind[str(match.lastgroup)]
    value = match[0]
    if kind is TokenKind.QUOTED:
        quote = value[0]
        value = value[1:-1].replace(quote * 2, quote)
    return Token(kind, value, start, match.end())


def is_number(word: str) -> bool:
    """Whether a word is a number."""
    return _NUMBER.fullmatch(word) is not None


def is_name(text: str) -> bool:
    """Whether a name needs no quotes."""
    return _NAME.fullmatch(text) is not None


def quoted(text: str) -> str:
    """Text as a quoted literal."""
    return "'" + text.replace("'", "''") + "'"


def suggestion(word: str, known: Iterable[str]) -> str:
    """`; did you mean "…"?` with the most similar known word, or ""."""
    hint = did_you_mean(word, known)
    return f"; {hint}" if hint else ""
