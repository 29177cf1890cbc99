"""Split a date into attributes, as Flume did."""

from typing import Annotated, ClassVar

from pydantic import AfterValidator

from ingest.api import Decorator, Event, Example, Settings, option
from ingest.api.event_errors import BadTimeError
from ingest.api.notation import shown_start
from ingest.decorating.choices import OnInvalid
from ingest.expressions import ZoneName, zone_of
from ingest.formats.simple_date import DatePattern

_PARTS = ("day", "month", "year", "hr", "min", "sec")


def _known_pattern(text: str) -> str:
    DatePattern(text)
    return text


class ExDateSettings(Settings):
    """Options of the ex_date decorator."""

    other_names: ClassVar[None] = None

    source: str = option("Attribute that holds the date.", example="time")
    pattern: Annotated[str, AfterValidator(_known_pattern)] = option(
        "Pattern of the date, in the letters of Java's SimpleDateFormat: y M L d D E H k K h m s S a z Z X; put other "
        "letters between single quotes.",
        example="dd/MMM/yyyy:HH:mm:ss Z",
    )
    prefix: str = option("Put before `day`, `month`, `year`, `hr`, `min` and `sec`.", default="date", example="2hb_t:")
    padding: bool = option("Write two digits for all parts but the year: 07 instead of 7.", default=True)
    zone: ZoneName = option(
        "Time zone of the parts, and of dates without a zone; the pipeline's `timezone` when left out.",
        default=None,
        example="America/Denver",
    )
    on_invalid: OnInvalid = option(
        "Text that is not a date: the event passes unchanged (`keep`) or fails (`error`). An absent attribute always "
        "fails it, as in Flume.",
        default="keep",
        strict=False,
    )

    def sets(self) -> frozenset[str]:
        """The attributes of the parts."""
        return frozenset(self.prefix + part for part in _PARTS)


class ExDate(Decorator[ExDateSettings]):
    """
    Parse a date in an attribute and set attributes to its day, month, year, hour, minute and second.

    The date is parsed as leniently as Java does: month 13 is January of the next year, a number has any number of
    digits unless another one follows, and text after the date is ignored. A year of two digits under `yy` is one from
    80 years before the event's time to 20 after it. Names are English, in any case. Of the names of zones those are
    known that have one offset, such as UTC, EST and CEST; a name of `zone` comes first. Dates before 15 October 1582
    are of the Gregorian calendar, and years BC are not dates. For strict parsing, or to set the event's time, use
    `timestamp`.

    Source: Flume decorator `exDate`; the results are those of SimpleDateFormat of Java 17 with the locale en_US.
    """

    kind = "ex_date"
    examples = (
        Example(
            "an access log",
            settings="{source: date, pattern: 'dd/MMM/yyyy:HH:mm:ss Z', zone: America/Denver}",
            attributes={"date": "26/Jul/2010:11:48:05 -0600"},
            after={
                "dateday": "26",
                "datemonth": "07",
                "dateyear": "2010",
                "datehr": "11",
                "datemin": "48",
                "datesec": "05",
            },
        ),
        Example(
            "month 13 rolls over",
            settings="{source: d, pattern: yyyy-MM-dd, prefix: '2hb_t:', padding: false}",
            attributes={"d": "2010-13-01"},
            after={
                "2hb_t:day": "1",
                "2hb_t:month": "1",
                "2hb_t:year": "2011",
                "2hb_t:hr": "0",
                "2hb_t:min": "0",
                "2hb_t:sec": "0",
            },
        ),
        Example("not a date", settings="{source: d, pattern: yyyy-MM-dd}", attributes={"d": "yesterday"}),
        Example(
            "not a date, with `on_invalid: error`",
            settings="{source: d, pattern: yyyy-MM-dd, on_invalid: error}",
            attributes={"d": "yesterday"},
            error="bad_time",
        ),
        Example("an absent attribute", settings="{source: d, pattern: yyyy-MM-dd}", error="no_attribute"),
    )

    def __init__(self, settings: ExDateSettings) -> None:
        super().__init__(settings)
        self._read = DatePattern(settings.pattern, zone_of(settings.zone or "UTC")).read
        self._names = tuple(settings.prefix + part for part in _PARTS)
        two = b"%02d" if settings.padding else b"%d"
        self._forms = (two, two, b"%d", two, two, two)

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        text = event.text_of(self.settings.source, "to read a date from")
        values = self._read(text, event.timestamp_ms)
        if values is None:
            if self.settings.on_invalid is OnInvalid.KEEP:
                return True
            raise BadTimeError(f"{shown_start(text)} is not a date of the form {self.settings.pattern}")
        written = [form % value for form, value in zip(self._forms, values, strict=True)]
        event.update(dict(zip(self._names, written, strict=True)))
        return True
