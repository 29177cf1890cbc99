"""Truncate a time to the start of its hour, day, month or another span."""

from enum import StrEnum
from typing import ClassVar, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Decorator, Duration, Event, EventError, Example, option
from ingest.decorating.choices import OnInvalid
from ingest.decorating.edits import EditSettings, edit_attributes
from ingest.expressions import ZoneName, zone_of
from ingest.expressions.dates import read_time
from ingest.expressions.truncation import Truncate, interval_truncation, truncation


class Unit(StrEnum):
    """The unit that a time is truncated to."""

    SECOND = "second"
    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


class TruncateTimeSettings(EditSettings):
    """Options of the truncate_time decorator."""

    without_source: ClassVar[str] = "timestamp"

    source: str | None = option(
        "Attribute with milliseconds since 1970; the event's time when left out.", default=None, example="seen"
    )
    to: Unit | None = option(
        "The unit to truncate to; a `week` starts on Monday.", default=None, example="hour", strict=False
    )
    every: Duration | None = option(
        "Truncate to a multiple of this span, instead of `to`: counted from the start of the hour or, for whole "
        "hours, from midnight. The span must divide a minute, an hour or a day.",
        default=None,
        example="15m",
    )
    zone: ZoneName = option(
        "Time zone of days and hours; the pipeline's `timezone` when left out.", default=None, example="Europe/Berlin"
    )
    on_invalid: OnInvalid = option(
        "A value that is not a number, or a time outside the years 1 to 9999: the event fails (`error`), or the value "
        "stays unchanged (`keep`).",
        default="error",
        strict=False,
    )

    @model_validator(mode="after")
    def _one_span(self) -> Self:
        if (self.to is None) is (self.every is None):
            raise PydanticCustomError("conflict", "truncate_time needs one of `to` and `every`")
        try:
            self.truncate()
        except ValueError as error:
            raise PydanticCustomError("out_of_range", "{why}", {"why": str(error), "option": "every"}) from error
        return self

    def truncate(self) -> Truncate:
        """A function from milliseconds to truncated milliseconds."""
        zone = zone_of(self.zone or "UTC")
        if self.to is not None:
            return truncation(self.to, zone)
        whole_s = int(self.every or 0)
        return interval_truncation(whole_s if whole_s == self.every else 0, zone)


class TruncateTime(Decorator[TruncateTimeSettings]):
    """
    Truncate the event's time, or times in attributes, to the start of a second, minute, hour, day or longer span.

    Times in attributes are milliseconds since 1970, before and after. A day starts at midnight in the zone; if a clock
    change skips midnight, at the first moment of the day. To put the parts of a time into attributes, use `date_parts`;
    to sort the newest first, `invert_time`.

    Source: own design; in a template, the function `truncate_time` does the same.
    """

    kind = "truncate_time"
    examples = (
        Example(
            "the event's time", settings="{to: hour}", timestamp_ms=1309275728123, timestamp_ms_after=1309273200000
        ),
        Example(
            "a quarter of an hour, into an attribute",
            settings="{attribute: bucket, every: 15m}",
            timestamp_ms=1309275728123,
            after={"bucket": "1309275000000"},
        ),
        Example(
            "days in a zone, for several attributes",
            settings="{attributes: {seen: seen_day, sent: sent_day}, to: day, zone: Asia/Tokyo}",
            attributes={"seen": "1309275728123", "sent": "0"},
            after={"seen_day": "1309273200000", "sent_day": "-32400000"},
        ),
        Example("not a time", settings="{source: seen, to: day}", attributes={"seen": "today"}, error="bad_time"),
        Example("outside the years 1 to 9999", settings="{to: day}", timestamp_ms=2**62, error="time_out_of_range"),
        Example(
            "an absent attribute, with `on_missing: error`",
            settings="{source: seen, to: day, on_missing: error}",
            error="no_attribute",
        ),
    )

    def __init__(self, settings: TruncateTimeSettings) -> None:
        super().__init__(settings)
        self._truncate = settings.truncate()
        self._keeps = settings.on_invalid is OnInvalid.KEEP
        targets = settings.targets()
        self._edit = None if targets is None else edit_attributes(targets, self._truncated, settings.on_missing)

    def decorate(self, event: Event) -> bool:
        """Set the time, or the attributes."""
        if self._edit is not None:
            self._edit(event)
            return True
        try:
            time_ms = self._truncate(event.timestamp_ms)
        except EventError:
            if not self._keeps:
                raise
            time_ms = event.timestamp_ms
        if self.settings.attribute is None:
            event.timestamp_ms = time_ms
        else:
            event.set(self.settings.attribute, b"%d" % time_ms)
        return True

    def _truncated(self, text: bytes) -> bytes:
        try:
            return b"%d" % self._truncate(read_time(text))
        except EventError:
            if self._keeps:
                return text
            raise
