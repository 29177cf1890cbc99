"""Keep a fraction of the events, the same ones on every replay."""

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
    by: Template = option("Template of the value that decides.", example="%{user}")
    salt: str = option("Chooses another sample of the same size.", default="", example="2")
    on_missing: FailureAction = option(
        "When the template names an attribute the event does not have: it passes (`keep`), is dropped (`drop`), or "
        "fails (`error`).",
        default="keep",
        strict=False,
    )


class Sample(Decorator[SampleSettings]):
    """
    Keep a fraction of the events by the hash of a value; drop the others.

    All events of one value get the same decision, in every partition, batch and pipeline and on every replay: sessions,
    users or traces are kept whole. Of ten values that pass at 0.1 all pass at 0.2. The hash is the first 8 bytes of a
    BLAKE2b digest. Where no value decides, take `prob_sampler`.

    Source: ours; as the samplers by key of other log routers.
    """

    kind = "sample"
    examples = (
        Example("a user who is in", settings="{share: 0.3, by: '%{user}'}", attributes={"user": "dave"}),
        Example("one who is not", settings="{share: 0.3, by: '%{user}'}", attributes={"user": "alice"}, dropped=True),
        Example("no value to decide by", settings="{share: 0.3, by: '%{user}'}", body="anonymous"),
        Example(
            "those without a user are not wanted",
            settings="{share: 0.3, by: '%{user}', on_missing: drop}",
            body="anonymous",
            dropped=True,
        ),
        Example("or fail the event", settings="{share: 0.3, by: '%{user}', on_missing: error}", error="no_attribute"),
    )

    def __init__(self, settings: SampleSettings) -> None:
        super().__init__(settings)
        self._value_of = settings.by.renderer(settings.on_missing)
        self._keeps_without = settings.on_missing is FailureAction.KEEP
        self._hash = blake2b(name_to_bytes(settings.salt), digest_size=_HASH_BYTES)
        self._limit = _limit(settings.share)

    def decorate(self, event: Event) -> bool:
        """Hash its value."""
        value = self._value_of(event)
        if value is None:
            return self._keeps_without
        digest = self._hash.copy()
        digest.update(value)
        return digest.digest() < self._limit


def _limit(share: float) -> bytes:
    """The bound below which hashes pass; for a fraction of 1 it is above every hash."""
    count = int(share * 256**_HASH_BYTES)
    return count.to_bytes(_HASH_BYTES, "big") if count < 256**_HASH_BYTES else b"\xff" * (_HASH_BYTES + 1)
