"""Numbers in events: text of digits <-> exact values."""

import re
from decimal import Context, Decimal

from ingest.api.errors import ExpressionError

Number = int | Decimal

EXACT = Context(prec=60)  # digits; sums and products of two 64-bit numbers with fractions stay exact
MAX_DIGITS = 100  # longer text is no number but a mistake, and work on it is not free

_INTEGER = re.compile(rb"[+-]?[0-9]{1,%d}" % MAX_DIGITS)
_DECIMAL = re.compile(rb"[+-]?[0-9]{1,50}(?:\.[0-9]{1,50})?(?:[eE][+-]?[0-9]{1,2})?")


def read_number(value: bytes) -> Number | None:
    """The number a text stands for (`7`, `-0.5`, `1e3`), or None."""
    if (value.isdigit() and len(value) <= MAX_DIGITS) or _INTEGER.fullmatch(value):
        return int(value)
    if _DECIMAL.fullmatch(value):
        return Decimal(value.decode("ascii"))
    return None


def write_number(number: Number) -> bytes:
    """
    A number as text, never with an exponent.

    Raises:
        ExpressionError: it is too large.
    """
    try:
        return b"%d" % number if isinstance(number, int) else f"{number:f}".encode("ascii")
    except ValueError as error:  # Python's own limit, 4300 digits
        raise ExpressionError("the result is too large to be written", code="number_too_large") from error
