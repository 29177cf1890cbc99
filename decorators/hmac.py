"""Replace private values with digests made with a secret key."""

import hmac
from enum import StrEnum

from ingest.api import Decorator, Event, Example, Secret, option
from ingest.decorating.digests import DigestedSettings, digesting


class Algorithm(StrEnum):
    """Digests an HMAC is made with, by the names of hashlib."""

    SHA1 = "sha1"
    SHA256 = "sha256"
    SHA384 = "sha384"
    SHA512 = "sha512"


class HmacSettings(DigestedSettings):
    """Options of the hmac decorator."""

    secret: Secret = option("The key.", example="${secret:pseudonyms}", min_length=1)
    algorithm: Algorithm = option("The digest it is made with.", default="sha256", strict=False)


class Hmac(Decorator[HmacSettings]):
    """
    Replace values by their HMAC, or put the HMAC of one into another attribute.

    Equal values have equal HMACs, and only who knows the key can check a guess. Another key gives other pseudonyms;
    those in the table stay as they are. `hash` needs no key, if nothing has to be hidden; `redact` replaces parts of a
    text.

    Source: ours; RFC 2104.
    """

    kind = "hmac"
    examples = (
        Example(
            "pseudonyms in place, here with the text ${secret:pseudonyms} itself as the key",
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
            "an attribute that must be there",
            settings="{secret: '${secret:pseudonyms}', attribute: id, source: user, on_missing: error}",
            error="no_attribute",
        ),
    )

    def __init__(self, settings: HmacSettings) -> None:
        super().__init__(settings)
        key, algorithm = settings.secret.get_secret_value().encode(), settings.algorithm.value
        self._put = digesting(settings, lambda value: hmac.digest(key, value, algorithm))

    def decorate(self, event: Event) -> bool:
        """Put the HMACs."""
        self._put(event)
        return True
