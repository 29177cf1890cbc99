"""Let at most `k` events of each split pass, chosen by repeatable chance."""

from hashlib import blake2b
from typing import ClassVar

from ingest.api import Buffered, Event, Example, FanOut, Origin, Settings, option
from ingest.api.notation import name_to_bytes
from ingest.decorating.java_random import draw, state_at

_SEED_BYTES = 6  # the generator has 48 bits


class ReservoirSamplerSettings(Settings):
    """Options of the reservoir_sampler decorator."""

    other_names: ClassVar[None] = None

    k: int = option(
        "How many events of a split pass, at most; this many are buffered in memory.", example=100, ge=1, le=100_000
    )


class ReservoirSampler(FanOut[ReservoirSamplerSettings]):
    """
    Keep at most `k` events of each split and drop the others; every event has the same chance to stay.

    A split is the records of one partition in one micro-batch, so the table gets a bounded number of events per
    micro-batch. The events are buffered and emitted at the end of the split, in their original order. The choice
    derives from the position of the first event of the split: a micro-batch that runs again chooses the same events.
    With other limits of micro-batches it chooses others. A replayed dead letter stays if no more than `k` of its
    partition are replayed together. For a fraction of the events there is `prob_sampler`, for the first ones of each
    value `first_n`.

    Events that do not meet `when` bypass the buffer and are written first, so an older value may win: let `when` test
    only what the row key is made of, or give cells the event's time.

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
        self.split_start()

    def split_start(self) -> None:
        """Empty the buffer."""
        self._places: list[tuple[int, Event]] = []
        self._seen = 0
        self._state = 0

    def decorate(self, event: Event) -> Buffered | list[Event]:
        """Buffer the event, in place of a buffered one if the buffer is full; or drop it."""
        seen = self._seen
        self._seen = seen + 1
        if seen < self._k:
            if seen == 0:
                self._state = state_at(_seed(event.origin))
            self._places.append((seen, event))
            return Buffered()
        self._state, drawn = draw(self._state)
        place = int(drawn * (seen + 1))
        if place >= self._k:
            return []
        _, before = self._places[place]
        self._places[place] = (seen, event)
        return Buffered(instead_of=before)

    def split_end(self) -> list[Event]:
        """Emit the buffered events in their original order."""
        return [event for _, event in sorted(self._places, key=lambda place: place[0])]


def _seed(origin: Origin) -> int:
    place = b"%b/%d/%d/%d" % (name_to_bytes(origin.topic), *origin[1:])
    return int.from_bytes(blake2b(place, digest_size=_SEED_BYTES).digest(), "big")
