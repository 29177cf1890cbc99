"""Set attributes to the parts of a time."""

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from ingest.api import Decorator, Event, EventError, Example, Settings, option
from ingest.decorating.choices import OnInvalid
from ingest.decorating.edits import each_once
from ingest.expressions import ZoneName, zone_of
from ingest.expressions.dates import datetime_of, read_time
from ingest.formats.date_letters import CALENDAR, day_of_year, offset_of


class Part(StrEnum):
    """A part of a date or of a time of day."""

    YEAR = "year"
    QUARTER = "quarter"
    MONTH = "month"
    DAY = "day"
    HOUR = "hour"
    MINUTE = "minute"
    SECOND = "second"
    MILLISECOND = "millisecond"
    WEEKDAY = "weekday"
    ISO_YEAR = "iso_year"
    ISO_WEEK = "iso_week"
    DAY_OF_YEAR = "day_of_year"
    MONTH_NAME = "month_name"
    WEEKDAY_NAME = "weekday_name"
    OFFSET = "offset"


_NUMBERS: dict[Part, tuple[int, Callable[[datetime], int]]] = {
    Part.YEAR: (4, lambda time: time.year),
    Part.QUARTER: (1, lambda time: (time.month + 2) // 3),
    Part.MONTH: (2, lambda time: time.month),
    Part.DAY: (2, lambda time: time.day),
    Part.HOUR: (2, lambda time: time.hour),
    Part.MINUTE: (2, lambda time: time.minute),
    Part.SECOND: (2, lambda time: time.second),
    Part.MILLISECOND: (3, lambda time: time.microsecond // 1000),
    Part.WEEKDAY: (1, lambda time: time.isoweekday()),
    Part.ISO_YEAR: (4, lambda time: time.isocalendar().year),
    Part.ISO_WEEK: (2, lambda time: time.isocalendar().week),
    Part.DAY_OF_YEAR: (3, day_of_year),
}
"""Part -> its number of digits, and its value."""

_TEXTS: dict[Part, Callable[[datetime], bytes]] = {
    Part.MONTH_NAME: CALENDAR["B"],
    Part.WEEKDAY_NAME: CALENDAR["A"],
    Part.OFFSET: offset_of,
}


_AnyPart = Annotated[Part, Field(strict=False)]
_Parts = Annotated[list[_AnyPart], Field(min_length=1)]
_Named = Annotated[dict[_AnyPart, str], Field(min_length=1)]


class DatePartsSettings(Settings):
    """Options of the date_parts decorator."""

    other_names: ClassVar[None] = None
    without_source: ClassVar[str] = "timestamp"

    source: str | None = option(
        "Attribute with milliseconds since 1970; the event's time when left out.", default=None, example="seen"
    )
    parts: _Parts | _Named = option(
        "A list of parts, or a mapping from parts to attribute names. `weekday` is 1 for Monday to 7; `iso_week` "
        "belongs to `iso_year`; `offset` is the zone's, such as +0200; names of months and weekdays are English.",
        default=["year", "month", "day", "hour", "minute", "second"],
        example=["iso_year", "iso_week", "weekday"],
    )
    prefix: str = option("Put before the name of each part.", default="", example="2hb_t:")
    zone: ZoneName = option(
        "Time zone of the parts; the pipeline's `timezone` when left out.", default=None, example="Europe/Berlin"
    )
    padding: bool = option("Add leading zeros: 07 instead of 7.", default=True)
    on_invalid: OnInvalid = option(
        "An attribute that is absent or not a number, or a time outside the years 1 to 9999: the event fails "
        "(`error`) or passes unchanged (`keep`).",
        default="error",
        strict=False,
    )

    def sets(self) -> frozenset[str]:
        """The attributes of the parts."""
        return frozenset(self.names().values())

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        each_once(self.parts.values() if isinstance(self.parts, dict) else self.parts, "parts")
        return self

    def names(self) -> dict[Part, str]:
        """Part -> attribute."""
        named = self.parts if isinstance(self.parts, dict) else {part: part.value for part in self.parts}
        return {part: self.prefix + name for part, name in named.items()}


class DateParts(Decorator[DatePartsSettings]):
    """
    Set attributes to year, month, day, weekday and other parts of a time.

    For a date in text, use `timestamp` first, or `ex_date`; for text of several parts, the date letters of `value`.

    Source: own design; weeks are those of ISO 8601: the first one of a year contains its first Thursday.
    """

    kind = "date_parts"
    examples = (
        Example(
            "the event's time, in a zone",
            settings="{prefix: '2hb_t:', zone: Europe/Berlin}",
            timestamp_ms=1309275728123,
            after={
                "2hb_t:year": "2011",
                "2hb_t:month": "06",
                "2hb_t:day": "28",
                "2hb_t:hour": "17",
                "2hb_t:minute": "42",
                "2hb_t:second": "08",
            },
        ),
        Example(
            "a week that belongs to the previous year",
            settings="{source: seen, parts: {iso_year: y, iso_week: w, weekday_name: day}, padding: false}",
            attributes={"seen": "1609632000000"},
            after={"y": "2020", "w": "53", "day": "Sunday"},
        ),
        Example("not a time", settings="{source: seen}", attributes={"seen": "today"}, error="bad_time"),
        Example("an absent attribute", settings="{source: seen}", error="no_attribute"),
        Example("outside the years 1 to 9999", timestamp_ms=2**62, error="time_out_of_range"),
        Example(
            "not a time, with `on_invalid: keep`",
            settings="{source: seen, on_invalid: keep}",
            attributes={"seen": "today"},
        ),
    )

    def __init__(self, settings: DatePartsSettings) -> None:
        super().__init__(settings)
        names = settings.names()
        self._zone = zone_of(settings.zone or "UTC")
        self._writers = [(name, _writer(part, padding=settings.padding)) for part, name in names.items()]
        self._unit_ms = 1 if Part.MILLISECOND in names else 1000
        self._last: tuple[int | None, dict[str, bytes]] = (None, {})

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        try:
            found = self._found(self._time(event))
        except EventError:
            if self.settings.on_invalid is OnInvalid.KEEP:
                return True
            raise
        event.update(found)
        return True

    def _time(self, event: Event) -> int:
        source = self.settings.source
        if source is None:
            return event.timestamp_ms
        return read_time(event.text_of(source, "to read a time from"))

    def _found(self, time_ms: int) -> dict[str, bytes]:
        """The parts of a time; the last result is cached, as consecutive events often have the same second."""
        unit = time_ms // self._unit_ms
        last, found = self._last
        if unit != last:
            time = datetime_of(time_ms, self._zone).replace(microsecond=time_ms % 1000 * 1000)
            found = {name: write(time) for name, write in self._writers}
            self._last = (unit, found)
        return found


def _writer(part: Part, *, padding: bool) -> Callable[[datetime], bytes]:
    if part in _TEXTS:
        return _TEXTS[part]
    digits, number = _NUMBERS[part]
    form = b"%%0%dd" % digits if padding else b"%d"
    return lambda time: form % number(time)
