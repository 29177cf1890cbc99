"""Drop events that came before."""

from typing import ClassVar

from ingest.api import Decorator, Event, Example, Settings, option
from ingest.api.choices import Fate
from ingest.digests import short
from ingest.expressions import Template


class DedupeSettings(Settings):
    """Options of the dedupe decorator."""

    other_names: ClassVar[None] = None

    by: Template = option("Template of what makes two events the same.", default="%{body}", example="%{id}")
    max_values: int = option(
        "How many values are remembered, each with about 100 bytes of memory; the last half as many always are.",
        default=200_000,
        ge=2,
        le=10_000_000,
    )
    on_missing: Fate = option(
        "When the template names an attribute the event does not have: it passes (`keep`), is dropped (`drop`), or "
        "fails (`error`).",
        default="keep",
        strict=False,
    )


class Dedupe(Decorator[DedupeSettings]):
    """
    Let the first event of each value pass and drop those that repeat it.

    Remembered is what came since the share began: the records of one partition in one micro-batch. A micro-batch that
    runs again begins with nothing remembered, so none of its events is taken for a repetition of itself. Repetitions in
    another micro-batch pass; a row key made of the value lets them meet in one row. To let several events of each value
    pass, take `first_n`.

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
        self._keeps_without = settings.on_missing is Fate.KEEP
        self._half = settings.max_values // 2
        self.begin()

    def begin(self) -> None:
        """Forget all values."""
        self._new: set[bytes] = set()
        self._old: set[bytes] = set()

    def decorate(self, event: Event) -> bool:
        """Look whether its value is known."""
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
        new.add(value)  # also one that was old: it is the last one now, and outlives those before it
        return is_new
