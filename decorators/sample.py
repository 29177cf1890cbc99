"""Keep a fraction of the events by the hash of a value, the same ones on every replay."""

from hashlib import blake2b
from typing import ClassVar

from ingest.api import Decorator, Event, Example, Settings, option
from ingest.api.notation import name_to_bytes
from ingest.decorating.choices import FailureAction
from ingest.expressions import Template

_HASH_BYTES = 8


class SampleSettings(Settings):
    """Options of the sample decorator."""

    other_names: ClassVar[None] = None

    share: float = option("Fraction of the values that pass.", example=0.1, ge=0.0, le=1.0, strict=False)
    by: Template = option("Template of the value that is hashed.", example="%{user}")
    salt: str = option("Selects another sample of the same size.", default="", example="2")
    on_missing: FailureAction = option(
        "If the template names an attribute that the event does not have, the event passes (`keep`), is dropped "
        "(`drop`), or fails (`error`).",
        default="keep",
        strict=False,
    )


class Sample(Decorator[SampleSettings]):
    """
    Keep a fraction of the events by the hash of a value; drop the others.

    All events of one value get the same decision, in every partition, batch and pipeline and on every replay: the
    events of a session, user or trace are kept together. Values that pass with `share: 0.1` also pass with 0.2. The
    hash is the first 8 bytes of a BLAKE2b digest. If there is no such value, use `prob_sampler`.

    Source: own design; other log routers sample by key in the same way.
    """

    kind = "sample"
    examples = (
        Example("a user in the sample", settings="{share: 0.3, by: '%{user}'}", attributes={"user": "dave"}),
        Example(
            "a user outside the sample",
            settings="{share: 0.3, by: '%{user}'}",
            attributes={"user": "alice"},
            dropped=True,
        ),
        Example("no value to hash", settings="{share: 0.3, by: '%{user}'}", body="anonymous"),
        Example(
            "no value to hash, with `on_missing: drop`",
            settings="{share: 0.3, by: '%{user}', on_missing: drop}",
            body="anonymous",
            dropped=True,
        ),
        Example(
            "no value to hash, with `on_missing: error`",
            settings="{share: 0.3, by: '%{user}', on_missing: error}",
            error="no_attribute",
        ),
    )

    def __init__(self, settings: SampleSettings) -> None:
        super().__init__(settings)
        self._value_of = settings.by.renderer(settings.on_missing)
        self._keeps_without = settings.on_missing is FailureAction.KEEP
        self._hash = blake2b(name_to_bytes(settings.salt), digest_size=_HASH_BYTES)
        self._limit = _limit(settings.share)

    def decorate(self, event: Event) -> bool:
        """Compare the hash of the value with the limit."""
        value = self._value_of(event)
        if value is None:
            return self._keeps_without
        digest = self._hash.copy()
        digest.update(value)
        return digest.digest() < self._limit


def _limit(share: float) -> bytes:
    """The limit below which hashes pass; for a fraction of 1 it is above every hash."""
    count = int(share * 256**_HASH_BYTES)
    return count.to_bytes(_HASH_BYTES, "big") if count < 256**_HASH_BYTES else b"\xff" * (_HASH_BYTES + 1)
