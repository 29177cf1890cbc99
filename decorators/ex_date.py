"""Split a date into attributes, as Flume did."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Annotated, ClassVar

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from ingest.api import DecorateError, Decorator, Event, Example, Settings, option
from ingest.api.notation import shown_start
from ingest.decorating.choices import OnInvalid
from ingest.expressions import ZoneName, zone_of
from ingest.formats.date_letters import MONTHS, WEEKDAYS

_SHORT_YEAR_DIGITS = 2
_FIRST_SHORT_YEAR = 69  # POSIX: 69 to 99 mean 1969 to 1999; Java's rule depends on the current date
_SPELLED_MONTH_LETTERS = 3  # a month of this many letters or more is a word
_MONTHS_A_YEAR = 12
_EPOCH_YEAR = 1970
_PARTS = ("day", "month", "year", "hr", "min", "sec")

_MONTHS, _DAYS = ([name.lower().encode() for name in names] for names in (MONTHS, WEEKDAYS))
_HALVES = [b"am", b"pm"]
_WORDS = {"M": _MONTHS, "E": _DAYS, "a": _HALVES}
_MIDNIGHT = {"k": 24, "h": 12}  # hours that count from 1
_NUMBERS = frozenset("yMdDHkKhmsS")
_ZONE_HOURS = {b"ut": 0, b"utc": 0, b"gmt": 0, b"est": -5, b"edt": -4, b"cst": -6, b"cdt": -5, b"mst": -7, b"mdt": -6,
               b"pst": -8, b"pdt": -7}  # fmt: skip
_ISO_OFFSETS = {1: rb"[+-]\d\d", 2: rb"[+-]\d{4}", 3: rb"[+-]\d\d:\d\d"}  # number of letters X -> expression
_TOKEN = re.compile(r"'(?P<quoted>(?:[^']|'')*)'|(?P<field>([A-Za-z])\3*)|(?P<plain>[^A-Za-z']+)|(?P<open>')")


class DatePattern:
    """
    A pattern of Java's SimpleDateFormat, which parses as leniently as Java does.

    Numbers out of range roll over (month 13 is January of the next year), white space before a number and text after
    the date are ignored, names are English and in any case. Differences from Java: a two-digit year under `yy` is one
    of 1969 to 2068, there are no years BC, and zone names are those of RFC 822.

    Source: the documentation of java.text.SimpleDateFormat and java.util.Calendar.

    Raises:
        PydanticCustomError: an unknown letter, or a quote that is not closed.
    """

    def __init__(self, text: str) -> None:
        tokens = list(_TOKEN.finditer(text))
        self._fields: list[tuple[str, Callable[[bytes], int]]] = []
        pieces: list[bytes] = []
        for number, token in enumerate(tokens):
            if token["open"]:
                raise PydanticCustomError("bad_pattern", 'a quote in "{text}" is not closed', {"text": text})
            if token["field"]:
                following = tokens[number + 1]["field"] if number + 1 < len(tokens) else None
                pieces.append(_expression(token["field"], following, text))
                letter = token["field"][0]
                self._fields.append(("offset_min" if letter in "zZX" else letter, _reader(token["field"])))
            else:
                quoted = token["quoted"]
                literal = token["plain"] if quoted is None else quoted.replace("''", "'") or "'"
                pieces.append(re.escape(literal.encode()))
        self._match = re.compile(b"".join(pieces)).match

    def read(self, text: bytes, zone: tzinfo) -> datetime | None:
        """The time in `zone`, which text without a zone is also in; None if it is not a date of the years 1 to 9999."""
        match = self._match(text)
        if match is None:
            return None
        # if two fields give the same part, the later one wins
        parts = {part: read(found) for (part, read), found in zip(self._fields, match.groups(), strict=True)}
        try:
            return _moment(parts, zone)
        except (ValueError, OverflowError):
            return None


def _expression(field: str, following: str | None, pattern: str) -> bytes:
    letter, count = field[0], len(field)
    if _is_word(field):
        return b"((?i:" + b"|".join(name + b"|" + name[:3] for name in _WORDS[letter]) + b"))"
    if letter in _NUMBERS:
        # no backtracking within a number; the letters of adjacent numbers say how many digits each has
        is_adjacent = following is not None and following[0] in _NUMBERS and not _is_word(following)
        return rb"(?=(?s:.{%d}))(\d{1,%d}+)" % (count, count) if is_adjacent else rb"[ \t]*(\d{1,9}+)"
    if letter == "X" and count in _ISO_OFFSETS:
        return rb"[ \t]*(Z|" + _ISO_OFFSETS[count] + b")"
    if letter in "zZ":
        names = b"|".join(sorted(_ZONE_HOURS, reverse=True))
        return rb"[ \t]*([+-]\d{4}|(?i:gmt)[+-]\d\d?:\d\d|(?i:" + names + b"))"
    raise PydanticCustomError(
        "bad_pattern",
        '"{field}" in "{text}" is not a date field: the fields are y M d D E H k K h m s S a z Z X; put other letters '
        "between quotes",
        {"field": field, "text": pattern},
    )


def _is_word(field: str) -> bool:
    return field[0] in _WORDS and (field[0] != "M" or len(field) >= _SPELLED_MONTH_LETTERS)


def _reader(field: str) -> Callable[[bytes], int]:
    """The function that turns the text of a field into a number."""
    letter = field[0]
    if letter in "zZX":
        return _offset_min
    if _is_word(field):
        numbers = {name[:3]: number for number, name in enumerate(_WORDS[letter], letter == "M")}
        return lambda found: numbers[found[:3].lower()]
    if letter == "y" and len(field) <= _SHORT_YEAR_DIGITS:
        return _short_year
    midnight = _MIDNIGHT.get(letter)
    if midnight is None:
        return int
    return lambda found: 0 if int(found) == midnight else int(found)


def _short_year(text: bytes) -> int:
    year = int(text)
    if len(text) != _SHORT_YEAR_DIGITS:
        return year
    return year + (2000 if year < _FIRST_SHORT_YEAR else 1900)


def _offset_min(found: bytes) -> int:
    text = found.lower()
    if text in _ZONE_HOURS:
        return _ZONE_HOURS[text] * 60
    if text == b"z":
        return 0
    sign, digits = text.removeprefix(b"gmt")[:1], text.removeprefix(b"gmt")[1:]
    hours, minutes = digits.split(b":") if b":" in digits else (digits[:2], digits[2:] or b"0")
    return (int(hours) * 60 + int(minutes)) * (-1 if sign == b"-" else 1)


def _moment(parts: Mapping[str, int], zone: tzinfo) -> datetime:
    years, month = divmod(parts.get("M", 1) - 1, _MONTHS_A_YEAR)
    first = date(parts.get("y", _EPOCH_YEAR) + years, 1 if "D" in parts else month + 1, 1)
    if "H" in parts or "k" in parts:
        hour = parts.get("H", parts.get("k", 0))
    else:
        hour = parts.get("K", parts.get("h", 0)) + 12 * parts.get("a", 0)
    moment = datetime(first.year, first.month, 1) + timedelta(  # noqa: DTZ001 - the zone is set below
        days=parts.get("D", parts.get("d", 1)) - 1,
        hours=hour,
        minutes=parts.get("m", 0),
        seconds=parts.get("s", 0),
        milliseconds=parts.get("S", 0),
    )
    offset_min = parts.get("offset_min")
    source_zone = zone if offset_min is None else timezone(timedelta(minutes=offset_min))
    # through UTC even within one zone: a time in the gap of a clock change moves to the next hour
    return moment.replace(tzinfo=source_zone).astimezone(UTC).astimezone(zone)


def _known_pattern(text: str) -> str:
    DatePattern(text)
    return text


class ExDateSettings(Settings):
    """Options of the ex_date decorator."""

    other_names: ClassVar[None] = None

    source: str = option("Attribute that holds the date.", example="time")
    pattern: Annotated[str, AfterValidator(_known_pattern)] = option(
        "Pattern of the date, in the letters of Java's SimpleDateFormat: y M d D E H k K h m s S a z Z X; put other "
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

    The date is parsed leniently: month 13 is January of the next year, and text after the date is ignored. For strict
    parsing, or to set the event's time, use `timestamp`.

    Source: Flume decorator `exDate`.
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
        self._read = DatePattern(settings.pattern).read
        self._zone = zone_of(settings.zone or "UTC")
        self._names = tuple(settings.prefix + part for part in _PARTS)
        two = b"%02d" if settings.padding else b"%d"
        self._forms = (two, two, b"%d", two, two, two)

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        text = event.text_of(self.settings.source, "to read a date from")
        moment = self._read(text, self._zone)
        if moment is None:
            if self.settings.on_invalid is OnInvalid.KEEP:
                return True
            raise DecorateError(
                f"{shown_start(text)} is not a date of the form {self.settings.pattern}", code="bad_time"
            )
        values = (moment.day, moment.month, moment.year, moment.hour, moment.minute, moment.second)
        written = [form % value for form, value in zip(self._forms, values, strict=True)]
        event.update(dict(zip(self._names, written, strict=True)))
        return True
