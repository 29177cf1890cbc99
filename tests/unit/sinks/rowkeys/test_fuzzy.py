"""Where a scan with patterns continues: HBase's test vectors, and all short row keys."""

import itertools
from bisect import bisect_left, bisect_right

import pytest

from ingest.api import FuzzyPattern, Scan
from sinks.rowkeys.fuzzy import RemainingRange, last_bound, next_candidate, previous_bound


def pattern_of(key: str, mask: str) -> FuzzyPattern:
    return FuzzyPattern(bytes.fromhex(key), bytes(map(int, mask)))


def cases(text: str) -> list[list[str | None]]:
    """Cases as `key/mask/row->expected`, in hexadecimal."""
    rows = [case.replace("->", "/").split("/") for case in text.split()]
    return [[None if part == "none" else part for part in row] for row in rows]


# from TestFuzzyRowFilter of HBase
FORWARD = cases("""
    000102/100/0102010001->020102               000102/100/0101020001->0101020002
    0001000200/10101/0100020001->01010002       010001/010/0180020001->018101
    00010001/1010/05010001->05010101            00010001/1010/0501000101->0501000102
    00010000/1011/0501ff01->0501ff02            00010001/1010/0501ff01->06010001
    00010001/1010/0501ff00->0501ff01            05010100/0011/0501ff01->0501ff02
    01010101/0011/01010202->01010203            01010101/1111/01010203->01010204
    01010000/0011/00010302->0101                010001/010/0203010101->none
    01010003/0010/01f5010300->none              01020003/0010/0103010300->none
    01020003/0010/0201010100->none
""")
REVERSE = cases("""
    000102/100/0102010001->010103               0001000200/10101/0102010301->0101ff03
    010001/010/0180020001->018002               00010001/1010/0501000201->05010002
    00010001/1010/05010001->0401ff02            00010001/1010/0501ff00->0501fe02
    01010000/0011/02010302->0102                010001/010/0203010101->01ff02
    01010003/0010/01f5010300->0101ff04          01020003/0010/0103010300->0102ff04
    01020003/0010/0101010300->none
""")


@pytest.mark.parametrize(("key", "mask", "row", "expected"), FORWARD)
def test_next_candidate(key, mask, row, expected):
    found = next_candidate(pattern_of(key, mask), bytes.fromhex(row))
    assert found == (None if expected is None else bytes.fromhex(expected))


@pytest.mark.parametrize(("key", "mask", "row", "expected"), REVERSE)
def test_previous_bound(key, mask, row, expected):
    found = previous_bound(pattern_of(key, mask), bytes.fromhex(row))
    assert found == (None if expected is None else bytes.fromhex(expected))


BYTES = (0x00, 0x01, 0x02, 0xFF)
ROWS = sorted(bytes(row) for length in range(5) for row in itertools.product(BYTES, repeat=length))
PATTERNS = [
    FuzzyPattern(bytes(byte or 0 for byte in places), bytes(byte is None for byte in places))
    for length in range(4)
    for places in itertools.product((*BYTES, None), repeat=length)
]


def test_no_match_lies_between_a_row_and_the_next_candidate():
    for pattern in PATTERNS:
        matching = [row for row in ROWS if pattern.matches(row)]
        for row in ROWS:
            if pattern.matches(row):
                continue
            following = matching[bisect_right(matching, row) :]
            candidate = next_candidate(pattern, row)
            if candidate is None:
                assert following == []
            else:
                assert row < candidate
                assert pattern.matches(candidate)
                assert all(found >= candidate for found in following[:1])


def test_no_match_lies_between_the_previous_bound_and_a_row():
    for pattern in PATTERNS:
        matching = [row for row in ROWS if pattern.matches(row)]
        for row in ROWS:
            if pattern.matches(row):
                continue
            preceding = matching[: bisect_left(matching, row)]
            bound = previous_bound(pattern, row)
            if bound is None:
                assert preceding == []
            else:
                assert bound <= row
                assert pattern.matches(bound[:-1] + bytes([bound[-1] - 1]) + b"\xff" * 5)
                assert all(found < bound for found in preceding[-1:])


def test_all_matches_precede_the_last_bound():
    for pattern in PATTERNS:
        bound = last_bound(pattern)
        assert all(bound is None or row < bound for row in ROWS if pattern.matches(row))
    assert last_bound(FuzzyPattern.parse("a?b?")) == b"a\xffc"
    assert last_bound(FuzzyPattern.parse("??")) is None
    assert last_bound(FuzzyPattern.parse("\\xff?\\xff")) is None


def scanned(rows: list[bytes], scan: Scan) -> tuple[list[bytes], int]:
    """The matching rows of a sorted list, and the number of rows read for them."""
    remaining, found, touched = RemainingRange(scan), [], 0
    while not remaining.is_empty:
        if scan.reverse:
            at = (len(rows) if remaining.stop is None else bisect_left(rows, remaining.stop)) - 1
        else:
            at = bisect_left(rows, remaining.start)
        if not 0 <= at < len(rows) or rows[at] not in remaining:
            break
        touched += 1
        if remaining.take(rows[at]):
            found.append(rows[at])
    return found, touched


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
def test_scan_of_all_short_rows_with_two_patterns(reverse):
    bounds = [(b"", None), (b"\x01", b"\x02\x01"), (b"\x01\xff", b"\xff\xff"), (b"", b"\x01\x00"), (b"\x02", b"\x01")]
    for number, first in enumerate(PATTERNS):
        second = PATTERNS[(number * 37 + 11) % len(PATTERNS)]
        start, stop = bounds[number % len(bounds)]
        found, _ = scanned(ROWS, Scan(start=start, stop=stop, reverse=reverse, fuzzy=(first, second)))
        in_range = [row for row in ROWS if row >= start and (stop is None or row < stop)]
        expected = [row for row in in_range if first.matches(row) or second.matches(row)]
        assert found == (expected[::-1] if reverse else expected)


def rows_of(*names: str) -> list[bytes]:
    return sorted(bytes.fromhex(name) for name in names)


# from TestFuzzyRowFilterEndToEnd and TestFuzzyRowAndColumnRangeFilter of HBase


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
def test_pattern_of_fixed_bytes_only_is_a_prefix(reverse):
    others = [f"9c00043465{number:02x}" for number in range(5)]
    rows = rows_of("9b0004346501", "9b0004346502", *others)
    assert len(scanned(rows, Scan(fuzzy=(pattern_of("9b00043465", "00000"),), reverse=reverse))[0]) == 2


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
def test_pattern_begins_with_a_free_byte(reverse):
    wanted = [f"{number:02x}00043465" for number in (0x01, 0x9B, 0x9C, 0x9D, 0xFE, 0xFF)]
    rows = rows_of("9c0003e965bb", *wanted)
    found, _ = scanned(rows, Scan(fuzzy=(pattern_of("00000434", "1000"),), reverse=reverse))
    assert sorted(found) == rows_of(*wanted)


CUBE = sorted(
    first.to_bytes(2, "big") + second.to_bytes(4, "big") + third.to_bytes(4, "big")
    for first, second, third in itertools.product(range(50), repeat=3)
)


def cube_pattern(first: int | None, second: int | None, third: int | None) -> FuzzyPattern:
    key = mask = b""
    for value, width in ((first, 2), (second, 4), (third, 4)):
        key += (value or 0).to_bytes(width, "big")
        mask += bytes([value is None]) * width
    return FuzzyPattern(key, mask)


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize(
    "patterns",
    [
        pytest.param(tuple(cube_pattern(2, None, number) for number in range(25)), id="one first part"),
        pytest.param(tuple(cube_pattern(2 * number, None, 2 * number) for number in range(25)), id="many first parts"),
    ],
)
def test_several_patterns_in_a_large_table(patterns, reverse):
    found, touched = scanned(CUBE, Scan(fuzzy=patterns, reverse=reverse))
    assert (len(found), len(set(found))) == (1250, 1250)
    assert all(any(pattern.matches(row) for pattern in patterns) for row in found)
    assert touched < 4000


def test_rows_that_match_two_patterns_at_once():
    first, second = cube_pattern(2, None, 1), cube_pattern(2, 2, None)
    found, _ = scanned(CUBE, Scan(fuzzy=(first,)))
    assert [row for row in found if second.matches(row)] == [cube_pattern(2, 2, 1).key]


@pytest.mark.parametrize("text", ["a?", "?b?", "ab?", "aa?", "??a", "b?", "a?b"])
def test_reverse_scan_makes_progress(text):
    rows, pattern = [b"aaa", b"abb", b"abc"], FuzzyPattern.parse(text)
    found, touched = scanned(rows, Scan(fuzzy=(pattern,), reverse=True))
    assert found == [row for row in reversed(rows) if pattern.matches(row)]
    assert touched <= len(rows)


def test_range_of_a_scan_without_patterns():
    remaining = RemainingRange(Scan(start=b"b", stop=b"d"))
    assert [row in remaining for row in (b"a", b"b", b"c", b"d")] == [False, True, True, False]
    assert [remaining.ends_before(row) for row in (b"a", b"c", b"d")] == [False, False, True]
    assert remaining.take(b"b")
    assert (remaining.start, remaining.stop) == (b"b\x00", b"d")
    remaining.end()
    assert (remaining.is_empty, b"c" in remaining) == (True, False)
    assert RemainingRange(Scan(start=b"d", stop=b"d")).is_empty


def test_first_position_of_a_scan_is_a_candidate():
    first = (FuzzyPattern.parse("b?c"), FuzzyPattern.parse("d"))
    assert RemainingRange(Scan(fuzzy=first)).start == b"b\x00c"
    assert RemainingRange(Scan(fuzzy=first, start=b"b5c7")).start == b"b5c7"
    assert RemainingRange(Scan(fuzzy=first, start=b"b5d")).start == b"b6c"
    assert RemainingRange(Scan(fuzzy=first, start=b"c")).start == b"d"
    assert RemainingRange(Scan(fuzzy=first, start=b"e")).is_empty
    assert RemainingRange(Scan(fuzzy=first, stop=b"b")).is_empty
    assert RemainingRange(Scan(fuzzy=first, reverse=True)).stop == b"e"
    assert RemainingRange(Scan(fuzzy=first, reverse=True, stop=b"c")).stop == b"b\xffd"
    assert RemainingRange(Scan(fuzzy=first, reverse=True, stop=b"d")).stop == b"d"
    assert RemainingRange(Scan(fuzzy=first, reverse=True, stop=b"d\x00")).stop == b"d\x00"
    assert RemainingRange(Scan(fuzzy=first, reverse=True, stop=b"b5a")).stop == b"b4d"
    assert RemainingRange(Scan(fuzzy=first, reverse=True, stop=b"b")).is_empty
