"""Drop every n-th event."""

from typing import ClassVar

from ingest.api import Decorator, Event, Example, Settings, option


class IntervalDroppyAppendSettings(Settings):
    """Options of the interval_droppy_append decorator."""

    other_names: ClassVar[None] = None

    n: int = option("One of so many events is dropped; 1 drops all.", example=10, ge=1)


class IntervalDroppyAppend(Decorator[IntervalDroppyAppendSettings]):
    """
    Drop every n-th event of a partition, to test how readers of the table cope with lost events.

    Counted are the records, by their offsets, as `interval_sampler` does: a micro-batch that runs again drops the same.

    Source: Flume decorator `intervalDroppyAppend`, which counted the events of a node since its start.
    """

    kind = "interval_droppy_append"
    examples = (
        Example("most pass", settings="{n: 3}", body="the first"),
        Example("the third does not", settings="{n: 3}", body="the third", offset=2, dropped=True),
    )

    def __init__(self, settings: IntervalDroppyAppendSettings) -> None:
        super().__init__(settings)
        self._n = settings.n

    def decorate(self, event: Event) -> bool:
        """Drop the event if the offset of its record says so."""
        return (event.origin.offset + 1) % self._n != 0
