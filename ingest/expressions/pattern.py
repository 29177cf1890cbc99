"""Regular expressions on bytes; the one door to the regex engine."""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from ingest.api.notation import name_to_bytes
from ingest.expressions.grammar import ExpressionSyntaxError
from ingest.expressions.option_type import option_schema

Match = re.Match[bytes]
"""Where a pattern was found: `match[0]` the whole, `match[n]` a group, None for a group that took no part."""

_PLAIN = re.compile(r"(?:[^\\.^$*+?{}\[\]|()]|\\[\\.^$*+?{}\[\]|()/:,;=\"' -])+")


@dataclass(frozen=True, slots=True)
class Pattern:
    r"""
    A regular expression, compiled once; an option type.

    It works on bytes: the pattern is taken as UTF-8, classes such as `\w` mean ASCII, and a dot is one byte. There are
    no flags but those written in the pattern, so a dot stops at a newline.

    Attributes:
        text: as it was written.
        groups: how many groups it has.
        names: name of a group -> its number.
        search: the first place where it is found, or None.
        match: where it is found at the very beginning, or None.
        fullmatch: the whole data when it matches in full, or None.
        finditer: all places where it is found, from left to right.
        split: the pieces between those places, all of them; captured groups are no pieces.
    """

    text: str
    groups: int = field(compare=False, repr=False)
    names: Mapping[str, int] = field(compare=False, repr=False)
    search: Callable[[bytes], Match | None] = field(compare=False, repr=False)
    match: Callable[[bytes], Match | None] = field(compare=False, repr=False)
    fullmatch: Callable[[bytes], Match | None] = field(compare=False, repr=False)
    finditer: Callable[[bytes], Iterator[Match]] = field(compare=False, repr=False)
    split: Callable[[bytes], list[bytes]] = field(compare=False, repr=False)
    _sub: Callable[[Callable[[Match], bytes], bytes], bytes] = field(compare=False, repr=False)

    @classmethod
    def parse(cls, text: str, zone: str = "UTC") -> "Pattern":  # noqa: ARG003 - the same call for all option types
        """
        Compile a regular expression.

        Raises:
            ExpressionSyntaxError: it is none; with the column.
        """
        data = name_to_bytes(text)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore"
                )  # Python warns of brackets that may mean a set one day; here they do not
                compiled = re.compile(data)
        except re.error as error:
            column = len(data[: error.pos or 0].decode("utf-8", "replace")) + 1
            raise ExpressionSyntaxError(f"bad pattern: {error.msg}", column, text) from error
        except (OverflowError, RecursionError) as error:
            raise ExpressionSyntaxError("bad pattern: too large or nested too deep", 1, text) from error
        return cls(
            text=text,
            groups=compiled.groups,
            names=compiled.groupindex,
            search=compiled.search,
            match=compiled.match,
            fullmatch=compiled.fullmatch,
            finditer=compiled.finditer,
            split=_splitter(text, compiled),
            _sub=compiled.sub,
        )

    def replace(self, replacement: bytes, data: bytes) -> bytes:
        """Data with every place where the pattern is found replaced by literal bytes."""
        return self._sub(lambda _match: replacement, data)

    def replace_each(self, instead: Callable[[Match], bytes], data: bytes) -> bytes:
        """Data with every place where the pattern is found replaced by what is answered for it."""
        return self._sub(instead, data)

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
