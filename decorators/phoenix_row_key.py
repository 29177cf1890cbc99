"""Build a row key as Apache Phoenix builds it."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, Self

from pydantic import field_validator, model_validator
from pydantic_core import PydanticCustomError

from ingest.api import DecorateError, Decorator, Event, Example, ExpressionError, Model, option
from ingest.api.event_errors import BadEncodingError, NoAttributeError
from ingest.api.notation import shown_start
from ingest.decorating.choices import OnMissing
from ingest.decorating.row_keys import RowKeyOfPartsSettings
from ingest.expressions import Template, phoenix
from ingest.formats.byte_numbers import NUL
from ingest.formats.phoenix import MAX_SALT_BUCKETS, PhoenixType, binary, char, flipped, salt_byte

Encode = Callable[[bytes], bytes]

_NULL_END = b"\0"
_ENDS: Mapping[str, bytes] = MappingProxyType({"asc": b"\0", "desc": b"\xff"})


class NullInKeyError(DecorateError):
    """A part of a row key of Phoenix is empty, which is NULL, and its type has none; or the whole key is."""

    code = "null_in_key"
    remedy = "Set the attribute earlier, or guard with `when`; only VARCHAR, VARBINARY and DECIMAL can be NULL."


_OF_WIDTH = frozenset({PhoenixType.CHAR, PhoenixType.BINARY})
_VARIABLE = frozenset({PhoenixType.VARCHAR, PhoenixType.VARBINARY, PhoenixType.DECIMAL})


class Order(StrEnum):
    """The order of a column of the primary key."""

    ASC = "asc"
    DESC = "desc"


class PhoenixPart(Model):
    """A column of the primary key."""

    value: Template = option("Template of the value.", example="%{host}")
    type: PhoenixType = option("Type of the column, as in `CREATE TABLE`.", example="bigint", strict=False)
    order: Order = option("Order of the column, as in `CREATE TABLE`.", default="asc", strict=False)
    width: int | None = option(
        "Bytes of a `char` or `binary`, which need it: the number in CHAR(4).", default=None, example=4, ge=1, le=4096
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.type in _OF_WIDTH and self.width is None:
            raise PydanticCustomError("missing", "a `{type}` needs `width`", {"type": self.type})
        if self.type not in _OF_WIDTH and self.width is not None:
            raise PydanticCustomError("conflict", "`width` is only for `char` and `binary`", {"option": "width"})
        if self.type is PhoenixType.BOOLEAN and self.order is Order.DESC:
            raise PydanticCustomError(
                "conflict",
                "Phoenix reads every descending BOOLEAN that it has written as false; declare the column ascending",
                {"option": "order"},
            )
        if self.type is PhoenixType.VARBINARY and self.order is Order.DESC:
            raise PydanticCustomError("conflict", "Phoenix has no descending VARBINARY", {"option": "order"})
        return self


class PhoenixRowKeySettings(RowKeyOfPartsSettings):
    """Options of the phoenix_row_key decorator."""

    parts: list[PhoenixPart] = option(
        "The columns of the primary key, in the order of its constraint; an empty one is NULL.",
        example=[{"value": "%{host}", "type": "varchar"}, {"value": "%{timestamp}", "type": "date", "order": "desc"}],
        min_length=1,
    )
    salt_buckets: int | None = option(
        "`SALT_BUCKETS` of the table: the key begins with the byte of its bucket.",
        default=None,
        example=16,
        ge=1,
        le=MAX_SALT_BUCKETS,
    )

    @field_validator("parts")
    @classmethod
    def _varbinary_is_last(cls, parts: list[PhoenixPart]) -> list[PhoenixPart]:
        if any(part.type is PhoenixType.VARBINARY for part in parts[:-1]):
            raise PydanticCustomError("conflict", "only the last part can be a `varbinary`, as in Phoenix")
        return parts


class PhoenixRowKey(Decorator[PhoenixRowKeySettings]):
    """
    Build the row key of a table of Apache Phoenix, from the columns of its primary key.

    A date, time or timestamp is a number of milliseconds since 1970-01-01 00:00 UTC, as `%{timestamp}`, and a timestamp
    may have up to six decimals. A boolean is a word such as `true`. A `char` has characters of one byte, a `varchar` is
    UTF-8. An event fails if the type does not have its value: no text is cut, and no whole number rounded.

    An empty part is NULL, as in Phoenix; only `varchar`, `varbinary` and `decimal` can be NULL. The separators after
    these three types, and what Phoenix leaves out at the end, are as in Phoenix 5. A `varchar` with the byte 0 fails
    the event if another part follows, since Phoenix would end the column there.

    The other cells of a row, and tables that only Phoenix can write, are in docs/guides/encodings.md.

    Source: PTableImpl.newKey, SaltingUtil and the types of org.apache.phoenix.schema.types.
    """

    kind = "phoenix_row_key"
    examples = (
        Example(
            "PRIMARY KEY (HOST VARCHAR, AT DATE DESC, ID BIGINT)",
            settings=(
                "{parts: [{value: '%{host}', type: varchar}, {value: '%{timestamp}', type: date, order: desc}, "
                "{value: '%{id}', type: bigint}]}"
            ),
            attributes={"id": "-2"},
            host="web-1",
            timestamp_ms=1_309_275_728_123,
            after={"2hb_": b"web-1\0" + b"\x7f\xff\xfe\xcf\x29\x15\xd7\x04" + b"\x7f\xff\xff\xff\xff\xff\xff\xfe"},
        ),
        Example(
            "a table with SALT_BUCKETS = 16",
            settings="{salt_buckets: 16, parts: [{value: '%{id}', type: bigint}, {value: '%{name}', type: varchar}]}",
            attributes={"id": "7", "name": "x"},
            after={"2hb_": b"\0" + b"\x80\0\0\0\0\0\0\7" + b"x"},
        ),
        Example(
            "text of a fixed width, and a descending text",
            settings=(
                "{parts: [{value: '%{country}', type: char, width: 3}, {value: '%{city}', type: varchar, order: desc}]}"
            ),
            attributes={"country": "de", "city": "Ulm"},
            after={"2hb_": b"de \xaa\x93\x92\xff"},
        ),
        Example(
            "an empty part is NULL; the end of the key has none",
            settings=(
                "{on_missing: empty, parts: [{value: '%{a}', type: varchar}, {value: '%{b}', type: decimal}, "
                "{value: '%{c}', type: varchar}]}"
            ),
            attributes={"b": "1.5"},
            after={"2hb_": b"\0\xc1\2\x33"},
        ),
        Example(
            "NULL in a type that has none",
            settings="{on_missing: empty, parts: [{value: '%{id}', type: bigint}]}",
            error="null_in_key",
        ),
        Example("an absent attribute", settings="{parts: [{value: '%{id}', type: bigint}]}", error="no_attribute"),
        Example(
            "an absent attribute, with `on_missing: unset`",
            settings="{parts: [{value: '%{id}', type: bigint}], on_missing: unset}",
        ),
        Example(
            "not a number",
            settings="{parts: [{value: '%{id}', type: integer}]}",
            attributes={"id": "x"},
            error="not_a_number",
        ),
        Example(
            "a number that the type does not have",
            settings="{parts: [{value: '%{id}', type: unsigned_int}]}",
            attributes={"id": "-1"},
            error="number_too_large",
        ),
        Example(
            "a text that is wider than its column",
            settings="{parts: [{value: '%{country}', type: char, width: 2}]}",
            attributes={"country": "deu"},
            error="bad_encoding",
        ),
    )

    def __init__(self, settings: PhoenixRowKeySettings) -> None:
        super().__init__(settings)
        self._attribute = settings.attribute
        self._buckets = settings.salt_buckets
        self._may_be_null = settings.salt_buckets is not None and len(settings.parts) > 1  # so has Phoenix
        last = len(settings.parts) - 1
        self._parts = tuple(
            _compiled(part, settings.on_missing, is_last=number == last) for number, part in enumerate(settings.parts)
        )

    def decorate(self, event: Event) -> bool:
        """Set the key."""
        key = kept = b""
        for number, (render, encode, separator, end, name) in enumerate(self._parts, 1):
            text = render(event)
            if text is None:
                return True
            if text:
                try:
                    key += encode(text)
                except ExpressionError as error:
                    raise DecorateError(f"part {number} of the row key: {error.message}", code=error.code) from error
                kept = key + end
                key += separator
            elif separator:
                key += _NULL_END
            else:
                raise NullInKeyError(f"part {number} of the row key is empty, and {name} cannot be NULL in a key")
        if not kept and not self._may_be_null:
            raise NullInKeyError("all parts of the row key are empty")
        event.set(self._attribute, kept if self._buckets is None else salt_byte(kept, self._buckets) + kept)
        return True


class _Part(NamedTuple):
    """
    A compiled part.

    Attributes:
        render: the text of the value, empty for NULL; None if no key is set.
        encode: text that is not empty -> bytes.
        separator: before the next part; empty for a type of fixed width, which cannot be NULL.
        end: what follows the value if only NULLs do, or nothing.
        name: of the type, for messages.
    """

    render: Callable[[Event], bytes | None]
    encode: Encode
    separator: bytes
    end: bytes
    name: str


def _compiled(part: PhoenixPart, on_missing: OnMissing, *, is_last: bool) -> _Part:
    separator = _ENDS[part.order] if part.type in _VARIABLE else b""
    end = separator if part.order is Order.DESC else b""
    encode = _encoder(part, is_last=is_last and part.order is Order.ASC)
    if part.order is Order.DESC:
        ascending = encode
        encode = lambda text: flipped(ascending(text))  # noqa: E731 - the other cases are functions
    return _Part(part.value.renderer(on_missing, _absent), encode, separator, end, part.type.upper())


def _encoder(part: PhoenixPart, *, is_last: bool) -> Encode:
    """To the ascending bytes."""
    match part.type:
        case PhoenixType.CHAR:
            return _of_width(char, part.width or 0)
        case PhoenixType.BINARY:
            return _of_width(binary, part.width or 0)
        case PhoenixType.VARCHAR:
            return _utf8 if is_last else _utf8_without_zero
        case PhoenixType.VARBINARY:
            return bytes
        case _:
            return phoenix.WRITE[part.type]


def _of_width(write: Callable[[bytes, int], bytes], width: int) -> Encode:
    def encode(value: bytes) -> bytes:
        try:
            return write(value, width)
        except ValueError as error:
            raise BadEncodingError(str(error)) from error

    return encode


def _utf8(text: bytes) -> bytes:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        raise BadEncodingError(f"{shown_start(text)} is not UTF-8, so it is not VARCHAR") from error
    return text


def _utf8_without_zero(text: bytes) -> bytes:
    if NUL in text:
        raise BadEncodingError(f"{shown_start(text)} has the byte 0, which ends a VARCHAR in a key of Phoenix")
    return _utf8(text)


def _absent(what: str) -> ExpressionError:
    return ExpressionError(f"no {what} for the row key", code=NoAttributeError.code)
