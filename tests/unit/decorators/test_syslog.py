"""The syslog decorator."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.syslog import Syslog
from ingest.api import DecorateError
from ingest.testing.events import event_of, settings_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
USER_INFO = {"facility": b"user", "severity": b"info"}
NEAR = int(datetime(2026, 11, 21, tzinfo=UTC).timestamp()) * 1000


def ms(*parts):
    return int(datetime(*parts, tzinfo=UTC).timestamp() * 1000)


def read(body, settings="{}", **options):
    event = event_of(body, timestamp_ms=NEAR, **options)
    assert Syslog(settings_of(Syslog.settings_class(), settings)).decorate(event) is True
    return event


@pytest.mark.parametrize(
    ("body", "expected", "time"),
    [
        (
            b"Nov  1 05:06:07 web1 kernel: [ 1.5] eth0: link up\n",
            {"time": b"Nov  1 05:06:07", "app": b"kernel", "message": b"[ 1.5] eth0: link up"},
            ms(2026, 11, 1, 5, 6, 7),
        ),
        (
            b"2026-05-01T12:34:56.123456+02:00 web1 sshd[77]: closed",
            {"time": b"2026-05-01T12:34:56.123456+02:00", "app": b"sshd", "pid": b"77", "message": b"closed"},
            ms(2026, 5, 1, 10, 34, 56, 123_000),
        ),
        (
            b"Nov 20 00:00:00 web1 -- MARK --",
            {"time": b"Nov 20 00:00:00", "message": b"-- MARK --"},
            ms(2026, 11, 20),
        ),
    ],
)
def test_lines_of_a_file(refusal_of, body, expected, time):
    event = read(body, "{form: file}")
    assert (event.attributes, event.timestamp_ms) == ({"host": b"web1", **expected}, time)
    for form in ("auto", "rfc5424", "rfc3164"):
        assert refusal_of(Syslog, f"{{form: {form}}}", body) == "bad_syslog"


def test_line_of_a_file_without_form_file_fails_with_a_hint():
    with pytest.raises(DecorateError, match=r"no <PRI> at column 1.*form: file"):
        read(b"Nov 20 00:00:00 web1 su: x")
    with pytest.raises(DecorateError, match=r"it has no <PRI> at column 1$"):
        read(b"it works")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"<34>Nov 20 00:00:00 web1 su: x", "bad_syslog"),
        (b"2026-11-20 web1 su: x", "bad_syslog"),
        (b"2026-13-01T00:00:00Z web1 su: x", "bad_time"),
        (b"Foo 20 00:00:00 web1 su: x", "bad_time"),
    ],
)
def test_text_that_is_not_a_line_of_a_file_fails(refusal_of, body, code):
    assert refusal_of(Syslog, "{form: file}", body) == code


@pytest.mark.parametrize(
    ("body", "expected", "time"),
    [
        # the examples of RFC 5424, 6.5
        (
            b"<34>1 2003-10-11T22:14:15.003Z mymachine.example.com su - ID47 - \xef\xbb\xbf'su root' failed",
            {
                "facility": b"auth",
                "severity": b"crit",
                "time": b"2003-10-11T22:14:15.003Z",
                "host": b"mymachine.example.com",
                "app": b"su",
                "msgid": b"ID47",
                "message": b"'su root' failed",
            },
            ms(2003, 10, 11, 22, 14, 15, 3_000),
        ),
        (
            b"<165>1 2003-08-24T05:14:15.000003-07:00 192.0.2.1 myproc 8710 - - %% It's time",
            {
                "facility": b"local4",
                "severity": b"notice",
                "time": b"2003-08-24T05:14:15.000003-07:00",
                "host": b"192.0.2.1",
                "app": b"myproc",
                "pid": b"8710",
                "message": b"%% It's time",
            },
            ms(2003, 8, 24, 12, 14, 15),
        ),
        (
            b'<165>1 2003-10-11T22:14:15.003Z m evntslog - ID47 [a@1 iut="3" e="App"][b@1 c="high"]',
            {
                "facility": b"local4",
                "severity": b"notice",
                "time": b"2003-10-11T22:14:15.003Z",
                "host": b"m",
                "app": b"evntslog",
                "msgid": b"ID47",
                "data.a@1.iut": b"3",
                "data.a@1.e": b"App",
                "data.b@1.c": b"high",
            },
            ms(2003, 10, 11, 22, 14, 15, 3_000),
        ),
        (b"<0>1 - - - - - -", {"facility": b"kern", "severity": b"emerg"}, NEAR),
        (
            rb'<191>1 - - - - - [x y="a\"b\\c\]d\e" z=""] ',
            {
                "facility": b"local7",
                "severity": b"debug",
                "data.x.y": rb'a"b\c]d\e',
                "data.x.z": b"",
                "message": b"",
            },
            NEAR,
        ),
        (
            b"<14>1 - - - - - [x] two\nlines\n",
            {"facility": b"user", "severity": b"info", "message": b"two\nlines"},
            NEAR,
        ),
        (
            b"<14>1 - \xff - - - - \xfe",
            {"facility": b"user", "severity": b"info", "host": b"\xff", "message": b"\xfe"},
            NEAR,
        ),
        # RFC 3164
        (
            b"<13>Feb  5 17:32:18 10.0.0.99 Use the BFG!",
            {
                "facility": b"user",
                "severity": b"notice",
                "time": b"Feb  5 17:32:18",
                "host": b"10.0.0.99",
                "message": b"Use the BFG!",
            },
            ms(2027, 2, 5, 17, 32, 18),
        ),
        (
            b"<38>Nov 20 10:00:00 web1 sshd[42]: accepted: key",
            {
                "facility": b"auth",
                "severity": b"info",
                "time": b"Nov 20 10:00:00",
                "host": b"web1",
                "app": b"sshd",
                "pid": b"42",
                "message": b"accepted: key",
            },
            ms(2026, 11, 20, 10),
        ),
        (
            b"<38>Dec 31 23:59:59 web1 cron:",
            {
                "facility": b"auth",
                "severity": b"info",
                "time": b"Dec 31 23:59:59",
                "host": b"web1",
                "app": b"cron",
                "message": b"",
            },
            ms(2026, 12, 31, 23, 59, 59),
        ),
    ],
)
def test_parts_and_time(body, expected, time):
    event = read(body)
    assert (event.attributes, event.timestamp_ms) == (expected, time)


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("kernel: foo", {"app": b"kernel", "message": b"foo"}),
        ("kernel:", {"app": b"kernel", "message": b""}),
        ("su[42]: a: b", {"app": b"su", "pid": b"42", "message": b"a: b"}),
        ("web1 su: b", {"host": b"web1", "app": b"su", "message": b"b"}),
        ("2001:db8::1 su: b", {"host": b"2001:db8::1", "app": b"su", "message": b"b"}),
        ("fe80:: su: b", {"host": b"fe80::", "app": b"su", "message": b"b"}),
        ("a:b c", {"host": b"a:b", "message": b"c"}),
    ],
)
def test_message_without_a_host(rest, expected):
    event = event_of(f"<0>Oct 11 22:14:15 {rest}")
    Syslog(settings_of(Syslog.settings_class())).decorate(event)
    common = {"facility": b"kern", "severity": b"emerg", "time": b"Oct 11 22:14:15"}
    assert event.attributes == common | expected


@pytest.mark.parametrize(
    ("near", "text", "expected"),
    [
        (ms(2026, 1, 1, 0, 0, 5), "Dec 31 23:59:58", ms(2025, 12, 31, 23, 59, 58)),
        (ms(2025, 12, 31, 23, 59, 58), "Jan  1 00:00:05", ms(2026, 1, 1, 0, 0, 5)),
        (ms(2024, 3, 1), "Feb 29 12:00:00", ms(2024, 2, 29, 12)),
    ],
)
def test_nearest_year_is_used(near, text, expected):
    event = event_of(f"<1>{text} h m", timestamp_ms=near)
    Syslog(settings_of(Syslog.settings_class())).decorate(event)
    assert event.timestamp_ms == expected


def test_times_without_a_zone_use_the_option():
    assert read(b"<1>Jul  1 12:00:00 h m", "{zone: Europe/Berlin}").timestamp_ms == ms(2026, 7, 1, 10)


def test_event_time_stays_without_set_time():
    event = read(b"<1>1 2003-10-11T22:14:15Z - - - - -", "{set_time: false, prefix: '2hb_l:'}")
    assert (event.timestamp_ms, event.attributes["2hb_l:time"]) == (NEAR, b"2003-10-11T22:14:15Z")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "bad_syslog"),
        (b"hello", "bad_syslog"),
        (b"<192>1 - - - - - -", "bad_syslog"),
        (b"<1>1 2003-02-30T22:14:15Z - - - - -", "bad_time"),
        (b"<1>1 0001-01-01T00:59:59+01:00 - - - - -", "bad_time"),
        (b"<1>1 9999-12-31T23:00:00-01:00 - - - - -", "bad_time"),
        (b"<1>1 9999-12-31T23:59:60Z - - - - -", "bad_time"),
        (b"<1>Feb 30 10:00:00 h m", "bad_time"),
        (b"<1>Foo 10 10:00:00 h m", "bad_time"),
        (b"<1>Nov 10 25:00:00 h m", "bad_time"),
    ],
)
def test_invalid_message_fails(refusal_of, body, code):
    assert refusal_of(Syslog, "{}", body, timestamp_ms=NEAR) == code


def test_leap_second_at_the_end_of_year_9999_fails(refusal_of):
    last_ms = 253_402_300_799_999
    assert refusal_of(Syslog, "{}", b"<1>Dec 31 23:59:60 h m", timestamp_ms=last_ms) == "bad_time"


def test_only_the_configured_form_is_accepted(refusal_of):
    assert refusal_of(Syslog, "{form: rfc5424}", b"<1>Nov 10 10:00:00 h m") == "bad_syslog"
    assert refusal_of(Syslog, "{form: rfc3164}", b"<1>1 - - - - - -") == "bad_syslog"


def test_reads_an_attribute():
    assert read(b"x", "{source: s}", attributes={"s": "<1>1 - h - - - -"}).attributes["host"] == b"h"


def test_absent_attribute_fails(refusal_of):
    assert refusal_of(Syslog, "{source: s}") == "no_attribute"


def test_existing_attribute_fails_if_written_once(refusal_of):
    code = refusal_of(Syslog, "{}", b"<1>1 2003-10-11T22:14:15Z h - - - -", {"host": "x"}, write_once=True)
    assert code == "attribute_exists"


WORDS = st.text(st.sampled_from("abcXYZ09._-@/"), min_size=1, max_size=8).filter(lambda word: word != "-")


@given(
    pri=st.integers(0, 191),
    time_ms=st.integers(0, ms(2200, 1, 1)),
    head=st.tuples(*[WORDS | st.none()] * 4),
    data=st.dictionaries(WORDS, st.dictionaries(WORDS, st.text(max_size=6), max_size=3), max_size=3),
    message=st.none() | st.binary(max_size=20).filter(lambda text: not text.endswith(b"\n")),
)
def test_round_trip(pri, time_ms, head, data, message):
    def parameter(name, text):
        escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("]", "\\]")
        return f' {name}="{escaped}"'

    elements = [f"[{key}{''.join(parameter(*pair) for pair in pairs.items())}]" for key, pairs in data.items()]
    time = (EPOCH + timedelta(milliseconds=time_ms)).isoformat(timespec="milliseconds")
    line = f"<{pri}>1 {time} {' '.join(part or '-' for part in head)} {''.join(elements) or '-'}".encode()
    event = read(line if message is None else line + b" " + message)
    names = ("host", "app", "pid", "msgid")
    expected = {name: part.encode() for name, part in zip(names, head, strict=True) if part is not None}
    expected |= {f"data.{key}.{name}": text.encode() for key, pairs in data.items() for name, text in pairs.items()}
    if message is not None:
        expected["message"] = message.removeprefix(b"\xef\xbb\xbf")
    for name in ("facility", "severity", "time"):
        del event.attributes[name]
    assert (event.attributes, event.timestamp_ms) == (expected, time_ms)
