"""Directives of strptime in the timestamp decorator, and the offsets that it refuses."""

from datetime import UTC, datetime

import pytest

from decorators.timestamp import Timestamp
from ingest.testing.events import event_of, settings_of

AT = int(datetime(2026, 11, 20, 8, 15, 1, tzinfo=UTC).timestamp()) * 1000


def time_of(text, settings):
    event = event_of(text, timestamp_ms=-1)
    Timestamp(settings_of(Timestamp.settings_class(), settings)).decorate(event)
    return event.timestamp_ms


@pytest.mark.parametrize("month", ["Nov", "November", "NOVEMBER", "nov"])
@pytest.mark.parametrize("day", ["Fri", "Friday", "FRIDAY"])
@pytest.mark.parametrize("letters", ["%a %b", "%A %B", "%a %h", "%A %b"])
def test_names_are_full_or_short(month, day, letters):
    """POSIX, strptime: %a, %A, %b, %B and %h read "either the abbreviated or full name"."""
    assert time_of(f"{day} {month} 20 08:15:01 2026", f"{{formats: '{letters} %d %H:%M:%S %Y'}}") == AT


@pytest.mark.parametrize("name", ["Novem", "Novx", "Novemberx"])
def test_part_of_a_name_is_none(refusal_of, name):
    assert refusal_of(Timestamp, "{formats: '%b %d %Y'}", f"{name} 20 2026") == "bad_time"


@pytest.mark.parametrize(("text", "hours"), [("+01", 1), ("-05", -5), ("+0100", 1), ("+01:00", 1), ("Z", 0)])
def test_offset_may_have_hours_alone(text, hours):
    """glibc's strptime and ISO 8601 have offsets of two digits."""
    assert time_of(f"2026-11-20 08:15:01 {text}", "{formats: '%Y-%m-%d %H:%M:%S %z'}") == AT - hours * 3_600_000


@pytest.mark.parametrize("offset", ["+01:75", "+01:60", "-00:99", "+0175", "+24:00", "+99"])
@pytest.mark.parametrize("fraction", ["", ".1", ".123"])
@pytest.mark.parametrize("format", ["iso8601", "'%Y-%m-%dT%H:%M:%S%z'", "'%Y-%m-%dT%H:%M:%S.%f%z'"])
def test_offset_has_23_hours_and_59_minutes_at_most(refusal_of, offset, fraction, format):  # noqa: A002 - its subject
    """RFC 3339, 5.6: time-hour is 00 to 23, time-minute 00 to 59."""
    assert refusal_of(Timestamp, f"{{formats: {format}}}", f"2026-11-20T08:15:01{fraction}{offset}") == "bad_time"


@pytest.mark.parametrize("zone", ["+01:75", "UTC+1:75", "GMT-24", "+24:00"])
def test_zone_of_an_event_has_23_hours_and_59_minutes_at_most(refusal_of, zone):
    assert refusal_of(Timestamp, "{zone: '%{tz}'}", "2026-11-20T08:15:01", {"tz": zone}) == "bad_time"


@pytest.mark.parametrize("letters", ["%Y-%m-%d %n%t %H", "%Y-%m-%d%n%t%H", "%Y-%m-%d  %n %H"])
def test_neighbours_of_white_space_are_one(letters):
    assert time_of("2026-11-20 08", f"{{formats: '{letters}'}}") == AT - 901_000


def test_long_white_space_takes_linear_time(refusal_of):
    # the square of it would take minutes, and ends in `decorator_timeout`
    for letters in ("%Y %n%m-%d", "%Y%n%t%n%m-%d", "%Y \t %m-%d"):
        assert refusal_of(Timestamp, f'{{formats: "{letters}"}}', "2026" + " " * 200_000 + "x") == "bad_time"
