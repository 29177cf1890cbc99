"""Let a random fraction of the events pass, the same ones on every replay."""

from typing import ClassVar

from ingest.api import Decorator, Event, Example, Settings, option
from ingest.decorating.java_random import draw, state_at


class ProbSamplerSettings(Settings):
    """Options of the prob_sampler decorator."""

    other_names: ClassVar[None] = None

    p: float = option("Fraction of the events that pass.", example=0.1, ge=0.0, le=1.0, strict=False)
    seed: int = option("Seed of the random decisions.", default=0, example=1337, ge=-(1 << 63), lt=1 << 63)


class ProbSampler(Decorator[ProbSamplerSettings]):
    """
    Let events pass with a probability; drop the others.

    The record with offset k gets the k-th decision of java.util.Random with this seed, in every partition. So a
    micro-batch that runs again, and a dead letter that is replayed, get the same decision. To keep either all or no
    events of a user or trace, use `sample`; for a limited number of events, `reservoir_sampler`.

    Source: Flume decorator `probSampler`, whose default seed was the time; the generator is that of java.util.Random.
    """

    kind = "prob_sampler"
    examples = (
        Example(
            "one in ten: the first event is dropped", settings="{p: 0.1, seed: 1337}", body="event 0", dropped=True
        ),
        Example("the thirteenth passes", settings="{p: 0.1, seed: 1337}", body="event 12", offset=12),
        Example("all pass", settings="{p: 1}", body="any"),
    )

    def __init__(self, settings: ProbSamplerSettings) -> None:
        super().__init__(settings)
        self._p = settings.p
        self._offset = 0
        self._state = state_at(settings.seed, 0)

    def decorate(self, event: Event) -> bool:
        """Draw the decision for the offset of the record."""
        offset = event.origin.offset
        # offsets are mostly consecutive, so the generator rarely has to jump
        state = self._state if offset == self._offset else state_at(self.settings.seed, offset)
        self._state, drawn = draw(state)
        self._offset = offset + 1
        return drawn < self._p
