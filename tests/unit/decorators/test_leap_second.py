"""Leap seconds: the start of the next minute, in every decorator that parses times."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.access_log import AccessLog
from decorators.ex_date import ExDate
from decorators.syslog import Syslog
from decorators.timestamp import Timestamp
from ingest.api import DecorateError
from ingest.testing.events import event_of, settings_of

ISO = "%Y-%m-%dT%H:%M:"
APACHE = "%d/%b/%Y:%H:%M:"
READERS = {
    "timestamp iso8601": (Timestamp, "{}", ISO, "Z"),
    "timestamp iso8601 without a zone": (Timestamp, "{}", ISO, ""),
    "timestamp apache": (Timestamp, "{formats: apache}", APACHE, " +0000"),
    "timestamp letters": (Timestamp, "{formats: '%F %H:%M:%S'}", "%Y-%m-%d %H:%M:", ""),
    "timestamp one letter": (Timestamp, "{formats: '%d.%m.%Y %T'}", "%d.%m.%Y %H:%M:", ""),
    "access_log common": (AccessLog, "{formats: common}", f"h - - [{APACHE}", ' +0000] "-" 200 -'),
    "access_log nginx": (AccessLog, "{formats: '$time_iso8601 $status'}", ISO, "+00:00 200"),
    "syslog rfc5424": (Syslog, "{form: rfc5424}", f"<1>1 {ISO}", "Z h a - - - m"),
    "syslog rfc3164": (Syslog, "{form: rfc3164}", "<1>%b %d %H:%M:", " h m"),
}
MINUTES = st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(2100, 1, 1))  # noqa: DTZ001 - made aware below


def milliseconds(moment):
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def read(reader, minute, second):
    """Milliseconds of a text with this second, or the code of its error."""
    component, settings, before, after = READERS[reader]
    event = event_of(minute.strftime(before) + second + after, timestamp_ms=milliseconds(minute))
    try:
        component(settings_of(component.settings_class(), settings)).decorate(event)
    except DecorateError as error:
        return error.code
    return event.timestamp_ms


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("minute", "second", "expected"),
    [
        ((2016, 12, 31, 23, 59), "59", (2016, 12, 31, 23, 59, 59)),
        ((2016, 12, 31, 23, 59), "60", (2017, 1, 1)),
        ((2015, 6, 30, 23, 59), "60", (2015, 7, 1)),
        ((2015, 7, 1, 5, 29), "60", (2015, 7, 1, 5, 30)),  # as in India, were this its time
        ((2016, 12, 31, 23, 59), "61", "bad_time"),
        ((2016, 12, 31, 23, 59), "99", "bad_time"),
    ],
)
def test_every_reader_gives_the_same(reader, minute, second, expected):
    found = read(reader, datetime(*minute, tzinfo=UTC), second)
    assert found == (expected if isinstance(expected, str) else milliseconds(datetime(*expected, tzinfo=UTC)))


@pytest.mark.parametrize("reader", ["timestamp iso8601", "access_log nginx", "syslog rfc5424"])
def test_fraction_of_a_leap_second_is_in_the_next_minute(reader):
    found = read(reader, datetime(2016, 12, 31, 23, 59, tzinfo=UTC), "60.250")
    assert found == milliseconds(datetime(2017, 1, 1, tzinfo=UTC)) + 250


@given(MINUTES, st.integers(0, 60))
def test_all_parsers_agree_on_every_second(moment, second):
    minute = moment.replace(second=0, microsecond=0, tzinfo=UTC)
    found = {reader: read(reader, minute, f"{second:02}") for reader in READERS}
    assert found == dict.fromkeys(READERS, milliseconds(minute) + second * 1000)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("31/Dec/2016:23:59:60", b"01 01 2017 00 00 00"), ("31/Dec/2016:23:59:61", b"01 01 2017 00 00 01")],
)
def test_ex_date_rolls_over(text, expected):
    """Java's SimpleDateFormat is lenient, so second 61 also rolls over."""
    event = event_of("", {"d": text})
    ExDate(settings_of(ExDate.settings_class(), "{source: d, pattern: 'dd/MMM/yyyy:HH:mm:ss'}")).decorate(event)
    parts = ("day", "month", "year", "hr", "min", "sec")
    assert b" ".join(event.attributes[f"date{part}"] for part in parts) == expected
