"""The time of a syslog message: a date with or without a year, a fraction and a zone, as text and in milliseconds."""

import re
from datetime import datetime, tzinfo

from ingest.formats.times import (
    MONTH_NUMBERS,
    in_calendar,
    in_nearest_year,
    iso_milliseconds,
    milliseconds_at,
    offset_of,
)

_CLOCK = rb"\d{1,2}:\d\d:\d\d"
_FRACTION = rb"(?:[.,]\d+|:\d{3}(?!\d))"  # H3C writes a colon
_YEAR = rb"(?:19|20)\d\d"
_END = rb"(?=[ :]|\Z)"
ZONES = (
    rb"UTC|GMT|Z|CES?T|EES?T|WES?T|MES?T|MSK|BST|IST|IDT|SAST|[CEW]AT|"  # Europe, Africa, the Middle East
    rb"[ECMPAN][SD]T|AK[SD]T|H[SD]T|"  # America
    rb"PKT|SGT|HKT|JST|KST|WIB|WITA?|AW[SD]T|AC[SD]T|AE[SD]T|NZ[SD]T|DST|"  # Asia, Australia; DST as Huawei writes it
    rb"(?:UTC|GMT|TZ)[+-]\d{1,2}(?::?\d\d)?"  # an offset; TZ is the example of RFC 3164, 5.4, of no known sign
)
"""Abbreviations of the tz database, of one word, and names of offsets."""

_NAMED = (
    rb"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?:(?P<first>%(year)b) )?(?P<month>[A-Za-z]{3}) +(?P<day>\d{1,2}) "
    rb"(?:(?P<second>%(year)b) )?(?P<clock>%(clock)b)(?: (?P<half>[AP]M)(?=[ .]))?(?P<fraction>%(fraction)b)?"
    rb"(?(first)|(?(second)|(?: (?P<third>%(year)b)%(end)b)?))"
) % {b"year": _YEAR, b"clock": _CLOCK, b"fraction": _FRACTION, b"end": _END}
_ISO = rb"(?P<iso>(?:\d{4}-\d\d-\d\d[T ]|\d{4}:\d\d:\d\d-)\d\d:\d\d:\d\d(?:%b)?)" % _FRACTION
_ZONE = rb"(?:(?P<zone> ?[+-]\d\d(?::?\d\d)?(?: DST)?| ?Z| (?:%b))%b)?" % (ZONES, _END)
_LAST_YEAR = rb"(?(iso)|(?(first)|(?(second)|(?(third)|(?: (?P<last>%b)%b)?))))" % (_YEAR, _END)

TIME = rb"(?P<time>(?:%b|%b)%b%b)" % (_NAMED, _ISO, _ZONE, _LAST_YEAR)
"""
A date and a clock, with a zone or without.

Either the month has a name, and the year is absent, before the month, before the clock, after it or after the zone; or
it is a date of ISO 8601 or RFC 3339, with a blank or a T before the clock, or that of a Sophos UTM
(`2026:11:20-08:15:01`).
"""

_NOON = 12
_UTC_NAMES = (b"UTC", b"GMT", b"Z")


def milliseconds_of(found: re.Match[bytes], near_ms: int, zone: tzinfo) -> int:
    """
    The time of a match of `TIME`; without a year, in the year nearest to `near_ms`.

    Abbreviations other than UTC, GMT and Z are ambiguous (CST is a zone of America and of China): `zone` is used.

    Raises:
        ValueError: there is no such time.
    """
    zone = _zone_of(found["zone"], zone)
    iso = found["iso"]
    if iso is not None:
        return iso_milliseconds(iso[:10].replace(b":", b"-") + b"T" + iso[11:], zone)
    year = found["first"] or found["second"] or found["third"] or found["last"]
    minute, second = _minute(found, found["half"])
    if year is None:
        time_ms = in_nearest_year(minute, second, zone, near_ms)
    else:
        time_ms = milliseconds_at(datetime(int(year), *minute, tzinfo=zone), second)
    fraction = found["fraction"]
    return in_calendar(time_ms if fraction is None else time_ms + int(fraction[1:4].ljust(3, b"0")))


def plain_milliseconds_of(found: re.Match[bytes], near_ms: int, zone: tzinfo) -> int:
    """
    The time of the groups `month`, `day` and `clock`, in the year nearest to `near_ms`.

    Raises:
        ValueError: there is no such time.
    """
    minute, second = _minute(found)
    return in_nearest_year(minute, second, zone, near_ms)


def _minute(found: re.Match[bytes], half: bytes | None = None) -> tuple[tuple[int, int, int, int], int]:
    name, day, clock = found.group("month", "day", "clock")
    month = MONTH_NUMBERS.get(name.title())
    if month is None:
        raise ValueError("no such month")
    hour, minute, second = map(int, clock.split(b":"))
    if half is not None:
        if hour > _NOON:
            raise ValueError("no such hour before or after noon")
        hour = hour % _NOON + (_NOON if half == b"PM" else 0)
    return (month, int(day), hour, minute), second


def epoch_milliseconds(found: re.Match[bytes]) -> int:
    """The time of the group `epoch`: seconds since 1970 with a fraction."""
    seconds, _, fraction = found["epoch"].partition(b".")
    return in_calendar(int(seconds) * 1000 + int(fraction[:3].ljust(3, b"0")))


def _zone_of(text: bytes | None, zone: tzinfo) -> tzinfo:
    if text is None:
        return zone
    name = text.lstrip().removesuffix(b" DST")
    is_ambiguous = name.startswith(b"TZ") or (name.isalpha() and name not in _UTC_NAMES)
    return zone if is_ambiguous else offset_of(name)
