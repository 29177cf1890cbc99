"""Let every n-th event pass."""

from ingest.api import Decorator, Event, Example, Settings, option


class IntervalSamplerSettings(Settings):
    """Options of the interval_sampler decorator."""

    n: int = option("One of so many events passes.", example=10, ge=1)


class IntervalSampler(Decorator[IntervalSamplerSettings]):
    """
    Let the first event pass and then every n-th; drop the others.

    Events are counted in each partition for itself, from the offset of the first record of a task's share on: the
    record with offset 0 passes, and with nothing before this step that drops, those with offsets n, 2n and so on. So a
    micro-batch that runs again lets the same events pass, and its size does not matter.

    Source: Flume decorator `intervalSampler`, which counted the events of a node since its start.
    """

    kind = "interval_sampler"
    stateful = True
    examples = (
        Example("the first one passes", settings="{n: 10}", body="event 0"),
        Example("the next ones do not", settings="{n: 10}", body="event 7", offset=7, dropped=True),
        Example("the tenth after it does", settings="{n: 10}", body="event 10", offset=10),
    )

    def __init__(self, settings: IntervalSamplerSettings) -> None:
        super().__init__(settings)
        self._n = settings.n
        self._next: int | None = None

    def begin(self) -> None:
        """Count from the next event's offset."""
        self._next = None

    def decorate(self, event: Event) -> bool:
        """Count the event."""
        number = event.origin.offset if self._next is None else self._next
        self._next = number + 1
        return number % self._n == 0
