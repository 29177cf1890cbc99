"""Let a random sample of at most `k` events of each split pass, the same ones on every replay."""

from hashlib import blake2b
from typing import ClassVar

from ingest.api import Buffered, Event, Example, FanOut, Origin, Settings, option
from ingest.api.growth import MAX_GROWN_BYTES, held_by
from ingest.api.notation import name_to_bytes
from ingest.decorating.java_random import draw, state_at

_SEED_BYTES = 6  # the generator has 48 bits


class ReservoirSamplerSettings(Settings):
    """Options of the reservoir_sampler decorator."""

    other_names: ClassVar[None] = None

    k: int = option(
        "Maximum number of events of a split that pass; this many are buffered in memory.",
        example=100,
        ge=1,
        le=100_000,
    )


class ReservoirSampler(FanOut[ReservoirSamplerSettings]):
    """
    Keep at most `k` events of each split and drop the others; every event has the same probability to stay.

    A split is the records of one partition in one micro-batch, so the number of events per micro-batch is limited. The
    events are buffered and emitted at the end of the split, in their original order. They take at most 64 MiB of
    memory, or are one event: of a split with larger events fewer stay, and small ones rather than large ones. The
    random choice depends on the origin of the first event of the split: a micro-batch that runs again keeps the same
    events. With other limits of micro-batches it keeps others. A replayed dead letter stays if at most `k` records of
    its partition are replayed together. For a fraction of the events, use `prob_sampler`; for the first events of each
    value, `first_n`.

    Events that do not meet `when` bypass the buffer and are written first, so an older value may win. To prevent this,
    let `when` depend only on parts of the row key, or give cells the event's time.

    Source: Flume decorator `reservoirSampler`, which chose among the events between two flushes; Vitter, Random
    sampling with a reservoir, algorithm R.
    """

    kind = "reservoir_sampler"
    stateful = True
    examples = (
        Example("the first k events stay", settings="{k: 2}", earlier=("a",), body="b"),
        Example(
            "one of three stays; here not the last one", settings="{k: 1}", earlier=("a", "b"), body="c", dropped=True
        ),
        Example(
            "one of four; from another offset the last one stays",
            settings="{k: 1}",
            offset=1,
            earlier=("a", "b", "c"),
            body="d",
        ),
    )

    def __init__(self, settings: ReservoirSamplerSettings) -> None:
        super().__init__(settings)
        self._k = settings.k
        self.split_start()

    def split_start(self) -> None:
        """Empty the buffer."""
        self._buffer: list[tuple[int, Event, int]] = []  # number in the split, event, bytes that it holds
        self._slots = self._k
        self._held = 0
        self._seen = 0
        self._state = 0

    def decorate(self, event: Event) -> Buffered | list[Event]:
        """Buffer the event, replacing another one if the buffer is full, or drop it."""
        seen = self._seen
        self._seen = seen + 1
        size = held_by(event)
        if seen < self._slots:
            if seen == 0:
                self._state = state_at(_seed(event.origin))
            if seen == 0 or self._held + size <= MAX_GROWN_BYTES:
                self._buffer.append((seen, event, size))
                self._held += size
                return Buffered()
            self._slots = seen  # the sample is as large as it can be
        self._state, drawn = draw(self._state)
        slot = int(drawn * (seen + 1))
        if slot >= self._slots:
            return []
        _, replaced, replaced_size = self._buffer[slot]
        held = self._held - replaced_size + size
        if held > MAX_GROWN_BYTES and self._slots > 1:
            return []
        self._buffer[slot] = (seen, event, size)
        self._held = held
        return Buffered(instead_of=replaced)

    def split_end(self) -> list[Event]:
        """Emit the buffered events in their original order."""
        return [event for _, event, _ in sorted(self._buffer, key=lambda item: item[0])]


def _seed(origin: Origin) -> int:
    position = b"%b/%d/%d/%d" % (name_to_bytes(origin.topic), *origin[1:])
    return int.from_bytes(blake2b(position, digest_size=_SEED_BYTES).digest(), "big")
