"""
Apache Phoenix's primitive types: how a value becomes bytes, which sort as the values do, and becomes the value again.

Signed numbers are big-endian with the sign bit flipped; of a negative float all bits are flipped, and 1 is added to
each float. The unsigned types are those of HBase's `Bytes.toBytes`, and have no negative values. Dates and times are
milliseconds since 1970-01-01 00:00 UTC; a TIMESTAMP has the nanoseconds within the millisecond after them. A DECIMAL is
an exponent to the base 100, its digits to that base, and a last byte if it is negative.

A descending column of a row key has all bits of the ascending bytes flipped (`flipped`), except BOOLEAN.

Source: the classes of org.apache.phoenix.schema.types, and SortOrder, PTableImpl and SaltingUtil beside them.
"""

import reprlib
from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from ingest.api.notation import shown_start
from ingest.formats.cell_types import NUMBERS, Codec

MAX_DECIMAL_DIGITS = 38
"""Significant digits of a DECIMAL; Phoenix rounds one that has more."""
MAX_SALT_BUCKETS = 256
"""Of a table: the number of a bucket is one byte."""

_FLIP = bytes(255 - byte for byte in range(256))
_NANOS = 1_000_000  # in a millisecond
_EXPONENT_OFFSET = 65
_POSITIVE_OFFSET, _NEGATIVE_OFFSET = 1, 101
_NO_DIGITS = 0xFF
_NEGATIVE_END = b"\x66"
_MAX_DECIMAL_BYTES = 21
_ZERO = b"\x80"
# Phoenix reads a lower exponent as another one; -(100**62) would begin with its separator, the byte 0
_MIN_EXPONENT, _MAX_EXPONENT = -63, 61


def _tables(byte_of: Callable[[int], int]) -> tuple[bytes, bytes]:
    """Two digits as a byte whose hexadecimal form they are -> their byte in a DECIMAL, and the other way."""
    there, back = bytearray(256), bytearray((_NO_DIGITS,) * 256)
    for pair in range(100):
        digits = int(str(pair), 16)
        there[digits] = byte_of(pair)
        back[byte_of(pair)] = digits
    return bytes(there), bytes(back)


_POSITIVE, _FROM_POSITIVE = _tables(lambda pair: pair + _POSITIVE_OFFSET)
_NEGATIVE, _FROM_NEGATIVE = _tables(lambda pair: _NEGATIVE_OFFSET - pair)


class PhoenixType(StrEnum):
    """A primitive type; the names are those of SQL. Those of text and bytes, at the end, have no codec."""

    TINYINT = "tinyint"
    SMALLINT = "smallint"
    INTEGER = "integer"
    BIGINT = "bigint"
    FLOAT = "float"
    DOUBLE = "double"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    DATE = "date"
    TIME = "time"
    TIMESTAMP = "timestamp"
    UNSIGNED_TINYINT = "unsigned_tinyint"
    UNSIGNED_SMALLINT = "unsigned_smallint"
    UNSIGNED_INT = "unsigned_int"
    UNSIGNED_LONG = "unsigned_long"
    UNSIGNED_FLOAT = "unsigned_float"
    UNSIGNED_DOUBLE = "unsigned_double"
    UNSIGNED_DATE = "unsigned_date"
    UNSIGNED_TIME = "unsigned_time"
    UNSIGNED_TIMESTAMP = "unsigned_timestamp"
    CHAR = "char"
    VARCHAR = "varchar"
    BINARY = "binary"
    VARBINARY = "varbinary"


class NotOfTypeError(ValueError):
    """The type has no such value because of its kind, not of its size: a CHAR of several bytes, for example."""


def flipped(value: bytes) -> bytes:
    """All bits flipped, as in a descending column; flipped twice it is the value again."""
    return value.translate(_FLIP)


def char(text: bytes, width: int) -> bytes:
    """
    A CHAR of this width: text of one byte a character, filled with spaces.

    Raises:
        ValueError: it is empty, which Phoenix takes for NULL, too long, or has characters of several bytes.
    """
    if not text.isascii():
        raise NotOfTypeError(f"{shown_start(text)} is not CHAR: a character has several bytes")
    return _of_width(text, width, b" ", "CHAR")


def binary(value: bytes, width: int) -> bytes:
    """
    A BINARY of this width, filled with zero bytes.

    Raises:
        ValueError: it is empty, which Phoenix takes for NULL, or too long.
    """
    return _of_width(value, width, b"\0", "BINARY")


def _of_width(value: bytes, width: int, fill: bytes, name: str) -> bytes:
    if not value:
        raise NotOfTypeError(f"an empty {name} is NULL, which a type of fixed width does not have")
    if len(value) > width:
        raise ValueError(f"{shown_start(value)} has {len(value)} bytes, more than {name}({width})")
    return value.ljust(width, fill)


def salt_byte(key: bytes, buckets: int) -> bytes:
    """The byte before the key in a table with this number of `SALT_BUCKETS`."""
    code = 1
    for byte in memoryview(key).cast("b"):
        code = (31 * code + byte) & 0xFFFFFFFF
    return bytes((abs(code - (1 << 32) if code >> 31 else code) % buckets,))


def _whole(size: int, *, is_signed: bool, name: str) -> Codec[int]:
    """As `Bytes.toBytes`, but a signed number has its sign bit flipped: it is the offset from the lowest number."""
    lowest = -(1 << 8 * size - 1) if is_signed else 0
    highest = (1 << 8 * size - 1) - 1

    def encode(number: int) -> bytes:
        if not lowest <= number <= highest:
            raise ValueError(f"{reprlib.repr(number)} is not {name}, which has {lowest} to {highest}")
        return (number - lowest).to_bytes(size, "big")

    def decode(value: bytes) -> int:
        _check_size(value, size, name)
        number = int.from_bytes(value, "big") + lowest
        if number > highest:
            raise NotOfTypeError(f"{shown_start(value)} is negative, which {name} is not")
        return number

    return Codec(encode, decode)


def _float(plain: str, name: str) -> Codec[float]:
    """The bits of the number: a negative one has all flipped, another one its sign; then 1 is added."""
    codec = NUMBERS[plain]
    size = len(codec.encode(0.0))
    sign, ones = 1 << 8 * size - 1, (1 << 8 * size) - 1

    def encode(number: float) -> bytes:
        bits = int.from_bytes(codec.encode(number), "big")
        return ((bits ^ (ones if bits & sign else sign)) + 1).to_bytes(size, "big")

    def decode(value: bytes) -> float:
        _check_size(value, size, name)
        bits = int.from_bytes(value, "big") - 1 & ones
        return codec.decode((bits ^ (sign if bits & sign else ones)).to_bytes(size, "big"))  # type: ignore[no-any-return]

    return Codec(encode, decode)


def _unsigned_float(plain: str, name: str) -> Codec[float]:
    codec = NUMBERS[plain]

    def encode(number: float) -> bytes:
        if number < 0:
            raise ValueError(f"{number} is negative, which {name} is not")
        return codec.encode(number + 0.0)  # no -0.0, which would sort after all others

    def decode(value: bytes) -> float:
        number: float = codec.decode(value)
        if number < 0:
            raise NotOfTypeError(f"{shown_start(value)} is negative, which {name} is not")
        return number

    return Codec(encode, decode)


def _timestamp(millis: Codec[int], name: str) -> Codec[int]:
    """Milliseconds, and 4 bytes for the nanoseconds after them; the value is in nanoseconds."""

    def encode(nanos: int) -> bytes:
        whole, rest = divmod(nanos, _NANOS)
        return millis.encode(whole) + rest.to_bytes(4, "big")

    def decode(value: bytes) -> int:
        _check_size(value, 12, name)
        rest = int.from_bytes(value[8:], "big")
        if rest >= _NANOS:
            raise NotOfTypeError(f"{shown_start(value)} is not {name}: it has {rest} nanoseconds after a millisecond")
        return millis.decode(value[:8]) * _NANOS + rest

    return Codec(encode, decode)


def _encode_decimal(number: Decimal) -> bytes:
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        raise NotOfTypeError(f"{number} is not DECIMAL: it is not finite")
    text = bytes(digits).hex()[1::2]
    stripped = text.rstrip("0")
    if not stripped:
        return _ZERO
    if len(stripped) > MAX_DECIMAL_DIGITS:
        raise ValueError(f"{reprlib.repr(number)} has {len(stripped)} digits, and DECIMAL {MAX_DECIMAL_DIGITS}")
    exponent += len(text) - len(stripped)
    if exponent % 2:
        stripped, exponent = f"{stripped}0", exponent - 1
    if len(stripped) % 2:
        stripped = f"0{stripped}"
    pairs = bytes.fromhex(stripped)
    power = exponent // 2 + len(pairs) - 1
    if not _MIN_EXPONENT <= power <= _MAX_EXPONENT:
        raise ValueError(f"{reprlib.repr(number)} is not DECIMAL, which has numbers from 1e-126 to below 1e124")
    first = power + _EXPONENT_OFFSET
    if not sign:
        return bytes((first | 0x80,)) + pairs.translate(_POSITIVE)
    value = bytes((0x7F - first,)) + pairs.translate(_NEGATIVE)
    return value + _NEGATIVE_END if len(value) < _MAX_DECIMAL_BYTES else value


def _decode_decimal(value: bytes) -> Decimal:
    if value == _ZERO:
        return Decimal(0)
    number = _read_decimal(value)
    if number is None or _encode_decimal(number) != value:
        raise NotOfTypeError(f"{shown_start(value)} is not DECIMAL")
    return number


def _read_decimal(value: bytes) -> Decimal | None:
    """The number whose bytes these may be; None if they have a digit that is none."""
    if not 0 < len(value) <= _MAX_DECIMAL_BYTES:
        return None
    is_negative = not value[0] & 0x80
    if is_negative:
        pairs = value[1:].removesuffix(_NEGATIVE_END).translate(_FROM_NEGATIVE)
        power = 0x7F - value[0] - _EXPONENT_OFFSET
    else:
        pairs = value[1:].translate(_FROM_POSITIVE)
        power = (value[0] & 0x7F) - _EXPONENT_OFFSET
    digits = pairs.hex()
    if not pairs or _NO_DIGITS in pairs or not _MIN_EXPONENT <= power <= _MAX_EXPONENT:
        return None
    if len(digits.strip("0")) > MAX_DECIMAL_DIGITS:
        return None
    return Decimal(f"{'-' * is_negative}{digits}E{2 * (power - len(pairs) + 1)}")


def _encode_bool(value: bool) -> bytes:  # noqa: FBT001 - the value
    return b"\1" if value else b"\0"


def _decode_bool(value: bytes) -> bool:
    _check_size(value, 1, "BOOLEAN")
    return value != b"\0"


def _check_size(value: bytes, size: int, name: str) -> None:
    if len(value) != size:
        raise NotOfTypeError(f"{shown_start(value)} has {len(value)} bytes, not {size}, so it is not {name}")


_MILLIS = {
    kind: _whole(8, is_signed=not kind.startswith("unsigned"), name=kind.upper())
    for kind in (PhoenixType.DATE, PhoenixType.TIME, PhoenixType.UNSIGNED_DATE, PhoenixType.UNSIGNED_TIME)
}

CODECS: Mapping[PhoenixType, Codec[Any]] = MappingProxyType(
    {
        PhoenixType.TINYINT: _whole(1, is_signed=True, name="TINYINT"),
        PhoenixType.SMALLINT: _whole(2, is_signed=True, name="SMALLINT"),
        PhoenixType.INTEGER: _whole(4, is_signed=True, name="INTEGER"),
        PhoenixType.BIGINT: _whole(8, is_signed=True, name="BIGINT"),
        PhoenixType.FLOAT: _float("float32", "FLOAT"),
        PhoenixType.DOUBLE: _float("float64", "DOUBLE"),
        PhoenixType.DECIMAL: Codec(_encode_decimal, _decode_decimal),
        PhoenixType.BOOLEAN: Codec(_encode_bool, _decode_bool),
        PhoenixType.TIMESTAMP: _timestamp(_MILLIS[PhoenixType.DATE], "TIMESTAMP"),
        PhoenixType.UNSIGNED_TINYINT: _whole(1, is_signed=False, name="UNSIGNED_TINYINT"),
        PhoenixType.UNSIGNED_SMALLINT: _whole(2, is_signed=False, name="UNSIGNED_SMALLINT"),
        PhoenixType.UNSIGNED_INT: _whole(4, is_signed=False, name="UNSIGNED_INT"),
        PhoenixType.UNSIGNED_LONG: _whole(8, is_signed=False, name="UNSIGNED_LONG"),
        PhoenixType.UNSIGNED_FLOAT: _unsigned_float("float32", "UNSIGNED_FLOAT"),
        PhoenixType.UNSIGNED_DOUBLE: _unsigned_float("float64", "UNSIGNED_DOUBLE"),
        PhoenixType.UNSIGNED_TIMESTAMP: _timestamp(_MILLIS[PhoenixType.UNSIGNED_DATE], "UNSIGNED_TIMESTAMP"),
        **_MILLIS,
    }
)
"""
Type -> its codec, ascending; both directions raise ValueError.

Values are int for whole numbers, dates and times in milliseconds, and timestamps in nanoseconds; float, Decimal, bool.
"""


def descending(kind: PhoenixType) -> Callable[[bytes], bytes]:
    """The function from the ascending bytes of the type to the descending ones, and back."""
    return _other_bool if kind is PhoenixType.BOOLEAN else flipped


def _other_bool(value: bytes) -> bytes:
    return b"\0" if value == b"\1" else b"\1"
