"""Dates by patterns of Joda-Time have the results of Joda-Time."""

import csv
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from ingest.expressions import zone_of
from ingest.formats.joda import JodaPattern
from ingest.formats.times import FIRST_MS, LAST_MS

NOW_MS = 1_782_864_000_000  # 2026-07-01T00:00:00Z, the clock of the program that wrote the table
GOLDEN = Path(__file__).parent / "golden" / "joda-time-2.9.9.tsv"
NOT_SUPPORTED = {"'x'", "yyyy.MM.dd G", "xxxx-'W'ww-e", "CCyy", "yyyy zzzz"}


def golden():
    with GOLDEN.open(encoding="utf-8", newline="") as file:
        lines = [line for line in file if not line.startswith("# ")]
    return list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def wanted(result):
    """What Joda-Time found, in the years that an event's time may have."""
    return int(result) if result != "refused" and FIRST_MS <= int(result) <= LAST_MS else None


@pytest.mark.parametrize("pattern", sorted({row[1] for row in golden()}))
def test_dates_are_those_of_joda_time(pattern):
    rows = [row for row in golden() if row[1] == pattern]
    if pattern in NOT_SUPPORTED or rows[0][3] == "bad pattern":
        with pytest.raises(PydanticCustomError, match=r"is not a date field|has no field of a date"):
            JodaPattern(pattern)
        return
    read = JodaPattern(pattern).milliseconds
    found = {(zone, text): read(text.encode(), zone_of(zone), NOW_MS) for zone, _, text, _ in rows}
    assert {(zone, text): wanted(result) for zone, _, text, result in rows} == found


@pytest.mark.parametrize(
    ("present_ms", "expected"), [(NOW_MS, {"45": 2045, "46": 1946}), (946_684_800_000, {"19": 2019, "20": 1920})]
)
def test_years_of_two_digits_are_near_the_present(present_ms, expected):
    read = JodaPattern("yy").milliseconds
    years = {text: JodaPattern("yyyy").milliseconds(b"%d" % year, zone_of("UTC"), 0) for text, year in expected.items()}
    assert years == {text: read(text.encode(), zone_of("UTC"), present_ms) for text in expected}


@pytest.mark.parametrize(
    ("pattern", "lacking"),
    [
        ("yyyy-MM-dd", []),
        ("yy DDD", []),
        ("MMM d HH:mm", ["year"]),
        ("EEE", ["year", "month"]),
        ("HH:mm", ["year", "month", "day"]),
        ("yyyy", ["month", "day"]),
    ],
)
def test_parts_that_a_pattern_lacks(pattern, lacking):
    assert lacking == JodaPattern(pattern).lacks()


@given(
    st.binary(max_size=40) | st.text(st.sampled_from("0123456789/: -+JanGMT"), max_size=40).map(str.encode),
    st.sampled_from(["dd/MMM/yyyy:HH:mm:ss Z", "yy-MM-dd ZZZ", "yyyyMMdd", "EEE MMM e h a z", "D S", "YYYY"]),
    st.integers(-(2**63), 2**63 - 1),
)
def test_any_bytes_are_a_time_or_none(text, pattern, now_ms):
    found = JodaPattern(pattern).milliseconds(text, zone_of("Europe/Berlin"), now_ms)
    assert found is None or FIRST_MS <= found <= LAST_MS


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("YYYY-MM-DD HH:mm:ss,SSS", "2016-07-10 02:48:53,927", "2016-01-10T02:48:53.927"),
        ("yyyy-MM-dd HH:mm:ss", "14-01-03 13:47:24", "0014-01-03T13:47:24"),
        ("dd MMM YYYY HH:mm:ss ZZZZ", "5 Sep 2014 00:45:45 EEST", None),
        ("yyyy-MM-dd HH:mm", "2012-10-16 18:47", "2012-10-16T18:47"),
        ("yyyy-MM-dd'T'HH:mm:ssZ", "2017-12-27T10:00:00+0100", "2017-12-27T09:00:00"),
    ],
)
def test_dates_of_users_of_logstash_and_flume(pattern, text, expected):
    """What they saw: a day of the year, a year of two digits as written, no names of zones."""
    found = JodaPattern(pattern).milliseconds(text.encode(), zone_of("UTC"), NOW_MS)
    wanted_ms = None if expected is None else datetime.fromisoformat(expected).replace(tzinfo=UTC).timestamp() * 1000
    assert found == wanted_ms
