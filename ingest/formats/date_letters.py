"""
Date letters: how each is written and parsed, and its equivalents in Java.

Templates write dates with them, and `timestamp` parses dates with them as C's strptime does. Some letters can only be
written, some only be parsed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)

_NOON = 12


@dataclass(frozen=True, slots=True)
class Letter:
    """
    A date letter.

    Attributes:
        letter: the character after the percent sign.
        doc: what it writes; "" if it is only parsed.
        write: writes a calendar time; None for letters that are not part of one.
        reads: regular expression that parses it, with groups named after parts of a date; "" if it is only written.
        java: the equivalent field of Java's patterns.
    """

    letter: str
    doc: str = ""
    write: Callable[[datetime], bytes] | None = None
    reads: str = ""
    java: str = ""


def day_of_year(time: datetime) -> int:
    """1 to 366."""
    return time.timetuple().tm_yday


def offset_of(time: datetime) -> bytes:
    """The offset from UTC, as in `+0200`."""
    offset_s = int((time.utcoffset() or timedelta()).total_seconds())
    hours, minutes = divmod(abs(offset_s) // 60, 60)
    return b"%b%02d%02d" % (b"-" if offset_s < 0 else b"+", hours, minutes)


def _hour_12(time: datetime) -> int:
    return time.hour % 12 or 12


def _full(time: datetime) -> bytes:
    clock = (time.day, time.hour, time.minute, time.second, time.year)
    return b"%b %b %d %02d:%02d:%02d %04d" % (_weekday_short(time), _month_short(time), *clock)


def _weekday_short(time: datetime) -> bytes:
    return WEEKDAYS[time.weekday()][:3].encode("ascii")


def _month_short(time: datetime) -> bytes:
    return MONTHS[time.month - 1][:3].encode("ascii")


def _names(names: tuple[str, ...]) -> str:
    return f"(?i:{'|'.join(f'{name[:3]}(?:{name[3:]})?' for name in names)})"


BLANKS = r"\s+"
"""Regular expression of white space."""

_WEEKDAY = _names(WEEKDAYS)
_MONTH = rf"(?P<b>{_names(MONTHS)})"  # POSIX, strptime: each letter reads the full and the abbreviated name
_DAY = r"(?P<d>3[01]|[12]\d|0?[1-9]| [1-9])"

LETTERS = (
    Letter("a", "weekday, short: Tue", _weekday_short, _WEEKDAY, "EEE"),
    Letter("A", "weekday: Tuesday", lambda time: WEEKDAYS[time.weekday()].encode("ascii"), _WEEKDAY, "EEEE"),
    Letter("b", "month, short: Jun", _month_short, _MONTH, "MMM"),
    Letter("B", "month: June", lambda time: MONTHS[time.month - 1].encode("ascii"), _MONTH, "MMMM"),
    Letter("c", "date and time: Tue Jun 28 15:42:08 2011", _full),
    Letter("d", "day of the month, two digits", lambda time: b"%02d" % time.day, _DAY, "dd"),
    Letter("m", "month, two digits", lambda time: b"%02d" % time.month, r"(?P<m>1[0-2]|0?[1-9])", "MM"),
    Letter("y", "year, two digits", lambda time: b"%02d" % (time.year % 100), r"(?P<y>\d\d)", "yy"),
    Letter("Y", "year, four digits", lambda time: b"%04d" % time.year, r"(?P<Y>\d{4})", "yyyy"),
    Letter("j", "day of the year, three digits", lambda time: b"%03d" % day_of_year(time), r"(?P<j>\d{1,3})", "DDD"),
    Letter(
        "D",
        "month/day/year: 06/28/11",
        lambda time: b"%02d/%02d/%02d" % (time.month, time.day, time.year % 100),
    ),
    Letter("H", "hour 00-23", lambda time: b"%02d" % time.hour, r"(?P<H>2[0-3]|[01]?\d)", "HH"),
    Letter("I", "hour 01-12", lambda time: b"%02d" % _hour_12(time), r"(?P<I>1[0-2]|0?[1-9])", "hh"),
    Letter("k", "hour 0-23", lambda time: b"%d" % time.hour, java="H"),
    Letter("l", "hour 1-12", lambda time: b"%d" % _hour_12(time), java="h"),
    Letter("M", "minute, two digits", lambda time: b"%02d" % time.minute, r"(?P<M>[0-5]?\d)", "mm"),
    Letter("S", "second, two digits", lambda time: b"%02d" % time.second, r"(?P<S>60|[0-5]?\d)", "ss"),
    Letter("p", "AM or PM", lambda time: b"AM" if time.hour < _NOON else b"PM", r"(?P<p>[AaPp][Mm])", "a"),
    Letter("s", "seconds since 1970"),
    Letter("t", "milliseconds since 1970", reads=BLANKS),
    Letter("z", "offset from UTC: +0000", offset_of, r"(?P<z>[Zz]|[+-]\d\d(?::?\d\d)?)", "Z"),
    Letter("e", reads=_DAY),
    Letter("f", reads=r"(?P<f>\d{1,9})\d*"),
    Letter("h", reads=_MONTH),
    Letter("L", reads=r"(?P<f>\d{3})"),
    Letter("n", reads=BLANKS),
    Letter("F", reads=r"(?P<Y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)"),
    Letter("T", reads=r"(?P<H>2[0-3]|[01]?\d):(?P<M>[0-5]\d):(?P<S>60|[0-5]\d)"),
    Letter("Z", reads=r"(?P<z>[Zz]|UTC|GMT)"),
    Letter("%", reads="%"),
)
"""Every letter, in the order of the reference."""

WRITTEN = {each.letter: each for each in LETTERS if each.doc}
"""The letters of templates."""

CALENDAR = {letter: each.write for letter, each in WRITTEN.items() if each.write is not None}
"""Letters that write a part of a calendar time -> the function that writes it."""

READ = {each.letter: each.reads for each in LETTERS if each.reads}
"""The letters of `timestamp` -> regular expression that parses it."""

JAVA_WRITTEN = {each.java: f"%{each.letter}" for each in LETTERS if each.java}
"""Field of Java's patterns -> the letter that writes the same."""
