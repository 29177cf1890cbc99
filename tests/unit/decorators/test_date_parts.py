"""The date_parts decorator."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.date_parts import DateParts
from ingest.testing.events import event_of, settings_of

ALL = (
    "[year, quarter, month, day, hour, minute, second, millisecond, weekday, iso_year, iso_week, day_of_year, "
    "month_name, weekday_name, offset]"
)


def parts_of(text, timestamp_ms, **attributes):
    event = event_of("", attributes, timestamp_ms=timestamp_ms)
    DateParts(settings_of(DateParts.settings_class(), text)).decorate(event)
    return {name: value.decode() for name, value in event.attributes.items() if name not in attributes}


def test_all_parts_are_set():
    assert parts_of(f"{{parts: {ALL}, zone: America/Denver}}", 1309275728023) == {
        "year": "2011", "quarter": "2", "month": "06", "day": "28", "hour": "09", "minute": "42", "second": "08",
        "millisecond": "023", "weekday": "2", "iso_year": "2011", "iso_week": "26", "day_of_year": "179",
        "month_name": "June", "weekday_name": "Tuesday", "offset": "-0600",
    }  # fmt: skip


def test_all_parts_without_padding():
    assert parts_of(f"{{parts: {ALL}, padding: false}}", -62135596800000 + 5) == {
        "year": "1", "quarter": "1", "month": "1", "day": "1", "hour": "0", "minute": "0", "second": "0",
        "millisecond": "5", "weekday": "1", "iso_year": "1", "iso_week": "1", "day_of_year": "1",
        "month_name": "January", "weekday_name": "Monday", "offset": "+0000",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("day", "week"),
    [("2020-12-31", "2020-53"), ("2021-01-03", "2020-53"), ("2021-01-04", "2021-01"), ("2018-12-31", "2019-01")],
)
def test_iso_weeks_at_the_turn_of_the_year(day, week):
    time_ms = int(datetime.fromisoformat(f"{day}T12:00:00+00:00").timestamp()) * 1000
    assert "-".join(parts_of("{parts: [iso_year, iso_week]}", time_ms).values()) == week


def test_names_and_prefix():
    assert parts_of("{parts: {hour: h, day: ''}, prefix: 't:'}", 0) == {"t:h": "00", "t:": "01"}


@pytest.mark.parametrize("seen", ["1500", "+1500", "1500.9", "1.5e3"])
def test_reads_an_attribute(seen):
    assert parts_of("{source: seen, parts: [second, millisecond]}", 0, seen=seen) == {
        "second": "01",
        "millisecond": "500",
    }


def test_time_before_1970_with_a_fraction():
    assert parts_of("{source: seen, parts: [second, millisecond]}", 0, seen="-0.5") == {
        "second": "59",
        "millisecond": "999",
    }


@pytest.mark.parametrize(
    ("seen", "code"),
    [
        ("", "bad_time"),
        (" 1", "bad_time"),
        ("0x1", "bad_time"),
        ("9" * 16, "time_out_of_range"),
        ("-1e50", "time_out_of_range"),
    ],
)
def test_invalid_time_fails_or_passes(refusal_of, seen, code):
    assert refusal_of(DateParts, "{source: seen}", "", {"seen": seen}) == code
    assert parts_of("{source: seen, on_invalid: keep}", 0, seen=seen) == {}


def test_absent_attribute_fails_or_passes(refusal_of):
    assert refusal_of(DateParts, "{source: seen}") == "no_attribute"
    assert parts_of("{source: seen, on_invalid: keep}", 0) == {}


def test_existing_attribute_fails_if_written_once(refusal_of):
    assert refusal_of(DateParts, "{}", "", {"hour": "1"}, write_once=True) == "attribute_exists"


@given(st.lists(st.integers(-(10**13), 10**14), max_size=6), st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kolkata"]))
def test_parts_restore_the_time(times, zone):
    decorator = DateParts(settings_of(DateParts.settings_class(), f"{{parts: {ALL}, zone: {zone}}}"))
    for time_ms in (near for time in times for near in (time, time + 1, time, time + 1000)):
        event = event_of("", timestamp_ms=time_ms)
        decorator.decorate(event)
        parts = {name: value.decode() for name, value in event.attributes.items()}
        moment = datetime.fromtimestamp(time_ms // 1000, ZoneInfo(zone))
        clock = "{year}-{month}-{day} {hour}:{minute}:{second} {iso_year}-W{iso_week}-{weekday} {day_of_year}"
        assert clock.format_map(parts) == moment.strftime("%Y-%m-%d %H:%M:%S %G-W%V-%u %j")
        assert int(parts["millisecond"]) == time_ms % 1000


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{parts: [year, year]}", {("conflict", ())}),
        ("{parts: {year: a, day: a}}", {("conflict", ())}),
        ("{zone: Nowhere}", {("not_one_of", ("zone",))}),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert set(errors_of(DateParts, settings)) == expected


@pytest.mark.parametrize("settings", ["{parts: []}", "{parts: {}}", "{parts: [Year]}", "{parts: {jahr: y}}"])
def test_invalid_parts_are_rejected(errors_of, settings):
    assert {place[0] for _, place in errors_of(DateParts, settings)} == {"parts"}
