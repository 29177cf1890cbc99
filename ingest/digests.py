"""Digests of texts: what the steps that make them have in common."""

from base64 import b64encode
from binascii import hexlify
from collections.abc import Callable
from enum import StrEnum
from hashlib import blake2b
from typing import Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Event, Settings, option

_MOST_BYTES = 32  # of a value that is remembered as it is; a longer one is remembered as a digest
_DIGEST_BYTES = _MOST_BYTES + 1  # so that no value is taken for a digest


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


class PseudonymSettings(Settings):
    """Options of the steps that put a digest in the place of a value, or into another attribute."""

    attributes: list[str] | None = option(
        "Attributes whose values are replaced by their digests; absent ones are passed over.",
        default=None,
        example=["user", "ip"],
        min_length=1,
    )
    attribute: str | None = option(
        "Attribute that receives the digest of `source`, instead of `attributes`.", default=None, example="2hb_u:id"
    )
    source: str | None = option(
        "Attribute that is digested into `attribute`; the body when left out.", default=None, example="user"
    )
    encoding: Encoding = option(
        "`hex` in small letters, `base64` on one line, or `raw` bytes.", default="hex", strict=False
    )

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.attributes is None) is (self.attribute is None):
            raise PydanticCustomError("conflict", "one of `attributes` and `attribute` says what is digested")
        if self.attribute is None and self.source is not None:
            raise PydanticCustomError("conflict", "`source` goes with `attribute`")
        return self


class Pseudonyms:
    """
    Puts digests where the options say.

    In place a value is changed and not set again, so that is done also where attributes are written once.

    Args:
        settings: where.
        digest: of the bytes of a value.
    """

    def __init__(self, settings: PseudonymSettings, digest: Callable[[bytes], bytes]) -> None:
        self._names = settings.attributes or ()
        self._attribute = settings.attribute
        self._source = settings.source
        self._digest = digest
        self._written = WRITTEN[settings.encoding]

    def put(self, event: Event) -> None:
        """
        Change the event.

        Raises:
            DecorateError: there is no attribute `source`.
        """
        if self._attribute is not None:
            text = event.text_of(self._source, "to digest")
            event.set(self._attribute, self._written(self._digest(text)))
            return
        attributes = event.attributes
        changed = {name: self._written(self._digest(attributes[name])) for name in self._names if name in attributes}
        attributes.update(changed)


def short(value: bytes) -> bytes:
    """A value for a set of those that were seen, of at most 33 bytes; two values never have one."""
    return value if len(value) <= _MOST_BYTES else blake2b(value, digest_size=_DIGEST_BYTES).digest()
