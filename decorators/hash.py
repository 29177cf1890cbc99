"""Put digests in the place of values that nobody should read."""

import hashlib
from collections.abc import Callable
from enum import StrEnum

from ingest.api import Decorator, Event, Example, Secret, option
from ingest.digests import DigestedSettings, digesting


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
        "Put before each value, so that nobody who does not know it can look common values up.",
        default=None,
        example="${secret:salt}",
    )


class Hash(Decorator[HashSettings]):
    """
    Replace values by their digests, or put the digest of one into another attribute.

    Equal values have equal digests, so what belongs together stays together. Without a salt a digest hides nothing that
    can be guessed, such as an address or a number; with one it is as good as the salt is secret. `hmac` is made for
    that.

    Source: ours; `digest` is Flume's.
    """

    kind = "hash"
    examples = (
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


def _digest(settings: HashSettings) -> Callable[[bytes], bytes]:
    salt = b"" if settings.salt is None else settings.salt.get_secret_value().encode()
    # a machine with FIPS rules has MD5 too, for what is no security
    salted = getattr(hashlib, settings.algorithm)(salt, usedforsecurity=False)

    def digest(value: bytes) -> bytes:
        one = salted.copy()
        one.update(value)
        return bytes(one.digest())

    return digest
