"""
Times as text, and in milliseconds since 1970: those of log lines, and those that users read and write.

Second 60, a leap second, is the start of the next minute, as in POSIX time and Java's calendar: event times have no
leap seconds. It is accepted in every minute, because a leap second may fall into any minute of local time, and also in
RFC 5424 messages, where it is forbidden, rather than reject a message with a correct time. There is no second 61.
"""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache

from ingest.api.errors import ConfigError
from ingest.formats.date_letters import MONTHS

MONTH_NUMBERS = {name[:3].encode(): number for number, name in enumerate(MONTHS, start=1)}
"""Short name of a month -> 1 to 12."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_MS, LAST_MS = -62_135_596_800_000, 253_402_300_799_999  # the years 1 to 9999, the range of `datetime`
_MILLISECOND = timedelta(milliseconds=1)
_LEAP_SECOND = 60
_HALF_YEAR_MS = 182 * 24 * 3600 * 1000  # no other year of the same day is nearer
_YEARS_BETWEEN_LEAP_YEARS = 8  # at most, as from 1896 to 1904
_OFFSET = re.compile(rb"(?:UTC|GMT)?([+-])(\d\d?)(?::?(\d\d))?|[Zz]|UTC|GMT")
_BAD_OFFSET = re.compile(rb"[+-]\d\d:?[6-9]\d\Z")  # Python reads it; RFC 3339, 5.6: its minutes are at most 59
_ISO_LEAP_SECOND = re.compile(rb"(\d{4}-\d\d-\d\d.\d\d:\d\d:)60")  # Python does not parse it


def in_calendar(time_ms: int) -> int:
    """
    The same time, checked.

    Raises:
        ValueError: its year is outside 1 to 9999.
    """
    if not FIRST_MS <= time_ms <= LAST_MS:
        raise ValueError("the year is outside 1 to 9999")
    return time_ms


def milliseconds_of(time: datetime) -> int:
    """Milliseconds since 1970 of a time with a zone, rounded down."""
    return (time - EPOCH) // _MILLISECOND


def milliseconds_at(minute: datetime, second: int) -> int:
    """
    Milliseconds since 1970 of a second in a minute, which has a zone.

    Raises:
        ValueError: the second is not 0 to 60.
    """
    if not 0 <= second <= _LEAP_SECOND:
        raise ValueError("the second is not 0 to 60")
    return milliseconds_of(minute) + second * 1000


def in_nearest_year(minute: tuple[int, int, int, int], second: int, zone: tzinfo, near_ms: int) -> int:
    """
    Milliseconds since 1970 of a month, day, hour, minute and second in the year that brings it nearest to a time.

    February 29 is in the nearest leap year. Of two years that are equally near, it is the earlier one.

    Raises:
        ValueError: no year has such a time, or the nearest one is outside 1 to 9999.
    """
    near = (EPOCH + timedelta(milliseconds=near_ms)).astimezone(zone)
    found: list[int] = []
    for distance in range(_YEARS_BETWEEN_LEAP_YEARS + 1):
        for year in (near.year - distance, near.year + distance):
            try:
                time_ms = milliseconds_at(datetime(year, *minute, tzinfo=zone), second)
            except ValueError:
                continue  # no such day in this year, or no such year
            if abs(time_ms - near_ms) <= _HALF_YEAR_MS:
                return in_calendar(time_ms)
            found.append(time_ms)
        if distance and found:
            return in_calendar(min(found, key=lambda time_ms: (abs(time_ms - near_ms), time_ms)))
    raise ValueError("no year has such a time")


def iso_milliseconds(text: bytes, zone: tzinfo | None = None) -> int:
    """
    Milliseconds since 1970 of a time in ISO 8601 or RFC 3339 format; `zone` is that of a text without one.

    Raises:
        ValueError: it is not valid, has no zone, or its year is outside 1 to 9999.
    """
    try:
        time = datetime.fromisoformat(text.decode("ascii"))
    except ValueError:
        leap = _ISO_LEAP_SECOND.match(text)
        if leap is None:
            raise
        return in_calendar(iso_milliseconds(leap[1] + b"59" + text[leap.end() :], zone) + 1000)
    given = time.tzinfo
    if given is None:
        if zone is None:
            raise ValueError("it has no zone")
        time = time.replace(tzinfo=zone)
    elif given is not UTC and text[-2:] > b"59" and _BAD_OFFSET.search(text) is not None:
        raise ValueError("the offset has more than 59 minutes")
    return in_calendar(milliseconds_of(time))


@lru_cache(maxsize=1_000)
def offset_of(text: bytes) -> timezone:
    """
    The zone of an offset such as +02:00, +0200, +02 or UTC+2, or of UTC, GMT or Z.

    Raises:
        ValueError: it is none, or has more than 23 hours or 59 minutes (RFC 3339, 5.6).
    """
    found = _OFFSET.fullmatch(text)
    if found is None:
        raise ValueError("no such offset")
    sign, hours, minutes = found.groups(b"0")
    if minutes > b"59":
        raise ValueError("the offset has more than 59 minutes")
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return timezone(-offset if sign == b"-" else offset)


def moment(timestamp_ms: int) -> str:
    """A time in ISO 8601 format, in UTC; the number itself if the year is outside 1 to 9999."""
    try:
        return (
            datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        )
    except (ValueError, OverflowError, OSError):
        return str(timestamp_ms)


def moment_of(text: str) -> int:
    """
    Milliseconds since 1970 of a time in ISO 8601 format; UTC if it has no zone.

    Raises:
        ConfigError: it is not a time.
    """
    try:
        return iso_milliseconds(text.encode(), UTC)
    except (ValueError, OverflowError) as error:
        raise ConfigError(
            f'"{text}" is not a time', hint='write it as in "2026-01-31" or "2026-01-31T12:00:00Z"'
        ) from error
