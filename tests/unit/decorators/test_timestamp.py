"""The timestamp decorator."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.timestamp import Timestamp
from ingest.api import DecorateError
from ingest.testing.events import event_of, settings_of
from tests.support.memos import memo_of


def time_of(text, settings="{}", **options):
    event = event_of(text, timestamp_ms=-1)
    Timestamp(settings_of(Timestamp.settings_class(), settings, **options)).decorate(event)
    return event.timestamp_ms


def ms(*parts):
    return round(datetime(*parts, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("format", "text", "expected"),
    [
        ("iso8601", "2010-07-26T11:48:05Z", ms(2010, 7, 26, 11, 48, 5)),
        ("iso8601", "2010-07-26T11:48:05.123456789Z", ms(2010, 7, 26, 11, 48, 5) + 123),
        ("iso8601", "2010-07-26t11:48:05,5z", ms(2010, 7, 26, 11, 48, 5) + 500),
        ("iso8601", "2010-07-26 11:48:05 -06:00", ms(2010, 7, 26, 17, 48, 5)),
        ("iso8601", "2010-07-26T11:48+0530", ms(2010, 7, 26, 6, 18)),
        ("iso8601", "2010-07-26T11:48:05+02", ms(2010, 7, 26, 9, 48, 5)),
        ("iso8601", "2010-07-26T11:48:05", ms(2010, 7, 26, 11, 48, 5)),
        ("iso8601", " 2010-07-26\n", ms(2010, 7, 26)),
        ("rfc3339", "1969-12-31T23:59:59.999Z", -1),
        ("iso8601", "2016-12-31T23:59:60Z", ms(2017, 1, 1)),
        ("apache", "26/Jul/2010:11:48:05 -0600", ms(2010, 7, 26, 17, 48, 5)),
        ("apache", "10/oct/2000:13:55:36 +0000", ms(2000, 10, 10, 13, 55, 36)),
        ("epoch_s", "1308748686", 1308748686000),
        ("epoch_s", "1308748686.3349", 1308748686334),
        ("epoch_s", "-1", -1000),
        ("epoch_s", "1.3087486863349e+9", 1308748686334),
        ("epoch_s", "13087486860E-1", 1308748686000),
        ("epoch_s", "-1.5e0", -1500),
        ("epoch_ms", "1.308748686334e+12", 1308748686334),
        ("epoch_ns", "1.3087486863349e18", 1308748686334),
        ("epoch_us", "1e-7", 0),
        ("epoch_us", "-1e-7", -1),
        ("epoch_ms", "1308748686334", 1308748686334),
        ("epoch_us", "1308748686334999", 1308748686334),
        ("epoch_ns", "1308748686334999999", 1308748686334),
        ("%d.%m.%Y %H:%M:%S", "26.07.2010 11:48:05", ms(2010, 7, 26, 11, 48, 5)),
        ("%y%m%d", "690101", ms(1969, 1, 1)),
        ("%y%m%d", "680101", ms(2068, 1, 1)),
        ("%Y.%j", "2011.179", ms(2011, 6, 28)),
        ("%b %e %Y %I:%M %p", "Jul  6 2010 12:05 AM", ms(2010, 7, 6, 0, 5)),
        ("%b %e %Y %I:%M %p", "Jul 26 2010 12:05 pm", ms(2010, 7, 26, 12, 5)),
        ("%A, %d %B %Y", "Monday, 26 July 2010", ms(2010, 7, 26)),
        ("%d %B %Y", "01 SEPTEMBER 2010", ms(2010, 9, 1)),
        ("%d %B %Y", "01 sep 2010", ms(2010, 9, 1)),
        ("%d%BT%Y", "01MayT2010", ms(2010, 5, 1)),
        ("%A %h%t%d %Y", "WED sEp \t01 2010", ms(2010, 9, 1)),
        ("%a %b %d %T %Z %Y", "Mon Jul 26 11:48:05 UTC 2010", ms(2010, 7, 26, 11, 48, 5)),
        ("%F %T.%f", "2010-07-26 11:48:05.25", ms(2010, 7, 26, 11, 48, 5) + 250),
        ("%F%%%T,%L", "2010-07-26%11:48:05,007", ms(2010, 7, 26, 11, 48, 5) + 7),
    ],
)
def test_time_is_parsed_in_the_format(format, text, expected):  # noqa: A002 - the option's subject
    assert time_of(text, f"{{formats: ['{format}']}}") == expected


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("iso8601", ""),
        ("iso8601", "2010-13-01"),
        ("iso8601", "2010-02-30T00:00:00Z"),
        ("iso8601", "2010-07-26T24:00:00Z"),
        ("iso8601", "2010-07-26T11:48:05+24:00"),
        ("iso8601", "2010-07-26T11:48:05Z x"),
        ("iso8601", "0000-01-01"),
        ("iso8601", "0001-01-01T00:00:00+23:59"),
        ("iso8601", "0001-01-01T00:00:00+01:00"),
        ("apache", "26/Jux/2010:11:48:05 -0600"),
        ("%d %B %Y", "01 Sepxyz 2010"),
        ("%d %B %Y", "01 Septem 2010"),
        ("%a %d %b %Y", "Wex 01 Sep 2010"),
        ("%A %d %b %Y", "Someday 01 Sep 2010"),
        ("%Y.%j", "2011.366"),
        ("%Y.%j", "2011.000"),
        ("epoch_s", "12x"),
        ("epoch_s", "99999999999999999999"),
        ("epoch_s", "1e99"),
        ("epoch_s", "1e100"),
        ("epoch_s", "1e"),
        ("epoch_ms", ""),
    ],
)
def test_invalid_time_fails(refusal_of, format, text):  # noqa: A002 - the option's subject
    assert refusal_of(Timestamp, f"{{formats: ['{format}']}}", text) == "bad_time"
    assert time_of(text, f"{{formats: ['{format}'], on_invalid: keep}}") == -1


class TestZones:
    def test_zone_of_the_option(self):
        assert time_of("2010-07-26T11:48:05", "{zone: America/Denver}") == ms(2010, 7, 26, 17, 48, 5)

    def test_zone_of_the_pipeline(self):
        assert time_of("2010-01-26T11:48:05", timezone="America/Denver") == ms(2010, 1, 26, 18, 48, 5)

    def test_zone_of_the_text_wins(self):
        assert time_of("2010-07-26T11:48:05Z", "{zone: America/Denver}") == ms(2010, 7, 26, 11, 48, 5)

    def test_time_before_year_1_fails(self, refusal_of):
        assert refusal_of(Timestamp, "{zone: Asia/Tokyo}", "0001-01-01T00:00:00") == "bad_time"

    def test_unknown_zone_is_rejected(self, errors_of):
        assert errors_of(Timestamp, "{zone: Mars/Olympus}") == [("not_one_of", ("zone",))]


def test_first_matching_format_is_used():
    settings = "{formats: [epoch_s, iso8601]}"
    assert (time_of("5", settings), time_of("1970-01-01T00:00:01Z", settings)) == (5000, 1000)


def test_single_format_needs_no_list():
    assert time_of("5", "{formats: epoch_ms}") == 5


def test_reads_an_attribute_and_keeps_nanos():
    event = event_of("x", {"time": "5"}, nanos=7)
    Timestamp(settings_of(Timestamp.settings_class(), "{source: time, formats: epoch_ms}")).decorate(event)
    assert event == event_of("x", {"time": "5"}, nanos=7, timestamp_ms=5)


def test_attribute_receives_the_time(attributes_after):
    settings = "{source: a, attribute: b, formats: [iso8601, '%b %d %H:%M'], zone: Europe/Berlin}"
    event = event_of("", {"a": "2010-07-26T11:48:05.25"}, timestamp_ms=7)
    Timestamp(settings_of(Timestamp.settings_class(), settings)).decorate(event)
    assert event == event_of(
        "", {"a": "2010-07-26T11:48:05.25", "b": str(ms(2010, 7, 26, 9, 48, 5) + 250)}, timestamp_ms=7
    )
    assert attributes_after(Timestamp, settings, attributes={"a": "Jan 01 01:00"})["b"] == b"0"


@pytest.mark.parametrize(
    ("formats", "text", "hint"),
    [
        ("%Y-%m-%dT%H:%M:%S", "2026-11-29T10:00:00+01:00", "`formats: iso8601` parses it"),
        ("%Y-%m-%dT%H:%M:%S", "yesterday", None),
        ("iso8601", "0001-01-01T00:00:00", None),  # before the first time in the zone
    ],
)
def test_time_of_another_format_is_told_if_iso_8601_parses_it(formats, text, hint):
    decorator = Timestamp(settings_of(Timestamp.settings_class(), f"{{formats: '{formats}', zone: Asia/Tokyo}}"))
    with pytest.raises(DecorateError, match="is not a time of the format") as caught:
        decorator.decorate(event_of(text))
    assert (caught.value.code, caught.value.hint) == ("bad_time", hint)


def test_attribute_is_not_set_without_a_time(attributes_after, refusal_of):
    assert refusal_of(Timestamp, "{attribute: b}", "yesterday") == "bad_time"
    assert attributes_after(Timestamp, "{attribute: b, on_invalid: keep}", "yesterday") == {}
    assert refusal_of(Timestamp, "{attribute: b}", "1970-01-01", {"b": ""}, write_once=True) == "attribute_exists"


@pytest.mark.parametrize(
    ("text", "names", "core"),
    [("{}", set(), {"timestamp"}), ("{attribute: b}", {"b"}, set()), ("{source: a}", set(), {"timestamp"})],
)
def test_what_it_sets_is_known(text, names, core):
    settings = settings_of(Timestamp.settings_class(), text)
    assert (settings.sets(), settings.sets_core()) == (names, core)


@pytest.mark.parametrize("zone", ["CET", "PST", "CEST", "Europe/Berlin"])
def test_zone_names_fail_with_a_hint(zone):
    settings = settings_of(Timestamp.settings_class(), "{formats: ['%Y-%m-%d %H:%M %Z']}")
    assert "UTC, GMT and Z" in settings.lint_warnings()["formats"]
    with pytest.raises(DecorateError, match="not a time of the form") as caught:
        Timestamp(settings).decorate(event_of(f"2024-01-01 10:00 {zone}"))
    assert "%z" in caught.value.hint


def test_zone_name_in_the_format():
    time = time_of("2024-01-01 10:00 CET %Z", "{formats: '%Y-%m-%d %H:%M CET %%Z', zone: Europe/Berlin}")
    assert time == ms(2024, 1, 1, 9)
    settings = settings_of(Timestamp.settings_class(), "{formats: '%Y-%m-%d %H:%M CET %%Z'}")
    assert settings.lint_warnings() == {}


def test_absent_attribute_follows_on_invalid(refusal_of):
    assert refusal_of(Timestamp, "{source: time}") == "no_attribute"
    assert time_of("x", "{source: time, on_invalid: keep}") == -1


def test_cached_texts_are_bounded(monkeypatch):
    monkeypatch.setattr("decorators.timestamp.decorator._MAX_TEXTS", 3)
    decorator = Timestamp(settings_of(Timestamp.settings_class(), "{formats: epoch_ms}"))
    for number in range(10):
        for _ in range(2):
            event = event_of(str(number))
            decorator.decorate(event)
            assert event.timestamp_ms == number
    decorator.decorate(event_of(b" " * 100 + b"5"))
    known = memo_of(decorator).known
    assert len(known) <= 3
    assert max(map(len, known)) == 1


@pytest.mark.parametrize("format", ["iso", "", "%Q", "%H:%M", "%j", "%d %H", "%Y %Y %m %d", "%F %d", "%Y-%m-%d %"])
def test_unknown_formats_are_rejected(errors_of, format):  # noqa: A002 - the option's subject
    assert errors_of(Timestamp, f"{{formats: ['{format}']}}") == [("bad_pattern", ("formats", 0))]


def test_format_is_required(errors_of):
    assert errors_of(Timestamp, "{formats: []}") == [("too_short", ("formats",))]


_times = st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29))  # noqa: DTZ001 - made aware below


@given(_times, st.integers(-1439, 1439))
def test_iso_times_round_trip(time, offset_minutes):
    aware = time.replace(tzinfo=UTC)
    sign = "-" if offset_minutes < 0 else "+"
    hours, minutes = divmod(abs(offset_minutes), 60)
    local = aware + timedelta(minutes=offset_minutes)
    text = f"{local.replace(tzinfo=None).isoformat()}{sign}{hours:02}:{minutes:02}"
    expected = (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    assert time_of(text) == expected


@given(_times, st.sampled_from(["", "Z"]), st.sampled_from(["seconds", "milliseconds", "microseconds"]))
def test_fast_and_slow_parser_agree(time, zone, digits):
    text = f"{time.isoformat(timespec=digits)}{zone}"
    settings = "{zone: Europe/Berlin}"
    assert time_of(text, settings) == time_of(text.replace("Z", "z") + " ", settings)


@given(st.binary(), st.sampled_from(["iso8601", "apache", "epoch_s", "%Y-%j %I %p %z", "%b %d %y"]))
def test_any_text_parses_or_keeps_the_time(text, format):  # noqa: A002 - the option's subject
    assert isinstance(time_of(text, f"{{formats: ['{format}'], on_invalid: keep}}"), int)


@pytest.mark.parametrize("space", ["\u202f", "\u00a0", "\u3000", "\u2009", " ", " \u202f "])
@pytest.mark.parametrize("format", ["%m/%d/%Y %I:%M:%S\u202f%p", "%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y%t%I:%M:%S%n%p"])
def test_white_space_is_that_of_unicode(space, format):  # noqa: A002 - the option's subject
    text = f"\u00a07/5/2026 3:05:09{space}PM\u202f"
    assert time_of(text.replace("2026 ", f"2026{space}"), f"{{formats: '{format}'}}") == ms(2026, 7, 5, 15, 5, 9)


@pytest.mark.parametrize(
    ("format", "text", "expected"),
    [
        ("%b %d, %Y, %I:%M:%S %p", "Jun 3, 2024, 8:11:02\u202fAM", ms(2024, 6, 3, 8, 11, 2)),
        ("%B %d, %Y, %I:%M:%S %p %Z", "January 5, 1941, 8:00:00\u202fAM UTC", ms(1941, 1, 5, 8)),
        ("%m/%d/%Y, %I:%M:%S %p", "12/31/2023, 11:59:59\u202fPM", ms(2023, 12, 31, 23, 59, 59)),
        ("joda:M/d/yyyy h:mm:ss\u202fa", "7/5/2026 3:05:09\u202fPM", ms(2026, 7, 5, 15, 5, 9)),
    ],
)
def test_times_that_java_and_browsers_write(format, text, expected):  # noqa: A002 - the option's subject
    """DateFormat and FormatStyle.LONG of Java 21, `toLocaleString` of Node 20; Joda-Time's white space is exact."""
    assert time_of(text, f"{{formats: '{format}'}}") == expected


def test_characters_of_a_format_match_themselves(refusal_of):
    settings = "{formats: ['%Y年%m月%d日 %H:%M', epoch_s]}"
    assert time_of("2026年7月5日\u300003:05", settings) == ms(2026, 7, 5, 3, 5)
    assert time_of("\u00a05\u00a0", settings) == 5000
    assert refusal_of(Timestamp, settings, "2026年7月5月 03:05".encode()) == "bad_time"
    assert refusal_of(Timestamp, settings, b"2026\xe5\xb9 03:05") == "bad_time"


class TestFormatWithoutAYear:
    @pytest.mark.parametrize(
        ("format", "text", "near", "expected"),
        [
            ("%m%d %H:%M:%S.%f", "1231 23:59:59.999000", ms(2027, 1, 1, 0, 0, 5), ms(2026, 12, 31, 23, 59, 59) + 999),
            ("%m-%d %H:%M:%S.%L", "01-01 00:00:01.250", ms(2026, 12, 31, 23, 59), ms(2027, 1, 1, 0, 0, 1) + 250),
            ("%b %e %H:%M:%S", "Jul  5 12:00:00", ms(2026, 11, 1), ms(2026, 7, 5, 12)),
            ("%m%d", "0229", ms(2026, 11, 1), ms(2028, 2, 29)),
            # glog, MongoDB 2.4, Redis 2.8, Go's time.Stamp, a clock of 12 hours
            ("%m%d %H:%M:%S.%f", "0919 19:40:49.924011", ms(2019, 9, 25, 7, 6), ms(2019, 9, 19, 19, 40, 49) + 924),
            ("%a %b %d %H:%M:%S.%L", "Tue Dec 31 23:59:59.123", ms(2014, 1, 1), ms(2013, 12, 31, 23, 59, 59) + 123),
            ("%d %b %H:%M:%S.%L", "01 Jan 00:00:02.119", ms(2014, 12, 31, 23), ms(2015, 1, 1, 0, 0, 2) + 119),
            ("%b %e %H:%M:%S", "Aug  4 15:04:05", ms(2021, 8, 4, 15, 4, 6), ms(2021, 8, 4, 15, 4, 5)),
            ("%m/%d %I:%M:%S %p", "12/31 11:59:58 PM", ms(2020, 1, 1, 0, 0, 1), ms(2019, 12, 31, 23, 59, 58)),
            ("%m%d %H:%M %z", "1231 23:30 -0200", ms(2027, 1, 1, 1), ms(2027, 1, 1, 1, 30)),
            ("%m%d %H:%M %z", "0101 00:30 +02:00", ms(2026, 12, 31, 22), ms(2026, 12, 31, 22, 30)),
            ("%m%d %H:%M:%S", "1231 23:59:60", ms(2027, 1, 1), ms(2027, 1, 1)),
        ],
    )
    def test_is_in_the_year_nearest_to_the_event(self, format, text, near, expected):  # noqa: A002 - as above
        decorator = Timestamp(settings_of(Timestamp.settings_class(), f"{{formats: '{format}'}}"))
        for four_years in (0, 1):  # a text is not cached: its time depends on the event
            later_ms = four_years * 1461 * 86_400_000
            event = event_of(text, timestamp_ms=near + later_ms)
            decorator.decorate(event)
            assert event.timestamp_ms == expected + later_ms

    def test_is_in_the_zone(self):
        settings = settings_of(Timestamp.settings_class(), "{formats: '%m%d %H:%M', zone: Asia/Tokyo}")
        event = event_of("0101 08:00", timestamp_ms=ms(2026, 12, 31, 20))
        Timestamp(settings).decorate(event)
        assert event.timestamp_ms == ms(2026, 12, 31, 23)

    def test_needs_a_day_that_exists(self, refusal_of):
        assert refusal_of(Timestamp, "{formats: '%m%d'}", b"0230", timestamp_ms=ms(2026, 1, 1)) == "bad_time"

    def test_may_precede_formats_with_a_year(self):
        assert time_of("2010-07-26", "{formats: ['%m%d', iso8601]}") == ms(2010, 7, 26)


class TestZoneOfTheEvent:
    SETTINGS = "{source: at, formats: ['%Y-%m-%d %H:%M:%S', iso8601], zone: '%{tz}'}"

    @pytest.mark.parametrize(
        ("at", "tz", "expected"),
        [
            ("2026-11-20 09:15:02", "Europe/Berlin", ms(2026, 11, 20, 8, 15, 2)),
            ("2026-11-20 03:15:02", "America/New_York", ms(2026, 11, 20, 8, 15, 2)),
            ("2026-07-20 09:15:02", " Europe/Berlin ", ms(2026, 7, 20, 7, 15, 2)),
            ("2026-11-20 09:15:02", "+02:00", ms(2026, 11, 20, 7, 15, 2)),
            ("2026-11-20 09:15:02", "-0330", ms(2026, 11, 20, 12, 45, 2)),
            ("2026-11-20 09:15:02", "Z", ms(2026, 11, 20, 9, 15, 2)),
            # java.time.ZoneId of Java 17; FortiOS 7's `tz`
            ("2026-11-20 09:15:02", "UTC+1", ms(2026, 11, 20, 8, 15, 2)),
            ("2026-11-20 09:15:02", "GMT-03:30", ms(2026, 11, 20, 12, 45, 2)),
            ("2026-11-20 09:15:02", "UTC+5:30", ms(2026, 11, 20, 3, 45, 2)),
            ("2026-11-20 09:15:02", "Etc/GMT-1", ms(2026, 11, 20, 8, 15, 2)),
            ("2026-11-20T09:15:02+01:00", "CEST", ms(2026, 11, 20, 8, 15, 2)),
            ("2026-11-20T09:15:02+01:00", None, ms(2026, 11, 20, 8, 15, 2)),
        ],
    )
    def test_is_a_name_or_an_offset(self, at, tz, expected):
        event = event_of("", {"at": at} if tz is None else {"at": at, "tz": tz})
        Timestamp(settings_of(Timestamp.settings_class(), self.SETTINGS)).decorate(event)
        assert event.timestamp_ms == expected

    @pytest.mark.parametrize(
        ("tz", "why"),
        [
            ("CEST", '"CEST" is not a time zone'),
            ("../etc/passwd", "is not a time zone"),
            ("+25:00", "is not a time zone"),
            (b"\xff", "is not a time zone"),
            ("", '"" is not a time zone'),
            (None, "the event has no zone"),
        ],
    )
    def test_that_is_unknown_fails_the_event(self, tz, why):
        decorator = Timestamp(settings_of(Timestamp.settings_class(), self.SETTINGS))
        event = event_of("", {"at": "2026-11-20 09:15:02"} if tz is None else {"at": "2026-11-20 09:15:02", "tz": tz})
        with pytest.raises(DecorateError, match=why) as caught:
            decorator.decorate(event)
        assert caught.value.code == ("no_attribute" if tz is None else "bad_time")
        assert caught.value.hint is not None

    def test_that_is_unknown_may_keep_the_time(self):
        settings = self.SETTINGS.replace("%{tz}'}", "%{tz}', on_invalid: keep}")
        event = event_of("", {"at": "2026-11-20 09:15:02", "tz": "x"}, timestamp_ms=7)
        Timestamp(settings_of(Timestamp.settings_class(), settings)).decorate(event)
        assert event.timestamp_ms == 7

    def test_may_be_a_part_of_a_name_and_have_a_default(self):
        settings = "{source: at, formats: '%Y-%m-%d', zone: \"Europe/%{default(city, 'Berlin')}\"}"
        assert settings_of(Timestamp.settings_class(), settings).zone.references == {"attribute:city"}
        for attributes, hours in (({}, 1), ({"city": "Moscow"}, 3)):
            event = event_of("", {"at": "2026-01-01"} | attributes)
            Timestamp(settings_of(Timestamp.settings_class(), settings)).decorate(event)
            assert event.timestamp_ms == ms(2026, 1, 1) - hours * 3_600_000

    def test_is_read_by_each_format(self):
        for format, text in (("joda:yyyy-MM-dd HH:mm", "2026-01-01 02:00"), ("%m%d %H:%M", "0101 02:00")):  # noqa: A001
            settings = f"{{source: at, formats: '{format}', zone: '%{{tz}}'}}"
            event = event_of("", {"at": text, "tz": "Europe/Paris"}, timestamp_ms=ms(2026, 1, 1))
            Timestamp(settings_of(Timestamp.settings_class(), settings)).decorate(event)
            assert event.timestamp_ms == ms(2026, 1, 1, 1)

    @pytest.mark.parametrize(("zone", "kind"), [("Europe/Berlln", "not_one_of"), ("%{tz", "bad_expression")])
    def test_that_is_wrong_in_the_file_is_rejected(self, errors_of, zone, kind):
        assert [error for error, _ in errors_of(Timestamp, f"{{zone: '{zone}'}}")] == [kind]

    def test_is_that_of_the_pipeline_if_left_out(self):
        assert time_of("2026-01-01", timezone="Europe/Berlin") == ms(2025, 12, 31, 23)
