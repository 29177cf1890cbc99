"""Let so many events of each share of a micro-batch pass, chosen by chance that can be repeated."""

from hashlib import blake2b
from typing import ClassVar

from ingest.api import Event, Example, FanOut, Held, Origin, Settings, option
from ingest.api.notation import name_to_bytes
from ingest.java_random import draw, state_at

_SEED_BYTES = 6  # the generator has 48 bits


class ReservoirSamplerSettings(Settings):
    """Options of the reservoir_sampler decorator."""

    other_names: ClassVar[None] = None

    k: int = option(
        "How many events of a share pass, at the most; so many are held in memory.", example=100, ge=1, le=100_000
    )


class ReservoirSampler(FanOut[ReservoirSamplerSettings]):
    """
    Hold events, at most `k` of each share of a micro-batch, and drop the others; each has the same chance to stay.

    A share is what a micro-batch has of one partition, so the table gets a bounded number of events at each trigger,
    however many come. They go on when the share ends, in the order they came in. The chance derives from the place of
    the first event of the share: a micro-batch that runs again chooses the same. Other limits of micro-batches choose
    others, and a dead letter that is replayed stays when no more than `k` of its partition are replayed together. For a
    share of the events there is `prob_sampler`, for the first ones of each value `first_n`.

    Events that do not meet `when` go past those that are held, so of a row that has both an older value may stay: let
    `when` ask for what the row key is made of, or give cells the event's time.

    Source: Flume decorator `reservoirSampler`, which chose among the events between two flushes; Vitter, Random
    sampling with a reservoir, algorithm R.
    """

    kind = "reservoir_sampler"
    stateful = True
    examples = (
        Example("as long as there is room, all stay", settings="{k: 2}", earlier=("a",), body="b"),
        Example("of three one stays, here not the last", settings="{k: 1}", earlier=("a", "b"), body="c", dropped=True),
        Example("of four from another offset on it is", settings="{k: 1}", offset=1, earlier=("a", "b", "c"), body="d"),
    )

    def __init__(self, settings: ReservoirSamplerSettings) -> None:
        super().__init__(settings)
        self._k = settings.k
        self.begin()

    def begin(self) -> None:
        """Forget what is held."""
        self._places: list[tuple[int, Event]] = []
        self._seen = 0
        self._state = 0

    def decorate(self, event: Event) -> Held | list[Event]:
        """Hold the event, instead of one that was held before if there is no room; or drop it."""
        seen = self._seen
        self._seen = seen + 1
        if seen < self._k:
            if seen == 0:
                self._state = state_at(_seed(event.origin))
            self._places.append((seen, event))
            return Held()
        self._state, drawn = draw(self._state)
        place = int(drawn * (seen + 1))
        if place >= self._k:
            return []
        _, before = self._places[place]
        self._places[place] = (seen, event)
        return Held(instead_of=before)

    def finish(self) -> list[Event]:
        """Give what is held, in the order it came in."""
        return [event for _, event in sorted(self._places, key=lambda place: place[0])]


def _seed(origin: Origin) -> int:
    place = b"%b/%d/%d/%d" % (name_to_bytes(origin.topic), *origin[1:])
    return int.from_bytes(blake2b(place, digest_size=_SEED_BYTES).digest(), "big")
