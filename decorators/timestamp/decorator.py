"""Set the event's time from text."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BeforeValidator, ValidationInfo

from decorators.timestamp.formats import ISO_NAMES, JODA, Parse, time_format
from decorators.timestamp.zones import NoZoneError, by_zone
from ingest.api import Decorator, Event, Example, Settings, option
from ingest.api.event_errors import BadTimeError, NoAttributeError
from ingest.api.notation import shown_start
from ingest.decorating.choices import OnInvalid, OnMissing
from ingest.decorating.names import BoundedMemo
from ingest.expressions import Template, zone_of
from ingest.expressions.option_type import known_zone

_MAX_TEXTS = 4_096  # cached texts: consecutive events often have the same time
_MAX_TEXT_BYTES = 64  # of a cached text
_ZONE_NAMES = (
    "%Z parses UTC, GMT and Z only; for another zone, write its name into the format and set `zone`, or use offsets "
    "with %z"
)


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _known_format(text: str) -> str:
    time_format(text)
    return text


def _known_zone(zone: Template | None, info: ValidationInfo) -> Template:
    if zone is not None and zone.constant is None:
        return zone
    return Template.parse(known_zone(None if zone is None else zone.text, info))


class TimestampSettings(Settings):
    """Options of the timestamp decorator."""

    other_names: ClassVar[None] = None

    source: str | None = option("Attribute to read; the body if left out.", default=None, example="time")
    attribute: str | None = option(
        "Attribute that receives the time, in milliseconds since 1970; when left out, it becomes the event's time.",
        default=None,
        example="2hb_app:started_ms",
    )
    formats: Annotated[
        list[Annotated[str, AfterValidator(_known_format)]],
        BeforeValidator(_as_list, json_schema_input_type=str | list[str]),
    ] = option(
        "One format or several; the first that matches is used. `iso8601` (or `rfc3339`), `apache`, `epoch_s`, "
        "`epoch_ms`, `epoch_us`, `epoch_ns`, or directives of strptime: %Y %y %m %b %h %B %d %e %j %H %I %M %S %f %L "
        "%p %z %Z %a %A %F %T %n %t %%. %z parses an offset (`+0200`, `+02:00`, `+02`) or Z; %Z parses UTC, GMT and "
        "Z, but no other names. Without a year, as in `%m%d %H:%M:%S.%f`, it is the year that brings the time nearest"
        " to the event's. `joda:` and a pattern of Joda-Time, as in `joda:dd/MMM/yyyy:HH:mm:ss Z`, parses what "
        "Joda-Time parses.",
        default=["iso8601"],
        example=["apache", "%Y-%m-%d %H:%M:%S"],
        min_length=1,
    )
    zone: Annotated[Template | None, AfterValidator(_known_zone)] = option(
        "Time zone of text without one, or a template of its name or of an offset such as +02:00 or UTC+2, as in "
        "`%{tz}`; the pipeline's `timezone` when left out.",
        default=None,
        example="Europe/Berlin",
    )
    on_invalid: OnInvalid = option(
        "Text that is not a time, or whose zone is unknown, or an absent attribute: the event fails (`error`) or keeps "
        "its time, or the `attribute` is not set (`keep`).",
        default="error",
        strict=False,
    )

    def sets(self) -> frozenset[str]:
        """The attribute, if one is named."""
        return frozenset(() if self.attribute is None else [self.attribute])

    def sets_core(self) -> frozenset[str]:
        """The event's time, unless an attribute receives it."""
        return frozenset(["timestamp"] if self.attribute is None else ())

    def time_may_be_coarse(self) -> bool:
        """False if all formats have milliseconds."""
        return not all(time_format(text).has_milliseconds for text in self.formats)

    @property
    def has_zone_names(self) -> bool:
        """Whether a format has a zone name."""
        return any("%Z" in text.replace("%%", "") for text in self.formats if not text.startswith(JODA))

    def lint_warnings(self) -> Mapping[str, str]:
        """Zone names, because %Z parses only few of them."""
        return {"formats": _ZONE_NAMES} if self.has_zone_names else {}


_parse_iso = time_format("iso8601").parser(UTC)


class Timestamp(Decorator[TimestampSettings]):
    """
    Parse the event's time from the body or an attribute, or put such a time into another attribute.

    The time has milliseconds; further digits are cut off. A byte order mark before the text is ignored. White space of
    a format stands for white space of the text, also Unicode's, such as the narrow no-break space before AM and PM.
    Names of months and days are English, whatever the locale, and in any case, full or short. A
    leap second (second 60) is the start of the next minute; second 61 is invalid. The event's `nanos` stay. An epoch
    may have a fraction and an exponent, as in `1.663830962276e12`. To put the parts of a time into attributes, use
    `date_parts`; for Flume's lenient parsing, `ex_date`.

    A time without a year, as of klog and logcat, is in the year that brings it nearest to the event's time, which is
    that of the record unless a decorator has set it: December 31 read on January 1 is in the year before. February 29
    is in the nearest leap year.

    Abbreviations such as CET, CST and PST are not parsed, because they are ambiguous (CST is a zone of America, China
    and Cuba). Write the abbreviation into the format and set its zone (`formats: '%Y-%m-%d %H:%M CET'` with
    `zone: Europe/Berlin`), or let the producer write an offset, which %z parses.

    A pattern of Joda-Time parses the whole text, with its white space: full and short names in lower case, upper case
    or as in `June`, `yyyy` with any number of digits, `yy` with two digits as a year from 80 years before the event's
    time to 19 after it and else as written, `Z` as in `+02`, `+0200`, `+02:00` and `Z`. A missing year is 2000, or 1970
    without a month and a day; a missing month or day is the first. A local time that a clock change skips, and a year
    outside 1 to 9999, is invalid. The letters are y Y M d D E e a H k K h m s S z Z.

    Source: own design; the directives are as in C's strptime, the patterns as in Joda-Time 2.9.9.
    """

    kind = "timestamp"
    examples = (
        Example(
            "an access log",
            settings="{source: time, formats: apache}",
            attributes={"time": "10/Oct/2000:13:55:36 -0700"},
            timestamp_ms_after=971211336000,
        ),
        Example(
            "several formats, and a zone for times without one",
            settings="{formats: ['%d.%m.%Y %H:%M', iso8601], zone: Europe/Berlin}",
            body="26.07.2010 11:48",
            timestamp_ms_after=1280137680000,
        ),
        Example(
            "a second time, into an attribute",
            settings="{source: started, attribute: '2hb_job:started_ms'}",
            attributes={"started": "2013-09-04T10:00:00Z"},
            after={"2hb_job:started_ms": "1378288800000"},
        ),
        Example("seconds with a fraction", settings="{formats: epoch_s}", body="1.5", timestamp_ms_after=1500),
        Example(
            "a pattern of Joda-Time",
            settings="{formats: 'joda:dd/MMM/yyyy:HH:mm:ss Z'}",
            body="26/July/2010:11:48:05 -06",
            timestamp_ms_after=1280166485000,
        ),
        Example(
            "a format without a year",
            settings="{formats: '%m%d %H:%M:%S.%f'}",
            body="1231 23:59:59.999000",
            timestamp_ms=1798761605000,
            timestamp_ms_after=1798761599999,
        ),
        Example(
            "a zone that the event names",
            settings="{source: at, formats: '%Y-%m-%d %H:%M:%S', zone: '%{tz}'}",
            attributes={"at": "2026-11-20 03:15:02", "tz": "America/New_York"},
            timestamp_ms_after=1795162502000,
        ),
        Example("not a time", settings="{formats: iso8601}", body="yesterday", error="bad_time"),
        Example("not a time, with `on_invalid: keep`", settings="{on_invalid: keep}", body="yesterday", timestamp_ms=7),
    )

    def __init__(self, settings: TimestampSettings) -> None:
        super().__init__(settings)
        formats = [time_format(text) for text in settings.formats]
        zone = settings.zone or Template.parse("UTC")
        self._source = settings.source
        self._attribute = settings.attribute
        self._keeps_invalid = settings.on_invalid is OnInvalid.KEEP
        self._zone = zone.renderer(OnMissing.UNSET)
        is_fixed = zone.constant is not None
        self._parsers = [each.parser(zone_of(zone.text)) for each in formats] if is_fixed else []
        self._parsers_in = None if is_fixed else by_zone(lambda zone: [each.parser(zone) for each in formats])
        self._times: BoundedMemo[bytes, int | None] = BoundedMemo(
            lambda text: self._parse(text, 0, self._parsers), max_keys=_MAX_TEXTS
        )
        self._known = self._times.known
        is_cached = is_fixed and not any(each.depends_on_event for each in formats)
        self._longest = _MAX_TEXT_BYTES if is_cached else -1

    def decorate(self, event: Event) -> bool:
        """Set the event's time, or the attribute."""
        text = event.body if self._source is None else event.attributes.get(self._source)
        if text is not None:
            try:
                time = self._known[text]
            except KeyError:
                if len(text) <= self._longest:
                    time = self._times[text]
                elif self._parsers_in is None:
                    time = self._parse(text, event.timestamp_ms, self._parsers)
                else:
                    time = self._time(self._parsers_in, text, event)
            if time is not None:
                if self._attribute is None:
                    event.timestamp_ms = time
                else:
                    event.set(self._attribute, b"%d" % time)
                return True
        if self._keeps_invalid:
            return True
        text = event.text_of(self._source, "to read a time from")
        message = f"{shown_start(text)} is not a time of the format {' or '.join(self.settings.formats)}"
        hint = _ZONE_NAMES if self.settings.has_zone_names else None
        if ISO_NAMES.isdisjoint(self.settings.formats) and _parse_iso(text, event.timestamp_ms) is not None:
            hint = "`formats: iso8601` parses it"
        raise BadTimeError(message, hint=hint)

    def _time(self, parsers_in: Callable[[bytes | None], Sequence[Parse]], text: bytes, event: Event) -> int | None:
        """
        The time of a text in the zone that its event names.

        Raises:
            DecorateError: it needs a zone that the event does not have, and `on_invalid` is `error`.
        """
        name = self._zone(event)
        try:
            return self._parse(text, event.timestamp_ms, parsers_in(name))
        except NoZoneError as error:
            if self._keeps_invalid:
                return None
            zone = "the event has no zone" if name is None else f"{shown_start(name)} is not a time zone"
            kind = NoAttributeError if name is None else BadTimeError
            raise kind(
                f"{shown_start(text)} is a time without an offset, and {zone}",
                hint="`zone` becomes a name such as Europe/Berlin, or an offset such as +02:00",
            ) from error

    def _parse(self, text: bytes, near_ms: int, parsers: Sequence[Parse]) -> int | None:
        for parse in parsers:
            time = parse(text, near_ms)
            if time is not None:
                return time
        return None
