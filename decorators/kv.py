"""Parse pairs of keys and values, as in logfmt, into attributes."""

import re
from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, model_validator
from pydantic_core import PydanticCustomError

from ingest.api import DecorateError, Decorator, Event, Example, option
from ingest.api.notation import shown_start
from ingest.decorating.choices import FailureAction
from ingest.formats.keyed import KeyedSettings, Names

_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}


class OnBare(StrEnum):
    """The action for a key without a value."""

    TRUE = "true"
    EMPTY = "empty"
    SKIP = "skip"
    ERROR = "error"


def _one_character(text: str) -> str:
    if len(text) != 1 or text in '"\\' or not text.isascii():
        raise PydanticCustomError(
            "bad_character", '"{text}" is not one ASCII character other than quote and backslash', {"text": text}
        )
    return text


Character = Annotated[str, AfterValidator(_one_character)]


class KvSettings(KeyedSettings):
    """Options of the kv decorator."""

    separator: Character | None = option(
        "Character between two pairs, with or without white space around it; white space when left out.",
        default=None,
        example="&",
    )
    assign: Character = option("Character between a key and its value.", default="=", example=":")
    on_bare: OnBare = option(
        "A key without a value, if the text has other pairs: set it to the text `true` or to an `empty` value, `skip` "
        "it, or fail the event (`error`).",
        default="true",
        strict=False,
    )
    on_invalid: FailureAction = option(
        "Text without a pair, or with a part that is not a pair, such as an unclosed quote, or an absent attribute: "
        "the event fails (`error`), passes unchanged (`keep`), or is dropped (`drop`).",
        default="error",
        strict=False,
    )

    @model_validator(mode="after")
    def _distinct_characters(self) -> Self:
        if self.separator == self.assign:
            raise PydanticCustomError("conflict", "`separator` and `assign` are the same character")
        return self


class Kv(Decorator[KvSettings]):
    """
    Set an attribute for each pair of a key and a value.

    A value may be in double quotes, in which a backslash escapes quotes and backslashes, and n, r and t stand for LF,
    CR and tab. Single quotes have no special meaning: `a='b c'` is the value `'b` and the key `c'`. Text without a
    single pair, or with a part that is not a pair, such as an unclosed double quote, is invalid; see `on_invalid`. If a
    key repeats, its last value wins. Keys and values are unchanged bytes.

    Source: own design; logfmt as Heroku's router writes it.
    """

    kind = "kv"
    examples = (
        Example(
            "a line of logfmt",
            settings="{prefix: '2hb_app:'}",
            body='level=info msg="it \\"works\\"" took=5ms cached',
            after={
                "2hb_app:level": "info",
                "2hb_app:msg": 'it "works"',
                "2hb_app:took": "5ms",
                "2hb_app:cached": "true",
            },
        ),
        Example(
            "some keys of an attribute",
            settings="{source: query, separator: '&', only: [q, page]}",
            attributes={"query": "q=boots&page=2&sort=asc"},
            after={"q": "boots", "page": "2"},
        ),
        Example("a quote that is not closed", body='msg="it', error="bad_pairs"),
        Example("no pairs at all", body="it works", error="bad_pairs"),
        Example("an unclosed quote, with `on_invalid: keep`", settings="{on_invalid: keep}", body='level=info msg="it'),
        Example("single quotes have no special meaning", body="msg='it works'", after={"msg": "'it", "works'": "true"}),
        Example("an absent attribute", settings="{source: query}", error="no_attribute"),
        Example(
            "a key without a value, with `on_bare: error`", settings="{on_bare: error}", body="cached", error="bare_key"
        ),
    )

    def __init__(self, settings: KvSettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        self._match = _pair(settings.separator, settings.assign).match
        self._names = Names(settings.prefix, settings.only)
        self._actions = dict.fromkeys(("bad_pairs", "no_attribute"), settings.on_invalid)
        self._bare = {OnBare.TRUE: b"true", OnBare.EMPTY: b""}.get(settings.on_bare)

    @property
    def drop_reason(self) -> str:
        """The reason for events whose text is invalid."""
        return "bad_pairs"

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        try:
            found = self._attributes(event.text_of(self._source, "to read pairs from"))
        except DecorateError as error:
            return self._actions.get(error.code, FailureAction.ERROR).keeps_or_raises(error)
        event.update(found)
        return True

    def _attributes(self, text: bytes) -> dict[str, bytes]:
        names, bare = self._names.known, self._bare
        found: dict[str, bytes] = {}
        at, has_pair = 0, False
        # not `finditer`: after a part that is not a pair it would search on, which takes quadratic time
        while at < len(text) and (match := self._match(text, at)) is not None:
            at = match.end()
            key, quoted, plain = match.groups()
            if key is None:
                continue
            has_pair = has_pair or quoted is not None or plain is not None
            if quoted is not None:
                value = _ESCAPED.sub(_unescaped, quoted) if b"\\" in quoted else quoted
            elif plain is not None:
                value = plain
            elif bare is not None:
                value = bare
            elif self.settings.on_bare is OnBare.ERROR:
                raise DecorateError(f"the key {shown_start(key)} has no value", code="bare_key")
            else:
                continue
            try:
                name = names[key]
            except KeyError:
                name = self._names[key]
            if name:
                found[name] = value
        if at != len(text):
            raise DecorateError(f"no pair at byte {at}: {shown_start(text[at:])}", code="bad_pairs")
        if not has_pair:
            raise DecorateError(f"no pair in {shown_start(text)}", code="bad_pairs")
        return found


def _pair(separator: str | None, assign: str) -> re.Pattern[bytes]:
    """Separators, then a key and a value up to the next separator; or only separators at the end."""
    gap, blank, stop = r"\s", "", r"\s"
    if separator is not None:
        stop = re.escape(separator)
        gap, blank = rf"\s{stop}", r"\s*"
    key = rf"([^{gap}{re.escape(assign)}\"](?:[^{stop}{re.escape(assign)}]*[^{gap}{re.escape(assign)}])?)"
    plain = rf"((?:[^{gap}\"](?:[^{stop}]*[^{gap}])?)?)"
    value = rf'(?:"([^"\\]*+(?:\\.[^"\\]*+)*+)"|{plain})'
    after = f"{blank}+" if blank else ""  # possessive: backtracking would try a value after each blank
    return re.compile(
        rf"[{gap}]*(?:{key}(?:{blank}{re.escape(assign)}{after}{value})?{blank}(?=[{stop}]|\Z)|\Z)".encode(), re.DOTALL
    )


def _unescaped(found: re.Match[bytes]) -> bytes:
    return _ESCAPES.get(found[1], found[1])
