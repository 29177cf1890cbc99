"""Regular expressions on bytes; the one door to the regex engine."""

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import AnyStr

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from ingest.api.notation import name_to_bytes
from ingest.expressions.grammar import ExpressionSyntaxError
from ingest.expressions.option_type import option_schema

_MAX_DIGITS = 5  # of the number of a group

Match = re.Match[bytes]
"""Where a pattern was found: `match[0]` the whole, `match[n]` a group, None for a group that took no part."""

_REFERENCE = re.compile(r"\\(?:g<([^>]*)>|(.?))", re.DOTALL)
_POSIX_CLASS = re.compile(
    r"\\.|(\[:\^?(?:alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit):\])", re.DOTALL
)
_HINTS = {  # beginnings of what Python says
    "unknown extension ?<": "a named group is written (?P<name>…)",
    "bad character in group name": "a name has letters, digits and underscores and begins with no digit; the decorator "
    "regex puts more before it, such as a family, by `prefix`",
}
_PLAIN = re.compile(r"(?:[^\\.^$*+?{}\[\]|()]|\\[\\.^$*+?{}\[\]|()/:,;=\"' -])+")


@dataclass(frozen=True, slots=True)
class Pattern:
    r"""
    A regular expression, compiled once; an option type.

    It works on bytes: the pattern is taken as UTF-8, classes such as `\w` mean ASCII, and a dot is one byte. There are
    no flags but those written in the pattern, so a dot stops at a newline. The machine's locale, flag L, has no say.
    Classes of POSIX, such as `[[:alpha:]]`, are refused.

    Attributes:
        text: as it was written.
        groups: how many groups it has.
        names: name of a group -> its number.
        search: the first place where it is found, or None.
        fullmatch: the whole data when it matches in full, or None.
        split: the pieces between the places where it is found, all of them; captured groups are no pieces.
    """

    text: str
    groups: int = field(compare=False, repr=False)
    names: Mapping[str, int] = field(compare=False, repr=False)
    search: Callable[[bytes], Match | None] = field(compare=False, repr=False)
    fullmatch: Callable[[bytes], Match | None] = field(compare=False, repr=False)
    split: Callable[[bytes], list[bytes]] = field(compare=False, repr=False)
    _sub: Callable[[Callable[[Match], bytes], bytes, int], bytes] = field(compare=False, repr=False)

    @classmethod
    def parse(cls, text: str, zone: str = "UTC") -> "Pattern":  # noqa: ARG003 - the same call for all option types
        """
        Compile a regular expression.

        Raises:
            ExpressionSyntaxError: it is none; with the column.
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
        if posix is not None:  # Python takes its characters one by one, which nobody means
            message = f"bad pattern: there are no classes such as {posix[1]}; write \\d, \\s, \\w, A-Za-z and the like"
            raise ExpressionSyntaxError(message, posix.start() + 1, text)
        return cls(
            text=text,
            groups=compiled.groups,
            names=compiled.groupindex,
            search=compiled.search,
            fullmatch=compiled.fullmatch,
            split=_splitter(text, compiled),
            _sub=compiled.sub,
        )

    def replace(self, replacement: bytes, data: bytes) -> bytes:
        """Data with every place where the pattern is found replaced by literal bytes."""
        return self._sub(lambda _match: replacement, data, 0)

    def replacer(self, replacement: str, most: int = 0) -> Callable[[bytes], bytes]:
        r"""
        A function that puts a text in the places where the pattern is found, in so many from the left, or in all for 0.

        In the text `\1` stands for the first group, `\0` for all that was found, `\g<name>` for a group by its name or
        number, and `\\` for a backslash. A group that took no part is empty.

        Raises:
            ExpressionSyntaxError: what follows a backslash is no group of the pattern; with the column.
        """
        pieces = self._pieces(replacement)
        sub = self._sub

        def filled(match: Match) -> bytes:
            return b"".join([(match[piece] or b"") if isinstance(piece, int) else piece for piece in pieces])

        if len(pieces) == 1 and isinstance(pieces[0], bytes):
            literal = pieces[0]
            return lambda data: sub(lambda _match: literal, data, most)
        return lambda data: sub(filled, data, most)

    def _pieces(self, replacement: str) -> list[bytes | int]:
        """Text, and numbers of groups between it; at least one of them."""
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

    def replace_each(self, instead: Callable[[Match], bytes], data: bytes) -> bytes:
        """Data with every place where the pattern is found replaced by what is answered for it."""
        return self._sub(instead, data, 0)

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
    See that a replacement names no group that the pattern does not have.

    Raises:
        PydanticCustomError: it does; for validators of options.
    """
    try:
        pattern.replacer(replacement)
    except ExpressionSyntaxError as error:
        raise PydanticCustomError(
            "bad_pattern", "{problem}", {"problem": error.message, "option": "replacement"}
        ) from error


def _compiled(pattern: AnyStr) -> re.Pattern[AnyStr]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns of brackets that may mean a set one day; here they do not
        return re.compile(pattern)


def _refuse_locale(data: bytes, text: str) -> None:
    """
    Refuse the flag L: with it, what matches depends on the machine and its environment.

    It may stand in any group. The one thing that a pattern on bytes may have, and the same pattern on text may not, is
    this flag, so Python itself tells where it is.

    Raises:
        ExpressionSyntaxError: the pattern has it; with the column.
    """
    try:
        if b"L" in data:
            _compiled(data.decode("latin-1"))
    except re.error as error:
        column = len(data[: error.pos or 0].decode("utf-8", "replace")) + 1
        raise ExpressionSyntaxError("bad pattern: the flag L depends on the machine's locale", column, text) from error


def _splitter(text: str, compiled: re.Pattern[bytes]) -> Callable[[bytes], list[bytes]]:
    """
    All pieces between the places where a pattern is found.

    Captured groups are no pieces, which is why `re.split` does not serve a pattern with groups.
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
