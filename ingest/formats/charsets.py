"""Text in character sets."""

from collections.abc import Callable

from ingest.api.errors import DecorateError
from ingest.api.event_errors import BadEncodingError
from ingest.api.notation import shown_start

_NOT_ASCII_SUPERSETS = frozenset({"utf-16le", "utf-16be"})  # all other charsets encode ASCII unchanged


def recoder(old: str, new: str, *, replaces: bool) -> Callable[[bytes], bytes]:
    """
    A function from text in one character set, by Python's name of it, to the same text in another.

    It raises DecorateError (`bad_encoding`) for a character that cannot be read or written, unless it `replaces` such
    characters by U+FFFD or a question mark.
    """
    errors = "replace" if replaces else "strict"
    is_same_ascii = _NOT_ASCII_SUPERSETS.isdisjoint((old, new))

    def recode(value: bytes) -> bytes:
        if is_same_ascii and value.isascii():
            return value
        try:
            return value.decode(old, errors).encode(new, errors)
        except UnicodeError as error:
            message = f"{shown_start(value)} cannot be read as {old} and written as {new}"
            raise DecorateError(message, code=BadEncodingError.code) from error

    return recode
