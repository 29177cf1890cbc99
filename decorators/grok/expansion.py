r"""
Turn a grok pattern into a regular expression.

A grok pattern is a regular expression with tags: `%{NAME}` stands for the pattern of that name, `%{NAME:attribute}`
also captures what it matched, `%{NAME:attribute:type}` says which type that has. An attribute with other characters in
its name is quoted, `%{NAME:'2hb_web:ip'}`. A group `(?<attribute>…)` captures too, and `\k<attribute>` is what it
captured; groups without a name only hold together.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from ingest.expressions import ExpressionSyntaxError, Pattern, suggestion

TYPES = ("int", "long", "float", "double", "boolean", "string")
"""Types a tag may ask for."""

_MAX_CHARACTERS = 100_000  # of an expanded pattern; the longest of the library has 5,000
_DEEPEST = 40  # more than any real pattern nests, and far below the limit of Python's stack

_TOKEN = re.compile(
    r"""(?P<class>\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\])
    |%\{(?P<name>[\w-]+)(?::(?P<attribute>'(?:[^']|'')+'|[^\s:'{}]+)(?::(?P<type>\w*))?)?\}
    |(?P<tag>%\{)
    |(?P<unclosed>\[)
    |\\k<(?P<again>[^>]*)>|\(\?P=(?P<same>[^)]*)\)
    |\\(?P<number>[1-9])
    |(?P<escape>\\.)
    |\(\?P?<(?![=!])(?P<group>[^>]*)>
    |\(\?(?P<flags>[A-Za-z]*(?:-[A-Za-z]*)?)(?P<end>[:)])
    |(?P<comment>\(\?\#[^)]*\))
    |(?P<condition>\(\?\()
    |(?P<special>\(\?)
    |(?P<open>\()
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_POSIX = re.compile(r"\[:(\^?)(\w+):\]|\\.", re.DOTALL)
_POSIX_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\s",
    "upper": "A-Z",
    "word": r"\w",
    "xdigit": "0-9A-Fa-f",
}
_REFUSED = {
    "tag": "a tag is %{NAME}, %{NAME:attribute} or %{NAME:attribute:type}; quote other names, as in %{NAME:'a:b'}",
    "unclosed": "a character set is not closed",
    "number": "groups have no numbers here; write (?<name>…), then \\k<name>",
    "condition": "no condition on a group is possible here",
    "end": "flags stand at the beginning, or with what they are for: (?i:…)",
}


class Capture(NamedTuple):
    """
    What a group becomes.

    Attributes:
        type: one of TYPES; "" where the tag says none.
    """

    attribute: str
    type: str


class Expanded(NamedTuple):
    """
    A grok pattern as a regular expression.

    Attributes:
        captures: one for each group of the pattern, in their order.
    """

    pattern: Pattern
    captures: tuple[Capture, ...]


def expanded(text: str, patterns: Mapping[str, str]) -> Expanded:
    """
    The regular expression of a grok pattern.

    Args:
        text: the grok pattern.
        patterns: name -> grok pattern, all that it may refer to.

    Raises:
        ExpressionSyntaxError: it is none; with the column in the text.
    """
    expansion = _Expansion(patterns)
    places = expansion.add(text, ())
    try:
        return Expanded(Pattern.parse("".join(expansion.pieces)), tuple(expansion.captures))
    except ExpressionSyntaxError as error:
        column = max(place for place in places if place[0] < error.column)[1]
        raise ExpressionSyntaxError(error.message, column, text) from error


class _Expansion:
    """The regular expression while it grows."""

    def __init__(self, patterns: Mapping[str, str]) -> None:
        self._patterns = patterns
        self._characters = 0
        self._groups: dict[str, int] = {}  # attribute -> number of the group that captures it, the last one so far
        self.pieces: list[str] = []
        self.captures: list[Capture] = []

    def add(self, text: str, inside: tuple[str, ...]) -> list[tuple[int, int]]:
        """
        Add a pattern.

        Args:
            text: the pattern.
            inside: names of the patterns it is a part of.

        Returns:
            For each token how many characters came out before it, and its column.

        Raises:
            ExpressionSyntaxError: it is no pattern; with the column in the text.
        """
        places = [(0, 1)]
        closing = ""
        for token in _TOKEN.finditer(text):
            places.append((self._characters, token.start() + 1))
            try:
                if token["end"] == ")" and token.start() == 0:  # flags of all that follows
                    self._emit(f"(?{_known_flags(token['flags'])}:")
                    closing = ")"
                else:
                    self._add_token(token, inside)
            except ExpressionSyntaxError as error:
                raise ExpressionSyntaxError(error.message, token.start() + 1, text) from error
        self._emit(closing)
        return places

    def _add_token(self, token: re.Match[str], inside: tuple[str, ...]) -> None:
        match token.lastgroup:
            case "name" | "attribute" | "type":
                self._add_tag(token, inside)
            case "class":
                self._emit(f"[{_POSIX.sub(_posix_class, token[0][1:-1])}]")
            case "again" | "same":
                self._emit(f"(?P=g{self._group_of(token[token.lastgroup])})")
            case "group":
                self._open(token["group"], "")
            case "open":
                self._emit("(?:")
            case "end" if token["end"] == ":":
                self._emit(f"(?{_known_flags(token['flags'])}:")
            case kind if kind in _REFUSED:
                raise _refusal(_REFUSED[kind])
            case _:
                self._emit(token[0])

    def _add_tag(self, token: re.Match[str], inside: tuple[str, ...]) -> None:
        name, attribute, kind = token["name"], token["attribute"], token["type"]
        pattern = self._patterns.get(name)
        if pattern is None:
            raise _refusal(f'there is no pattern "{name}"{suggestion(name, self._patterns)}')
        if name in inside:
            chain = " -> ".join([*inside[inside.index(name) :], name])
            raise _refusal(f'the pattern "{name}" refers to itself: {chain}')
        if len(inside) == _DEEPEST:
            raise _refusal("too many patterns inside each other")
        if kind is not None and kind not in TYPES:
            raise _refusal(f'there is no type "{kind}"{suggestion(kind, TYPES) or "; there are " + ", ".join(TYPES)}')
        if attribute is None:
            self._emit("(?:")
        else:
            self._open(attribute[1:-1].replace("''", "'") if attribute[0] == "'" else attribute, kind or "")
        self.add(pattern, (*inside, name))
        self._emit(")")

    def _open(self, attribute: str, kind: str) -> None:
        """Begin a group that captures."""
        if not attribute:
            raise _refusal("a group without a name")
        self.captures.append(Capture(attribute, kind))
        self._groups[attribute] = len(self.captures)
        self._emit(f"(?P<g{len(self.captures)}>")

    def _group_of(self, attribute: str) -> int:
        if attribute not in self._groups:
            raise _refusal(f'no group "{attribute}" stands before this{suggestion(attribute, self._groups)}')
        return self._groups[attribute]

    def _emit(self, piece: str) -> None:
        self._characters += len(piece)
        if self._characters > _MAX_CHARACTERS:
            raise _refusal(f"it stands for more than {_MAX_CHARACTERS} characters")
        self.pieces.append(piece)


def _refusal(message: str) -> ExpressionSyntaxError:
    """An error of a token; the caller adds its column."""
    return ExpressionSyntaxError(f"bad pattern: {message}", 1)


def _known_flags(flags: str) -> str:
    if not set(flags) <= set("is-"):
        raise _refusal(
            f'"{flags}" are no flags here; i takes capitals for small letters, s lets a dot take newlines (elsewhere m)'
        )
    return flags


def _posix_class(found: re.Match[str]) -> str:
    if found[2] is None:
        return found[0]
    if found[1] or found[2] not in _POSIX_CLASSES:
        raise _refusal(f"there is no class {found[0]}{suggestion(found[2], _POSIX_CLASSES)}")
    return _POSIX_CLASSES[found[2]]
