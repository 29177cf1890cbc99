"""
The types of cells: how a value becomes the bytes of a cell, and how those bytes become the value again.

Numbers have a fixed width and are big-endian: integers in two's complement, floats in IEEE 754.

Source: org.apache.hadoop.hbase.util.Bytes.
"""

import json
import reprlib
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from struct import Struct
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from ingest.api.notation import shown_start
from ingest.formats.json_text import refuse_constant

T = TypeVar("T")

INT16 = Struct(">h")
"""Layout of `Bytes.toBytes(short)`."""
INT32 = Struct(">i")
"""Layout of `Bytes.toBytes(int)`."""
INT64 = Struct(">q")
"""Layout of `Bytes.toBytes(long)`, and of HBase's counters."""
FLOAT32 = Struct(">f")
"""Layout of `Bytes.toBytes(float)`."""
FLOAT64 = Struct(">d")
"""Layout of `Bytes.toBytes(double)`."""


class CellType(StrEnum):
    """The type of all cells of a column."""

    UTF8 = "utf8"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT64 = "float64"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Codec(Generic[T]):
    """
    Both directions of a type: `decode(encode(value)) == value`.

    Attributes:
        encode: value -> bytes; raises ValueError for a value that the type does not have.
        decode: bytes -> value; raises ValueError for bytes that are not of the type.
    """

    encode: Callable[[T], bytes]
    decode: Callable[[bytes], T]


def wrong_size(value: bytes, size: int) -> str:
    """The message for a value that does not have the right number of bytes."""
    return f"{shown_start(value)} has {len(value)} bytes, not {size}"


def _number(layout: Struct, cell_type: CellType) -> Codec[Any]:
    pack, unpack, size = layout.pack, layout.unpack, layout.size

    def encode(number: object) -> bytes:
        try:
            return pack(number)
        except (struct.error, OverflowError) as error:
            raise ValueError(f"{reprlib.repr(number)} cannot be written as {cell_type}: {error}") from error

    def decode(value: bytes) -> object:
        try:
            return unpack(value)[0]
        except struct.error as error:
            raise ValueError(f"{wrong_size(value, size)}, so it is not {cell_type}") from error

    return Codec(encode, decode)


def _encode_text(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{reprlib.repr(text)} cannot be written as utf8: it has a lone surrogate") from error


def _decode_text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{shown_start(value)} is not UTF-8") from error


def _encode_json(content: object) -> bytes:
    try:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{reprlib.repr(content)} cannot be written as json: {error}") from error
    return _encode_text(text)


def _decode_json(value: bytes) -> object:
    """Integers are exact, whatever their size; of members with one name the last remains."""
    text = _decode_text(value)
    try:
        content: object = json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{shown_start(value)} is not JSON: {error}") from error
    return content


CODECS: Mapping[CellType, Codec[Any]] = MappingProxyType(
    {
        CellType.UTF8: Codec(_encode_text, _decode_text),
        CellType.INT32: _number(INT32, CellType.INT32),
        CellType.INT64: _number(INT64, CellType.INT64),
        CellType.FLOAT64: _number(FLOAT64, CellType.FLOAT64),
        CellType.JSON: Codec(_encode_json, _decode_json),
    }
)
"""Type -> its codec; values are str, int, float, and for `json` what Python's decoder returns."""
