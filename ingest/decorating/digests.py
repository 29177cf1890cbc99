"""Digests of values, for several decorators."""

from base64 import b64encode
from binascii import hexlify
from collections.abc import Callable
from enum import StrEnum
from hashlib import blake2b

from ingest.api import Event, option
from ingest.decorating.edits import EditSettings, edit

_MAX_BYTES = 32  # of a value that is stored as it is; of a longer one the digest is stored
_DIGEST_BYTES = _MAX_BYTES + 1  # so that no stored value equals a digest


class Encoding(StrEnum):
    """The form in which the bytes of a digest are written."""

    RAW = "raw"
    BASE64 = "base64"
    HEX = "hex"


WRITTEN: dict[Encoding, Callable[[bytes], bytes]] = {
    Encoding.RAW: bytes,
    Encoding.BASE64: b64encode,
    Encoding.HEX: hexlify,
}
"""Encoding -> the function that writes a digest."""


class DigestedSettings(EditSettings):
    """Options of the decorators that replace a value by its digest, or write the digest into another attribute."""

    encoding: Encoding = option(
        "`hex` in lower case, `base64` on one line, or `raw` bytes.", default="hex", strict=False
    )


def digesting(settings: DigestedSettings, digest: Callable[[bytes], bytes]) -> Callable[[Event], None]:
    """A function that writes the digests of values as the options say."""
    written = WRITTEN[settings.encoding]
    return edit(settings, lambda value: written(digest(value)))


def short(value: bytes) -> bytes:
    """A key of at most 33 bytes for a value, to store in a set; no two values have the same key."""
    return value if len(value) <= _MAX_BYTES else blake2b(value, digest_size=_DIGEST_BYTES).digest()
