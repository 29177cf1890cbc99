"""Operations on UTF-8 text in bytes; invalid bytes are kept, and ASCII is not decoded."""

import re
from collections.abc import Callable

from ingest.api.growth import MAX_GROWN_BYTES, check_grown

_WORD = re.compile(rb"[0-9A-Za-z]+(?:'[0-9A-Za-z]+)*")
_WORD_OF_CHARACTERS = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")


def characters_of(value: bytes) -> str:
    """The characters; an invalid byte becomes a lone surrogate (PEP 383)."""
    return value.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """The bytes of characters from `characters_of`."""
    return text.encode("utf-8", "surrogateescape")


def replacer(old: bytes, new: bytes, most: int = -1) -> Callable[[bytes], bytes]:
    """
    A function that replaces the first `most` places of a text, or all for -1.

    It raises DecorateError if the result is too large.
    """
    growth = len(new) - len(old)

    def replace(value: bytes) -> bytes:
        if len(value) * growth > MAX_GROWN_BYTES:
            places = value.count(old)
            check_grown(len(value) + growth * (places if most < 0 else min(places, most)), len(value))
        return value.replace(old, new, most)

    return replace if growth > 0 else lambda value: value.replace(old, new, most)


def lower(value: bytes) -> bytes:
    """The text in lower case."""
    return value.lower() if value.isascii() else bytes_of(characters_of(value).lower())


def upper(value: bytes) -> bytes:
    """The text in upper case."""
    return value.upper() if value.isascii() else bytes_of(characters_of(value).upper())


def title(value: bytes) -> bytes:
    """The text in title case; `it's` is one word."""
    if value.isascii():
        return _WORD.sub(_capitalized_bytes, value)
    return bytes_of(_WORD_OF_CHARACTERS.sub(_capitalized, characters_of(value)))


def _capitalized_bytes(word: re.Match[bytes]) -> bytes:
    return word[0].capitalize()


def _capitalized(word: re.Match[str]) -> str:
    return word[0].capitalize()
