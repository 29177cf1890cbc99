"""Replace values with their digests."""

import hashlib
from collections.abc import Callable
from enum import StrEnum
from typing import ClassVar, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Decorator, Event, Example, Secret, option
from ingest.decorating.choices import OnMissing
from ingest.decorating.digests import DigestedSettings, Encoding, digesting


class Algorithm(StrEnum):
    """Hash algorithms, by their names in hashlib."""

    MD5 = "md5"
    SHA1 = "sha1"
    SHA256 = "sha256"
    SHA384 = "sha384"
    SHA512 = "sha512"
    SHA3_256 = "sha3_256"
    BLAKE2B = "blake2b"
    BLAKE2S = "blake2s"


class HashSettings(DigestedSettings):
    """Options of the hash decorator."""

    algorithm: Algorithm = option("The hash algorithm.", default="sha256", strict=False)
    salt: Secret | None = option(
        "Text put before each value, so that digests of common values cannot be looked up.",
        default=None,
        example="${secret:salt}",
    )


class Hash(Decorator[HashSettings]):
    """
    Replace values with their digests, or put the digest of one into another attribute.

    Equal values have equal digests, so events of one value can still be grouped. Without a salt, values that can be
    guessed, such as addresses or numbers, can be recovered from their digests; with one, they are as secret as the
    salt. To hide values, prefer `hmac`.

    Source: own design.
    """

    kind = "hash"
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "in place",
            settings="{attributes: [user, ip], algorithm: md5}",
            attributes={"user": "hello", "level": "info"},
            after={"user": "5d41402abc4b2a76b9719d911017c592"},
        ),
        Example(
            "into another attribute",
            settings="{attribute: id, source: url, algorithm: sha1, encoding: base64}",
            attributes={"url": "/shop/cart"},
            after={"id": "WHKWWlAZHIDWqhLG3Q0i4EglZs8="},
        ),
        Example(
            "an absent attribute, with `on_missing: error`",
            settings="{attribute: id, source: url, on_missing: error}",
            error="no_attribute",
        ),
    )

    def __init__(self, settings: HashSettings) -> None:
        super().__init__(settings)
        self._set_digests = digesting(settings, _digest(settings))

    def decorate(self, event: Event) -> bool:
        """Set the digests."""
        self._set_digests(event)
        return True


class DigestSettings(HashSettings):
    """Options of the digest decorator: those of `hash`, with Flume's defaults."""

    algorithm: Algorithm = option("The hash algorithm.", example="sha256", strict=False)
    encoding: Encoding = option(
        "`raw` bytes, `base64` on one line, or `hex` in lower case.", default="raw", strict=False
    )
    on_missing: OnMissing = option(
        "If the event does not have the attribute: set no result (`unset`), set an `empty` value, or fail the event "
        "(`error`). Needs `source` or `attributes`.",
        default="error",
        strict=False,
    )

    @model_validator(mode="after")
    def _leaves_the_body(self) -> Self:
        if self.attribute is None and self.attributes is None:
            raise PydanticCustomError("missing", "digest needs `attribute`")
        return self


class Digest(Hash):
    """
    Put the digest of the body, or of an attribute, into an attribute: `hash` with Flume's defaults.

    A digest without a key hides nothing: a guess of the value can be checked.

    Source: Flume decorator `digest`; its `base64=true` is `encoding: base64` here.
    """

    kind = "digest"
    examples = (
        Example(
            "a fingerprint of the body",
            settings="{algorithm: md5, attribute: md5, encoding: hex}",
            body="hello",
            after={"md5": "5d41402abc4b2a76b9719d911017c592"},
        ),
        Example(
            "base64, of an attribute",
            settings="{algorithm: sha1, attribute: id, encoding: base64, source: url}",
            attributes={"url": "/shop/cart"},
            after={"id": "WHKWWlAZHIDWqhLG3Q0i4EglZs8="},
        ),
        Example(
            "an absent attribute",
            settings="{algorithm: sha256, attribute: id, source: url}",
            error="no_attribute",
        ),
    )

    @classmethod
    def settings_class(cls) -> type[HashSettings]:
        """The options of `digest`."""
        return DigestSettings


def _digest(settings: HashSettings) -> Callable[[bytes], bytes]:
    salt = b"" if settings.salt is None else settings.salt.get_secret_value().encode()
    # in FIPS mode, MD5 is allowed only with usedforsecurity=False
    salted = getattr(hashlib, settings.algorithm)(salt, usedforsecurity=False)

    def digest(value: bytes) -> bytes:
        hasher = salted.copy()
        hasher.update(value)
        return bytes(hasher.digest())

    return digest
