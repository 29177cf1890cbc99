"""Build a row key from parts."""

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import DecorateError, Decorator, Event, Example, ExpressionError, Model, option
from ingest.api.event_errors import NoAttributeError, NotANumberError
from ingest.api.notation import name_to_bytes, shown_start
from ingest.decorating.row_keys import RowKeyOfPartsSettings
from ingest.expressions import FUNCTIONS, Number, Template, read_number

Encode = Callable[[bytes], bytes]

_HASH_DIGITS = 8  # 32 bits: short, and enough to distribute rows
_MD5_DIGITS = 32


class SeparatorInKeyError(DecorateError):
    """A part of a row key contains the separator, so the key would be ambiguous; see on_separator."""

    code = "separator_in_key"
    hint = "choose another separator, or set `on_separator: keep`"


class Encoding(StrEnum):
    """The encoding of a part in the key."""

    TEXT = "text"
    PADDED = "padded"
    REVERSED = "reversed"
    HASH = "hash"
    INVERTED = "inverted"
    INT64 = "int64"
    INVERTED_INT64 = "inverted_int64"


class OnSeparator(StrEnum):
    """The action if a part contains the separator."""

    ERROR = "error"
    KEEP = "keep"


class PartOptions(Model):
    """A part of the key."""

    value: Template = option("Template of the part.", example="%{tenant}")
    encoding: Encoding = option(
        "How the part is written: as `text`; `padded` with leading zeros; `reversed`, so that ascending numbers are "
        "distributed; as its `hash`, hexadecimal digits of MD5; for an integer, `inverted` in 19 digits, so that the "
        "newest time sorts first, as the 8 bytes of an HBase long (`int64`), or inverted in 8 bytes "
        "(`inverted_int64`).",
        default="text",
        strict=False,
    )
    width: int | None = option(
        f"Width of a `padded` part in characters (required), or of a `hash` in digits ({_HASH_DIGITS} when left out).",
        default=None,
        example=10,
        ge=1,
        le=4096,
    )

    @model_validator(mode="after")
    def _width_only_if_used(self) -> Self:
        if self.encoding is Encoding.PADDED and self.width is None:
            raise PydanticCustomError("missing", "a `padded` part needs `width`")
        if self.width is not None and self.encoding not in {Encoding.PADDED, Encoding.HASH}:
            raise PydanticCustomError("conflict", "`width` is only for `padded` and `hash`", {"option": "width"})
        if self.encoding is Encoding.HASH and (self.width or 0) > _MD5_DIGITS:
            raise PydanticCustomError(
                "out_of_range", "a hash has at most {most} digits", {"most": _MD5_DIGITS, "option": "width"}
            )
        return self


class RowKeySettings(RowKeyOfPartsSettings):
    """Options of the row_key decorator."""

    parts: list[PartOptions] = option(
        "The parts, in this order.",
        example=[{"value": "%{tenant}"}, {"value": "%{timestamp}", "encoding": "inverted"}],
        min_length=1,
    )
    separator: str = option("Separator between two parts.", default="|")
    on_separator: OnSeparator = option(
        "A separator inside any part but the last, which makes keys ambiguous: the event fails (`error`), or the part "
        "is used unchanged (`keep`).",
        default="error",
        strict=False,
    )


class RowKey(Decorator[RowKeySettings]):
    """
    Build the row key of the attr2hbase sink from parts with a separator.

    Keys are sorted as bytes. Those that start with a time, or that ascend, are all written to the last region (a
    hotspot). Start the key with a part that varies, `reversed` or as a `hash`, or distribute the rows of the table over
    buckets: `tables: {NAME: {distribute: {hash: 16}}}`. Scans then still return the rows in the order of these keys.

    Fixed-width parts (`padded`, `inverted`, `int64`) are unambiguous without a separator, so it may be empty. Negative
    numbers sort after the others as `int64`, and cannot be `inverted`.

    Source: own design; the ways of distributing keys are those of HBase's reference guide, "Rowkey Design".
    """

    kind = "row_key"
    examples = (
        Example(
            "newest first within a tenant",
            settings="{parts: [{value: '%{tenant}'}, {value: '%{timestamp}', encoding: inverted}]}",
            attributes={"tenant": "acme"},
            timestamp_ms=1_309_275_728_123,
            after={"2hb_": "acme|9223370727579047684"},
        ),
        Example(
            "leading zeros, and another separator",
            settings="{separator: '-', parts: [{value: '%{tenant}'}, {value: '%{order}', encoding: padded, width: 8}]}",
            attributes={"tenant": "acme", "order": "4711"},
            after={"2hb_": "acme-00004711"},
        ),
        Example(
            "a hash, and reversed digits",
            settings="{parts: [{value: '%{user}', encoding: hash, width: 4}, {value: '%{id}', encoding: reversed}]}",
            attributes={"user": "ann", "id": "1000123"},
            after={"2hb_": "7e0d|3210001"},
        ),
        Example(
            "two 8-byte numbers",
            settings="{separator: '', attribute: key, parts: [{value: '%{id}', encoding: int64}, "
            "{value: '%{timestamp}', encoding: inverted_int64}]}",
            attributes={"id": "1"},
            timestamp_ms=2**63 - 1,
            after={"key": "\0\0\0\0\0\0\0\1" + "\0" * 8},
        ),
        Example("an absent attribute", settings="{parts: [{value: '%{tenant}'}]}", error="no_attribute"),
        Example(
            "an absent attribute, with `on_missing: unset`", settings="{parts: [{value: '%{id}'}], on_missing: unset}"
        ),
        Example(
            "a separator inside a part",
            settings="{parts: [{value: '%{a}'}, {value: '%{b}'}]}",
            attributes={"a": "x|y", "b": "z"},
            error="separator_in_key",
        ),
        Example(
            "not a number",
            settings="{parts: [{value: '%{id}', encoding: int64}]}",
            attributes={"id": "x"},
            error="not_a_number",
        ),
        Example(
            "a negative number cannot be inverted",
            settings="{parts: [{value: '%{id}', encoding: inverted}]}",
            attributes={"id": "-1"},
            error="negative_number",
        ),
        Example(
            "a number of more than 64 bits",
            settings="{parts: [{value: '%{id}', encoding: int64}]}",
            attributes={"id": "9223372036854775808"},
            error="number_too_large",
        ),
    )

    def __init__(self, settings: RowKeySettings) -> None:
        super().__init__(settings)
        self._attribute = settings.attribute
        self._separator = name_to_bytes(settings.separator)
        last = len(settings.parts) - 1
        guards = bool(self._separator) and settings.on_separator is OnSeparator.ERROR
        self._parts = tuple(
            _Part(
                part.value.renderer(settings.on_missing, _absent),
                _encoder(part),
                is_guarded=guards and number != last and part.encoding in _FREE_TEXT,
            )
            for number, part in enumerate(settings.parts)
        )

    def decorate(self, event: Event) -> bool:
        """Set the key."""
        separator = self._separator
        texts: list[bytes] = []
        for number, part in enumerate(self._parts, 1):
            text = part.render(event)
            if text is None:
                return True
            if part.encode is not None:
                text = part.encode(text)
            if part.is_guarded and separator in text:
                raise SeparatorInKeyError(f"part {number} of the row key contains the separator: {shown_start(text)}")
            texts.append(text)
        event.set(self._attribute, separator.join(texts))
        return True


class _Part(NamedTuple):
    """
    A compiled part.

    Attributes:
        render: the text of the part; None if no key is set.
        is_guarded: a separator in the text is an error.
    """

    render: Callable[[Event], bytes | None]
    encode: Encode | None
    is_guarded: bool


def _absent(what: str) -> ExpressionError:
    return ExpressionError(f"no {what} for the row key", code=NoAttributeError.code)


_FREE_TEXT = frozenset({Encoding.TEXT, Encoding.PADDED, Encoding.REVERSED})


def _encoder(part: PartOptions) -> Encode | None:  # noqa: PLR0911 - one per case
    match part.encoding:
        case Encoding.TEXT:
            return None
        case Encoding.PADDED:
            return _function("pad_left", part.width, b"0")
        case Encoding.REVERSED:
            return _function("reverse")
        case Encoding.HASH:
            digest, digits = _function("md5", "hex"), part.width or _HASH_DIGITS
            return lambda text: digest(text)[:digits]
        case Encoding.INVERTED:
            return _of_number("inverted")
        case Encoding.INT64:
            return _of_number("long_bytes")
        case Encoding.INVERTED_INT64:
            inverted, long_bytes = _of_number("inverted"), _of_number("long_bytes")
            return lambda text: long_bytes(inverted(text))


def _of_number(name: str) -> Encode:
    of_number: Callable[[Number], bytes] = FUNCTIONS[name].make()  # type: ignore[assignment]  # functions of bytes

    def encode(text: bytes) -> bytes:
        number = read_number(text)
        if number is None:
            raise NotANumberError(f"{shown_start(text)} is not a number")
        return of_number(number)

    return encode


def _function(name: str, *constants: object) -> Encode:
    """A function of the expressions, so that the key equals the result of a template."""
    return FUNCTIONS[name].make(*constants)  # type: ignore[return-value]  # functions of bytes
