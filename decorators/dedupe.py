"""Drop events that came before."""

from typing import ClassVar

from ingest.api import Decorator, Event, Example, Settings, option
from ingest.digests import short
from ingest.expressions import Template


class DedupeSettings(Settings):
    """Options of the dedupe decorator."""

    other_names: ClassVar[None] = None

    by: Template = option("Template of what makes two events the same.", default="%{body}", example="%{id}")
    window: int = option(
        "How many different values are remembered at the least, the last ones; at the most it is twice as many. One "
        "takes about 100 bytes of memory.",
        default=100_000,
        ge=1,
        le=10_000_000,
    )


class Dedupe(Decorator[DedupeSettings]):
    """
    Let the first event of each value pass and drop those that repeat it.

    Remembered is what came since the share began: the records of one partition in one micro-batch. A micro-batch that
    runs again begins with nothing remembered, so none of its events is taken for a repetition of itself. Repetitions in
    another micro-batch pass; a row key made of the value lets them meet in one row. Events that lack an attribute the
    template names pass. To let several events of each value pass, take `first_n`.

    Source: ours.
    """

    kind = "dedupe"
    stateful = True
    examples = (
        Example("the first of its kind", settings="{by: '%{body}'}", earlier=("a", "b"), body="c"),
        Example("a repetition", settings="{by: '%{body}'}", earlier=("a", "b"), body="a", dropped=True),
        Example("no value to compare", settings="{by: '%{id}'}", earlier=("a",), body="a"),
    )

    def __init__(self, settings: DedupeSettings) -> None:
        super().__init__(settings)
        self._render = settings.by.render
        self._missing = settings.by.missing
        self._window = settings.window
        self.begin()

    def begin(self) -> None:
        """Forget all values."""
        self._new: set[bytes] = set()
        self._old: set[bytes] = set()

    def decorate(self, event: Event) -> bool:
        """Look whether its value is known."""
        if self._missing(event) is not None:
            return True
        value = short(self._render(event))
        new = self._new
        if value in new or value in self._old:
            return False
        if len(new) == self._window:
            self._old = new
            self._new = new = set()
        new.add(value)
        return True
