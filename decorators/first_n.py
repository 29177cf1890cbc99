"""Keep the first few events of each value."""

from typing import ClassVar

from ingest.api import Decorator, Event, Example, Settings, option
from ingest.decorating.choices import FailureAction
from ingest.decorating.digests import short
from ingest.expressions import Template


class FirstNSettings(Settings):
    """Options of the first_n decorator."""

    other_names: ClassVar[None] = None

    max_events: int = option("How many events of each value pass.", example=10, ge=1)
    by: Template = option("Template of the value.", default="", example="%{host}-%{app}")
    max_values: int = option(
        "How many values are counted, each with about 100 bytes of memory; events of further values pass.",
        default=100_000,
        ge=1,
        le=10_000_000,
    )
    on_missing: FailureAction = option(
        "When the template names an attribute the event does not have: it passes and does not count (`keep`), is "
        "dropped (`drop`), or fails (`error`).",
        default="keep",
        strict=False,
    )


class FirstN(Decorator[FirstNSettings]):
    """
    Let the first events of each value pass and drop the rest of the split; without `by`, the first of the whole split.

    A split is the records of one partition in one micro-batch. Counting restarts with each split, so a micro-batch that
    runs again lets the same events pass. This bounds what a storm of one error, host or user writes in a micro-batch.
    For a choice among all events of a split there is `reservoir_sampler`, for one event of each value `dedupe`.

    Source: ours; as the throttles by key of other log routers, which go by the clock.
    """

    kind = "first_n"
    stateful = True
    examples = (
        Example(
            "the second of two",
            settings="{max_events: 2, by: '%{body}'}",
            earlier=("disk full", "ok"),
            body="disk full",
        ),
        Example(
            "one too many",
            settings="{max_events: 2, by: '%{body}'}",
            earlier=("disk full", "disk full"),
            body="disk full",
            dropped=True,
        ),
        Example("of all events of a split", settings="{max_events: 1}", earlier=("a",), body="b", dropped=True),
        Example(
            "no value to count", settings="{max_events: 1, by: '%{host_id}', on_missing: error}", error="no_attribute"
        ),
    )

    def __init__(self, settings: FirstNSettings) -> None:
        super().__init__(settings)
        self._max_events = settings.max_events
        self._value_of = settings.by.renderer(settings.on_missing)
        self._keeps_without = settings.on_missing is FailureAction.KEEP
        self._max_values = settings.max_values
        self.split_start()

    def split_start(self) -> None:
        """Count from zero."""
        self._counts: dict[bytes, int] = {}

    def decorate(self, event: Event) -> bool:
        """Count its value."""
        value = self._value_of(event)
        if value is None:
            return self._keeps_without
        value = short(value)
        counts = self._counts
        count = counts.get(value, 0)
        if count >= self._max_events:
            return False
        if count or len(counts) < self._max_values:
            counts[value] = count + 1
        return True
