"""
Encodings of values: numbers of a fixed width, and bytes as hexadecimal, base64 or percent-encoded text.

`WRITE` encodes, `READ` decodes. All functions raise ExpressionError for input that is invalid in their encoding.
"""

import binascii
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from decimal import Decimal
from types import MappingProxyType
from urllib.parse import quote_from_bytes, unquote_to_bytes

from ingest.api.errors import ExpressionError
from ingest.api.event_errors import BadEncodingError, NotANumberError, NumberTooLargeError
from ingest.api.notation import shown_start
from ingest.expressions.numbers import read_float, read_whole
from ingest.formats.cell_types import NUMBERS, NotFiniteError
from ingest.formats.numbers import float32, number_text

_FEW_DIGITS = 20  # as many as a 64-bit number has
_PIECE_BYTES = 64 << 10  # Python makes a list of all escapes, which takes 184 times as much memory as the text
_URL_LETTERS = bytes.maketrans(b"-_", b"+/")

Change = Callable[[bytes], bytes]


def _write_whole(encoding: str) -> Change:
    pack = NUMBERS[encoding].encode
    what = f"a whole number of {8 * len(pack(0))} bits"

    def write(text: bytes) -> bytes:
        # fast path for plain digits
        number = int(text) if len(text) <= _FEW_DIGITS and text.isdigit() else _whole_number(text)
        try:
            return pack(number)
        except ValueError as error:
            raise _too_large(text, what) from error

    return write


def _whole_number(text: bytes) -> int:
    number = read_whole(text)
    if number is None:
        raise NotANumberError(f"{shown_start(text)} is not a whole number")
    return number


def _write_float(encoding: str, end_exact: int, shortest: Callable[[float], float] = float) -> Change:
    """
    Encode numbers, except whole ones, in any notation, that would be read back as other ones.

    Args:
        encoding: the name of the type.
        end_exact: the type holds every integer below.
        shortest: the number that is read back, see `ingest.formats.numbers`.
    """
    pack, unpack = NUMBERS[encoding].encode, NUMBERS[encoding].decode
    what = f"a number of {8 * len(pack(0))} bits"

    def write(text: bytes) -> bytes:
        number = read_float(text)
        if number is None:
            raise NotANumberError(f"{shown_start(text)} is not a number")
        try:
            value = pack(number)
        except ValueError as error:
            raise _too_large(text, what) from error
        if not -end_exact < number < end_exact:
            exact = Decimal(text.decode("ascii"))
            if exact == exact.to_integral_value() and exact != Decimal(repr(shortest(unpack(value)))):
                raise _too_large(text, f"{what} without rounding")
        return value

    return write


def _too_large(text: bytes, what: str) -> ExpressionError:
    return NumberTooLargeError(f"{shown_start(text)} does not fit into {what}")


def _read(encoding: str, text_of: Callable[[float], bytes] = number_text) -> Change:
    unpack = NUMBERS[encoding].decode

    def read(value: bytes) -> bytes:
        try:
            number = unpack(value)
        except NotFiniteError as error:
            raise NotANumberError(str(error)) from error
        except ValueError as error:
            raise BadEncodingError(str(error)) from error
        return text_of(number)

    return read


def _read_hex(text: bytes) -> bytes:
    try:
        return binascii.unhexlify(text)
    except binascii.Error as error:
        raise BadEncodingError(f"{shown_start(text)} is not hex: {error}") from error


def _read_base64(text: bytes) -> bytes:
    """Padding at the end may be missing, as in JSON web tokens and for java.util.Base64, but not a part of it."""
    padding = b"" if text.endswith(b"=") else b"=" * (-len(text) % 4)
    try:
        return binascii.a2b_base64(text + padding, strict_mode=True)
    except binascii.Error as error:
        raise BadEncodingError(f"{shown_start(text)} is not base64: {error}") from error


def _read_base64url(text: bytes) -> bytes:
    if b"+" in text or b"/" in text:
        raise BadEncodingError(f"{shown_start(text)} is not base64url but base64")
    return _read_base64(text.translate(_URL_LETTERS))


def _write_percent(value: bytes) -> bytes:
    return quote_from_bytes(value, safe="").encode("ascii")


def _write_form(value: bytes) -> bytes:
    return _write_percent(value).replace(b"%20", b"+")


def read_percent(text: bytes) -> bytes:
    """The bytes of percent-encoded text; a percent sign without two hexadecimal digits after it is left unchanged."""
    if len(text) <= _PIECE_BYTES:
        return unquote_to_bytes(text)
    pieces = []
    start = 0
    while start < len(text):
        end = start + _PIECE_BYTES
        cut = text.rfind(b"%", end - 2, end)  # its digits may be in the next piece
        end = end if cut < 0 else cut
        pieces.append(unquote_to_bytes(text[start:end]))
        start = end
    return b"".join(pieces)


def _read_form(text: bytes) -> bytes:
    blanks = text.replace(b"+", b" ")
    return unquote_to_bytes(blanks) if len(blanks) <= _PIECE_BYTES else read_percent(blanks)


WRITE: Mapping[str, Change] = MappingProxyType(
    {
        "int16": _write_whole("int16"),
        "int32": _write_whole("int32"),
        "int64": _write_whole("int64"),
        "float32": _write_float("float32", 2**24, float32),
        "float64": _write_float("float64", 2**53),
        "hex": lambda value: value.hex().encode("ascii"),
        "base64": b64encode,
        "base64url": urlsafe_b64encode,
        "percent": _write_percent,
        "form": _write_form,
    }
)
"""Encoding -> encoder: text of a number to big-endian bytes, as HBase's own tools write them; other bytes to text."""

READ: Mapping[str, Change] = MappingProxyType(
    {
        "int16": _read("int16"),
        "int32": _read("int32"),
        "int64": _read("int64"),
        "float32": _read("float32", lambda number: number_text(float32(number))),
        "float64": _read("float64"),
        "hex": _read_hex,
        "base64": _read_base64,
        "base64url": _read_base64url,
        "percent": read_percent,
        "form": _read_form,
    }
)
"""Encoding -> decoder; a percent sign without two hexadecimal digits after it is left unchanged."""
