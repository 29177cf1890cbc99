"""
Encodings of values as Apache Phoenix's primitive types.

`WRITE` encodes the text of a value, `READ` decodes it. All functions raise ExpressionError for text that is no value of
the type, and for bytes that are not of the type.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from ingest.api.errors import DecorateError, ExpressionError
from ingest.api.event_errors import NotANumberError
from ingest.api.notation import shown_start
from ingest.expressions.encodings import (
    END_EXACT_32,
    END_EXACT_64,
    Change,
    float_writer,
    reader,
    too_large,
    whole_writer,
)
from ingest.expressions.numbers import EXACT, Number, read_number, write_number
from ingest.formats import booleans
from ingest.formats.numbers import float32, number_text
from ingest.formats.phoenix import CODECS, PhoenixType

_NANOS = 1_000_000  # in a millisecond
_FLOATS_32 = frozenset({PhoenixType.FLOAT, PhoenixType.UNSIGNED_FLOAT})
_FLOATS_64 = frozenset({PhoenixType.DOUBLE, PhoenixType.UNSIGNED_DOUBLE})
_TIMESTAMPS = frozenset({PhoenixType.TIMESTAMP, PhoenixType.UNSIGNED_TIMESTAMP})


def _number_writer(pack: Callable[[Any], bytes], of_number: Callable[[Number], object], what: str) -> Change:
    def write(text: bytes) -> bytes:
        number = read_number(text)
        if number is None:
            raise NotANumberError(f"{shown_start(text)} is not a number")
        try:
            return pack(of_number(number))
        except ValueError as error:
            raise too_large(text, what) from error

    return write


def _nanos(number: Number) -> int:
    nanos = number * _NANOS if isinstance(number, int) else EXACT.multiply(number, _NANOS)
    if nanos != int(nanos):
        raise ValueError(f"{number} ms has a fraction of a nanosecond")
    return int(nanos)


def _bool_writer(pack: Callable[[bool], bytes]) -> Change:
    def write(text: bytes) -> bytes:
        try:
            return pack(booleans.word(text) == b"true")
        except DecorateError as error:
            raise ExpressionError(error.message, code=error.code) from error

    return write


def _decimal_text(number: Decimal) -> bytes:
    return write_number(number.normalize(EXACT))


def _writer(kind: PhoenixType) -> Change:
    codec, name = CODECS[kind], f"Phoenix's {kind.upper()}"
    if kind in _FLOATS_32:
        return float_writer(codec, name, END_EXACT_32, float32)
    if kind in _FLOATS_64:
        return float_writer(codec, name, END_EXACT_64)
    if kind in _TIMESTAMPS:
        return _number_writer(codec.encode, _nanos, f"{name}, which is milliseconds with at most 6 decimals")
    if kind is PhoenixType.DECIMAL:
        return _number_writer(codec.encode, Decimal, f"{name}, which has at most 38 digits")
    if kind is PhoenixType.BOOLEAN:
        return _bool_writer(codec.encode)
    return whole_writer(codec.encode, name)


def _reader(kind: PhoenixType) -> Change:
    codec = CODECS[kind]
    if kind in _FLOATS_32:
        return reader(codec, lambda number: number_text(float32(number)))
    if kind in _TIMESTAMPS:
        return reader(codec, lambda nanos: _decimal_text(Decimal(nanos).scaleb(-6, EXACT)))
    if kind is PhoenixType.DECIMAL:
        return reader(codec, _decimal_text)
    if kind is PhoenixType.BOOLEAN:
        return reader(codec, lambda value: b"true" if value else b"false")
    return reader(codec)


WRITE: Mapping[PhoenixType, Change] = MappingProxyType({kind: _writer(kind) for kind in CODECS})
"""Type -> encoder of text: a number, milliseconds since 1970-01-01 00:00 UTC, or a word for true or false."""

READ: Mapping[PhoenixType, Change] = MappingProxyType({kind: _reader(kind) for kind in CODECS})
"""Type -> decoder to that text."""
