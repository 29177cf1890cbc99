"""Replace private values with their digests."""

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
    """Digests without a key, by the names of hashlib."""

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

    algorithm: Algorithm = option("The digest.", default="sha256", strict=False)
    salt: Secret | None = option(
        "Put before each value, so that common values cannot be looked up without it.",
        default=None,
        example="${secret:salt}",
    )


class Hash(Decorator[HashSettings]):
    """
    Replace values by their digests, or put the digest of one into another attribute.

    Equal values have equal digests, so what belongs together stays together. Without a salt a digest hides nothing that
    can be guessed, such as an address or a number; with one it is as good as the salt is secret. `hmac` is made for
    that.

    Source: ours.
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
            "an attribute that must be there",
            settings="{attribute: id, source: url, on_missing: error}",
            error="no_attribute",
        ),
    )

    def __init__(self, settings: HashSettings) -> None:
        super().__init__(settings)
        self._put = digesting(settings, _digest(settings))

    def decorate(self, event: Event) -> bool:
        """Put the digests."""
        self._put(event)
        return True


class DigestSettings(HashSettings):
    """Options of the digest decorator: those of hash, with Flume's defaults."""

    algorithm: Algorithm = option("The digest.", example="sha256", strict=False)
    encoding: Encoding = option(
        "`raw` bytes, `base64` on one line, or `hex` in small letters.", default="raw", strict=False
    )
    on_missing: OnMissing = option(
        "Instead of the digest of an attribute the event does not have: nothing (`unset`), an `empty` value, or the "
        "event fails (`error`). It goes with `source` or `attributes`.",
        default="error",
        strict=False,
    )

    @model_validator(mode="after")
    def _leaves_the_body(self) -> Self:
        if self.attribute is None and self.attributes is None:
            raise PydanticCustomError("missing", 'digest needs "attribute"')
        return self


class Digest(Hash):
    """
    Put the digest of the body, or of an attribute, into an attribute: `hash` with Flume's defaults.

    A digest without a key tells equal texts apart from different ones and hides nothing: who can guess the text can
    check the guess.

    Source: Flume decorator `digest`; `base64=true` there is `encoding: base64` here.
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
        """Flume's defaults."""
        return DigestSettings


def _digest(settings: HashSettings) -> Callable[[bytes], bytes]:
    salt = b"" if settings.salt is None else settings.salt.get_secret_value().encode()
    # machines in FIPS mode allow MD5 only if it is not used for security
    salted = getattr(hashlib, settings.algorithm)(salt, usedforsecurity=False)

    def digest(value: bytes) -> bytes:
        one = salted.copy()
        one.update(value)
        return bytes(one.digest())

    return digest
