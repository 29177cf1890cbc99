"""Make copies of an event."""

from typing import ClassVar

from ingest.api import Event, Example, FanOut, Settings, option
from ingest.api.event import MAX_EVENTS_OF_A_RECORD

_ONCE = "BenchmarkInject"  # marks of Flume's own measurements were never multiplied


class MultSettings(Settings):
    """Options of the mult decorator."""

    other_names: ClassVar[None] = None

    n: int = option("How many come of one; 0 drops it.", default=1, example=3, ge=0, le=MAX_EVENTS_OF_A_RECORD)


class Mult(FanOut[MultSettings]):
    """
    Make several events of one, all alike but for the number in their origin.

    For load tests, and for copies that later decorators turn into events of different kinds. The row key must differ
    between the copies, or they are written to one row. For an event of each part of a text there is `explode`.

    Source: Flume decorator `mult`; events with an attribute BenchmarkInject pass once, as there.
    """

    kind = "mult"
    examples = (
        Example("three of one", settings="{n: 3}", body="x", attributes={"a": "1"}, made=(("x", {"a": "1"}),) * 3),
        Example("none", settings="{n: 0}", body="x", dropped=True),
        Example("a mark of a measurement passes once", settings="{n: 3}", attributes={"BenchmarkInject": "start"}),
    )

    def decorate(self, event: Event) -> list[Event]:
        """Make the copies."""
        count = 1 if _ONCE in event.attributes else self.settings.n
        return [event.copy() for _ in range(count)]
