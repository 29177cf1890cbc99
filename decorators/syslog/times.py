"""The time of a syslog message: a date with or without a year, a fraction and a zone, as text and in milliseconds."""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from ingest.formats.times import (
    MONTH_NUMBERS,
    in_calendar,
    in_nearest_year,
    iso_milliseconds,
    milliseconds_at,
)

_CLOCK = rb"\d{1,2}:\d\d:\d\d"
_FRACTION = rb"[.,]\d+"
_YEAR = rb"(?:19|20)\d\d"
_END = rb"(?=[ :]|\Z)"
ZONES = (
    rb"UTC|GMT|Z|CES?T|EES?T|WES?T|MES?T|MSK|BST|IST|IDT|SAST|[CEW]AT|"  # Europe, Africa, the Middle East
    rb"[ECMPAN][SD]T|AK[SD]T|H[SD]T|"  # America
    rb"PKT|SGT|HKT|JST|KST|WIB|WITA?|AW[SD]T|AC[SD]T|AE[SD]T|NZ[SD]T|DST"  # Asia, Australia; DST as Huawei writes it
)
"""Abbreviations of the tz database, of one word."""

NAMED = (
    rb"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?:(?P<first>%(year)b) )?(?P<month>[A-Za-z]{3}) +(?P<day>\d{1,2}) "
    rb"(?:(?P<second>%(year)b) )?(?P<clock>%(clock)b)(?P<fraction>%(fraction)b)?"
    rb"(?(first)|(?(second)|(?: (?P<last>%(year)b)%(end)b)?))"
) % {b"year": _YEAR, b"clock": _CLOCK, b"fraction": _FRACTION, b"end": _END}
"""A date with the name of its month: the year is absent, or before the month, before the clock or after it."""

ISO = rb"(?P<iso>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:%b)?)" % _FRACTION
"""A date of ISO 8601 or RFC 3339, with a blank or a T before the clock."""

ZONE = rb"(?:(?P<zone> ?[+-]\d\d(?::?\d\d)?| ?Z| (?:%b))%b)?" % (ZONES, _END)
"""What may follow both: an offset, or an abbreviation."""

_UTC_NAMES = (b"UTC", b"GMT", b"Z")


def milliseconds_of(found: re.Match[bytes], near_ms: int, zone: tzinfo) -> int:
    """
    The time of a match of `NAMED` or `ISO`, with `ZONE`; without a year, in the year nearest to `near_ms`.

    Abbreviations other than UTC, GMT and Z are ambiguous (CST is a zone of America and of China): `zone` is used.

    Raises:
        ValueError: there is no such time.
    """
    zone = _zone_of(found["zone"], zone)
    if found["iso"] is not None:
        return iso_milliseconds(found["iso"], zone)
    year = found["first"] or found["second"] or found["last"]
    if year is None:
        time_ms = plain_milliseconds_of(found, near_ms, zone)
    else:
        minute, second = _minute(found)
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


def _minute(found: re.Match[bytes]) -> tuple[tuple[int, int, int, int], int]:
    name, day, clock = found.group("month", "day", "clock")
    month = MONTH_NUMBERS.get(name.title())
    if month is None:
        raise ValueError("no such month")
    hour, minute, second = clock.split(b":")
    return (month, int(day), int(hour), int(minute)), int(second)


def epoch_milliseconds(found: re.Match[bytes]) -> int:
    """The time of the group `epoch`: seconds since 1970 with a fraction."""
    seconds, _, fraction = found["epoch"].partition(b".")
    return in_calendar(int(seconds) * 1000 + int(fraction[:3].ljust(3, b"0")))


def _zone_of(text: bytes | None, zone: tzinfo) -> tzinfo:
    if text is None:
        return zone
    text = text.lstrip()
    if text in _UTC_NAMES:
        return UTC
    if text[:1] not in b"+-":
        return zone
    digits = text[1:].replace(b":", b"")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0))
    return timezone(-offset if text[:1] == b"-" else offset)
