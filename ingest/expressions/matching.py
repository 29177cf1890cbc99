"""Bytes or characters: what a regular expression works on, decided when it is compiled and for each value."""

import re
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, AnyStr, TypeVar

from ingest.api.notation import name_to_bytes
from ingest.expressions.texts import bytes_of, characters_of

T = TypeVar("T")

_BEYOND = r"\x80-\U0010ffff"
_ESCAPED = r"\\[!-/:-@\[-`{-~ nrtfva]"
_ONE = rf"[^\\.^$*+?{{}}\[\]|(){_BEYOND}]|{_ESCAPED}|\[(?!\^)\]?(?:[^\\\[\]{_BEYOND}]|{_ESCAPED})*\]"
_SAME = re.compile(  # a part that matches the same in bytes and in characters, if the whole cannot match nothing
    rf"(?P<one>{_ONE})(?P<repeated>(?:[*?+]|\{{[0-9,]*\}})[?+]?)?|(?P<open>\((?:\?:|\?P<\w+>)?)|(?P<close>\))"
    r"|(?P<bar>\|)|[\^$]|\\[AZ]"
)
_PLAIN = re.compile(r"(?:[^\\.^$*+?{}\[\]|()]|\\[\\.^$*+?{}\[\]|()/:,;=\"' -])+")
_FIRST_BEYOND_ASCII = 0x80
_ONLY_IN_TEXT = re.compile(
    r"\\(?P<code>u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|(?P<escaped>\\.)|\(\?u:(?P<word>\\b|\(\?!\\b\))\)|[^\x00-\x7f]",
    re.DOTALL,
)
_IGNORES_CASE = re.compile(r"\(\?[a-z]*i")
_SPACES = re.compile(  # Unicode's white space, alone and in a set
    r"\(\?#[^)]*\)|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])|\\(?P<alone>[sS])|\\.", re.DOTALL
)
_ALONE = {"s": r"[^\S\x1c-\x1f]", "S": r"[\S\x1c-\x1f]"}
_IN_A_SET = {
    "s": r" \t-\r\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000",
    "S": r"\S\x1c-\x1f",
}
_SPACES_IN_A_SET = re.compile(r"\\(.)", re.DOTALL)
_HAS_OTHER_SPACES = re.compile(r"\(\?[a-zA-Z]*[ax]")  # those of ASCII, or ones without a meaning
_BEGINS_WITH_ANY = re.compile(r"((?:\(\?[aimsu]+\))?)((\.|\[\^\\n(?:\\.|[^\]\\])*\])[*+].*)", re.DOTALL)


class CharacterMatch:
    """
    A match in characters, whose values are bytes like those of a match in bytes.

    Attributes:
        in_text: the match itself.
    """

    __slots__ = ("in_text",)

    def __init__(self, in_text: re.Match[str]) -> None:
        self.in_text = in_text

    def __getitem__(self, group: int) -> bytes | Any:
        value: str | None = self.in_text[group]
        return None if value is None else bytes_of(value)

    def groups(self) -> tuple[bytes | Any, ...]:
        """The value of each group from 1 on; None for one that takes no part."""
        return tuple([None if value is None else bytes_of(value) for value in self.in_text.groups()])

    def group(self, *numbers: int) -> tuple[bytes | Any, ...]:
        """The values of several groups."""
        return tuple([self[number] for number in numbers])


Match = re.Match[bytes] | CharacterMatch
"""A match: `match[0]` is the whole, `match[n]` a group, None for a group that did not match."""


@dataclass(frozen=True, slots=True)
class Expression:
    """
    A regular expression, compiled for bytes, for characters, or for both.

    Attributes:
        groups: number of groups.
        names: name of a group -> its number.
        in_bytes: compiled for bytes; None if only characters can have the expression.
        in_ascii: compiled for values of ASCII; None if it is not known to find the same there as in characters.
    """

    groups: int
    names: dict[str, int]
    in_bytes: re.Pattern[bytes] | None
    in_ascii: re.Pattern[bytes] | None
    _in_text: Callable[[], re.Pattern[str]] | None

    @property
    def depends_on_value(self) -> bool:
        """Whether a value decides if it works on bytes or on characters."""
        return self._in_text is not None

    def choosing(
        self,
        in_bytes: Callable[[re.Pattern[bytes]], Callable[[bytes], T]],
        in_text: Callable[[re.Pattern[str]], Callable[[str], T]],
    ) -> Callable[[bytes], T]:
        """
        A function of a value that works on characters where that makes a difference.

        It works on bytes if the value is ASCII or not UTF-8, or if the expression finds the same in bytes. An
        expression that only characters can have works on them in any value; then a byte that is not UTF-8 is a
        character by itself.

        Args:
            in_bytes: makes the function for bytes, of the compiled expression.
            in_text: makes the function for characters; called when it is first needed.
        """
        compiled, compiled_text = self.in_bytes, self._in_text
        if compiled_text is None:
            assert compiled is not None  # noqa: S101 - for mypy: an expression has one of the two
            return in_bytes(compiled)
        on_text = cache(lambda: in_text(compiled_text()))
        if compiled is None:
            if self.in_ascii is None:
                return lambda value: on_text()(characters_of(value))
            on_ascii = in_bytes(self.in_ascii)
            return lambda value: on_ascii(value) if value.isascii() else on_text()(characters_of(value))
        on_bytes = in_bytes(compiled)

        def apply(value: bytes) -> T:
            if value.isascii():
                return on_bytes(value)
            try:
                text = value.decode()
            except UnicodeDecodeError:
                return on_bytes(value)
            return on_text()(text)

        return apply


def expression_of(text: str) -> Expression:
    """
    Compile an expression.

    An expression of ASCII is compiled for bytes, and for characters when a value needs it.

    Raises:
        re.error: it is not valid, or has the flag L; with the position in the text.
        OverflowError: a number in it is too large.
        RecursionError: it is nested too deep.
        ValueError: a number in it is too large, or flags exclude each other.
    """
    in_text = cache(lambda: _compiled(text))
    if literal_of(text) is not None:
        in_bytes = _compiled(name_to_bytes(text))
        return Expression(0, {}, in_bytes, in_bytes, None)
    if not text.isascii():
        return _of_characters(text, in_text)
    if "L" in text:
        in_text()  # refuses the flag L, which only bytes may have
    try:
        in_bytes = _compiled(text.encode("ascii"))
    except re.error:  # \u and the flag u are only for characters
        return _of_characters(text, in_text)
    same = _finds_the_same_in_bytes(text)
    return Expression(in_bytes.groups, dict(in_bytes.groupindex), in_bytes, in_bytes, None if same else in_text)


def _of_characters(text: str, in_text: Callable[[], re.Pattern[str]]) -> Expression:
    """
    An expression that only characters can have.

    For values of ASCII it is compiled with the byte FF, which they do not have, for each character beyond ASCII. Not so
    if it ignores the case of all letters, since some beyond ASCII have one in it: the sign of Kelvin that of k.
    """
    compiled = in_text()
    in_ascii = None
    if compiled.flags & re.ASCII or not _IGNORES_CASE.search(text):
        with suppress(re.error):  # what only characters have, such as the flag u
            in_ascii = _compiled(_ONLY_IN_TEXT.sub(_instead_in_ascii, text).encode("ascii"))
    return Expression(compiled.groups, dict(compiled.groupindex), None, in_ascii, in_text)


def _instead_in_ascii(part: re.Match[str]) -> str:
    if part["word"]:
        return part["word"]
    if part["escaped"]:
        return part[0]
    code = int(part["code"][1:], 16) if part["code"] else _FIRST_BEYOND_ASCII
    return rf"\x{code:02x}" if code < _FIRST_BEYOND_ASCII else r"\xff"


def like(found: re.Pattern[AnyStr], text: str) -> AnyStr:
    """A text in the form that a compiled expression works on."""
    return text.encode() if isinstance(found.pattern, bytes) else text


def compiled_like(found: re.Pattern[AnyStr], text: str) -> re.Pattern[AnyStr]:
    """An expression, compiled for what another one works on."""
    return _compiled(like(found, text))


def literal_of(text: str) -> bytes | None:
    """The UTF-8 of the only text that an expression matches, None if that is not certain."""
    return name_to_bytes(unescaped(text)) if _PLAIN.fullmatch(text) else None


def literals(text: str) -> tuple[str, ...]:
    """The parts of an expression that stand for themselves, in order, also those in a class or a look-ahead."""
    return tuple(map(unescaped, _PLAIN.findall(text)))


def unescaped(text: str) -> str:
    """Text without the backslashes before its characters."""
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)


def tried_once_a_line(text: str) -> str:
    r"""
    An expression that finds the same; one that begins with `.*` or `.+` is tried at the start of each line only. So is
    one that begins with a set of all characters but the ends of lines, such as `[^\n\r]*`.

    `re` tries it at each position and reads the rest of the line each time, which takes quadratic time. But where it
    does not match at the start of a line, it matches nowhere in it: a match would extend to the start. That is so for
    the first of several expressions with `|` between them, too, and the others are tried everywhere.
    """
    return _BEGINS_WITH_ANY.sub(r"\1(?<!\3)\2", text, count=1) if _BEGINS_WITH_ANY.fullmatch(text) else text


def searched(find: Callable[[str], re.Match[str] | None]) -> Callable[[str], Match | None]:
    """The same search, whose matches have values in bytes."""

    def search(text: str) -> Match | None:
        match = find(text)
        return None if match is None else CharacterMatch(match)

    return search


def around(match: Match, group: int) -> tuple[bytes, bytes]:
    """The parts of a match before and after a group that takes part in it."""
    if isinstance(match, CharacterMatch):
        in_text = match.in_text
        (first, last), (start, stop) = in_text.span(), in_text.span(group)
        return bytes_of(in_text.string[first:start]), bytes_of(in_text.string[stop:last])
    (first, last), (start, stop) = match.span(), match.span(group)
    return match.string[first:start], match.string[stop:last]


def _compiled(pattern: AnyStr) -> re.Pattern[AnyStr]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns of brackets that a future version may read as nested sets
        compiled = re.compile(pattern)
        if isinstance(pattern, str) and (same := _with_same_spaces(pattern)) != pattern:
            return re.compile(same)
        return compiled


def _with_same_spaces(text: str) -> str:
    r"""
    An expression for characters whose `\s` finds the same in ASCII as in bytes.

    Python's has the separators of ASCII too (1C to 1F), but not in bytes; Unicode's White_Space does not have them.
    """
    if r"\s" not in text.lower() or _HAS_OTHER_SPACES.search(text):
        return text

    def same(found: re.Match[str]) -> str:
        if found["alone"]:
            return _ALONE[found["alone"]]
        return _SPACES_IN_A_SET.sub(_same_in_a_set, found[0]) if found["set"] else found[0]

    return _SPACES.sub(same, text)


def _same_in_a_set(found: re.Match[str]) -> str:
    return _IN_A_SET.get(found[1], found[0])


def _finds_the_same_in_bytes(text: str) -> bool:
    """
    Whether an expression of ASCII certainly finds the same matches in bytes and in characters.

    That is so if it has only ASCII characters, sets of them and places, and cannot match nothing: an empty match may
    be inside of a character.
    """
    at = 0
    needs: list[list[bool]] = [[False]]  # for each open group, for each of its branches: whether it needs a character
    while at < len(text):
        part = _SAME.match(text, at)
        if part is None:
            return False
        at = part.end()
        if part["one"]:
            needs[-1][-1] |= not part["repeated"] or part["repeated"][0] == "+"
        elif part["open"]:
            needs.append([False])
        elif part["bar"]:
            needs[-1].append(False)
        elif part["close"]:
            is_needed = all(needs.pop())
            if text[at : at + 1] in {"*", "?", "+", "{"}:
                return False
            needs[-1][-1] |= is_needed
    return all(needs[0])
