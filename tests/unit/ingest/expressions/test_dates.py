"""Date formats in time zones, at the limits of days and of the calendar."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import Event, ExpressionError
from ingest.expressions import DATE_DOCS, Template, zone_of
from ingest.expressions.grammar import DATE_LETTERS


def at(text: str, moment: str, zone: str = "UTC") -> str:
    time_ms = int(datetime.fromisoformat(moment).timestamp() * 1000)
    return Template.parse(text, zone).render(Event(b"", timestamp_ms=time_ms)).decode()


def test_every_letter_is_documented() -> None:
    assert sorted(DATE_DOCS) == sorted(DATE_LETTERS)


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        ("2024-01-01T00:05:00Z", "00 12 0 12 AM"),
        ("2024-01-01T09:05:00Z", "09 09 9 9 AM"),
        ("2024-01-01T12:05:00Z", "12 12 12 12 PM"),
        ("2024-01-01T13:05:00Z", "13 01 13 1 PM"),
    ],
)
def test_hours_on_12_and_24_hour_clocks(moment: str, expected: str) -> None:
    assert at("%H %I %k %l %p", moment) == expected


@pytest.mark.parametrize(
    ("zone", "moment", "expected"),
    [
        ("Europe/Berlin", "2024-03-31T00:59:59Z", "2024-03-31 01:59:59 +0100"),
        ("Europe/Berlin", "2024-03-31T01:00:00Z", "2024-03-31 03:00:00 +0200"),
        ("America/Denver", "2010-07-26T17:48:05Z", "2010-07-26 11:48:05 -0600"),
        ("Asia/Kolkata", "2024-12-31T18:30:00Z", "2025-01-01 00:00:00 +0530"),
        ("America/St_Johns", "2024-01-01T00:00:00Z", "2023-12-31 20:30:00 -0330"),
    ],
)
def test_date_uses_the_zone_of_the_pipeline(zone: str, moment: str, expected: str) -> None:
    assert at("%Y-%m-%d %H:%M:%S %z", moment, zone) == expected


def test_day_is_not_padded_in_the_full_form() -> None:
    assert at("%c", "2024-02-03T04:05:06Z") == "Sat Feb 3 04:05:06 2024"


def test_day_of_a_leap_year() -> None:
    assert at("%j %y", "2024-12-31T00:00:00Z") == "366 24"


def test_percent_signs_next_to_date_letters() -> None:
    assert at("%%%Y%%Y%%", "2024-12-31T00:00:00Z") == "%2024%Y%"


@pytest.mark.parametrize("time_ms", [-(10**17), 10**17, 2**63])
def test_time_outside_the_calendar_fails_the_event(time_ms: int) -> None:
    with pytest.raises(ExpressionError) as raised:
        Template.parse("%Y").render(Event(b"", timestamp_ms=time_ms))
    assert raised.value.code == "time_out_of_range"


def test_seconds_and_milliseconds_need_no_calendar() -> None:
    of = Event(b"", timestamp_ms=-(10**17) - 1)
    assert Template.parse("%s/%t").render(of) == b"-100000000000000/-100000000000000001"


def test_unknown_zone_has_a_suggestion() -> None:
    with pytest.raises(ValueError, match='did you mean "Europe/Berlin"'):
        zone_of("Europe/Berln")


@pytest.mark.parametrize("name", ["", "..", "/etc/passwd", "Europe", "a\0b"])
def test_invalid_zone_is_rejected(name: str) -> None:
    with pytest.raises(ValueError, match="is not a time zone"):
        zone_of(name)


MOMENTS = st.integers(min_value=-62_000_000_000_000, max_value=250_000_000_000_000)
STEPS = st.lists(st.integers(min_value=-90_000, max_value=90_000), min_size=1, max_size=8)


@given(MOMENTS, STEPS, st.sampled_from(["UTC", "Europe/Amsterdam", "Africa/Monrovia", "Australia/Lord_Howe"]))
def test_cached_result_equals_a_fresh_one(start_ms: int, steps: list[int], zone: str) -> None:
    """Times that differ by less than a minute, in both directions, in one template and in new ones."""
    for text in ("%Y-%m-%d %H:%M %z", "%H:%M:%S", "%c|%t"):
        kept = Template.parse(text, zone)
        time_ms = start_ms
        for step in steps:
            of = Event(b"", timestamp_ms=time_ms)
            assert kept.render(of) == Template.parse(text, zone).render(of)
            time_ms += step


@given(MOMENTS)
def test_agrees_with_the_calendar_of_python(time_ms: int) -> None:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=time_ms // 1000)
    expected = moment.astimezone(ZoneInfo("Asia/Tokyo")).strftime("%d %m %j %H %I %M %S %p")
    assert Template.parse("%d %m %j %H %I %M %S %p", "Asia/Tokyo").render(Event(b"", timestamp_ms=time_ms)) == (
        expected.encode()
    )
