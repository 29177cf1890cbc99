"""Exact numbers, parsed from and written as text."""

import re
import struct
from decimal import Context, Decimal, DivisionByZero, Inexact, InvalidOperation, Overflow

from ingest.api.errors import ExpressionError
from ingest.api.event_errors import NumberTooLargeError
from ingest.formats.cell_types import INT64

Number = int | Decimal

MAX_DIGITS = 100  # bounds the work for text that is not a sensible number

# Parsed decimals lie between 10^149 and 10^-149 (50 digits and an exponent of 99), so a sum, difference or remainder of
# two has at most 299 digits, and a product at most 200. Nested calls may need more, which is an error.
EXACT = Context(prec=400, Emin=-4300, Emax=4300, traps=[DivisionByZero, Inexact, InvalidOperation, Overflow])

MAX_LONG = 2**63 - 1
_pack_long = INT64.pack

_INTEGER = re.compile(rb"[+-]?[0-9]{1,%d}" % MAX_DIGITS)
_DECIMAL = re.compile(rb"[+-]?[0-9]{1,50}(?:\.[0-9]{1,50})?(?:[eE][+-]?[0-9]{1,2})?")
_MAX_FLOAT_LETTERS = 1_000  # bounds the work for text that is not a sensible number
_IN_FLOATS = b"0123456789+-.eE"  # Python also accepts blanks, underscores, "nan" and "inf"


class NegativeNumberError(ExpressionError):
    """A negative number cannot be inverted."""

    code = "negative_number"
    remedy = "Guard the decorator with a `when`, or shift the number above zero."


def read_number(value: bytes) -> Number | None:
    """Parse a number such as `7`, `-0.5` or `1e3`; None if the text is not one."""
    if (value.isdigit() and len(value) <= MAX_DIGITS) or _INTEGER.fullmatch(value):
        return int(value)
    if _DECIMAL.fullmatch(value):
        return Decimal(value.decode("ascii"))
    return None


def read_whole(value: bytes) -> int | None:
    """Parse a whole number such as `7`, `12.0` or `1e3`; None if the text is not one."""
    number = read_number(value)
    return None if number is None or number != int(number) else int(number)


def read_float(value: bytes) -> float | None:
    """Parse a number as float64, infinite if it is too large; None if the text is not a number."""
    try:
        return None if len(value) > _MAX_FLOAT_LETTERS or value.translate(None, _IN_FLOATS) else float(value)
    except ValueError:
        return None


def write_number(number: Number) -> bytes:
    """
    A number as text, never with an exponent.

    Raises:
        ExpressionError: it is too large.
    """
    try:
        return b"%d" % number if isinstance(number, int) else f"{number:f}".encode("ascii")
    except ValueError as error:  # more digits than Python's limit of 4300
        raise NumberTooLargeError("the result is too large to be written") from error


def long_bytes(number: int) -> bytes:
    """
    A whole number as 8 bytes, most significant first, as HBase's own tools write a long.

    Raises:
        ExpressionError: it does not fit.
    """
    try:
        return _pack_long(number)
    except struct.error as error:
        raise NumberTooLargeError(f'"{number}" does not fit into 8 bytes') from error


def inverted(number: int) -> int:
    """
    The largest signed 64-bit number minus this one, which reverses the order.

    Raises:
        ExpressionError: it is negative, or does not fit into 64 bits.
    """
    if 0 <= number <= MAX_LONG:
        return MAX_LONG - number
    if number < 0:
        raise NegativeNumberError(f'"{number}" is negative, and cannot be inverted')
    raise NumberTooLargeError(f'"{number}" does not fit into 8 bytes')


def inverted_text(number: int) -> bytes:
    """The same as 19 digits, which sort in the order of the numbers."""
    return b"%019d" % inverted(number)
