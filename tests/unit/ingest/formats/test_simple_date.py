"""Dates by patterns of SimpleDateFormat have the results of Java."""

import csv
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from ingest.expressions import zone_of
from ingest.formats.date_letters import MONTHS as NAMES
from ingest.formats.simple_date import DatePattern

NOW_MS = 1_782_864_000_000  # 2026-07-01T00:00:00Z, the present of the program that wrote the table
GOLDEN = Path(__file__).parent / "golden" / "simple-date-format-17.tsv"
NOT_SUPPORTED = {"yyyy.MM.dd G", "YYYY-'W'ww-u", "YYYY-MM-dd", "yyyy ww", "yyyy MM W", "yyyy MM F"}
MONTHS = [name[:3] for name in NAMES]
DIFFERENT = {
    "1234567890": None,  # a year that Java's milliseconds cannot hold
    "1582-10-10 00:00": (10, 10, 1582, 0, 0, 0),  # the Julian calendar
    "1582-10-10": (10, 10, 1582, 0, 0, 0),
    "1582-10-14": (14, 10, 1582, 0, 0, 0),
    "1500-02-29": (1, 3, 1500, 0, 0, 0),
    "26/Jul/2010:11:48:05 MSK": None,  # its offset depends on the date
    **dict.fromkeys(  # long names of zones
        [
            "26/Jul/2010:11:48:05 Pacific Standard Time",
            "26/Jul/2010:11:48:05 Central European Summer Time",
            "2011-06-28 15:42 Pacific Standard Time",
            "2011-06-28 15:42 Pacific Daylight Time",
            "2011-06-28 15:42 Coordinated Universal Time",
            "2011-06-28 15:42 Greenwich Mean Time",
        ]
    ),
}
"""Text -> its date here."""


def golden():
    with GOLDEN.open(encoding="utf-8", newline="") as file:
        lines = [line for line in file if not line.startswith("# ")]
    return list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def wanted(pattern, text, result):
    """The date of Java, or the documented difference."""
    if text in DIFFERENT and not (pattern == "s" and text == "1234567890"):
        return DIFFERENT[text]
    return tuple(map(int, result.split())) if result not in ("refused", "BC") else None


@pytest.mark.parametrize("pattern", sorted({row[1] for row in golden()}))
def test_dates_are_those_of_java(pattern):
    rows = [row for row in golden() if row[1] == pattern]
    if pattern in NOT_SUPPORTED or rows[0][3] == "bad pattern":
        with pytest.raises(PydanticCustomError, match=r"is not a date field|is not closed"):
            DatePattern(pattern)
        return
    found = {(zone, text): DatePattern(pattern, zone_of(zone)).read(text.encode(), NOW_MS) for zone, _, text, _ in rows}
    assert {(zone, text): wanted(pattern, text, result) for zone, _, text, result in rows} == found


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
    found = DatePattern(pattern).read(text.encode(), NOW_MS)
    assert (moment.day, moment.month, moment.year, moment.hour, moment.minute, moment.second) == found


@given(
    st.binary(max_size=40) | st.text(st.sampled_from("0123456789/: -+JanGMTE"), max_size=40).map(str.encode),
    st.sampled_from(["dd/MMM/yyyy:HH:mm:ss Z", "yy-MM-dd z", "yyyyMMdd", "EEE MMM h a XXX", "D S", "s", "yy"]),
    st.integers(-(2**63), 2**63 - 1),
)
def test_any_bytes_are_a_date_or_none(text, pattern, now_ms):
    found = DatePattern(pattern, zone_of("Europe/Berlin")).read(text, now_ms)
    assert found is None or found[2] > 0


@pytest.mark.parametrize(
    ("pattern", "text", "milliseconds"),
    [
        ("yyyyMMddHHmmssSSS", "20110628154208123", 1309275728123),
        ("MM/dd/yyyy", "13/32/2010", 1296518400000),
        ("EEE MMM dd HH:mm:ss zzz yyyy", "Tue Jun 28 15:42:08 CEST 2011", 1309268528000),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "2011-06-28T15:42:08.5+02:00", 1309268528005),
        ("dd-MMM-yy hh.mm.ss a", "28-JUN-11 03.42.08 PM", 1309275728000),
        ("yyyy-MM-dd HH:mm:ss,SSS", "2012-10-16 18:47:57,614 some log line", 1350413277614),
        ("yyyy-MM-dd HH:mm:ss.SSS", "2011-06-28 15:42:08.123456", 1309275851456),
        ("yyyyMMdd", "2011-06-28", 1291593600000),
    ],
)
def test_dates_of_logs_are_those_of_java(pattern, text, milliseconds):
    """OpenJDK 17.0.15 in UTC: digits beyond a field are carried over, and `-06` is a negative month."""
    moment = datetime.fromtimestamp(milliseconds // 1000, UTC)
    found = (moment.day, moment.month, moment.year, moment.hour, moment.minute, moment.second)
    assert DatePattern(pattern).read(text.encode(), NOW_MS) == found
