"""Drop every n-th event."""

from ingest.api import Decorator, Event, Example, Settings, option


class IntervalDroppyAppendSettings(Settings):
    """Options of the interval_droppy_append decorator."""

    n: int = option("One of so many events is dropped; 1 drops all.", example=10, ge=1)


class IntervalDroppyAppend(Decorator[IntervalDroppyAppendSettings]):
    """
    Drop every n-th event, to see what a loss of so many does to those who read the table.

    Counted as `interval_sampler` counts: in each partition, from the offset of the first record of a task's share on,
    so that a micro-batch that runs again drops the same events.

    Source: Flume decorator `intervalDroppyAppend`, which counted the events of a node since its start.
    """

    kind = "interval_droppy_append"
    stateful = True
    examples = (
        Example("most pass", settings="{n: 3}", body="the first"),
        Example("the third does not", settings="{n: 3}", body="the third", offset=2, dropped=True),
    )

    def __init__(self, settings: IntervalDroppyAppendSettings) -> None:
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
        return (number + 1) % self._n != 0
