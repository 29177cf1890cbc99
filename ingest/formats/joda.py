"""
Parses dates by a pattern of Joda-Time, with the results of Joda-Time.

Source: the documentation of org.joda.time.format.DateTimeFormat, and the results of Joda-Time 2.9.9, which Flume 1.11
and Logstash 5 use, with English names.
"""

import re
import zoneinfo
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cache

from pydantic_core import PydanticCustomError

from ingest.formats.date_letters import MONTHS, WEEKDAYS
from ingest.formats.times import FIRST_MS, LAST_MS, milliseconds_of

_HOUR_MS = 3_600_000
_HALF_DAY_MS = 12 * _HOUR_MS
_DAY_MS = 24 * _HOUR_MS
_MAX_YEAR_DIGITS = 9
_SPELLED = 3  # letters of a month from which on it is a word
_LONG_ZONE = 4  # letters z from which on it is the full name of a zone, which Joda-Time only writes
_ZONE_ID = 3  # letters Z from which on it is the ID of a zone
_PIVOT_YEARS = 80  # years before the present one, at which the hundred years of two digits start
_DEFAULT_YEAR = 2000  # of a date with a month or a day, and no year
_EPOCH = date(1970, 1, 1)
_NUMERIC = frozenset("xyYdhHmsSewDFkKC")  # letters whose digits end the number before them; see also _is_numeric
_TOKEN = re.compile(r"'((?:[^']|'')*)'?|(([A-Za-z])\3*)|([^A-Za-z']+)")
_OFFSET = (
    r"([zZ]|[-+](?:[01][0-9]|2[0-3])"
    r"(?:(?::[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]{1,3})?)?)|(?:[0-5][0-9](?:[0-5][0-9](?:[0-9]{1,3})?)?))?+"
    r"(?!(?<=[+-]..):)(?!(?<=[+-]..)[0-9]))"
)
_NAMED_ZONES = {
    "UTC": ("UT", "UTC", "GMT"),
    "America/New_York": ("EST", "EDT"),
    "America/Chicago": ("CST", "CDT"),
    "America/Denver": ("MST", "MDT"),
    "America/Los_Angeles": ("PST", "PDT"),
}
_ZONES = {name: zone for zone, names in _NAMED_ZONES.items() for name in names}


class _RefusedError(ValueError):
    """Joda-Time refuses the value."""


@dataclass(slots=True)
class _Local:
    """Local time while the fields of a date are set, one after the other."""

    day: date = _EPOCH
    ms: int = 0


def _checked(value: int, least: int, most: int) -> int:
    if not least <= value <= most:
        raise _RefusedError(f"{value} is not {least} to {most}")
    return value


def _set_year(local: _Local, value: int) -> None:
    is_leap_day = (local.day.month, local.day.day) == (2, 29)
    local.day = (local.day.replace(day=28) if is_leap_day else local.day).replace(year=value)


def _set_month(local: _Local, value: int) -> None:
    month = _checked(value, 1, 12)
    local.day = local.day.replace(month=month, day=min(local.day.day, _days(local.day.year, month)))


def _set_day(local: _Local, value: int) -> None:
    local.day = local.day.replace(day=_checked(value, 1, _days(local.day.year, local.day.month)))


def _set_day_of_year(local: _Local, value: int) -> None:
    first = local.day.replace(month=1, day=1)
    most = (date(first.year, 12, 31) - first).days + 1
    local.day = first + timedelta(days=_checked(value, 1, most) - 1)


def _set_weekday(local: _Local, value: int) -> None:
    local.day += timedelta(days=_checked(value, 1, 7) - local.day.isoweekday())


def _set_half(local: _Local, value: int) -> None:
    local.ms = value * _HALF_DAY_MS + local.ms % _HALF_DAY_MS


def _time(unit_ms: int, within_ms: int, *, counts_from_one: bool = False) -> Callable[[_Local, int], None]:
    """The function that sets a part of the time of day."""
    count = within_ms // unit_ms

    def set_it(local: _Local, value: int) -> None:
        part = _checked(value, int(counts_from_one), count - (not counts_from_one)) % count
        old = local.ms % within_ms
        local.ms += part * unit_ms + old % unit_ms - old

    return set_it


def _days(year: int, month: int) -> int:
    following = date(year + month // 12, month % 12 + 1, 1) if (year, month) != (9999, 12) else None
    return 31 if following is None else (following - timedelta(days=1)).day


@dataclass(frozen=True, slots=True)
class _Field:
    """
    A field of a date.

    Attributes:
        order: fields are set in this order: the unit in which they are counted, then their own, from large to small.
        set: sets the field.
        digits: the most digits; 0 for a year, which has any number.
        floor: sets the smaller units to their first value.
    """

    order: tuple[int, int]
    set: Callable[[_Local, int], None]
    digits: int
    floor: Callable[[_Local], None]


def _floor_year(local: _Local) -> None:
    local.day, local.ms = local.day.replace(month=1, day=1), 0


def _floor_month(local: _Local) -> None:
    local.day, local.ms = local.day.replace(day=1), 0


def _floor(unit_ms: int) -> Callable[[_Local], None]:
    def floor(local: _Local) -> None:
        local.ms -= local.ms % unit_ms

    return floor


# units, from large to small: eras 0, years 1, months 2, weeks 3, days 4, half days 5, hours 6, minutes 7, seconds 8
_YEAR = _Field((0, 1), _set_year, 0, _floor_year)
_MONTH = _Field((1, 2), _set_month, 2, _floor_month)
_WEEKDAY = _Field((3, 4), _set_weekday, 1, _floor(_DAY_MS))
_HALF = _Field((4, 5), _set_half, 0, _floor(_HALF_DAY_MS))
_FIELDS = {
    "y": _YEAR,
    "Y": _YEAR,
    "M": _MONTH,
    "D": _Field((1, 4), _set_day_of_year, 3, _floor(_DAY_MS)),
    "d": _Field((2, 4), _set_day, 2, _floor(_DAY_MS)),
    "E": _WEEKDAY,
    "e": _WEEKDAY,
    "a": _HALF,
    "H": _Field((4, 6), _time(_HOUR_MS, _DAY_MS), 2, _floor(_HOUR_MS)),
    "k": _Field((4, 6), _time(_HOUR_MS, _DAY_MS, counts_from_one=True), 2, _floor(_HOUR_MS)),
    "K": _Field((5, 6), _time(_HOUR_MS, _HALF_DAY_MS), 2, _floor(_HOUR_MS)),
    "h": _Field((5, 6), _time(_HOUR_MS, _HALF_DAY_MS, counts_from_one=True), 2, _floor(_HOUR_MS)),
    "m": _Field((6, 7), _time(60_000, _HOUR_MS), 2, _floor(60_000)),
    "s": _Field((7, 8), _time(1_000, 60_000), 2, _floor(1_000)),
    "S": _Field((8, 9), _time(1, 1_000), 0, _floor(1)),
}
_WITHOUT_YEAR = range(2, 5)  # units of the first field with which a date has the default year


@dataclass(frozen=True, slots=True)
class _Part:
    """A field of a pattern; `read` turns its text and the year of the present into a number."""

    field: _Field
    read: Callable[[str, int], int]


class JodaPattern:
    """
    A pattern of Joda-Time: letters y Y M d D E e a H k K h m s S z Z, and literal text, between single quotes if it
    has letters.

    Joda-Time parses the whole text; white space and digits are not skipped. Months, days and halves of a day are full
    or short names in lower case, upper case, or as in `June`. `yy` is a year from 80 years before the present to 19
    after it if the text has two digits, else the year as written. Missing parts are the first; a date with a month or
    a day, and no year, is one of 2000. A local time that a clock change skips is refused.

    Raises:
        PydanticCustomError: the pattern is not valid, or has a letter that is not supported.
    """

    def __init__(self, text: str) -> None:
        tokens = list(_TOKEN.finditer(text))
        self._parts: list[_Part | str] = []  # in the order of the groups; a text is the kind of a zone
        pieces: list[str] = []
        for number, token in enumerate(tokens):
            quoted, field, _, plain = token.groups()
            if field:
                following = tokens[number + 1][2] if number + 1 < len(tokens) else None
                pieces.append(self._expression(field, is_adjacent=_is_numeric(following), pattern=text))
            else:
                literal = plain if quoted is None else quoted.replace("''", "'") or "'"
                pieces.append(f"(?i:{re.escape(literal)})")
        if not self._parts:
            raise PydanticCustomError("bad_pattern", '"{text}" has no field of a date', {"text": text})
        self._match = re.compile("".join(pieces)).fullmatch

    @property
    def has_zone(self) -> bool:
        """Whether the text says its zone."""
        return any(isinstance(part, str) for part in self._parts)

    @property
    def has_milliseconds(self) -> bool:
        """Whether the text has a fraction of the second."""
        return any(isinstance(part, _Part) and part.field is _FIELDS["S"] for part in self._parts)

    @property
    def has_short_year(self) -> bool:
        """Whether a year may depend on the present one."""
        return any(isinstance(part, _Part) and part.read is _short_year for part in self._parts)

    def lacks(self) -> list[str]:
        """Year, month and day, if the pattern has none."""
        found = {part.field.order for part in self._parts if isinstance(part, _Part)}
        day_of_year, weekday = (1, 4) in found, (3, 4) in found
        lacking = {
            "year": _YEAR.order not in found,
            "month": _MONTH.order not in found and not day_of_year,
            "day": (2, 4) not in found and not day_of_year and not weekday,
        }
        return [name for name, is_lacking in lacking.items() if is_lacking]

    def milliseconds(self, text: bytes, zone: tzinfo, now_ms: int) -> int | None:
        """
        Milliseconds since 1970; None if Joda-Time refuses the text, or the year is outside 1 to 9999.

        Args:
            text: the date.
            zone: the zone of text without one.
            now_ms: the present, to which years of two digits are near.
        """
        match = self._match(text.decode("utf-8", "surrogateescape"))
        if match is None:
            return None
        try:
            year = datetime.fromtimestamp(now_ms // 1000, zone).year
            return self._computed(match.groups(), zone, year)
        except (ValueError, OverflowError, OSError):
            return None

    def _computed(self, found: tuple[str, ...], zone: tzinfo, year: int) -> int:
        fields: list[tuple[_Field, int]] = []
        offset_ms: int | None = None
        for part, text in zip(self._parts, found, strict=True):
            if isinstance(part, _Part):
                fields.append((part.field, part.read(text, year)))
            elif part == "offset":
                offset_ms = _offset_ms(text)
            else:
                zone = _zone(text)
        fields.sort(key=lambda each: each[0].order)
        if fields and fields[0][0].order[1] in _WITHOUT_YEAR:
            fields.insert(0, (_YEAR, _DEFAULT_YEAR))
        local = _Local()
        for each, value in fields:
            each.set(local, value)
            each.floor(local)
        for each, value in fields:  # again: a day may have been cut to a shorter month
            each.set(local, value)
        if fields:
            fields[-1][0].floor(local)
        moment = datetime(local.day.year, local.day.month, local.day.day, tzinfo=UTC) + timedelta(milliseconds=local.ms)
        time = milliseconds_of(moment) - offset_ms if offset_ms is not None else _instant(moment, zone)
        return _checked(time, FIRST_MS, LAST_MS)

    def _expression(self, letters: str, *, is_adjacent: bool, pattern: str) -> str:
        letter, count = letters[0], len(letters)
        if letter == "z" and count < _LONG_ZONE:
            self._parts.append("name")
            return f"({'|'.join(sorted(_ZONES, reverse=True))})"
        if letter == "Z":
            self._parts.append("offset" if count < _ZONE_ID else "name")
            return _OFFSET if count < _ZONE_ID else f"(?>({_zone_ids()}))"
        field = _FIELDS.get(letter)
        if field is None:
            raise PydanticCustomError(
                "bad_pattern",
                '"{letters}" in "{text}" is not a date field: the fields are y Y M d D E e a H k K h m s S z Z; put '
                "other letters between quotes",
                {"letters": letters, "text": pattern},
            )
        names = _names_of(letters)
        if names:
            self._parts.append(_Part(field, lambda text, _year: names[text]))
            return f"(?>({'|'.join(sorted(names, reverse=True))}))"
        if field is _YEAR:
            return self._year(letters, is_adjacent=is_adjacent)
        if letter == "S":
            self._parts.append(_Part(field, lambda text, _year: int(text[:3].ljust(3, "0"))))
            return f"([0-9]{{1,{count}}}+)"
        self._parts.append(_Part(field, lambda text, _year: int(text)))
        return f"([0-9]{{1,{field.digits}}}+)"

    def _year(self, letters: str, *, is_adjacent: bool) -> str:
        count = len(letters)
        if count == 2:  # noqa: PLR2004 - yy
            self._parts.append(_Part(_YEAR, _short_year))
            return "([0-9]{2})" if is_adjacent else "([-+]?[0-9]++)"
        self._parts.append(_Part(_YEAR, lambda text, _year: int(text)))
        digits = count if is_adjacent else _MAX_YEAR_DIGITS
        sign = "[-+]?" if letters[0] == "y" and digits > 1 else ""
        return f"({sign}[0-9]{{1,{digits}}}+)"


def _is_numeric(letters: str | None) -> bool:
    return letters is not None and (letters[0] in _NUMERIC or (letters[0] == "M" and len(letters) < _SPELLED))


def _names_of(letters: str) -> Mapping[str, int]:
    """The names that a field may have; empty if it is a number."""
    if letters[0] == "a":
        return _spelled(("AM", "PM"), 0)
    if letters[0] == "E":
        return _spelled(WEEKDAYS, 1)
    return _spelled(MONTHS, 1) if letters[0] == "M" and len(letters) >= _SPELLED else {}


@cache
def _spelled(names: tuple[str, ...], first: int) -> Mapping[str, int]:
    return {
        form: number
        for number, name in enumerate(names, first)
        for each in (name, name[:3])
        for form in (each, each.lower(), each.upper())
    }


def _short_year(text: str, present: int) -> int:
    year = int(text)
    if len(text) != 2 or text[0] in "+-":  # noqa: PLR2004 - two digits
        return year
    first = present - _PIVOT_YEARS
    return first + (year - first) % 100


def _offset_ms(text: str) -> int:
    if text in "zZ":
        return 0
    digits = re.sub("[^0-9]", "", text)
    hours, minutes, seconds = (int(digits[at : at + 2] or 0) for at in (0, 2, 4))
    offset = ((hours * 60 + minutes) * 60 + seconds) * 1000 + int(digits[6:].ljust(3, "0"))
    return -offset if text[0] == "-" else offset


@cache
def _zone_ids() -> str:
    return "|".join(map(re.escape, sorted(zoneinfo.available_timezones(), reverse=True)))


def _zone(name: str) -> tzinfo:
    return zoneinfo.ZoneInfo(_ZONES.get(name, name))


def _instant(local: datetime, zone: tzinfo) -> int:
    """
    The time of a local time, which is given as if it were UTC.

    Raises:
        _RefusedError: a clock change skips it.
    """
    time = local.replace(tzinfo=zone).astimezone(UTC)
    if time.astimezone(zone).replace(tzinfo=UTC) != local:
        raise _RefusedError("a clock change skips it")
    return milliseconds_of(time)
