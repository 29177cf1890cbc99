"""The truncate_time decorator."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.truncate_time import TruncateTime
from ingest.expressions import Template
from ingest.testing.events import event_of, settings_of

SPANS = [
    *(f"to: {unit}" for unit in ("second", "minute", "hour", "day", "week", "month", "year")),
    *(f"every: {span}" for span in ("1s", "20s", "1m", "15m", "30m", "1h", "6h", "24h", "1d")),
]
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Asia/Beirut"]


def truncated(text, time_ms):
    event = event_of("", timestamp_ms=time_ms)
    TruncateTime(settings_of(TruncateTime.settings_class(), text)).decorate(event)
    return event.timestamp_ms


def ms(text):
    return int(datetime.fromisoformat(text).timestamp() * 1000)


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("{to: second}", "2011-06-28T15:42:08.123+00:00", "2011-06-28T15:42:08+00:00"),
        ("{to: minute}", "2011-06-28T15:42:08.123+00:00", "2011-06-28T15:42:00+00:00"),
        ("{to: week}", "2011-06-28T15:42:08+00:00", "2011-06-27T00:00:00+00:00"),
        ("{to: year}", "1969-06-28T15:42:08+00:00", "1969-01-01T00:00:00+00:00"),
        ("{every: 15m}", "2011-06-28T15:42:08+00:00", "2011-06-28T15:30:00+00:00"),
        ("{every: 20s}", "2011-06-28T15:42:59.999+00:00", "2011-06-28T15:42:40+00:00"),
        ("{every: 6h, zone: Europe/Berlin}", "2011-06-28T15:42:08+02:00", "2011-06-28T12:00:00+02:00"),
        ("{every: 30m, zone: Asia/Kolkata}", "2011-06-28T15:42:08+05:30", "2011-06-28T15:30:00+05:30"),
        ("{to: hour, zone: Asia/Kolkata}", "2011-06-28T15:42:08+05:30", "2011-06-28T15:00:00+05:30"),
        # the night in which the clock goes back from 3 to 2
        ("{to: hour, zone: Europe/Berlin}", "2024-10-27T02:30:00+02:00", "2024-10-27T02:00:00+02:00"),
        ("{to: hour, zone: Europe/Berlin}", "2024-10-27T02:30:00+01:00", "2024-10-27T02:00:00+01:00"),
        ("{every: 2h, zone: Europe/Berlin}", "2024-10-27T02:30:00+01:00", "2024-10-27T02:00:00+02:00"),
        ("{every: 6h, zone: Europe/Berlin}", "2024-10-27T06:30:00+01:00", "2024-10-27T06:00:00+01:00"),
        ("{to: day, zone: Europe/Berlin}", "2024-10-27T23:00:00+01:00", "2024-10-27T00:00:00+02:00"),
        # one in which it runs from 0 to 1, and from 2 to 3
        ("{to: day, zone: Asia/Beirut}", "2024-03-31T05:00:00+03:00", "2024-03-31T01:00:00+03:00"),
        ("{every: 2h, zone: America/New_York}", "2024-03-10T03:30:00-04:00", "2024-03-10T03:00:00-04:00"),
    ],
)
def test_starts_of_units(text, before, after):
    assert truncated(text, ms(before)) == ms(after)


def test_reads_and_sets_attributes(attributes_after):
    text = "{attributes: {a: a, b: c, x: y}, every: 1m}"
    before = {"a": "60001", "b": "119999.5"}
    assert attributes_after(TruncateTime, text, attributes=before) == {"a": b"60000", "b": b"119999.5", "c": b"60000"}


def test_attribute_is_set_and_event_time_stays():
    event = event_of("", timestamp_ms=60001)
    TruncateTime(settings_of(TruncateTime.settings_class(), "{to: minute, attribute: a}")).decorate(event)
    assert event == event_of("", {"a": "60000"}, timestamp_ms=60001)


def test_invalid_time_may_stay(attributes_after):
    before = {"a": "x", "b": "9" * 20, "c": "61000"}
    after = attributes_after(TruncateTime, "{attributes: [a, b, c], to: minute, on_invalid: keep}", attributes=before)
    assert after == {"a": b"x", "b": b"9" * 20, "c": b"60000"}
    assert truncated("{to: day, on_invalid: keep}", 2**62) == 2**62
    assert attributes_after(TruncateTime, "{to: day, attribute: a, on_invalid: keep}", timestamp_ms=2**62) == {
        "a": b"%d" % 2**62
    }


def test_one_invalid_time_leaves_all_unchanged(refusal_of):
    text = "{attributes: [a, b], to: minute}"
    assert refusal_of(TruncateTime, text, "", {"a": "61000", "b": "x"}) == "bad_time"


@given(st.sampled_from(SPANS), st.sampled_from(ZONES), st.integers(0, 4 * 10**12))
def test_start_is_not_after_its_time_and_idempotent(span, zone, time_ms):
    text = f"{{{span}, zone: {zone}}}"
    begin = truncated(text, time_ms)
    assert begin <= time_ms
    assert truncated(text, begin) == begin


@given(st.sampled_from(SPANS), st.sampled_from(ZONES), st.integers(0, 4 * 10**12), st.integers(0, 10**8))
def test_starts_keep_the_order_of_times(span, zone, time_ms, later_ms):
    text = f"{{{span}, zone: {zone}}}"
    assert truncated(text, time_ms) <= truncated(text, time_ms + later_ms)


@given(st.sampled_from(["second", "minute", "hour", "day", "week", "month", "year"]), st.integers(-(10**13), 10**14))
def test_equals_the_function_of_that_name(unit, time_ms):
    template = Template.parse(f"%{{truncate_time('{unit}')}}", "Europe/Berlin")
    expected = int(template.render(event_of("", timestamp_ms=time_ms)))
    assert truncated(f"{{to: {unit}, zone: Europe/Berlin}}", time_ms) == expected


@pytest.mark.parametrize("text", ["-0.5", "0.5", "-1000.5", "-1e3", "1309275728999.9"])
def test_function_treats_fractions_of_a_millisecond_alike(attributes_after, text):
    found = attributes_after(TruncateTime, "{source: a, attribute: b, to: second}", attributes={"a": text})
    assert found["b"] == Template.parse("%{truncate_time(a, 'second')}").render(event_of("", {"a": text}))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{}", [("conflict", ())]),
        ("{to: day, every: 1h}", [("conflict", ())]),
        ("{to: fortnight}", [("enum", ("to",))]),
        ("{every: 7m}", [("out_of_range", ())]),
        ("{every: 90m}", [("out_of_range", ())]),
        ("{every: 5h}", [("out_of_range", ())]),
        ("{every: 2d}", [("out_of_range", ())]),
        ("{every: 0s}", [("out_of_range", ())]),
        ("{every: 1500ms}", [("out_of_range", ())]),
        ("{every: 15}", [("bad_unit", ("every",))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(TruncateTime, settings) == expected
