"""Patterns of row keys as values and as text, ranges of timestamps, and the bounds of a scan."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import ALL_TIMES, MAX_TIME_MS, FuzzyPattern, Scan, TimeRange, next_key, prefix_end


@pytest.mark.parametrize(
    ("text", "key", "mask"),
    [
        ("", b"", ""),
        ("user-????_login_", b"user-\x00\x00\x00\x00_login_", "00000" + "1111" + "0000000"),
        ("?", b"\x00", "1"),
        ("a\\x00?\\xfF", b"a\x00\x00\xff", "0010"),
        ("\\x3f?", b"?\x00", "01"),
        ("\\x5cx41", b"\\x41", "0000"),
        ("\\?", b"\\\x00", "01"),
        ("ö?", b"\xc3\xb6\x00", "001"),
    ],
)
def test_pattern_of_a_text(text, key, mask):
    assert FuzzyPattern.parse(text) == FuzzyPattern(key, bytes(map(int, mask)))


@pytest.mark.parametrize(
    ("key", "mask", "row", "matches"),
    [
        ("010001", "010", "0180010001", True),
        ("010001", "010", "0180020001", False),
        ("010001", "010", "0203010101", False),
        ("01020003", "0010", "0102010303", True),
        ("01020003", "0010", "0101010300", False),
        ("000102", "100", "0102010001", False),
        ("0102", "00", "01", False),
        ("0102", "01", "01", True),
        ("0102", "11", "", True),
        ("", "", "", True),
        ("0102", "00", "0102", True),
        ("0102", "00", "0103", False),
    ],
)
def test_row_matches_a_pattern(key, mask, row, matches):
    pattern = FuzzyPattern(bytes.fromhex(key), bytes(map(int, mask)))
    assert pattern.matches(bytes.fromhex(row)) == matches


@given(st.binary(max_size=3), st.text(alphabet="a?b", max_size=4), st.binary(max_size=6))
def test_prefixed_pattern_matches_prefixed_rows(prefix, text, row):
    pattern = FuzzyPattern.parse(text)
    assert pattern.prefixed(prefix).matches(prefix + row) == pattern.matches(row)
    if not row.startswith(prefix):
        assert not pattern.prefixed(prefix).matches(row)


@pytest.mark.parametrize(
    ("key", "mask", "message"),
    [
        (b"abc", b"\x00", "the key has 3 bytes, the mask 1"),
        (b"abc", b"\x00\x02\x00", "the mask 000200 has bytes other than 00 and 01"),
    ],
)
def test_invalid_mask_is_refused(key, mask, message):
    with pytest.raises(ValueError, match=message):
        FuzzyPattern(key, mask)


@pytest.mark.parametrize(
    ("scan", "bounds"),
    [
        (Scan(), (b"", None)),
        (Scan(prefix=b"a"), (b"a", b"b")),
        (Scan(prefix=b"a\xff", start=b"b"), (b"b", b"b")),
        (Scan(prefix=b"a", start=b"a5", stop=b"a7"), (b"a5", b"a7")),
        (Scan(prefix=b"\xff"), (b"\xff", None)),
    ],
)
def test_bounds_include_the_prefix(scan, bounds):
    assert scan.bounds() == bounds


@pytest.mark.parametrize(
    ("scan", "bounds"),
    [
        (Scan(), (b"k\x00", None)),
        (Scan(start=b"m", limit=3), (b"m", None)),
        (Scan(start=b"a", stop=b"z"), (b"k\x00", b"z")),
        (Scan(reverse=True), (b"", b"k")),
        (Scan(reverse=True, stop=b"b"), (b"", b"b")),
    ],
)
def test_part_of_a_scan_after_a_row(scan, bounds):
    after = scan.after(b"k")
    assert (after.start, after.stop) == bounds
    assert (after.limit, after.reverse) == (scan.limit, scan.reverse)


@pytest.mark.parametrize(
    ("scan", "is_of_all_rows"),
    [
        (Scan(), True),
        (Scan(limit=1, versions=3, reverse=True, page_rows=7), True),
        (Scan(start=b"a"), False),
        (Scan(stop=b"a"), False),
        (Scan(prefix=b"\xff"), False),
        (Scan(columns=(b"f",)), False),
        (Scan(fuzzy=(FuzzyPattern(b"a", b"\x00"),)), False),
        (Scan(times=TimeRange()), True),
        (Scan(times=TimeRange(1)), False),
        (Scan(times=TimeRange(0, 5)), False),
    ],
)
def test_scan_of_all_rows(scan, is_of_all_rows):
    assert scan.is_of_all_rows is is_of_all_rows


@pytest.mark.parametrize(("from_ms", "to_ms"), [(-1, 5), (5, 5), (6, 5), (0, MAX_TIME_MS + 2), (MAX_TIME_MS + 1, None)])
def test_invalid_time_range_is_refused(from_ms, to_ms):
    with pytest.raises(ValueError, match=f"no timestamp is from {from_ms} to before "):
        TimeRange(from_ms) if to_ms is None else TimeRange(from_ms, to_ms)


def test_time_range_without_an_end_has_all_later_timestamps():
    assert (TimeRange(5).to_ms, TimeRange(5).has_end) == (MAX_TIME_MS + 1, False)
    assert TimeRange(MAX_TIME_MS).from_ms == MAX_TIME_MS
    assert TimeRange(0, MAX_TIME_MS).has_end
    assert TimeRange() == ALL_TIMES


def test_no_key_is_between_a_key_and_the_next_one():
    assert next_key(b"a") == b"a\x00"
    assert next_key(b"") == b"\x00"


@pytest.mark.parametrize(
    ("prefix", "after"), [(b"", None), (b"\xff", None), (b"a\xff\xff", b"b"), (b"a\x00", b"a\x01")]
)
def test_end_of_a_prefix(prefix, after):
    assert prefix_end(prefix) == after
