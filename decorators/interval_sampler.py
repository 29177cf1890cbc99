"""Let every n-th event pass."""

from typing import ClassVar

from ingest.api import Decorator, Event, Example, Settings, option


class IntervalSamplerSettings(Settings):
    """Options of the interval_sampler decorator."""

    other_names: ClassVar[None] = None

    n: int = option("One of this many events passes.", example=10, ge=1)


class IntervalSampler(Decorator[IntervalSamplerSettings]):
    """
    Let the first event of a partition and every n-th one after it pass; drop the others.

    Records are counted by their offsets: those with offset 0, n, 2n and so on pass, whatever earlier decorators
    dropped. So a micro-batch that runs again, and a dead letter that is replayed, get the same decision. The offsets of
    files are bytes: use `prob_sampler` there. To decide by a value of the event, use `sample`.

    Source: Flume decorator `intervalSampler`, which counted the events of a node since its start.
    """

    kind = "interval_sampler"
    examples = (
        Example("the first one passes", settings="{n: 10}", body="event 0"),
        Example("the next ones are dropped", settings="{n: 10}", body="event 7", offset=7, dropped=True),
        Example("the tenth after it passes", settings="{n: 10}", body="event 10", offset=10),
    )

    def __init__(self, settings: IntervalSamplerSettings) -> None:
        super().__init__(settings)
        self._n = settings.n

    def decorate(self, event: Event) -> bool:
        """Keep the event if its offset is a multiple of n."""
        return event.origin.offset % self._n == 0
