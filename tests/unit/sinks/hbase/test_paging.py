"""The pages that a scan requests from a Thrift server, with and without patterns."""

from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import FuzzyPattern, Scan, ScanCounts
from ingest.testing.cells import patterns as any_patterns
from sinks.hbase.paging import WINDOW_ROWS, Paging
from tests.support.fuzzy_rows import COUNTS, REVERSE_COUNTS, ROWS


class Read(NamedTuple):
    row: bytes
    cells: bytes


def size_of(found: Read) -> int:
    return len(found.row) + len(found.cells)


@dataclass
class Calls:
    """The calls that a scan makes, and its rows."""

    found: list[bytes] = field(default_factory=list)
    pages: list[int] = field(default_factory=list)
    caching: list[int] = field(default_factory=list)
    received: int = 0

    @property
    def scanners(self) -> int:
        return len(self.caching)


def run(keys: list[bytes], scan: Scan) -> tuple[Calls, ScanCounts]:
    """A scan of sorted row keys, through scanners as HBase's: a reverse scan includes its start."""
    calls, counts = Calls(), ScanCounts()
    paging = Paging(scan, counts, size_of)
    scanner = None
    while paging.must_read:
        remaining = paging.remaining
        if scanner is None:
            calls.caching.append(paging.caching)
            low = bisect_left(keys, remaining.start)
            high = len(keys) if remaining.stop is None else bisect_left(keys, remaining.stop)
            if scan.reverse:
                low = max(low - 2, 0)  # HBase reads on to some row below the start
                high += remaining.stop in keys
            scanner = iter(keys[low:high][::-1] if scan.reverse else keys[low:high])
        calls.pages.append(paging.rows)
        page = [Read(key, b"f:q1234") for key in islice(scanner, paging.rows)]
        calls.received += len(page)
        calls.found += [found.row for found in paging.take(page)]
        if paging.must_seek:
            scanner = None
    return calls, counts


def expected(keys: list[bytes], scan: Scan) -> list[bytes]:
    start, stop = scan.bounds()
    found = [
        key
        for key in keys
        if key >= start
        and (stop is None or key < stop)
        and (not scan.fuzzy or any(pattern.matches(key) for pattern in scan.fuzzy))
    ]
    return found[::-1] if scan.reverse else found


@pytest.mark.parametrize(("patterns", "rows", "seeks", "touched"), COUNTS)
def test_rows_and_seeks(patterns, rows, seeks, touched):
    scan = Scan(fuzzy=tuple(map(FuzzyPattern.parse, patterns)))
    calls, counts = run(ROWS, scan)
    assert calls.found == expected(ROWS, scan)
    assert (len(calls.found), counts.seeks, counts.rows_touched) == (rows, seeks, touched)
    assert (calls.scanners, counts.rows_in_fallback) == (seeks, 0)
    assert counts.rows_touched + counts.rows_read_ahead == calls.received
    assert calls.received <= 31 * 200 + seeks  # of 25 matching rows a page of 16 reads six more


def test_bytes_of_all_rows_that_the_server_sent_are_counted():
    calls, counts = run(ROWS, Scan(fuzzy=(FuzzyPattern.parse("0100_login_"),)))
    assert (len(calls.found), calls.received, counts.rows_read_ahead) == (25, 31, 5)
    assert counts.bytes_read == 25 * len("0100_login_000") + 6 * len("0100_logout_000") + 31 * len("f:q1234")


@pytest.mark.parametrize(("patterns", "rows"), REVERSE_COUNTS)
def test_rows_in_reverse(patterns, rows):
    scan = Scan(fuzzy=tuple(map(FuzzyPattern.parse, patterns)), reverse=True)
    calls, counts = run(ROWS, scan)
    assert calls.found == expected(ROWS, scan)
    assert len(calls.found) == rows
    assert counts.rows_touched <= rows + counts.seeks


def test_pages_double_while_rows_match():
    keys = [b"%04d" % number for number in range(150)]
    calls, counts = run(keys, Scan(fuzzy=(FuzzyPattern.parse("0?"),), page_rows=32))
    assert calls.found == keys
    assert calls.pages == [1, 2, 4, 8, 16, 32, 32, 32, 32, 32]
    assert (calls.scanners, counts.seeks, counts.rows_read_ahead) == (1, 1, 0)


def test_candidate_in_the_page_takes_no_seek():
    keys = [b"%03d%s" % (number, kind) for number in range(200) for kind in (b"a", b"b")]
    calls, counts = run(keys, Scan(fuzzy=(FuzzyPattern.parse("???b"),)))
    assert calls.found == keys[1::2]
    assert calls.scanners <= 3
    assert counts.rows_touched + counts.rows_read_ahead == calls.received


def test_caching_follows_the_rows_of_the_scanner_before():
    keys = [b"%02d%s%03d" % (number, kind, row) for number in range(3) for kind in (b"a", b"b") for row in range(100)]
    calls, _ = run(keys, Scan(fuzzy=(FuzzyPattern.parse("??b"),)))
    assert calls.found == [key for key in keys if key[2:3] == b"b"]
    assert calls.caching == [16, 16, 127, 127, 127][: calls.scanners]


def test_fallback_to_whole_pages():
    keys = [b"%04d_%d" % (number, row) for number in range(1000) for row in (1, 2, 3, 5)]
    calls, counts = run(keys, Scan(fuzzy=(FuzzyPattern.parse("????_4"),)))
    assert calls.found == []
    assert counts.seeks == calls.scanners == WINDOW_ROWS + 1
    assert counts.rows_touched == WINDOW_ROWS
    assert counts.rows_in_fallback == len(keys) - keys.index(b"0181_5")
    assert calls.pages[: WINDOW_ROWS + 1] == [1] * WINDOW_ROWS + [500]
    assert calls.caching[-1] == 500


def test_matching_rows_of_a_fallback_are_returned():
    keys = [b"%04d_%d" % (number, row) for number in range(1000) for row in (1, 2, 3, 5)]
    keys = sorted([*keys, b"0500_4", b"0700_4", b"0999_4"])
    for reverse in (False, True):
        scan = Scan(fuzzy=(FuzzyPattern.parse("????_4"),), reverse=reverse)
        calls, counts = run(keys, scan)
        assert calls.found == expected(keys, scan)
        assert counts.rows_in_fallback > 0
        assert counts.rows_touched <= len(calls.found) + counts.seeks


def test_fallback_ends_when_a_whole_page_is_skipped():
    keys = [b"%04d_%d_%03d" % (number, row // 60, row) for number in range(800) for row in range(120)]
    calls, counts = run(keys, Scan(fuzzy=(FuzzyPattern.parse("????_2"),), page_rows=50))
    assert calls.found == []
    assert counts.rows_in_fallback == 2 * 2 * 50  # after 200 rows, and after 400 more
    assert calls.received < 1200


def test_limit_bounds_the_pages_but_not_those_of_a_fallback():
    keys = [b"%04d_%d" % (number, row) for number in range(1000) for row in (1, 2, 3, 5)]
    assert max(run(keys, Scan(limit=3))[0].pages) == 3
    assert max(run(keys, Scan(fuzzy=(FuzzyPattern.parse("0"),), limit=3))[0].pages) == 3
    assert max(run(keys, Scan(fuzzy=(FuzzyPattern.parse("????_4"),), limit=3))[0].pages) == 500


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
def test_scan_without_patterns_reads_whole_pages(reverse):
    calls, counts = run(ROWS, Scan(start=b"0010", stop=b"0020", reverse=reverse))
    assert calls.found == expected(ROWS, Scan(start=b"0010", stop=b"0020", reverse=reverse))
    assert calls.pages == [500, 500, 500]
    assert (calls.caching, counts.seeks, counts.rows_touched) == ([500], 1, 1000)


def test_rows_of_a_call_are_limited():
    assert Paging(Scan(page_rows=1_000_000), ScanCounts(), size_of).rows == 10_000


def test_pages_are_whole_while_the_server_seeks():
    counts = ScanCounts()
    paging = Paging(Scan(fuzzy=(FuzzyPattern.parse("?ab"),), page_rows=50), counts, size_of)
    assert paging.rows == 1
    paging.start(server_seeks=True)
    assert paging.rows == 50
    paging.count_filtered(3)
    found = paging.take([Read(key, b"f:q1234") for key in (b"1a", b"1ab", b"1abc", b"2a")])
    assert [row.row for row in found] == [b"1ab", b"1abc"]
    assert not paging.must_seek
    assert (counts.seeks, counts.rows_touched, counts.rows_read_ahead) == (1 + 3, 2 + 3, 2)
    paging.start(server_seeks=False)
    assert (paging.rows, paging.remaining.start) == (1, b"2ab")


def test_empty_range_is_not_read():
    counts = ScanCounts()
    assert not Paging(Scan(start=b"b", stop=b"a"), counts, size_of).must_read
    assert counts == ScanCounts()


BYTES = [b"\x00", b"\x01", b"\x02", b"\xff"]
KEYS = st.lists(st.sampled_from(BYTES), max_size=4).map(b"".join)


@given(
    keys=st.sets(KEYS, max_size=100).map(sorted),
    scan=st.builds(
        Scan,
        start=KEYS,
        stop=st.one_of(st.none(), KEYS),
        reverse=st.booleans(),
        page_rows=st.integers(min_value=1, max_value=5),
        fuzzy=any_patterns(BYTES),
    ),
    window=st.integers(min_value=1, max_value=4),
)
def test_all_matching_rows_are_read_once(keys, scan, window):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sinks.hbase.paging.WINDOW_ROWS", window)
        calls, counts = run(keys, scan)
    assert calls.found == expected(keys, scan)
    assert counts.rows_touched <= len(calls.found) + counts.seeks
    assert counts.rows_touched + counts.rows_read_ahead + counts.rows_in_fallback == calls.received
