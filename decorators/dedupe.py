"""Drop events with a value that was seen before."""

from typing import ClassVar

from ingest.api import Decorator, Event, Example, Settings, option
from ingest.decorating.choices import FailureAction
from ingest.decorating.digests import short
from ingest.expressions import Template


class DedupeSettings(Settings):
    """Options of the dedupe decorator."""

    other_names: ClassVar[None] = None

    by: Template = option("Template of the value by which events are compared.", default="%{body}", example="%{id}")
    max_values: int = option(
        "Maximum number of stored values, about 100 bytes of memory each; at least the most recent half of them is "
        "always stored.",
        default=200_000,
        ge=2,
        le=10_000_000,
    )
    on_missing: FailureAction = option(
        "If the template names an attribute that the event does not have, the event passes (`keep`), is dropped "
        "(`drop`), or fails (`error`).",
        default="keep",
        strict=False,
    )


class Dedupe(Decorator[DedupeSettings]):
    """
    Let the first event of each value pass and drop later ones with the same value.

    Values are stored for one split: the records of one partition in one micro-batch. A micro-batch that runs again
    starts without values, so an event is never a duplicate of itself. Duplicates in other micro-batches pass; if the
    value is part of the row key, they are written to the same row. To let several events of each value pass, use
    `first_n`.

    Source: own design.
    """

    kind = "dedupe"
    stateful = True
    examples = (
        Example("a new value", settings="{by: '%{body}'}", earlier=("a", "b"), body="c"),
        Example("a duplicate", settings="{by: '%{body}'}", earlier=("a", "b"), body="a", dropped=True),
        Example("no value to compare", settings="{by: '%{id}'}", earlier=("a",), body="a"),
        Example(
            "no value to compare, with `on_missing: error`",
            settings="{by: '%{id}', on_missing: error}",
            error="no_attribute",
        ),
    )

    def __init__(self, settings: DedupeSettings) -> None:
        super().__init__(settings)
        self._value_of = settings.by.renderer(settings.on_missing)
        self._keeps_without = settings.on_missing is FailureAction.KEEP
        self._half = settings.max_values // 2
        self.split_start()

    def split_start(self) -> None:
        """Clear all values."""
        self._new: set[bytes] = set()
        self._old: set[bytes] = set()

    def decorate(self, event: Event) -> bool:
        """Drop the event if its value was seen."""
        value = self._value_of(event)
        if value is None:
            return self._keeps_without
        value = short(value)
        new = self._new
        if value in new:
            return False
        is_new = value not in self._old
        if len(new) == self._half:
            self._old = new
            self._new = new = set()
        new.add(value)  # an old value as well: it is now the most recent one
        return is_new
