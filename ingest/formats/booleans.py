"""
Booleans as words, as digits, and as one byte.

Source: of the byte, `toBytes` and `toBoolean` of org.apache.hadoop.hbase.util.Bytes; every byte but 0 is true.
"""

from ingest.api.errors import DecorateError
from ingest.api.event_errors import BadEncodingError
from ingest.api.notation import shown_start

_WORDS = {
    **dict.fromkeys((b"true", b"t", b"yes", b"y", b"on", b"1"), b"true"),
    **dict.fromkeys((b"false", b"f", b"no", b"n", b"off", b"0"), b"false"),
}
_BYTES = {b"true": b"\xff", b"false": b"\0"}
_DIGITS = {b"true": b"1", b"false": b"0"}


class NotABoolError(DecorateError):
    """The text, or the capture of a grok tag, is not one of the words for true and false."""

    code = "not_a_bool"
    remedy = "Add the words to the decorator's options, or correct the producer."


def word(text: bytes) -> bytes:
    """
    `true` or `false` for a word that means it.

    Raises:
        DecorateError: the word means neither.
    """
    found = _WORDS.get(text) or _WORDS.get(text.strip().lower())
    if found is None:
        raise NotABoolError(f"{shown_start(text)} is neither true nor false")
    return found


def digit_of(true_or_false: bytes) -> bytes:
    """The digit 1 for `true`, 0 for `false`."""
    return _DIGITS[true_or_false]


def byte_of(text: bytes) -> bytes:
    """
    The byte of a word.

    Raises:
        DecorateError: the word is neither true nor false.
    """
    return _BYTES[word(text)]


def of_byte(value: bytes) -> bytes:
    """
    `true` or `false` for a byte.

    Raises:
        DecorateError: these are several bytes, or none.
    """
    if len(value) != 1:
        raise DecorateError(f"{shown_start(value)} has {len(value)} bytes, not 1", code=BadEncodingError.code)
    return b"false" if value == b"\0" else b"true"
