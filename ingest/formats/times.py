"""
What lines of logs write of times, and what events keep of them.

A leap second, second 60 of a minute, is the first moment of the next one, wherever a text has it: so POSIX counts, and
Java's calendar, and an event keeps milliseconds that have no leap seconds either. It is taken at every minute, because
in local time it may be any. RFC 5424 forbids senders to write it; it is read there too, for to refuse it would lose the
whole message over a second that it has told right. There is no second 61.
"""

import re
from datetime import UTC, datetime, timedelta

from ingest.formats.date_letters import MONTHS

MONTH_NUMBERS = {name[:3].encode(): number for number, name in enumerate(MONTHS, start=1)}
"""Short name of a month -> 1 to 12."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_MS, LAST_MS = -62_135_596_800_000, 253_402_300_799_999  # the years 1 to 9999, which calendars have
_MILLISECOND = timedelta(milliseconds=1)
_LEAP_SECOND = 60
_ISO_LEAP_SECOND = re.compile(rb"(\d{4}-\d\d-\d\d.\d\d:\d\d:)60")  # Python reads no such second


def in_calendar(time_ms: int) -> int:
    """
    The same time.

    Raises:
        ValueError: it is not of the years 1 to 9999.
    """
    if not FIRST_MS <= time_ms <= LAST_MS:
        raise ValueError("not of the years 1 to 9999")
    return time_ms


def milliseconds_of(moment: datetime) -> int:
    """Milliseconds since 1970 of a moment with a zone, what is less than one left out."""
    return (moment - EPOCH) // _MILLISECOND


def milliseconds_at(minute: datetime, second: int) -> int:
    """
    Milliseconds since 1970 of a second of a minute with a zone.

    Raises:
        ValueError: no minute has such a second.
    """
    if not 0 <= second <= _LEAP_SECOND:
        raise ValueError("no minute has such a second")
    return milliseconds_of(minute) + second * 1000


def iso_milliseconds(text: bytes) -> int:
    """
    Milliseconds since 1970 of a moment as ISO 8601 and RFC 3339 write it.

    Raises:
        ValueError: it is none, names no zone, or is not of the years 1 to 9999.
    """
    try:
        moment = datetime.fromisoformat(text.decode("ascii"))
    except ValueError:
        leap = _ISO_LEAP_SECOND.match(text)
        if leap is None:
            raise
        return in_calendar(iso_milliseconds(leap[1] + b"59" + text[leap.end() :]) + 1000)
    if moment.tzinfo is None:
        raise ValueError("it names no zone")
    return in_calendar(milliseconds_of(moment))
