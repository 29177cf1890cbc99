"""How the text that a template gives becomes the bytes of a cell."""

import binascii
import math
import struct
from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType

from ingest.api import MappingError
from ingest.api.notation import name_from_bytes
from ingest.expressions import read_number

_MAX_SHOWN = 60  # bytes of a value that a message quotes
_MAX_DIGITS = 1_000  # longer text is no number but a mistake, and work on it is not free
_FEW_DIGITS = 20  # as many as 64 bits can have
_IN_NUMBERS = b"0123456789+-.eE"  # Python also reads blanks, underscores, "nan" and "inf", which are mistakes here

Encode = Callable[[bytes], bytes]
"""Raises MappingError for text that the encoding has no bytes for."""


class Encoding(StrEnum):
    """What the bytes of a value are."""

    UTF8 = "utf8"
    RAW = "raw"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT64 = "float64"
    HEX = "hex"
    BASE64 = "base64"


def _whole(form: str) -> Encode:
    packed = struct.Struct(form)
    pack, bits = packed.pack, packed.size * 8

    def encode(text: bytes) -> bytes:
        # plain digits are what nearly every event has
        number = int(text) if len(text) <= _FEW_DIGITS and text.isdigit() else _whole_number(text)
        try:
            return pack(number)
        except struct.error as error:
            message = f"{_shown(text)} does not fit into a whole number of {bits} bits"
            raise MappingError(message, code="number_too_large") from error

    return encode


def _whole_number(text: bytes) -> int:
    number = read_number(text)
    if number is None or number != int(number):
        raise MappingError(f"{_shown(text)} is not a whole number", code="not_a_number")
    return int(number)


def _float64(text: bytes) -> bytes:
    try:
        number = math.nan if len(text) > _MAX_DIGITS or text.translate(None, _IN_NUMBERS) else float(text)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise MappingError(f"{_shown(text)} is not a number", code="not_a_number")
    if math.isinf(number):
        raise MappingError(f"{_shown(text)} does not fit into a number of 64 bits", code="number_too_large")
    return _pack_float(number)


def _from_hex(text: bytes) -> bytes:
    try:
        return binascii.unhexlify(text)
    except binascii.Error as error:
        raise MappingError(f"{_shown(text)} is not hex: {error}", code="bad_encoding") from error


def _from_base64(text: bytes) -> bytes:
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except binascii.Error as error:
        raise MappingError(f"{_shown(text)} is not base64: {error}", code="bad_encoding") from error


def _shown(text: bytes) -> str:
    cut = text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…".encode()
    return repr(name_from_bytes(cut))


_pack_float = struct.Struct(">d").pack

ENCODERS: Mapping[Encoding, Encode | None] = MappingProxyType(
    {
        Encoding.UTF8: None,
        Encoding.RAW: None,
        Encoding.INT32: _whole(">i"),
        Encoding.INT64: _whole(">q"),
        Encoding.FLOAT64: _float64,
        Encoding.HEX: _from_hex,
        Encoding.BASE64: _from_base64,
    }
)
"""What each encoding does; None leaves the bytes as they are."""
