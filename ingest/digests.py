"""Digests of texts: what the steps that make them have in common."""

from base64 import b64encode
from binascii import hexlify
from collections.abc import Callable
from enum import StrEnum
from hashlib import blake2b

from ingest.api import Event, option
from ingest.api.edits import EditSettings, edit

_MAX_BYTES = 32  # of a value that is remembered as it is; a longer one is remembered as a digest
_DIGEST_BYTES = _MAX_BYTES + 1  # so that no value is taken for a digest


class Encoding(StrEnum):
    """How the bytes of a digest are written."""

    RAW = "raw"
    BASE64 = "base64"
    HEX = "hex"


WRITTEN: dict[Encoding, Callable[[bytes], bytes]] = {
    Encoding.RAW: bytes,
    Encoding.BASE64: b64encode,
    Encoding.HEX: hexlify,
}
"""Encoding -> the bytes of a digest as they are written."""


class DigestedSettings(EditSettings):
    """Options of the steps that put a digest in the place of a value, or into another attribute."""

    encoding: Encoding = option(
        "`hex` in small letters, `base64` on one line, or `raw` bytes.", default="hex", strict=False
    )


def digesting(settings: DigestedSettings, digest: Callable[[bytes], bytes]) -> Callable[[Event], None]:
    """A function that puts the digests of values where the options say."""
    written = WRITTEN[settings.encoding]
    return edit(settings, lambda value: written(digest(value)))


def short(value: bytes) -> bytes:
    """A value for a set of those that were seen, of at most 33 bytes; two values never have one."""
    return value if len(value) <= _MAX_BYTES else blake2b(value, digest_size=_DIGEST_BYTES).digest()
