r"""
Turn a grok pattern into a regular expression.

A grok pattern is a regular expression with tags: `%{NAME}` stands for the pattern of that name, `%{NAME:attribute}`
also captures the match, `%{NAME:attribute:type}` gives it a type. An attribute name with other characters is quoted,
`%{NAME:'2hb_web:ip'}`. A group `(?<attribute>…)` also captures, and `\k<attribute>` refers to its match; groups without
a name do not capture.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from ingest.expressions import ExpressionSyntaxError, Pattern, suggestion

TYPES = ("int", "long", "float", "double", "boolean", "string")
"""Types that a tag may have."""

_MAX_CHARACTERS = 100_000  # of an expanded pattern; the longest one in the library has 5,000
_MAX_NESTING = 40  # deeper than any real pattern, and far below Python's recursion limit

TOKEN = re.compile(
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
"""A part of a grok pattern: its name is that of its last group."""
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
_UNSUPPORTED = {
    "tag": "a tag is %{NAME}, %{NAME:attribute} or %{NAME:attribute:type}; quote other names, as in %{NAME:'a:b'}",
    "unclosed": "a character set is not closed",
    "number": "references by number are not supported; write (?<name>…), then \\k<name>",
    "condition": "conditions on a group are not supported",
    "end": "flags are allowed at the start, or for a group: (?i:…)",
}


class Capture(NamedTuple):
    """
    A group that becomes an attribute.

    Attributes:
        type: one of TYPES; "" if the tag has none.
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
    Expand a grok pattern into a regular expression.

    Args:
        text: the grok pattern.
        patterns: name -> grok pattern, for all patterns that it may refer to.

    Raises:
        ExpressionSyntaxError: it is not a valid pattern; with the column in the text.
    """
    expansion = _Expansion(patterns)
    positions = expansion.add(text, ())
    try:
        return Expanded(Pattern.parse("".join(expansion.pieces)), tuple(expansion.captures))
    except ExpressionSyntaxError as error:
        column = max(position for position in positions if position[0] < error.column)[1]
        raise ExpressionSyntaxError(error.message, column, text) from error


class _Expansion:
    """Builds the regular expression."""

    def __init__(self, patterns: Mapping[str, str]) -> None:
        self._patterns = patterns
        self._characters = 0
        self._groups: dict[str, int] = {}  # attribute -> number of the last group that captures it
        self.pieces: list[str] = []
        self.captures: list[Capture] = []

    def add(self, text: str, parents: tuple[str, ...]) -> list[tuple[int, int]]:
        """
        Add a pattern.

        Args:
            text: the pattern.
            parents: names of the patterns that contain it.

        Returns:
            For each token: the number of characters in the output before it, and its column.

        Raises:
            ExpressionSyntaxError: it is not a valid pattern; with the column in the text.
        """
        positions = [(0, 1)]
        closing = ""
        for token in TOKEN.finditer(text):
            positions.append((self._characters, token.start() + 1))
            try:
                if token["end"] == ")" and token.start() == 0:  # flags for the rest of the pattern
                    self._emit(f"(?{_known_flags(token['flags'])}:")
                    closing = ")"
                else:
                    self._add_token(token, parents)
            except ExpressionSyntaxError as error:
                raise ExpressionSyntaxError(error.message, token.start() + 1, text) from error
        self._emit(closing)
        return positions

    def _add_token(self, token: re.Match[str], parents: tuple[str, ...]) -> None:
        match token.lastgroup:
            case "name" | "attribute" | "type":
                self._add_tag(token, parents)
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
            case kind if kind in _UNSUPPORTED:
                raise _syntax_error(_UNSUPPORTED[kind])
            case _:
                self._emit(token[0])

    def _add_tag(self, token: re.Match[str], parents: tuple[str, ...]) -> None:
        name, attribute, kind = token["name"], token["attribute"], token["type"]
        pattern = self._patterns.get(name)
        if pattern is None:
            way_out = suggestion(name, self._patterns) or "; define it in `definitions`"
            raise _syntax_error(f'there is no pattern "{name}"{way_out}')
        if name in parents:
            chain = " -> ".join([*parents[parents.index(name) :], name])
            raise _syntax_error(f'the pattern "{name}" refers to itself: {chain}')
        if len(parents) == _MAX_NESTING:
            raise _syntax_error("patterns are nested too deep")
        if kind is not None and kind not in TYPES:
            raise _syntax_error(
                f'there is no type "{kind}"{suggestion(kind, TYPES) or "; the types are " + ", ".join(TYPES)}'
            )
        if attribute is None:
            self._emit("(?:")
        else:
            self._open(attribute[1:-1].replace("''", "'") if attribute[0] == "'" else attribute, kind or "")
        self.add(pattern, (*parents, name))
        self._emit(")")

    def _open(self, attribute: str, kind: str) -> None:
        """Start a capturing group."""
        if not attribute:
            raise _syntax_error("a group has an empty name")
        self.captures.append(Capture(attribute, kind))
        self._groups[attribute] = len(self.captures)
        self._emit(f"(?P<g{len(self.captures)}>")

    def _group_of(self, attribute: str) -> int:
        if attribute not in self._groups:
            raise _syntax_error(
                f'there is no group "{attribute}" before this reference{suggestion(attribute, self._groups)}'
            )
        return self._groups[attribute]

    def _emit(self, piece: str) -> None:
        self._characters += len(piece)
        if self._characters > _MAX_CHARACTERS:
            raise _syntax_error(f"it expands to more than {_MAX_CHARACTERS} characters")
        self.pieces.append(piece)


def _syntax_error(message: str) -> ExpressionSyntaxError:
    """An error in a token; the caller sets its column."""
    return ExpressionSyntaxError(f"bad pattern: {message}", 1)


def _known_flags(flags: str) -> str:
    if not set(flags) <= set("is-"):
        raise _syntax_error(f'unknown flags "{flags}"; i ignores case, s lets a dot match newlines (m in other tools)')
    return flags


def _posix_class(found: re.Match[str]) -> str:
    if found[2] is None:
        return found[0]
    if found[1] or found[2] not in _POSIX_CLASSES:
        raise _syntax_error(f"there is no class {found[0]}{suggestion(found[2], _POSIX_CLASSES)}")
    return _POSIX_CLASSES[found[2]]
