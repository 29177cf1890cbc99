"""Replace values with their HMACs, made with a secret key."""

import hmac
from enum import StrEnum

from ingest.api import Decorator, Event, Example, Secret, option
from ingest.decorating.digests import DigestedSettings, digesting


class Algorithm(StrEnum):
    """Hash algorithms of an HMAC, by their names in hashlib."""

    SHA1 = "sha1"
    SHA256 = "sha256"
    SHA384 = "sha384"
    SHA512 = "sha512"


class HmacSettings(DigestedSettings):
    """Options of the hmac decorator."""

    secret: Secret = option("The secret key.", example="${secret:pseudonyms}", min_length=1)
    algorithm: Algorithm = option("The hash algorithm.", default="sha256", strict=False)


class Hmac(Decorator[HmacSettings]):
    """
    Replace values with their HMACs, or put the HMAC of one into another attribute.

    Equal values have equal HMACs, and a guess cannot be checked without the key. If the key changes, new events get
    other pseudonyms; stored ones stay unchanged. If nothing needs to be hidden, use `hash`, which has no key; to
    replace parts of a text, use `redact`.

    Source: own design; RFC 2104.
    """

    kind = "hmac"
    examples = (
        Example(
            "pseudonyms in place; in this example the key is the literal text ${secret:pseudonyms}",
            settings="{secret: '${secret:pseudonyms}', attributes: [user, ip]}",
            attributes={"user": "alice", "level": "info"},
            after={"user": "7338de8b546e25a6a74b6893e997134cefaf046251ecc0e270d31eca28eb827b"},
        ),
        Example(
            "of the body, into an attribute",
            settings="{secret: '${secret:pseudonyms}', attribute: mac, algorithm: sha1, encoding: base64}",
            body="2238947398:56",
            after={"mac": "FJu10+2nTkAcu2YN4cD6+5CCs2Q="},
        ),
        Example(
            "an absent attribute, with `on_missing: error`",
            settings="{secret: '${secret:pseudonyms}', attribute: id, source: user, on_missing: error}",
            error="no_attribute",
        ),
    )

    def __init__(self, settings: HmacSettings) -> None:
        super().__init__(settings)
        key, algorithm = settings.secret.get_secret_value().encode(), settings.algorithm.value
        self._set_digests = digesting(settings, lambda value: hmac.digest(key, value, algorithm))

    def decorate(self, event: Event) -> bool:
        """Set the HMACs."""
        self._set_digests(event)
        return True
