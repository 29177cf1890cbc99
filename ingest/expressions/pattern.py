"""Regular expressions on bytes."""

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import AnyStr

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from ingest.api.growth import MAX_GROWN_BYTES, check_grown
from ingest.api.notation import name_to_bytes
from ingest.expressions.grammar import ExpressionSyntaxError
from ingest.expressions.option_type import option_schema

_MAX_DIGITS = 5  # of a group number

Match = re.Match[bytes]
"""A match: `match[0]` is the whole, `match[n]` a group, None for a group that did not match."""

_REFERENCE = re.compile(r"\\(?:g<([^>]*)>|(.?))", re.DOTALL)
_POSIX_CLASS = re.compile(
    r"\\.|(\[:\^?(?:alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit):\])", re.DOTALL
)
_HINTS = {  # prefix of Python's message -> hint
    "unknown extension ?<": "a named group is written (?P<name>…)",
    "bad character in group name": "a name has letters, digits and underscores and starts with no digit; use `prefix` "
    "of the decorator regex to add other characters, such as a family",
}
_BEGINS_WITH_ANY = re.compile(rb"((?:\(\?[aims]+\))?)(\.[*+].*)", re.DOTALL)
_PLAIN = re.compile(r"(?:[^\\.^$*+?{}\[\]|()]|\\[\\.^$*+?{}\[\]|()/:,;=\"' -])+")


@dataclass(frozen=True, slots=True)
class Pattern:
    r"""
    A regular expression, compiled once; an option type.

    It works on bytes: the pattern is encoded as UTF-8, classes such as `\w` match ASCII only, and a dot matches one
    byte, but not a newline. Flags can be set in the pattern, except L, which depends on the machine's locale. POSIX
    classes such as `[[:alpha:]]` are rejected.

    Attributes:
        text: the source text.
        groups: number of groups.
        names: name of a group -> its number.
        search: the first match, or None.
        match: the match at the start of the data, or at a position, or None.
        fullmatch: the match of all data, or None.
        split: all pieces between matches, without captured groups.
    """

    text: str
    groups: int = field(compare=False, repr=False)
    names: Mapping[str, int] = field(compare=False, repr=False)
    search: Callable[[bytes], Match | None] = field(compare=False, repr=False)
    match: Callable[..., Match | None] = field(compare=False, repr=False)
    fullmatch: Callable[[bytes], Match | None] = field(compare=False, repr=False)
    split: Callable[[bytes], list[bytes]] = field(compare=False, repr=False)
    _sub: Callable[[Callable[[Match], bytes], bytes, int], bytes] = field(compare=False, repr=False)

    @classmethod
    def parse(cls, text: str, zone: str = "UTC") -> "Pattern":  # noqa: ARG003 - the same call for all option types
        """
        Compile a regular expression.

        Raises:
            ExpressionSyntaxError: it is not valid.
        """
        data = name_to_bytes(text)
        try:
            compiled = _compiled(data)
        except re.error as error:
            column = len(data[: error.pos or 0].decode("utf-8", "replace")) + 1
            hint = next((f"; {hint}" for begin, hint in _HINTS.items() if error.msg.startswith(begin)), "")
            raise ExpressionSyntaxError(f"bad pattern: {error.msg}{hint}", column, text) from error
        except (OverflowError, RecursionError) as error:
            raise ExpressionSyntaxError("bad pattern: too large or nested too deep", 1, text) from error
        except ValueError as error:
            raise ExpressionSyntaxError(
                "bad pattern: a number is too large, or flags exclude each other", 1, text
            ) from error
        _refuse_locale(data, text)
        posix = next((found for found in _POSIX_CLASS.finditer(text) if found[1]), None)
        if posix is not None:  # Python would read it as a set of its characters
            message = f"bad pattern: POSIX classes such as {posix[1]} are not supported; write \\d, \\s, \\w or A-Za-z"
            raise ExpressionSyntaxError(message, posix.start() + 1, text)
        return cls(
            text=text,
            groups=compiled.groups,
            names=compiled.groupindex,
            search=_searcher(data, compiled),
            match=compiled.match,
            fullmatch=compiled.fullmatch,
            split=_splitter(text, compiled),
            _sub=compiled.sub,
        )

    @property
    def literals(self) -> tuple[str, ...]:
        """The literal parts of the text, in order; of a class or a look-ahead too, so a match need not contain them."""
        return tuple(re.sub(r"\\(.)", r"\1", part, flags=re.DOTALL) for part in _PLAIN.findall(self.text))

    def replace(self, replacement: bytes, data: bytes) -> bytes:
        """
        The data with every match replaced by literal bytes.

        Raises:
            DecorateError: the result is too large.
        """
        return self._replaced(lambda _match: replacement, data, 0, len(replacement))

    def replacer(self, replacement: str, most: int = 0) -> Callable[[bytes], bytes]:
        r"""
        A function that replaces the first `most` matches by a text, or all matches for 0.

        In the text `\1` is the first group, `\0` the whole match, `\g<name>` a group by name or number, and `\\` a
        backslash. A group that did not match is empty.

        The function raises DecorateError if the result is too large.

        Raises:
            ExpressionSyntaxError: a backslash is not followed by a group of the pattern.
        """
        pieces = self._pieces(replacement)
        replaced = self._replaced
        size = sum(1 if isinstance(piece, int) else len(piece) for piece in pieces)

        def filled(match: Match) -> bytes:
            return b"".join([(match[piece] or b"") if isinstance(piece, int) else piece for piece in pieces])

        if len(pieces) == 1 and isinstance(pieces[0], bytes):
            literal = pieces[0]
            return lambda data: replaced(lambda _match: literal, data, most, size)
        return lambda data: replaced(filled, data, most, size)

    def _pieces(self, replacement: str) -> list[bytes | int]:
        """Literal pieces and group numbers, in order; at least one."""
        pieces: list[bytes | int] = []
        text = b""
        end = 0
        for reference in _REFERENCE.finditer(replacement):
            text += name_to_bytes(replacement[end : reference.start()])
            end = reference.end()
            if reference[0] == r"\\":
                text += b"\\"
                continue
            number = self._group(reference[1] or reference[2] or "", is_named=reference[1] is not None)
            if number is None:
                message = f'"{reference[0]}" in the replacement is no group of the pattern'
                raise ExpressionSyntaxError(message, reference.start() + 1, replacement)
            pieces += [text, number] if text else [number]
            text = b""
        text += name_to_bytes(replacement[end:])
        return [*pieces, text] if text or not pieces else pieces

    def _group(self, name: str, *, is_named: bool) -> int | None:
        """The number of the group that a reference means."""
        if name.isascii() and name.isdigit() and len(name) < _MAX_DIGITS:
            number = int(name)
            return number if number <= self.groups else None
        return self.names.get(name) if is_named else None

    def replace_each(self, replacement: Callable[[Match], bytes], data: bytes, size: int) -> bytes:
        """
        The data with every match replaced by the result of a function.

        Args:
            replacement: the function.
            data: is searched.
            size: bytes that the result may have besides those of the match.

        Raises:
            DecorateError: the result is too large.
        """
        return self._replaced(replacement, data, 0, size)

    def _replaced(self, replacement: Callable[[Match], bytes], data: bytes, most: int, size: int) -> bytes:
        """The data with its first `most` matches replaced; each byte may become `size` and one more."""
        if len(data) * (size + 1) <= MAX_GROWN_BYTES:
            return self._sub(replacement, data, most)
        made = 0

        def counted(match: Match) -> bytes:
            nonlocal made
            new = replacement(match)
            made += len(new)
            check_grown(made, len(data))
            return new

        return self._sub(counted, data, most)

    def __reduce__(self) -> tuple[object, ...]:
        return Pattern.parse, (self.text,)

    def __str__(self) -> str:
        return self.text

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return option_schema(cls, cls.parse, "bad_pattern")

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "format": "pattern"}


def check_replacement(pattern: Pattern, replacement: str) -> None:
    """
    Check that a replacement refers only to groups of the pattern; for validators of options.

    Raises:
        PydanticCustomError: it refers to another group.
    """
    try:
        pattern.replacer(replacement)
    except ExpressionSyntaxError as error:
        raise PydanticCustomError(
            "bad_pattern", "{problem}", {"problem": error.message, "option": "replacement"}
        ) from error


def _compiled(pattern: AnyStr) -> re.Pattern[AnyStr]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns of brackets that a future version may read as nested sets
        return re.compile(pattern)


def _refuse_locale(data: bytes, text: str) -> None:
    """
    Reject the flag L, with which the result depends on the locale of the machine.

    The flag may be set in any group. It is the only feature that Python accepts in patterns on bytes and rejects in
    patterns on text, so compiling the pattern as text finds it.

    Raises:
        ExpressionSyntaxError: the pattern sets it.
    """
    try:
        if b"L" in data:
            _compiled(data.decode("latin-1"))
    except re.error as error:
        column = len(data[: error.pos or 0].decode("utf-8", "replace")) + 1
        raise ExpressionSyntaxError("bad pattern: the flag L depends on the machine's locale", column, text) from error


def _searcher(data: bytes, compiled: re.Pattern[bytes]) -> Callable[[bytes], Match | None]:
    """
    The search of a pattern, in which one that begins with `.*` or `.+` is tried at the start of each line only.

    `re` tries it at each byte and reads the rest of the line each time, which takes quadratic time. But where it does
    not match at the start of a line, it matches nowhere in it: a match would extend to the start. That is so for the
    first of several patterns with `|` between them, too, and the others are tried everywhere.
    """
    found = _BEGINS_WITH_ANY.fullmatch(data)
    return compiled.search if found is None else _compiled(b"%b(?<!.)%b" % found.groups()).search


def _splitter(text: str, compiled: re.Pattern[bytes]) -> Callable[[bytes], list[bytes]]:
    """
    A function that returns all pieces between the matches of a pattern.

    Unlike `re.split`, it does not return captured groups.
    """
    if _PLAIN.fullmatch(text):
        literal = name_to_bytes(re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL))
        return lambda data: data.split(literal)
    if not compiled.groups:
        return compiled.split
    finditer = compiled.finditer

    def split(data: bytes) -> list[bytes]:
        pieces = []
        start = 0
        for match in finditer(data):
            pieces.append(data[start : match.start()])
            start = match.end()
        pieces.append(data[start:])
        return pieces

    return split
