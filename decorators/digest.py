"""Put a digest of a text into an attribute."""

import hashlib
from enum import StrEnum
from functools import partial
from typing import ClassVar

from ingest.api import Decorator, Event, Example, Settings, option
from ingest.digests import WRITTEN, Encoding


class Algorithm(StrEnum):
    """The digests Flume knew, by the names of hashlib."""

    MD5 = "md5"
    SHA1 = "sha1"
    SHA256 = "sha256"
    SHA384 = "sha384"
    SHA512 = "sha512"


class DigestSettings(Settings):
    """Options of the digest decorator."""

    other_names: ClassVar[None] = None

    algorithm: Algorithm = option("The digest.", example="sha256", strict=False)
    attribute: str = option("Attribute that receives it.", example="2hb_meta:sha256")
    encoding: Encoding = option(
        "`raw` bytes, `base64` on one line, or `hex` in small letters.", default="raw", strict=False
    )
    source: str | None = option("Attribute that is digested; the body when left out.", default=None, example="url")

    def surely_sets(self) -> frozenset[str]:
        """There always is one."""
        return self.set_references()


class Digest(Decorator[DigestSettings]):
    """
    Digest the body, or an attribute.

    A digest without a key tells equal texts apart from different ones and hides nothing: who can guess the text can
    check the guess. To put digests in the place of values, take `hash`, or `hmac` where nobody is to guess them.

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

    def __init__(self, settings: DigestSettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        self._attribute = settings.attribute
        # for no security, so a machine with FIPS rules has MD5 too
        self._digest = partial(getattr(hashlib, settings.algorithm), usedforsecurity=False)
        self._written = WRITTEN[settings.encoding]

    def decorate(self, event: Event) -> bool:
        """Set the attribute."""
        text = event.text_of(self._source, "to digest")
        event.set(self._attribute, self._written(self._digest(text).digest()))
        return True
