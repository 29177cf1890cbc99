"""Drop events whose value was seen before."""

from typing import ClassVar

from ingest.api import Decorator, Event, Example, Settings, option
from ingest.decorating.choices import FailureAction
from ingest.decorating.digests import short
from ingest.expressions import Template


class DedupeSettings(Settings):
    """Options of the dedupe decorator."""

    other_names: ClassVar[None] = None

    by: Template = option("Template of what makes two events the same.", default="%{body}", example="%{id}")
    max_values: int = option(
        "How many values are remembered, each in about 100 bytes of memory; the most recent half of them is never "
        "forgotten.",
        default=200_000,
        ge=2,
        le=10_000_000,
    )
    on_missing: FailureAction = option(
        "When the template names an attribute the event does not have: it passes (`keep`), is dropped (`drop`), or "
        "fails (`error`).",
        default="keep",
        strict=False,
    )


class Dedupe(Decorator[DedupeSettings]):
    """
    Let the first event of each value pass and drop those that repeat it.

    Values are remembered for one split: the records of one partition in one micro-batch. A micro-batch that runs again
    starts with no values, so an event is never a repetition of itself. Repetitions in another micro-batch pass; with a
    row key made of the value they are written to the same row. To let several events of each value pass, take
    `first_n`.

    Source: ours.
    """

    kind = "dedupe"
    stateful = True
    examples = (
        Example("the first of its kind", settings="{by: '%{body}'}", earlier=("a", "b"), body="c"),
        Example("a repetition", settings="{by: '%{body}'}", earlier=("a", "b"), body="a", dropped=True),
        Example("no value to compare", settings="{by: '%{id}'}", earlier=("a",), body="a"),
        Example("where there has to be one", settings="{by: '%{id}', on_missing: error}", error="no_attribute"),
    )

    def __init__(self, settings: DedupeSettings) -> None:
        super().__init__(settings)
        self._value_of = settings.by.renderer(settings.on_missing)
        self._keeps_without = settings.on_missing is FailureAction.KEEP
        self._half = settings.max_values // 2
        self.split_start()

    def split_start(self) -> None:
        """Forget all values."""
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
        new.add(value)  # also a value seen before: it becomes the most recent
        return is_new
