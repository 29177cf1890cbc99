"""JSON with numbers preserved as written, digit for digit."""

import json
import re
from collections.abc import Callable
from typing import NoReturn

import orjson

from ingest.api.event_errors import BadJsonError, TooDeepError
from ingest.formats import byte_order_marks

_MINUS = ord("-")
_MINUS_ZERO = re.compile(rb"-0(?<=[\[:,\s]-0)(?![\d.eE])")  # a match inside a string only costs time


def read_json(text: bytes) -> object:
    """
    Parse a text; if a number is too large for a float, all its numbers are `NumberAsWritten`.

    A byte order mark before it is ignored (RFC 8259, 8.1).

    Raises:
        DecorateError: it is not valid JSON.
    """
    try:
        content: object = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if "infinity" in error.msg:  # a number beyond the range of floats, which JSON allows
            return _with_large_numbers(text)
        unmarked = text.removeprefix(byte_order_marks.UTF8)
        if len(unmarked) < len(text) and not unmarked.startswith(byte_order_marks.UTF8):
            return read_json(unmarked)
        raise BadJsonError(not_utf8(text) or f"not JSON: {error}") from error
    return content


def not_utf8(text: bytes) -> str | None:
    """Which byte of a text is not UTF-8, in words; None if it is UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return f"the text is not UTF-8 (byte {error.start} is {text[error.start]:02X})"
    return None


def attributes_of(
    content: object, text: bytes, flatten: Callable[[dict[str, object]], dict[str, bytes]]
) -> dict[str, bytes]:
    """
    The attributes of an object or an array.

    Args:
        content: an object, or an array, whose elements have their indexes as names.
        text: the source of the content; parsed again, more slowly, if it has a number with several notations.
        flatten: turns an object into attributes, with `write_json` or a `json_writer` for values.

    Raises:
        DecorateError: it is nested too deep.
    """
    if _MINUS in text and _MINUS_ZERO.search(text):
        content = _with_numbers_as_written(text)  # as an int it would be 0
    try:
        return flatten(_members(content))
    except AmbiguousNumberError:
        return flatten(_members(_with_numbers_as_written(text)))


def write_json(value: object) -> bytes:
    """The bytes of a number, a boolean, an array or an object; only for use in `attributes_of`."""
    # by exact types, which a decoder returns: several isinstance take longer
    if type(value) is int:
        return b"%d" % value
    if type(value) is NumberAsWritten:
        return value.encode()
    if type(value) is bool:
        return b"true" if value else b"false"
    if type(value) is list or type(value) is dict:
        return _text(value)
    raise AmbiguousNumberError


class AmbiguousNumberError(Exception):
    """A float, whose notation in the text is unknown; caught by `attributes_of`."""


class NumberAsWritten(str):
    """A number as written; for `parse_float` and `parse_int` of Python's decoder."""

    __slots__ = ()


def refuse_constant(name: str) -> NoReturn:
    """
    For `parse_constant` of Python's decoder, which by default accepts NaN and Infinity.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"{name} is not valid JSON")


_slow_decoder = json.JSONDecoder(parse_float=NumberAsWritten, parse_int=NumberAsWritten, parse_constant=refuse_constant)


def _members(content: object) -> dict[str, object]:
    if isinstance(content, list):
        return {str(index): element for index, element in enumerate(content)}
    return content if isinstance(content, dict) else {}


def _with_numbers_as_written(text: bytes) -> object:
    """Parse the text with a slower decoder that keeps numbers as written."""
    try:
        content: object = _slow_decoder.decode(text.removeprefix(byte_order_marks.UTF8).decode())
    except RecursionError as error:
        raise TooDeepError("nested too deep") from error
    return content


def _with_large_numbers(text: bytes) -> object:
    """Parse a text at whose numbers orjson stopped."""
    try:
        content = _with_numbers_as_written(text)
        json.dumps(content, ensure_ascii=False).encode()  # rejects lone surrogates, which Python's decoder accepts
    except ValueError as error:  # from the decoder or from UTF-8
        raise BadJsonError(not_utf8(text) or f"not JSON: {error}") from error
    except RecursionError as error:
        raise TooDeepError("nested too deep") from error
    return content


def _text(content: list[object] | dict[str, object]) -> bytes:
    if _has_float(content):
        raise AmbiguousNumberError
    try:
        return orjson.dumps(content, default=_as_written, option=orjson.OPT_PASSTHROUGH_SUBCLASS)
    except orjson.JSONEncodeError as error:
        raise TooDeepError(f"an array or object is nested too deep: {error}") from error


def _as_written(number: object) -> object:
    return orjson.Fragment(str(number))


def _has_float(value: object) -> bool:
    stack = [value]
    while stack:
        value = stack.pop()
        if isinstance(value, float):
            return True
        if isinstance(value, list):
            stack.extend(value)
        elif isinstance(value, dict):
            stack.extend(value.values())
    return False
