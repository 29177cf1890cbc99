"""Make copies of an event."""

from collections.abc import Iterator
from typing import ClassVar

from ingest.api import Event, Example, FanOut, Settings, option
from ingest.api.event import MAX_EVENTS_OF_A_RECORD

_BENCHMARK = "BenchmarkInject"  # Flume never copied the marker events of its benchmarks


class MultSettings(Settings):
    """Options of the mult decorator."""

    other_names: ClassVar[None] = None

    n: int = option(
        "Number of events that one becomes; 0 drops it.", default=1, example=3, ge=0, le=MAX_EVENTS_OF_A_RECORD
    )


class Mult(FanOut[MultSettings]):
    """
    Emit several copies of an event, which differ only in the number in their origin.

    Use it for load tests, or if later decorators turn the copies into different events. The row key must differ between
    copies, or they are written to the same row. For an event per part of a text, use `explode`. Copies that would take
    more than 64 MiB of memory (or four times `max_event_bytes`) fail the event with `too_large`.

    Source: Flume decorator `mult`; as there, events with an attribute BenchmarkInject pass once.
    """

    kind = "mult"
    examples = (
        Example("three copies", settings="{n: 3}", body="x", attributes={"a": "1"}, made=(("x", {"a": "1"}),) * 3),
        Example("no copy", settings="{n: 0}", body="x", dropped=True),
        Example("a benchmark event passes once", settings="{n: 3}", attributes={"BenchmarkInject": "start"}),
    )

    def decorate(self, event: Event) -> Iterator[Event]:
        """Emit the copies."""
        count = 1 if _BENCHMARK in event.attributes else self.settings.n
        return (event.copy() for _ in range(count))
