"""JSON as it was written: content of a text, and bytes of what is in it, with every number digit for digit."""

import json
import re
from collections.abc import Callable
from typing import NoReturn

import orjson

from ingest.api.errors import DecorateError

_MINUS = ord("-")
_MINUS_ZERO = re.compile(rb"-0(?<=[\[:,\s]-0)(?![\d.eE])")  # also in a text, where it costs time and changes nothing


def read_json(text: bytes) -> object:
    """
    The content of a text; one with a number that no float holds has all its numbers as they were written.

    Raises:
        DecorateError: it is no JSON.
    """
    try:
        content: object = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if "infinity" in error.msg:  # the grammar has no largest number
            return _with_large_numbers(text)
        raise DecorateError(f"not JSON: {error}", code="bad_json") from error
    return content


def attributes_of(
    content: object, text: bytes, flatten: Callable[[dict[str, object]], dict[str, bytes]]
) -> dict[str, bytes]:
    """
    The attributes that content becomes.

    Args:
        content: an object or an array, whose elements have their numbers as names.
        text: what it was read from; it is read again, more slowly, where a number in it has many writings.
        flatten: makes attributes of an object, with the bytes that `write_json` gives.

    Raises:
        DecorateError: it is nested too deep.
    """
    if _MINUS in text and _MINUS_ZERO.search(text):
        content = _with_numbers_as_written(text)  # as an int it is 0
    try:
        return flatten(_members(content))
    except _NumberWithManyWritingsError:
        return flatten(_members(_with_numbers_as_written(text)))


def write_json(value: object) -> bytes:
    """The bytes of a number, a truth value or an array, for `attributes_of` alone."""
    match value:
        case bool():
            return b"true" if value else b"false"
        case int():
            return b"%d" % value
        case list():
            return _text(value)
    raise _NumberWithManyWritingsError


class _NumberWithManyWritingsError(Exception):
    """A number that a float does not give back as it was written; never leaves this file."""


class NumberAsWritten(str):
    """A number as it was written: what `parse_float` and `parse_int` of Python's decoder may give in its place."""

    __slots__ = ()


def refuse_constant(name: str) -> NoReturn:
    """
    For `parse_constant` of Python's decoder, which takes NaN and Infinity otherwise.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"{name} is no JSON")


_slow_decoder = json.JSONDecoder(parse_float=NumberAsWritten, parse_int=NumberAsWritten, parse_constant=refuse_constant)


def _members(content: object) -> dict[str, object]:
    if isinstance(content, list):
        return {str(index): element for index, element in enumerate(content)}
    return content if isinstance(content, dict) else {}


def _with_numbers_as_written(text: bytes) -> object:
    """The same content, read again by a slower decoder that keeps the writing of numbers."""
    try:
        content: object = _slow_decoder.decode(text.decode())
    except RecursionError as error:
        raise DecorateError("nested too deep", code="too_deep") from error
    return content


def _with_large_numbers(text: bytes) -> object:
    """The content of a text that orjson has not read to its end."""
    try:
        content = _with_numbers_as_written(text)
        json.dumps(content, ensure_ascii=False).encode()  # Python's decoder lets lone surrogates pass
    except ValueError as error:  # of the decoder, and of UTF-8
        raise DecorateError(f"not JSON: {error}", code="bad_json") from error
    except RecursionError as error:
        raise DecorateError("nested too deep", code="too_deep") from error
    return content


def _text(array: list[object]) -> bytes:
    if _has_float(array):
        raise _NumberWithManyWritingsError
    try:
        return orjson.dumps(array, default=_as_written, option=orjson.OPT_PASSTHROUGH_SUBCLASS)
    except orjson.JSONEncodeError as error:
        raise DecorateError(f"an array is nested too deep: {error}", code="too_deep") from error


def _as_written(number: object) -> object:
    return orjson.Fragment(str(number))


def _has_float(value: object) -> bool:
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, float):
            return True
        if isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, dict):
            waiting.extend(value.values())
    return False
