"""
Encodings of values: numbers of a fixed width, and bytes as hexadecimal, base64, percent-encoded or escaped text.

`WRITE` encodes, `READ` decodes. All functions raise ExpressionError for input that is invalid in their encoding.
"""

import binascii
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any
from urllib.parse import quote_from_bytes, unquote_to_bytes

from ingest.api.errors import ExpressionError
from ingest.api.event_errors import BadEncodingError, NotANumberError, NumberTooLargeError
from ingest.api.notation import shown_start
from ingest.expressions.numbers import read_float, read_whole
from ingest.formats.cell_types import NUMBERS, Codec, NotFiniteError
from ingest.formats.numbers import float32, number_text

_FEW_DIGITS = 20  # as many as a 64-bit number has
_PIECE_BYTES = 64 << 10  # Python makes a list of all escapes, which takes 184 times as much memory as the text
_NOT_SHOWN = re.compile(rb"[^ -~]|\\")
_ESCAPE = re.compile(rb"\\x([0-9a-fA-F]{2})?")
_URL_LETTERS = bytes.maketrans(b"-_", b"+/")

END_EXACT_32, END_EXACT_64 = 2**24, 2**53
"""A float of 32 and of 64 bits holds every integer below."""

Change = Callable[[bytes], bytes]


def whole_writer(pack: Callable[[int], bytes], what: str) -> Change:
    """
    An encoder of whole numbers.

    Args:
        pack: number -> bytes; raises ValueError for a number that the type does not have.
        what: the type, for messages.
    """

    def write(text: bytes) -> bytes:
        # fast path for plain digits
        number = int(text) if len(text) <= _FEW_DIGITS and text.isdigit() else _whole_number(text)
        try:
            return pack(number)
        except ValueError as error:
            raise too_large(text, what) from error

    return write


def _whole_number(text: bytes) -> int:
    number = read_whole(text)
    if number is None:
        raise NotANumberError(f"{shown_start(text)} is not a whole number")
    return number


def float_writer(codec: Codec[float], what: str, end_exact: int, shortest: Callable[[float], float] = float) -> Change:
    """
    An encoder of numbers, except whole ones, in any notation, that would be read back as other ones.

    Args:
        codec: of the type.
        what: the type, for messages.
        end_exact: the type holds every integer below.
        shortest: the number that is read back, see `ingest.formats.numbers`.
    """
    pack, unpack = codec.encode, codec.decode

    def write(text: bytes) -> bytes:
        number = read_float(text)
        if number is None:
            raise NotANumberError(f"{shown_start(text)} is not a number")
        try:
            value = pack(number)
        except ValueError as error:
            raise too_large(text, what) from error
        if not -end_exact < number < end_exact:
            exact = Decimal(text.decode("ascii"))
            if exact == exact.to_integral_value() and exact != Decimal(repr(shortest(unpack(value)))):
                raise too_large(text, f"{what} without rounding")
        return value

    return write


def too_large(text: bytes, what: str) -> ExpressionError:
    """The error for a number that the type does not have."""
    return NumberTooLargeError(f"{shown_start(text)} does not fit into {what}")


def reader(codec: Codec[Any], text_of: Callable[[Any], bytes] = number_text) -> Change:
    """A decoder to text, which `text_of` writes."""
    unpack = codec.decode

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


def _write_string_binary(value: bytes) -> bytes:
    return _NOT_SHOWN.sub(lambda found: b"\\x%02X" % found[0][0], value)


def _read_string_binary(text: bytes) -> bytes:
    """An escape in small letters is read too; HBase's `toBytesBinary` leaves it out."""

    def byte_of(found: re.Match[bytes]) -> bytes:
        if found[1] is None:
            place = found.start()
            raise BadEncodingError(f"{shown_start(text[place : place + 4])} at byte {place} is not \\xNN")
        return binascii.unhexlify(found[1])

    return _ESCAPE.sub(byte_of, text)


WRITE: Mapping[str, Change] = MappingProxyType(
    {
        "int8": whole_writer(NUMBERS["int8"].encode, "a whole number of 8 bits"),
        "int16": whole_writer(NUMBERS["int16"].encode, "a whole number of 16 bits"),
        "int32": whole_writer(NUMBERS["int32"].encode, "a whole number of 32 bits"),
        "int64": whole_writer(NUMBERS["int64"].encode, "a whole number of 64 bits"),
        "float32": float_writer(NUMBERS["float32"], "a number of 32 bits", END_EXACT_32, float32),
        "float64": float_writer(NUMBERS["float64"], "a number of 64 bits", END_EXACT_64),
        "hex": lambda value: value.hex().encode("ascii"),
        "base64": b64encode,
        "base64url": urlsafe_b64encode,
        "percent": _write_percent,
        "form": _write_form,
        "string_binary": _write_string_binary,
    }
)
"""Encoding -> encoder: text of a number to big-endian bytes, as HBase's own tools write them; other bytes to text."""

READ: Mapping[str, Change] = MappingProxyType(
    {
        "int8": reader(NUMBERS["int8"]),
        "int16": reader(NUMBERS["int16"]),
        "int32": reader(NUMBERS["int32"]),
        "int64": reader(NUMBERS["int64"]),
        "float32": reader(NUMBERS["float32"], lambda number: number_text(float32(number))),
        "float64": reader(NUMBERS["float64"]),
        "hex": _read_hex,
        "base64": _read_base64,
        "base64url": _read_base64url,
        "percent": read_percent,
        "form": _read_form,
        "string_binary": _read_string_binary,
    }
)
"""Encoding -> decoder; a percent sign without two hexadecimal digits after it is left unchanged."""
