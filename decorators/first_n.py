"""Let the first n events of each value pass."""

from typing import ClassVar

from ingest.api import Decorator, Event, Example, Settings, option
from ingest.decorating.choices import FailureAction
from ingest.decorating.digests import short
from ingest.expressions import Template


class FirstNSettings(Settings):
    """Options of the first_n decorator."""

    other_names: ClassVar[None] = None

    max_events: int = option("Number of events of each value that pass.", example=10, ge=1)
    by: Template = option(
        "Template of the value; when left out, all events have the same value.", default="", example="%{host}-%{app}"
    )
    max_values: int = option(
        "Maximum number of values that are counted, about 100 bytes of memory each; events of further values pass.",
        default=100_000,
        ge=1,
        le=10_000_000,
    )
    on_missing: FailureAction = option(
        "If the template names an attribute that the event does not have, the event passes and is not counted "
        "(`keep`), is dropped (`drop`), or fails (`error`).",
        default="keep",
        strict=False,
    )


class FirstN(Decorator[FirstNSettings]):
    """
    Let the first events of each value in a split pass and drop the others.

    A split is the records of one partition in one micro-batch. Each split starts counting at zero, so a micro-batch
    that runs again lets the same events pass. This limits how many events of one error, host or user are written in a
    micro-batch. For a random choice among all events of a split, use `reservoir_sampler`; for one event of each value,
    use `dedupe`.

    Source: own design; other log routers throttle by key and time instead.
    """

    kind = "first_n"
    stateful = True
    examples = (
        Example(
            "the second of two that may pass",
            settings="{max_events: 2, by: '%{body}'}",
            earlier=("disk full", "ok"),
            body="disk full",
        ),
        Example(
            "the third",
            settings="{max_events: 2, by: '%{body}'}",
            earlier=("disk full", "disk full"),
            body="disk full",
            dropped=True,
        ),
        Example(
            "without `by`: the first event of the split",
            settings="{max_events: 1}",
            earlier=("a",),
            body="b",
            dropped=True,
        ),
        Example(
            "no value to count, with `on_missing: error`",
            settings="{max_events: 1, by: '%{host_id}', on_missing: error}",
            error="no_attribute",
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
        """Count the event under its value."""
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
