"""
Numbers in binary form whose type depends on the value: an integer becomes an int64, any other number a float64.

What is an integer is decided by the notation of JSON: digits without a fraction and without an exponent.
"""

import math
import re
from collections.abc import Callable
from enum import StrEnum

from ingest.api.errors import DecorateError
from ingest.api.event_errors import NumberTooLargeError
from ingest.api.notation import shown_start
from ingest.formats.cell_types import FLOAT64, INT64
from ingest.formats.json_text import AmbiguousNumberError, NumberAsWritten, write_json

Write = Callable[[object], bytes]
"""A function from a value other than text and null to the value of an attribute."""

_MAX_DIGITS = 1_000  # bounds the work for text that is not a sensible number
_SURE_DIGITS = 18  # any integer of so many digits fits into 64 bits
_END_INT64 = 2**63
_END_EXACT = 2**53  # float64 holds every integer below
_FRACTIONAL = frozenset(".eE")
_ZERO = ord("0")
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)((?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")  # RFC 8259

_pack_integer, _pack_float = INT64.pack, FLOAT64.pack


class Numbers(StrEnum):
    """How the numbers of parsed content become values of attributes."""

    TEXT = "text"
    AUTO = "auto"
    FLOAT64 = "float64"


def number_or_text(text: bytes) -> bytes:
    """
    The int64 or float64 of a text that is a number as JSON writes numbers; any other text unchanged.

    Text that is not JSON's notation, such as `007`, `+7` and `1_000`, is no number: it may be an identifier. An integer
    beyond 64 bits stays text, because a float64 would round it, and so does a number beyond the range of float64.
    """
    if len(text) <= _SURE_DIGITS and text.isdigit() and (text[0] != _ZERO or len(text) == 1):
        return _pack_integer(int(text))
    if len(text) > _MAX_DIGITS or (found := _NUMBER.fullmatch(text)) is None:
        return text
    if not found[1]:
        integer = int(text)
        return _pack_integer(integer) if -_END_INT64 <= integer < _END_INT64 else text
    number = float(text)
    return _pack_float(number) if math.isfinite(number) else text


def number_writer(numbers: Numbers, write: Write) -> Write:
    """
    A function that writes int and float in this form, and other values with `write`.

    It raises DecorateError (`number_too_large`) for an integer that the form cannot hold exactly.
    """
    if numbers is Numbers.TEXT:
        return write
    write_integer = _int64 if numbers is Numbers.AUTO else _exact_float64

    def write_number(value: object) -> bytes:
        if type(value) is int:  # not isinstance: a boolean is an int
            return write_integer(value)
        if type(value) is float:
            return _pack_float(value)
        return write(value)

    return write_number


def json_writer(numbers: Numbers) -> Write:
    """
    The same for numbers of JSON, with `write_json` for other values; only for use in `attributes_of`.

    It raises DecorateError (`number_too_large`) also for a number beyond the range of float64.
    """
    if numbers is Numbers.TEXT:
        return write_json
    write_integer = _int64 if numbers is Numbers.AUTO else _exact_float64

    def write_number(value: object) -> bytes:
        if type(value) is int:
            return write_integer(value)
        if type(value) is float:
            if -_END_INT64 < value < _END_INT64:
                return _pack_float(value)
            raise AmbiguousNumberError  # it may be an integer
        if type(value) is not NumberAsWritten:
            return write_json(value)
        return _pack_float(_parsed(value)) if _is_fractional(value) else write_integer(_parsed_integer(value))

    return write_number


def _int64(number: int) -> bytes:
    if -_END_INT64 <= number < _END_INT64:
        return _pack_integer(number)
    raise _too_large(b"%d" % number, "64 bits")


def _exact_float64(number: int) -> bytes:
    if -_END_EXACT <= number <= _END_EXACT or _is_exact(number):
        return _pack_float(number)
    raise _too_large(b"%d" % number, "a float64 without rounding")


def _is_exact(number: int) -> bool:
    try:
        return int(float(number)) == number
    except OverflowError:
        return False


def _is_fractional(number: NumberAsWritten) -> bool:
    return not _FRACTIONAL.isdisjoint(number)


def _parsed_integer(number: NumberAsWritten) -> int:
    if len(number) > _MAX_DIGITS:
        raise _too_large(number.encode(), "64 bits")
    return int(number)


def _parsed(number: NumberAsWritten) -> float:
    parsed = float(number)
    if math.isinf(parsed):
        raise _too_large(number.encode(), "a float64")
    return parsed


def _too_large(number: bytes, limit: str) -> DecorateError:
    return DecorateError(
        f"{shown_start(number)} does not fit into {limit}", code=NumberTooLargeError.code, hint="set `numbers: text`"
    )
