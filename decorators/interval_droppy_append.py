"""Drop every n-th event."""

from typing import ClassVar

from ingest.api import Decorator, Event, Example, Settings, option


class IntervalDroppyAppendSettings(Settings):
    """Options of the interval_droppy_append decorator."""

    other_names: ClassVar[None] = None

    n: int = option("Drop one of this many events; 1 drops all.", example=10, ge=1)


class IntervalDroppyAppend(Decorator[IntervalDroppyAppendSettings]):
    """
    Drop every n-th event of a partition, to test how readers of the table handle lost events.

    Records are counted by their offsets, as in `interval_sampler`: a micro-batch that runs again drops the same ones.

    Source: Flume decorator `intervalDroppyAppend`, which counted the events of a node since its start.
    """

    kind = "interval_droppy_append"
    examples = (
        Example("the first passes", settings="{n: 3}", body="the first"),
        Example("the third is dropped", settings="{n: 3}", body="the third", offset=2, dropped=True),
    )

    def __init__(self, settings: IntervalDroppyAppendSettings) -> None:
        super().__init__(settings)
        self._n = settings.n

    def decorate(self, event: Event) -> bool:
        """Drop the event if its offset is the last one of an interval."""
        return (event.origin.offset + 1) % self._n != 0
