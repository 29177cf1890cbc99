"""
Parses dates by a pattern of Java's SimpleDateFormat, with the results of Java.

Source: the documentation of java.text.SimpleDateFormat and java.util.Calendar, and the results of Java 17 with the
locale en_US.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import partial

from pydantic_core import PydanticCustomError

from ingest.formats.date_letters import MONTHS, WEEKDAYS

Parts = tuple[int, int, int, int, int, int]
"""Day, month, year, hour, minute and second."""

_SPELLED = 3  # letters of a month from which on it is a word
_MONTHS_A_YEAR = 12
_HALF_DAY = 12
_EPOCH_YEAR = 1970
_CENTURY_YEARS = 80  # years before the present at which the hundred years of two digits start
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097  # after which the Gregorian calendar repeats, with the same weekdays
_CYCLE = 2000  # first year of the cycle to compute in
_LATE_CYCLES = 18  # cycles to the year 9200, whose years stand for those that `datetime` does not have
_FIRST_LATE_YEAR = 9999  # a zone may make it 10000
_LAST_YEAR = 292_278_993  # of Java's milliseconds
_DAY_MS = 86_400_000
_MAX_INT, _MAX_LONG = (1 << 31) - 1, (1 << 63) - 1
_MAX_EXPONENT = 30

_WORDS = {"M": MONTHS, "L": MONTHS, "E": WEEKDAYS, "a": ("AM", "PM")}
_PARTS = {"L": "M", "k": "H", "K": "h"}  # letters that set the part of another letter
_MIDNIGHT = {"k": 24, "h": 12}  # hours that count from 1
_NUMBERS = frozenset("yMLdDHkKhmsS")
_OFFSETS = {1: r"[+-](?:[01][0-9]|2[0-3])"}
_OFFSETS[2] = _OFFSETS[1] + "[0-5][0-9]"
_OFFSETS[3] = _OFFSETS[1] + ":[0-5][0-9]"
_GMT = r"(?i:gmt)[+-](?:[01]?[0-9]|2[0-3]):[0-5][0-9]"
_NAMES_OF_HOURS = {  # of the zones that share a name, the one that Java takes
    0: "UTC GMT WET", 1: "WEST BST CET MET", 2: "CEST MEST EET IST SAST", 3: "EEST", 8: "SGT AWST", 9: "JST KST",
    9.5: "ACST", 10: "AEST", 11: "AEDT", 12: "NZST", 13: "NZDT", -2.5: "NDT", -3: "ADT", -3.5: "NST", -4: "AST EDT",
    -5: "EST CDT", -6: "CST MDT", -7: "MST PDT", -8: "PST AKDT", -9: "AKST", -10: "HST",
}  # fmt: skip
_ZONES = {name: hours for hours, names in _NAMES_OF_HOURS.items() for name in names.split()}
_TOKEN = re.compile(r"'(?P<quoted>(?:[^']|'')*)'|(?P<field>([A-Za-z])\3*)|(?P<plain>[^A-Za-z']+)|(?P<open>')")


class DatePattern:
    """
    A pattern of SimpleDateFormat, which parses as leniently as Java does.

    Numbers out of range roll over (month 13 is January of the next year), numbers have any number of digits unless
    another one follows, white space before a number and text after the date are ignored, names are English and in any
    case. `yy` and `y` are a year from 80 years before the present to 20 after it if the text has two digits.

    Differences from Java: dates before 15 October 1582 are of the Gregorian calendar, there are no years BC, and of the
    names of zones only those are known whose offset does not depend on the date, such as UTC and CET.

    Args:
        text: the pattern.
        zone: the zone of the parts, and of text without a zone; its own names of zones come first.

    Raises:
        PydanticCustomError: an unknown letter, or a quote that is not closed.
    """

    def __init__(self, text: str, zone: tzinfo = UTC) -> None:
        tokens = list(_TOKEN.finditer(text))
        self._zone = zone
        self._names = _ZONES | _names_of(zone)
        self._fields: list[tuple[str, Callable[[str], int]]] = []
        self._short_year: int | None = None  # number of the field whose year may have two digits
        pieces: list[str] = []
        for number, token in enumerate(tokens):
            if token["open"]:
                raise PydanticCustomError("bad_pattern", 'a quote in "{text}" is not closed', {"text": text})
            if token["field"]:
                following = tokens[number + 1]["field"] if number + 1 < len(tokens) else None
                pieces.append(self._expression(token["field"], following, text))
                self._fields.append(self._reader(token["field"]))
            else:
                quoted = token["quoted"]
                pieces.append(re.escape(token["plain"] if quoted is None else quoted.replace("''", "'") or "'"))
        self._match = re.compile("".join(pieces)).match

    def read(self, text: bytes, now_ms: int) -> Parts | None:
        """
        The parts of a date; None if it is not a date, or of a year BC.

        Args:
            text: the date.
            now_ms: the present, to which years of two digits are near.
        """
        match = self._match(text.decode("utf-8", "surrogateescape"))
        if match is None or not match.end():
            return None
        parts: dict[str, int] = {}
        for (part, read), found in zip(self._fields, match.groups(), strict=True):
            parts.pop(part, None)  # if two fields give the same part, the later one wins
            parts[part] = read(found)
        short = None if self._short_year is None else match[self._short_year].strip(" \t")
        try:
            if short is None or len(short) != 2 or not short.isdecimal():  # noqa: PLR2004 - two digits
                return self._moment(parts)[1]
            return self._of_century(parts, now_ms)
        except (ValueError, OverflowError, OSError):
            return None

    def _of_century(self, parts: dict[str, int], now_ms: int) -> Parts | None:
        now = datetime.fromtimestamp(now_ms // 1000, self._zone)
        first = now.year - _CENTURY_YEARS
        parts["y"] = first + (parts["y"] - first) % 100
        start = now.replace(year=first, day=28 if (now.month, now.day) == (2, 29) else now.day)
        time, found = self._moment(parts)
        if parts["y"] > first or (time is not None and time >= start):
            return found
        return self._moment(parts | {"y": first + 100})[1]

    def _moment(self, parts: Mapping[str, int]) -> tuple[datetime | None, Parts | None]:
        """The time, None from the year 9999 on, and its parts; None for both outside the years that are read."""
        days, cycles, time_ms = _local(parts)
        year = date.fromordinal(days).year + _CYCLE_YEARS * cycles
        if not 1 <= year <= _LAST_YEAR:
            return None, None
        shift = cycles if year < _FIRST_LATE_YEAR else _LATE_CYCLES
        day = date.fromordinal(days + shift * _CYCLE_DAYS)
        offset_min = parts.get("offset_min")
        source_zone = self._zone if offset_min is None else timezone(timedelta(minutes=offset_min))
        # through UTC even within one zone: a time in the gap of a clock change moves to the next hour
        moment = datetime(day.year, day.month, day.day, tzinfo=source_zone) + timedelta(milliseconds=time_ms)
        moment = moment.astimezone(UTC).astimezone(self._zone)
        year = moment.year + (cycles - shift) * _CYCLE_YEARS
        found = (moment.day, moment.month, year, moment.hour, moment.minute, moment.second)
        return (moment if shift == cycles else None), found

    def _expression(self, field: str, following: str | None, pattern: str) -> str:
        letter, count = field[0], len(field)
        if _is_word(field):
            return "((?i:" + "|".join(f"{name}|{name[:3]}" for name in _WORDS[letter]) + "))"
        if letter in _NUMBERS:
            if following is None or following[0] not in _NUMBERS or _is_word(following):
                return r"([ \t]*+-?\d++(?:E-?[0-9]++)?)"
            # the letters of adjacent numbers say how many characters each has at most
            forms = [rf"[ \t]{{{blank}}}(?:\d{{1,{count - blank}}}{_signed(count - blank)})" for blank in range(count)]
            return rf"(?=(?s:.{{{count}}}))((?>{'|'.join(forms)}))"
        if letter == "X" and count in _OFFSETS:
            return rf"[ \t]*+(Z|{_OFFSETS[count]})"
        if letter in "zZ":
            names = "|".join(map(re.escape, sorted(self._names, key=len, reverse=True)))
            return rf"((?>{_GMT}|(?!(?i:gmt)[+-])[ \t]*+(?:{_OFFSETS[2]}|(?i:{names}))))"
        raise PydanticCustomError(
            "bad_pattern",
            '"{field}" in "{text}" is not a date field: the fields are y M L d D E H k K h m s S a z Z X; put other '
            "letters between quotes",
            {"field": field, "text": pattern},
        )

    def _reader(self, field: str) -> tuple[str, Callable[[str], int]]:
        """The part that a field sets, and the function that turns its text into a number."""
        letter = field[0]
        if letter in "zZX":
            return "offset_min", partial(_offset_min, self._names)
        part = _PARTS.get(letter, letter)
        if _is_word(field):
            numbers = {name[:3].lower(): number for number, name in enumerate(_WORDS[letter], part == "M")}
            return part, lambda found: numbers[found[:3].lower()]
        if letter == "y":
            self._short_year = len(self._fields) + 1 if len(field) <= 2 else None  # noqa: PLR2004 - y and yy
        midnight = _MIDNIGHT.get(letter)
        if midnight is None:
            return part, _number
        return part, lambda found: 0 if _number(found) == midnight else _number(found)


def _signed(most: int) -> str:
    return rf"|-\d{{1,{most - 1}}}" if most > 1 else ""


def _is_word(field: str) -> bool:
    return field[0] in _WORDS and (field[0] not in "ML" or len(field) >= _SPELLED)


def _names_of(zone: tzinfo) -> dict[str, float]:
    """The names of a zone in winter and summer, with their hours."""
    found = {}
    for month in (1, 7):
        time = datetime(2012, month, 1, tzinfo=zone)
        name, offset = time.tzname(), time.utcoffset()
        if name and name.isalpha() and offset is not None:
            found[name] = offset / timedelta(hours=1)
    return found


def _number(text: str) -> int:
    """A number as Java casts it to 32 bits: the last of 64 bits; beyond them the nearest number."""
    digits, _, exponent = text.partition("E")
    power = min(int(exponent or "0"), _MAX_EXPONENT)
    number = int(digits) * 10**power if power >= 0 else int(int(digits) / 10 ** min(-power, _MAX_EXPONENT))
    if abs(number) > _MAX_LONG:
        return _MAX_INT if number > 0 else -_MAX_INT - 1
    return (number + _MAX_INT + 1) % (2 * _MAX_INT + 2) - _MAX_INT - 1


def _offset_min(names: Mapping[str, float], found: str) -> int:
    text = found.strip(" \t").upper()
    hours = names.get(text)
    if hours is not None:
        return round(hours * 60)
    if text == "Z":
        return 0
    sign, digits = text.removeprefix("GMT")[:1], text.removeprefix("GMT")[1:]
    hour, minute = digits.split(":") if ":" in digits else (digits[:2], digits[2:] or "0")
    return (int(hour) * 60 + int(minute)) * (-1 if sign == "-" else 1)


def _local(parts: Mapping[str, int]) -> tuple[int, int, int]:
    """The day as an ordinal of the years 2000 to 2399, cycles of 400 years since them, and milliseconds of the day."""
    order = list(parts)
    year, month = parts.get("y", _EPOCH_YEAR), parts.get("M", 1)
    if "D" in parts and not ("d" in parts and order.index("d") > order.index("D")):
        month, day = 1, parts["D"]
    elif "E" in parts and "d" not in parts:
        day = 0  # computed below: the first such day of the month
    else:
        day = parts.get("d", 1)
    years, month_0 = divmod(month - 1, _MONTHS_A_YEAR)
    cycles, within = divmod(year + years, _CYCLE_YEARS)
    first = date(_CYCLE + within, month_0 + 1, 1)
    cycles -= _CYCLE // _CYCLE_YEARS
    if not day and "E" in parts and "d" not in parts and "D" not in parts:
        day = (parts["E"] - first.weekday()) % 7 + 1
    carried, time_ms = divmod(_time_ms(parts, order), _DAY_MS)
    base = date(_CYCLE, 1, 1).toordinal()
    more, days = divmod(first.toordinal() + day - 1 + carried - base, _CYCLE_DAYS)
    return base + days, cycles + more, time_ms


def _time_ms(parts: Mapping[str, int], order: list[str]) -> int:
    """The time of the day, by its last complete form: the hour of the day, or of a half of it."""
    is_half = "h" in parts and ("H" not in parts or ("a" in parts and _last(order, "h", "a") > order.index("H")))
    hour = parts["h"] + _HALF_DAY * parts.get("a", 0) if is_half else parts.get("H", 0)
    if not is_half and "H" not in parts:
        hour = _HALF_DAY * parts.get("a", 0)
    return ((hour * 60 + parts.get("m", 0)) * 60 + parts.get("s", 0)) * 1000 + parts.get("S", 0)


def _last(order: list[str], *names: str) -> int:
    return max(order.index(name) for name in names)
