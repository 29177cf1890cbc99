"""The ex_date decorator."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.ex_date import ExDate
from ingest.testing.events import event_of, settings_of

ACCESS = "dd/MMM/yyyy:HH:mm:ss Z"
PARTS = ("day", "month", "year", "hr", "min", "sec")


@pytest.mark.parametrize(
    ("pattern", "zone", "text", "expected"),
    [
        (ACCESS, "America/Denver", b"26/Jul/2010:11:48:05 -0600", b"26 07 2010 11 48 05"),
        (ACCESS, "UTC", b"26/Jul/2010:11:48:05 -0600", b"26 07 2010 17 48 05"),
        ("yyyy-MM-dd", "UTC", b"2010-13-01", b"01 01 2011 00 00 00"),
        ("yyyy-MM-dd", "UTC", b"10-2-3 and more", b"03 02 10 00 00 00"),
        ("yyyy-MM-dd HH:mm", "Europe/Berlin", b"2026-03-29 02:30", b"29 03 2026 03 30 00"),
        ("yyyy-MM-dd HH:mm", "Europe/Berlin", b"2026-10-25 02:30", b"25 10 2026 02 30 00"),
    ],
)
def test_parts_of_a_date(attributes_after, pattern, zone, text, expected):
    settings = f"{{source: d, pattern: '{pattern}', zone: {zone}}}"
    found = attributes_after(ExDate, settings, attributes={"d": text})
    named = dict(zip((f"date{part}" for part in PARTS), expected.split(), strict=True))
    assert found == {"d": text, **named}


@given(st.binary(max_size=40) | st.text(st.sampled_from("0123456789/: -+JanGMT"), max_size=40).map(str.encode))
def test_any_bytes_parse_or_do_not(text):
    event = event_of(attributes={"d": text})
    settings = settings_of(ExDate.settings_class(), f"{{source: d, pattern: '{ACCESS}'}}")
    assert ExDate(settings).decorate(event) is True
    assert len(event.attributes) in (1, 1 + len(PARTS))


@pytest.mark.parametrize(("year", "expected"), [(2011, b"2031"), (1950, b"1931")])
def test_year_of_two_digits_is_near_the_event(year, expected):
    time_ms = round(datetime(year, 7, 1, tzinfo=UTC).timestamp() * 1000)
    event = event_of(attributes={"d": b"31-01-02"}, timestamp_ms=time_ms)
    assert ExDate(settings_of(ExDate.settings_class(), "{source: d, pattern: yy-MM-dd}")).decorate(event) is True
    assert expected == event.attributes["dateyear"]


def test_padding_and_prefix(attributes_after):
    settings = "{source: d, pattern: 'yyyy-MM-dd HH:mm', prefix: '2hb_t:', padding: false}"
    found = attributes_after(ExDate, settings, attributes={"d": "0999-07-05 03:04"})
    named = dict(zip((f"2hb_t:{part}" for part in PARTS), b"5 7 999 3 4 0".split(), strict=True))
    assert found == {"d": b"0999-07-05 03:04", **named}


@pytest.mark.parametrize("text", [b"", b"yesterday", b"2010-01-", b"\xff"])
def test_invalid_date_passes_unchanged(attributes_after, text):
    assert attributes_after(ExDate, "{source: d, pattern: yyyy-MM-dd}", attributes={"d": text}) == {"d": text}


def test_invalid_date_fails_with_on_invalid_error(refusal_of):
    settings = "{source: d, pattern: yyyy-MM-dd, on_invalid: error}"
    assert refusal_of(ExDate, settings, attributes={"d": "yesterday"}) == "bad_time"


def test_absent_attribute_fails(refusal_of):
    assert refusal_of(ExDate, "{source: d, pattern: yyyy-MM-dd}") == "no_attribute"


def test_existing_part_fails_if_written_once(refusal_of):
    attributes = {"d": "2010-01-01", "datesec": "0"}
    code = refusal_of(ExDate, "{source: d, pattern: yyyy-MM-dd}", attributes=attributes, write_once=True)
    assert code == "attribute_exists"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{source: d, pattern: 'yyyy-QQ'}", [("bad_pattern", ("pattern",))]),
        ("{source: d, pattern: 'XXXX'}", [("bad_pattern", ("pattern",))]),
        ('{source: d, pattern: "yyyy \'T"}', [("bad_pattern", ("pattern",))]),
        ("{source: d, pattern: yyyy, zone: Mars/Base}", [("not_one_of", ("zone",))]),
        ("{pattern: yyyy}", [("missing", ("source",))]),
        ("{source: d}", [("missing", ("pattern",))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(ExDate, settings) == expected
