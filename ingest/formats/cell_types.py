"""
The types of cells: how a value becomes the bytes of a cell, and how those bytes become the value again.

Numbers have a fixed width and are big-endian: integers in two's complement, floats in IEEE 754. A boolean is one byte,
0 for false. Infinity and NaN are no
values of a cell, neither written nor read: as text they are no numbers.

Source: org.apache.hadoop.hbase.util.Bytes.
"""

import json
import math
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

INT8 = Struct(">b")
"""Layout of a byte of Java."""
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
    BOOL8 = "bool8"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    JSON = "json"


class NotFiniteError(ValueError):
    """A float is infinite or NaN."""


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


def _whole_number(layout: Struct, name: str) -> Codec[Any]:
    pack, unpack, size = layout.pack, layout.unpack, layout.size

    def encode(number: object) -> bytes:
        try:
            return pack(number)
        except struct.error as error:
            raise ValueError(f"{reprlib.repr(number)} cannot be written as {name}: {error}") from error

    def decode(value: bytes) -> object:
        if len(value) != size:
            raise _wrong_size(value, size, name)
        return unpack(value)[0]

    return Codec(encode, decode)


def _float(layout: Struct, name: str) -> Codec[Any]:
    pack, unpack, size = layout.pack, layout.unpack, layout.size

    def encode(number: Any) -> bytes:
        try:
            packed = pack(number)
        except (struct.error, OverflowError) as error:
            raise ValueError(f"{reprlib.repr(number)} cannot be written as {name}: {error}") from error
        if not math.isfinite(number):
            raise NotFiniteError(f"{number} cannot be written as {name}: it is not finite")
        return packed

    def decode(value: bytes) -> object:
        if len(value) != size:
            raise _wrong_size(value, size, name)
        (number,) = unpack(value)
        if not math.isfinite(number):
            raise NotFiniteError(f"{shown_start(value)} is {number}, which is not a number")
        return number

    return Codec(encode, decode)


def _encode_bool(value: bool) -> bytes:  # noqa: FBT001 - the value
    return b"\xff" if value else b"\0"


def _decode_bool(value: bytes) -> bool:
    if len(value) != 1:
        raise _wrong_size(value, 1, "bool8")
    return value != b"\0"


def _wrong_size(value: bytes, size: int, name: str) -> ValueError:
    return ValueError(f"{shown_start(value)} has {len(value)} bytes, not {size}, so it is not {name}")


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


def _encode_json(text: str) -> bytes:
    value = _encode_text(text)
    _decode_json(value)
    return value


def _decode_json(value: bytes) -> str:
    text = _decode_text(value)
    try:
        json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{shown_start(value)} is not JSON: {error}") from error
    return text


NUMBERS: Mapping[str, Codec[Any]] = MappingProxyType(
    {
        "int8": _whole_number(INT8, "int8"),
        "int16": _whole_number(INT16, "int16"),
        "int32": _whole_number(INT32, "int32"),
        "int64": _whole_number(INT64, "int64"),
        "float32": _float(FLOAT32, "float32"),
        "float64": _float(FLOAT64, "float64"),
    }
)
"""Name of an encoding of numbers -> its codec; values are int and float."""

CODECS: Mapping[CellType, Codec[Any]] = MappingProxyType(
    {
        CellType.UTF8: Codec(_encode_text, _decode_text),
        CellType.BOOL8: Codec(_encode_bool, _decode_bool),
        CellType.INT8: NUMBERS["int8"],
        CellType.INT16: NUMBERS["int16"],
        CellType.INT32: NUMBERS["int32"],
        CellType.INT64: NUMBERS["int64"],
        CellType.FLOAT32: NUMBERS["float32"],
        CellType.FLOAT64: NUMBERS["float64"],
        CellType.JSON: Codec(_encode_json, _decode_json),
    }
)
"""Type -> its codec; values are int, float, bool, and for `utf8` and `json` text, for `json` valid JSON."""
