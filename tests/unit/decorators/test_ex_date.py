"""The ex_date decorator."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.ex_date import DatePattern, ExDate
from ingest.expressions import zone_of
from ingest.testing.events import event_of, settings_of

ACCESS = "dd/MMM/yyyy:HH:mm:ss Z"
PARTS = ("day", "month", "year", "hr", "min", "sec")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


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


@pytest.mark.parametrize(
    ("pattern", "text", "zone", "expected"),
    [
        ("yyyy-MM-dd", "69-Sep-29", "America/Denver", None),
        ("yyyy-MM-dd", "2031-00-1 trailing", "UTC", (1, 12, 2030, 0, 0, 0)),
        ("yyyy-MM-dd", "0010-01-05", "UTC", (5, 1, 10, 0, 0, 0)),
        ("dd/MMM/yyyy:HH:mm:ss Z", "0/013/1968:7:00:61 GMT", "America/Denver", None),
        ("dd/MMM/yyyy:HH:mm:ss Z", "00/Sep/2024:7:00:61 -0600 trailing", "UTC", (31, 8, 2024, 13, 1, 1)),
        ("dd/MMM/yyyy:HH:mm:ss Z", "31/Jan/1968:0:60:59 -0600", "Europe/Berlin", (31, 1, 1968, 8, 0, 59)),
        ("yyyyMMdd", "2010Sep00", "UTC", None),
        ("yyyyMMdd", "20101232 trailing", "UTC", (1, 1, 2011, 0, 0, 0)),
        ("yyyyMMdd", "2010010", "UTC", (31, 12, 2009, 0, 0, 0)),
        ("yyMMddHHmmss", "2024012975961", "UTC", (2, 12, 2021, 6, 31, 1)),
        ("yyMMddHHmmss", "10123224061", "Europe/Berlin", (2, 1, 2011, 0, 6, 1)),
        ("yyMMddHHmmss", "2024Jan32 00 0059", "UTC", None),
        ("yy/M/d", "99/J", "UTC", None),
        ("yy/M/d", "99/0/29", "Europe/Berlin", (29, 12, 1998, 0, 0, 0)),
        ("yy/M/d", "69/13/0 trailing", "UTC", (31, 12, 1969, 0, 0, 0)),
        ("EEE, dd MMM yyyy HH:mm:ss z", "tuesday, 29 001 2031 07:75:0 GMT", "UTC", None),
        ("EEE, dd MMM yyyy HH:mm:ss z", "Sun, 31 Jan 1970 7:00:61 GMT+1:00", "Europe/Berlin", (31, 1, 1970, 7, 1, 1)),
        ("EEE, dd MMM yyyy HH:mm:ss z", "Sun, 31 July 1968 7: 59:61 +0100", "America/Denver", (31, 7, 1968, 1, 0, 1)),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSX", "2010-Jan-05T07:59:59.5+01:00", "America/Denver", None),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSX", "1968- 01-0T07:0:59.5+0100", "UTC", (31, 12, 1967, 6, 0, 59)),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSX", "2024- 01-00T00:60:61.500 +01:00", "Europe/Berlin", (31, 12, 2023, 1, 1, 1)),
        ("yyyy-MM-dd'T'HH:mmXXX", " 99-12-01T23:75-0230", "America/Denver", None),
        ("yyyy-MM-dd'T'HH:mmXXX", "2010-00-05T24: 60 Z trailing", "Europe/Berlin", (6, 12, 2009, 2, 0, 0)),
        ("yyyy-MM-dd'T'HH:mmXXX", "1968-00-29T25:59 Z", "Europe/Berlin", (30, 12, 1967, 2, 59, 0)),
        ("h:mm a dd MMMM yyyy", " 1:60  AM 31 0001 1968", "UTC", None),
        ("h:mm a dd MMMM yyyy", "13:60 pm 0 MAY 2024", "America/Denver", (1, 5, 2024, 2, 0, 0)),
        ("h:mm a dd MMMM yyyy", "12:00 Pm 29 MAY 2031", "America/Denver", (29, 5, 2031, 12, 0, 0)),
        ("k:mm", "24:0", "America/Denver", (1, 1, 1970, 0, 0, 0)),
        ("k:mm", " 1:60", "UTC", (1, 1, 1970, 2, 0, 0)),
        ("k:mm", " 25:", "America/Denver", None),
        ("K 'o''clock' a", "0 o'clock Pm", "America/Denver", (1, 1, 1970, 12, 0, 0)),
        ("K 'o''clock' a", " 11 o'clock pm", "UTC", (1, 1, 1970, 23, 0, 0)),
        ("K 'o''clock' a", "12 o'clock x", "UTC", None),
        ("D yyyy", "366 69", "UTC", (1, 1, 70, 0, 0, 0)),
        ("D yyyy", "60 1968 trailing", "Europe/Berlin", (29, 2, 1968, 0, 0, 0)),
        ("D yyyy", " ", "America/Denver", None),
        ("MMMM d yyyy", "01 1 0010", "UTC", None),
        ("MMMM d yyyy", "MAY 31 1970", "UTC", (31, 5, 1970, 0, 0, 0)),
        ("MMMM d yyyy", "january 1 1970", "America/Denver", (1, 1, 1970, 0, 0, 0)),
        ("dd MMM yyyy EEE", "29 July 1970 Mon", "Europe/Berlin", (29, 7, 1970, 0, 0, 0)),
        ("dd MMM yyyy EEE", "32 january  1970 Sun", "Europe/Berlin", (1, 2, 1970, 0, 0, 0)),
        ("dd MMM yyyy EEE", "1 001 2031 xx trailing", "UTC", None),
        ("y-M-d", " 2024-01-0", "America/Denver", (31, 12, 2023, 0, 0, 0)),
        ("y-M-d", "2010-12-1 trailing", "UTC", (1, 12, 2010, 0, 0, 0)),
        ("y-M-d", " 69-Jan-05", "Europe/Berlin", None),
        ("yyyy-MM-dd HH:mm z", " 2024-Sept-32 23:59 GMT", "UTC", None),
        ("yyyy-MM-dd HH:mm z", "2010-0-31 25:75 EDT", "America/Denver", (31, 12, 2009, 23, 15, 0)),
        ("yyyy-MM-dd HH:mm z", "2010- 12-32 25:59 utc", "Europe/Berlin", (2, 1, 2011, 2, 59, 0)),
        ("''yyyy", "'2010", "UTC", (1, 1, 2010, 0, 0, 0)),
        ("''yyyy", "' 2031", "Europe/Berlin", (1, 1, 2031, 0, 0, 0)),
        ("''yyyy", "", "Europe/Berlin", None),
        ("HHmm", "2559", "Europe/Berlin", (2, 1, 1970, 1, 59, 0)),
        ("HHmm", "0759 trailing", "America/Denver", (1, 1, 1970, 7, 59, 0)),
        ("HHmm", "00", "Europe/Berlin", None),
        ("ddMMMyyyy", "32069", "America/Denver", None),
        ("ddMMMyyyy", "0Sep2010", "Europe/Berlin", (31, 8, 2010, 0, 0, 0)),
        ("ddMMMyyyy", "31january99", "America/Denver", (31, 1, 99, 0, 0, 0)),
        ("yyyyDDD", "201060", "Europe/Berlin", (1, 3, 2010, 0, 0, 0)),
        ("yyyyDDD", "2031 001", "Europe/Berlin", (1, 1, 2031, 0, 0, 0)),
        ("yyyyDDD", "101", "Europe/Berlin", None),
    ],
)
def test_parses_as_java(pattern, text, zone, expected):
    """Results of Java 17's SimpleDateFormat: day, month, year, hour, minute, second, or none."""
    found = DatePattern(pattern).read(text.encode(), zone_of(zone))
    assert expected == (found and (found.day, found.month, found.year, found.hour, found.minute, found.second))


@given(st.datetimes(), st.sampled_from(["yyyy-MM-dd'T'HH:mm:ss", "dd/MMM/yyyy:HH:mm:ss", "yyyyMMddHHmmss"]))
def test_round_trip(moment, pattern):
    values = {
        "yyyy": f"{moment.year:04}",
        "MMM": MONTHS[moment.month - 1],
        "MM": f"{moment.month:02}",
        "dd": f"{moment.day:02}",
        "HH": f"{moment.hour:02}",
        "mm": f"{moment.minute:02}",
        "ss": f"{moment.second:02}",
        "'": "",
    }
    text = pattern
    for letters, value in values.items():
        text = text.replace(letters, value)
    found = DatePattern(pattern).read(text.encode(), zone_of("UTC"))
    assert found is not None
    assert found.replace(tzinfo=None) == moment.replace(microsecond=0)


@given(st.binary(max_size=40) | st.text(st.sampled_from("0123456789/: -+JanGMT"), max_size=40).map(str.encode))
def test_any_bytes_parse_or_do_not(text):
    event = event_of(attributes={"d": text})
    settings = settings_of(ExDate.settings_class(), f"{{source: d, pattern: '{ACCESS}'}}")
    assert ExDate(settings).decorate(event) is True
    assert len(event.attributes) in (1, 1 + len(PARTS))


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
