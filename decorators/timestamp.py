"""Set the event's time from text."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, tzinfo
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BeforeValidator
from pydantic_core import PydanticCustomError

from ingest.api import DecorateError, Decorator, Event, Example, Settings, option
from ingest.api.notation import shown_start
from ingest.decorating.choices import OnInvalid
from ingest.decorating.names import BoundedMemo
from ingest.expressions import ZoneName, zone_of
from ingest.formats.date_letters import READ
from ingest.formats.joda import JodaPattern
from ingest.formats.times import FIRST_MS, LAST_MS, MONTH_NUMBERS, milliseconds_at, milliseconds_of
from ingest.suggest import did_you_mean

_FINE_FORMATS = frozenset({"epoch_ms", "epoch_us", "epoch_ns"})
_MAX_TEXTS = 4_096  # cached texts: consecutive events often have the same time
_MAX_TEXT_BYTES = 64  # of a cached text
_ZONE_NAMES = (
    "%Z parses UTC, GMT and Z only; for another zone, write its name into the format and set `zone`, or use offsets "
    "with %z"
)
_NOON = 12

_EPOCHS = {"epoch_s": (1_000, 1), "epoch_ms": (1, 1), "epoch_us": (1, 1_000), "epoch_ns": (1, 1_000_000)}
_EPOCH = re.compile(rb"(-?\d{1,20})(?:\.(\d{1,18}))?")
_JODA = "joda:"
_ISO_NAMES = frozenset({"iso8601", "rfc3339"})
_APACHE = "%d/%b/%Y:%H:%M:%S %z"
_FIRST_SHORT_YEAR = 69  # POSIX: 69 to 99 mean 1969 to 1999
_USUAL_ISO = re.compile(rb"\d{4}-\d\d-\d\d[T ](?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d{3,6})?(?:Z|[+-]\d\d:\d\d)?")
_ISO = re.compile(
    rb"(?P<Y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)(?:[Tt ](?P<H>\d\d):(?P<M>\d\d)(?::(?P<S>\d\d)(?:[.,](?P<f>\d{1,9})\d*)?)?"
    rb" ?(?P<z>[Zz]|[+-]\d\d(?::?\d\d)?)?)?"
)

Parse = Callable[[bytes, int], int | None]
"""Milliseconds of a text, for an event of this time; None if it does not have the format."""


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _known_format(text: str) -> str:
    parser(text, UTC)
    return text


def _is_fine(text: str) -> bool:
    """Whether a format has milliseconds."""
    joda = _joda_of(text)
    if joda is not None:
        return joda.has_milliseconds
    return text in _FINE_FORMATS or any(letter in text.replace("%%", "") for letter in ("%f", "%L"))


def _joda_of(text: str) -> JodaPattern | None:
    return JodaPattern(text.removeprefix(_JODA)) if text.startswith(_JODA) else None


class TimestampSettings(Settings):
    """Options of the timestamp decorator."""

    other_names: ClassVar[None] = None

    source: str | None = option("Attribute to read; the body if left out.", default=None, example="time")
    formats: Annotated[
        list[Annotated[str, AfterValidator(_known_format)]],
        BeforeValidator(_as_list, json_schema_input_type=str | list[str]),
    ] = option(
        "One format or several; the first that matches is used. `iso8601` (or `rfc3339`), `apache`, `epoch_s`, "
        "`epoch_ms`, `epoch_us`, `epoch_ns`, or directives of strptime: %Y %y %m %b %h %B %d %e %j %H %I %M %S %f %L "
        "%p %z %Z %a %A %F %T %n %t %%. %z parses an offset or Z; %Z parses UTC, GMT and Z, but no other names. "
        "`joda:` and a pattern of Joda-Time, as in `joda:dd/MMM/yyyy:HH:mm:ss Z`, parses what Joda-Time parses.",
        default=["iso8601"],
        example=["apache", "%Y-%m-%d %H:%M:%S"],
        min_length=1,
    )
    zone: ZoneName = option(
        "Time zone of text without one; the pipeline's `timezone` when left out.",
        default=None,
        example="Europe/Berlin",
    )
    on_invalid: OnInvalid = option(
        "Text that is not a time, or an absent attribute: the event fails (`error`) or keeps its time (`keep`).",
        default="error",
        strict=False,
    )

    def sets_core(self) -> frozenset[str]:
        """The event's time."""
        return frozenset(["timestamp"])

    def time_may_be_coarse(self) -> bool:
        """False if all formats have milliseconds."""
        return not all(map(_is_fine, self.formats))

    @property
    def has_zone_names(self) -> bool:
        """Whether a format has a zone name."""
        return any("%Z" in text.replace("%%", "") for text in self.formats if not text.startswith(_JODA))

    def lint_warnings(self) -> Mapping[str, str]:
        """Zone names, because %Z parses only few of them."""
        return {"formats": _ZONE_NAMES} if self.has_zone_names else {}


class Timestamp(Decorator[TimestampSettings]):
    """
    Parse the event's time from the body or an attribute.

    The time has milliseconds; further digits are cut off. Names of months and days are English, whatever the locale,
    and in any case; %B and %A also accept the short names. A leap second (second 60) is the start of the next minute;
    second 61 is invalid. The event's `nanos` stay. To put the parts of a time into attributes, use `date_parts`; for
    Flume's lenient parsing, `ex_date`.

    Abbreviations such as CET, CST and PST are not parsed, because they are ambiguous (CST is a zone of America, China
    and Cuba). Write the abbreviation into the format and set its zone (`formats: '%Y-%m-%d %H:%M CET'` with
    `zone: Europe/Berlin`), or let the producer write an offset, which %z parses.

    A pattern of Joda-Time parses the whole text, with its white space: full and short names in lower case, upper case
    or as in `June`, `yyyy` with any number of digits, `yy` with two digits as a year from 80 years before the event's
    time to 19 after it and else as written, `Z` as in `+02`, `+0200`, `+02:00` and `Z`. A missing year is 2000, or 1970
    without a month and a day; a missing month or day is the first. A local time that a clock change skips, and a year
    outside 1 to 9999, is invalid. The letters are y Y M d D E e a H k K h m s S z Z.

    Source: own design; the directives are those of C's strptime, and the patterns those of Joda-Time 2.9.9.
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
        Example("seconds with a fraction", settings="{formats: epoch_s}", body="1.5", timestamp_ms_after=1500),
        Example(
            "a pattern of Joda-Time",
            settings="{formats: 'joda:dd/MMM/yyyy:HH:mm:ss Z'}",
            body="26/July/2010:11:48:05 -06",
            timestamp_ms_after=1280166485000,
        ),
        Example("not a time", settings="{formats: iso8601}", body="yesterday", error="bad_time"),
        Example("not a time, with `on_invalid: keep`", settings="{on_invalid: keep}", body="yesterday", timestamp_ms=7),
    )

    def __init__(self, settings: TimestampSettings) -> None:
        super().__init__(settings)
        zone = zone_of(settings.zone or "UTC")
        self._source = settings.source
        self._parsers = [parser(text, zone) for text in settings.formats]
        self._times: BoundedMemo[bytes, int | None] = BoundedMemo(
            lambda text: self._parse(text, 0), max_keys=_MAX_TEXTS
        )
        patterns = [joda for joda in map(_joda_of, settings.formats) if joda is not None]
        self._longest = -1 if any(joda.has_short_year for joda in patterns) else _MAX_TEXT_BYTES

    def decorate(self, event: Event) -> bool:
        """Set the event's time."""
        text = event.body if self._source is None else event.attributes.get(self._source)
        if text is not None:
            try:
                time = self._times.known[text]
            except KeyError:
                time = self._times[text] if len(text) <= self._longest else self._parse(text, event.timestamp_ms)
            if time is not None:
                event.timestamp_ms = time
                return True
        if self.settings.on_invalid is OnInvalid.KEEP:
            return True
        text = event.text_of(self._source, "to read a time from")
        message = f"{shown_start(text)} is not a time of the format {' or '.join(self.settings.formats)}"
        raise DecorateError(message, code="bad_time", hint=_ZONE_NAMES if self.settings.has_zone_names else None)

    def _parse(self, text: bytes, now_ms: int) -> int | None:
        for parse in self._parsers:
            time = parse(text, now_ms)
            if time is not None:
                return time
        return None


def parser(text: str, zone: tzinfo) -> Parse:
    """
    A function that parses a format.

    Raises:
        PydanticCustomError: the format is unknown.
    """
    if text in _EPOCHS:
        return _epoch_parser(*_EPOCHS[text])
    if text in _ISO_NAMES:
        return _iso_parser(zone)
    joda = _joda_of(text)
    if joda is not None:
        return lambda data, now_ms: joda.milliseconds(data, zone, now_ms)
    letters = _APACHE if text == "apache" else text
    if "%" not in letters:
        known = (*sorted(_ISO_NAMES), "apache", *_EPOCHS)
        hint = did_you_mean(text, known) or f"write directives such as %Y-%m-%d, or one of {', '.join(known)}"
        raise PydanticCustomError("bad_pattern", '"{text}" is not a time format', {"text": text, "hint": hint})
    return _date_parser(_compiled(letters), zone)


def _compiled(letters: str) -> re.Pattern[bytes]:
    pieces = []
    seen: set[str] = set()
    for piece in re.findall(r"%.?|[^%\s]+|\s+", letters, re.DOTALL):
        if piece[0] != "%":
            pieces.append(r"\s+" if piece.isspace() else re.escape(piece))
            continue
        directive = READ.get(piece[1:])
        if directive is None:
            raise PydanticCustomError(
                "bad_pattern", '"{piece}" in "{text}" is not a directive', {"piece": piece, "text": letters}
            )
        names = set(re.findall(r"\?P<(\w)>", directive))
        if names & seen:
            raise PydanticCustomError("bad_pattern", '"{text}" has a part twice', {"text": letters})
        seen |= names
        pieces.append(directive)
    if not ({"Y", "y"} & seen and ({"m", "b"} & seen or "j" in seen) and ({"d", "j"} & seen)):
        raise PydanticCustomError(
            "bad_pattern", '"{text}" is not a complete date: it needs year, month and day', {"text": letters}
        )
    return re.compile("".join(pieces).encode())


def _iso_parser(zone: tzinfo) -> Parse:
    """Uses Python's parser for the usual formats, which is five times as fast, and a regular expression for others."""
    parse_slowly = _date_parser(_ISO, zone)

    def parse(text: bytes, now_ms: int) -> int | None:
        if _USUAL_ISO.fullmatch(text) is None:
            return parse_slowly(text, now_ms)
        try:
            time = datetime.fromisoformat(text.decode())
        except ValueError:
            return parse_slowly(text, now_ms)
        found = milliseconds_of(time.replace(tzinfo=zone) if time.tzinfo is None else time)
        return found if FIRST_MS <= found <= LAST_MS else None

    return parse


def _date_parser(pattern: re.Pattern[bytes], zone: tzinfo) -> Parse:
    fullmatch = pattern.fullmatch

    def parse(text: bytes, _now_ms: int) -> int | None:
        match = fullmatch(text.strip())
        if match is None:
            return None
        try:
            time = _milliseconds(match.groupdict(), zone)
        except (ValueError, OverflowError):
            return None  # a date or time that does not exist, such as February 30
        return time if FIRST_MS <= time <= LAST_MS else None

    return parse


def _milliseconds(parts: dict[str, bytes | None], zone: tzinfo) -> int:
    day = _day(parts)
    hour, minute, second = int(parts.get("H") or 0), int(parts.get("M") or 0), int(parts.get("S") or 0)
    half = parts.get("p")
    if parts.get("I"):
        hour = int(parts["I"] or 0)
        if half:
            hour = hour % _NOON + (_NOON if half.lower() == b"pm" else 0)
    fraction_ms = int((parts.get("f") or b"0")[:3].ljust(3, b"0"))
    offset = parts.get("z")
    time_zone = zone if offset is None else UTC
    time = milliseconds_at(datetime(day.year, day.month, day.day, hour, minute, tzinfo=time_zone), second) + fraction_ms
    return time if offset is None else time - _offset_s(offset) * 1000


def _day(parts: dict[str, bytes | None]) -> date:
    year = int(parts.get("Y") or 0)
    short = parts.get("y")
    if short is not None:
        year = int(short) + (2000 if int(short) < _FIRST_SHORT_YEAR else 1900)
    of_year = parts.get("j")
    if of_year is not None:
        day = date.fromordinal(date(year, 1, 1).toordinal() + int(of_year) - 1)
        if day.year != year:
            raise ValueError("no such day of the year")
        return day
    name = parts.get("b")
    month = int(parts.get("m") or 0) if name is None else MONTH_NUMBERS[name[:3].capitalize()]
    return date(year, month, int(parts.get("d") or 0))


def _offset_s(offset: bytes) -> int:
    if offset[:1] not in b"+-":
        return 0
    digits = offset[1:].replace(b":", b"")
    minutes = int(digits[:2]) * 60 + int(digits[2:] or 0)
    if int(digits[:2]) >= 24 or int(digits[2:] or 0) >= 60:  # noqa: PLR2004 - hours and minutes
        raise ValueError("no such offset")
    return minutes * (-60 if offset[:1] == b"-" else 60)


def _epoch_parser(factor: int, divisor: int) -> Parse:
    fullmatch = _EPOCH.fullmatch

    def parse(text: bytes, _now_ms: int) -> int | None:
        match = fullmatch(text.strip())
        if match is None:
            return None
        fraction = match[2] or b""
        digits = int(match[1] + fraction)  # exact, where a float would round
        time = digits * factor // (divisor * 10 ** len(fraction))
        return time if FIRST_MS <= time <= LAST_MS else None

    return parse
