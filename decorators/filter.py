"""Keep or drop events by a condition."""

from typing import ClassVar, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Decorator, Event, Example, Priority, Settings, option
from ingest.expressions import Condition


class FilterSettings(Settings):
    """Options of the filter decorator."""

    other_names: ClassVar[None] = None

    keep: Condition | None = option(
        "Events that meet this condition pass; all others are dropped.", default=None, example="%{priority} != 'DEBUG'"
    )
    drop: Condition | None = option(
        "Events that meet this condition are dropped; all others pass.", default=None, example="%{priority} == 'DEBUG'"
    )
    reason: str = option(
        "Reason under which dropped events are counted.", default="filter", example="debug", min_length=1, max_length=64
    )

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.keep is None) is (self.drop is None):
            raise PydanticCustomError("conflict", "filter needs one of `keep` and `drop`")
        return self

    def passes_no_event(self) -> bool:
        """Whether the condition is constant and drops every event."""
        keeps = self.keep is not None and self.keep.constant is False
        return keeps or (self.drop is not None and self.drop.constant is True)


class Filter(Decorator[FilterSettings]):
    """
    Keep or drop events by a condition.

    A dropped event is acknowledged and counted under `reason`; it is not a failure and has no dead letter. A pattern
    after `matches` works on characters if the value is UTF-8, else on bytes (docs/reference/expressions.md).

    Source: own design; Flume had no filter by content.
    """

    kind = "filter"
    examples = (
        Example(
            "debug events are dropped",
            settings="{drop: \"%{priority} == 'DEBUG'\", reason: debug}",
            priority=Priority.DEBUG,
            dropped=True,
        ),
        Example("other events pass", settings="{drop: \"%{priority} == 'DEBUG'\", reason: debug}"),
        Example("only one host passes", settings="{keep: \"%{host} == 'web-1'\"}", host="web-2", dropped=True),
    )

    def __init__(self, settings: FilterSettings) -> None:
        super().__init__(settings)
        self._passes_if = settings.keep is not None
        condition = settings.keep if settings.keep is not None else settings.drop
        if condition is None:  # the settings require one of the two
            raise TypeError("filter has no condition")
        self._holds = condition.holds

    @property
    def drop_reason(self) -> str:
        """The option `reason`."""
        return self.settings.reason

    def decorate(self, event: Event) -> bool:
        """Keep or drop the event."""
        return self._holds(event) is self._passes_if
