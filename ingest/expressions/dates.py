"""Date letters: event times as text, always in English, in a named zone."""

import math
import re
import zoneinfo
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from ingest.api.errors import DecorateError, ExpressionError
from ingest.api.notation import name_to_bytes, shown_start
from ingest.expressions.grammar import DATE_LETTERS, ExpressionSyntaxError, quoted, suggestion
from ingest.expressions.nodes import DateLetter, Text
from ingest.expressions.numbers import read_number

Format = Callable[[int], bytes]
"""Milliseconds -> text."""

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def day_of_year(time: datetime) -> int:
    """1 to 366."""
    return time.timetuple().tm_yday


def _hour_12(time: datetime) -> int:
    return time.hour % 12 or 12


def offset_of(time: datetime) -> bytes:
    """How far the zone is ahead of UTC then: `+0200`."""
    offset_s = int((time.utcoffset() or timedelta()).total_seconds())
    hours, minutes = divmod(abs(offset_s) // 60, 60)
    return b"%b%02d%02d" % (b"-" if offset_s < 0 else b"+", hours, minutes)


def _full(time: datetime) -> bytes:
    clock = (time.day, time.hour, time.minute, time.second, time.year)
    return b"%b %b %d %02d:%02d:%02d %04d" % (_weekday_short(time), _month_short(time), *clock)


def _weekday_short(time: datetime) -> bytes:
    return WEEKDAYS[time.weekday()][:3].encode("ascii")


def _month_short(time: datetime) -> bytes:
    return MONTHS[time.month - 1][:3].encode("ascii")


_CALENDAR: dict[str, Callable[[datetime], bytes]] = {
    "a": _weekday_short,
    "A": lambda time: WEEKDAYS[time.weekday()].encode("ascii"),
    "b": _month_short,
    "B": lambda time: MONTHS[time.month - 1].encode("ascii"),
    "c": _full,
    "d": lambda time: b"%02d" % time.day,
    "m": lambda time: b"%02d" % time.month,
    "y": lambda time: b"%02d" % (time.year % 100),
    "Y": lambda time: b"%04d" % time.year,
    "j": lambda time: b"%03d" % day_of_year(time),
    "D": lambda time: b"%02d/%02d/%02d" % (time.month, time.day, time.year % 100),
    "H": lambda time: b"%02d" % time.hour,
    "I": lambda time: b"%02d" % _hour_12(time),
    "k": lambda time: b"%d" % time.hour,
    "l": lambda time: b"%d" % _hour_12(time),
    "M": lambda time: b"%02d" % time.minute,
    "S": lambda time: b"%02d" % time.second,
    "p": lambda time: b"AM" if time.hour < 12 else b"PM",  # noqa: PLR2004 - noon
    "z": offset_of,
}

DATE_DOCS: dict[str, str] = {
    "a": "weekday, short: Tue",
    "A": "weekday: Tuesday",
    "b": "month, short: Jun",
    "B": "month: June",
    "c": "date and time: Tue Jun 28 15:42:08 2011",
    "d": "day of the month, two digits",
    "m": "month, two digits",
    "y": "year, two digits",
    "Y": "year, four digits",
    "j": "day of the year, three digits",
    "D": "month/day/year: 06/28/11",
    "H": "hour 00-23",
    "I": "hour 01-12",
    "k": "hour 0-23",
    "l": "hour 1-12",
    "M": "minute, two digits",
    "S": "second, two digits",
    "p": "AM or PM",
    "s": "seconds since 1970",
    "t": "milliseconds since 1970",
    "z": "offset from UTC: +0000",
}
"""Date letter -> what it gives."""

_JAVA_LETTERS = {
    "yyyy": "%Y",
    "yy": "%y",
    "MMMM": "%B",
    "MMM": "%b",
    "MM": "%m",
    "dd": "%d",
    "DDD": "%j",
    "EEEE": "%A",
    "EEE": "%a",
    "HH": "%H",
    "H": "%k",
    "hh": "%I",
    "h": "%l",
    "mm": "%M",
    "ss": "%S",
    "a": "%p",
    "Z": "%z",
}  # of its SimpleDateFormat, as far as they have letters here
_MINUTE_MS = 60_000
_SECOND_MS = 1_000
_USUAL_DIGITS = 15  # of milliseconds; those of the year 9999 have as many
_SHORT_ZONE = re.compile("[A-Z]{3,5}")
# since 1973 no zone has changed its offset but at a whole UTC minute (Liberia, in 1972, was the last), so what shows no
# seconds is the same all through a minute
_WHOLE_MINUTES_MS = 94_694_400_000


def zone_of(name: str) -> zoneinfo.ZoneInfo:
    """
    The time zone of a name such as `Europe/Berlin`.

    Raises:
        ValueError: there is no such zone.
    """
    try:
        return zoneinfo.ZoneInfo(name)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError) as error:
        # CEST and the like are short for an offset, and what looks like one of them is another
        near = "" if _SHORT_ZONE.fullmatch(name) else suggestion(name, zoneinfo.available_timezones())
        raise ValueError(f'"{name}" is not a time zone{near or "; write one such as UTC or Europe/Berlin"}') from error


def datetime_of(time_ms: int, zone: zoneinfo.ZoneInfo) -> datetime:
    """
    Calendar time, cut to seconds.

    Raises:
        ExpressionError: the calendar does not reach there.
    """
    try:
        return datetime.fromtimestamp(time_ms // _SECOND_MS, zone)
    except (OverflowError, ValueError, OSError) as error:
        raise ExpressionError(
            f"the time {time_ms} ms is outside the calendar (years 1 to 9999)", code="time_out_of_range"
        ) from error


def read_time(text: bytes) -> int:
    """
    Milliseconds since 1970 that stand in a text as a number.

    Raises:
        DecorateError: it is no number.
    """
    if text.isdigit() and len(text) <= _USUAL_DIGITS:
        return int(text)
    number = read_number(text)
    if number is None:
        raise DecorateError(f"{shown_start(text)} is no time in milliseconds", code="bad_time")
    return math.floor(number)


def seconds_of(time_ms: int) -> int:
    """Whole seconds since 1970; cut towards zero, as Flume does."""
    return time_ms // _SECOND_MS if time_ms >= 0 else -(-time_ms // _SECOND_MS)


def date_pieces(nodes: Sequence[object], text: str) -> tuple[Text | DateLetter, ...]:
    """
    The nodes of a date format, checked to hold nothing but text and date letters.

    Raises:
        ExpressionSyntaxError: a tag stands in it.
    """
    pieces = []
    for node in nodes:
        if not isinstance(node, Text | DateLetter):
            column = getattr(node, "column", 1)
            raise ExpressionSyntaxError(f"a date format holds date letters (%{DATE_LETTERS[0]} …) only", column, text)
        pieces.append(node)
    return tuple(pieces)


def letters_for(text: str) -> str:
    """A hint for a format without date letters; one that is Java's is told in ours."""
    words = set(re.findall("[A-Za-z]+", text))
    if words and words <= _JAVA_LETTERS.keys():
        ours = re.sub("[A-Za-z]+", lambda word: _JAVA_LETTERS[word[0]], text)
        return f"write {quoted(ours)}; yyyy and the like are Java's"
    return "date letters are written with a percent sign, as in '%Y-%m-%d'"


def date_format(pieces: Sequence[Text | DateLetter], zone: zoneinfo.ZoneInfo) -> Format:
    """A function that writes a time; what it remembers is only the last text it made."""
    groups: list[Format] = []
    run: list[Text | DateLetter] = []
    for piece in pieces:
        if isinstance(piece, DateLetter) and piece.letter in "st":
            if run:
                groups.append(_calendar(run, zone))
                run = []
            groups.append(_seconds if piece.letter == "s" else _millis)
        else:
            run.append(piece)
    if run:
        groups.append(_calendar(run, zone))
    if len(groups) == 1:
        return groups[0]
    return lambda time_ms: b"".join([group(time_ms) for group in groups])


def _seconds(time_ms: int) -> bytes:
    return b"%d" % seconds_of(time_ms)


def _millis(time_ms: int) -> bytes:
    return b"%d" % time_ms


def _calendar(pieces: Sequence[Text | DateLetter], zone: zoneinfo.ZoneInfo) -> Format:
    letters = [piece.letter for piece in pieces if isinstance(piece, DateLetter)]
    pattern = b"".join(
        b"%b" if isinstance(piece, DateLetter) else name_to_bytes(piece.text).replace(b"%", b"%%") for piece in pieces
    )
    if not letters:
        constant = pattern.replace(b"%%", b"%")
        return lambda _time_ms: constant
    parts = [_CALENDAR[letter] for letter in letters]

    def write(time_ms: int) -> bytes:
        time = datetime_of(time_ms, zone)
        return pattern % tuple([part(time) for part in parts])

    shows_seconds = any(letter in "Sc" for letter in letters)
    unit_ms = _SECOND_MS if shows_seconds else _MINUTE_MS
    last: tuple[int | None, bytes] = (None, b"")

    def remembered(time_ms: int) -> bytes:
        nonlocal last
        unit = time_ms // unit_ms
        known, text = last  # one tuple, so that threads never see a unit with another one's text
        if unit == known:
            return text
        text = write(time_ms)
        if time_ms >= _WHOLE_MINUTES_MS:
            last = (unit, text)
        return text

    return remembered
