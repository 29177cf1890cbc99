"""Scans of a table whose regions are split, merged and moved while they are read."""

import itertools
import time
from bisect import bisect_left
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import ALL_TIMES, Cell, FuzzyPattern, Put, Row, Scan, ScanCounts, StoreUnavailableError
from sinks.hbase.protobuf import Message, data, flag, number
from sinks.hbase.rpc.attempts import Attempts
from sinks.hbase.rpc.cells import CellEncoder
from sinks.hbase.rpc.cluster import Cluster
from sinks.hbase.rpc.reading import Reader
from sinks.hbase.rpc.regions import RegionCache
from sinks.hbase.rpc.repeating import RepeatedCalls
from tests.support.rows_server import get_answer, meta_answer, registry_answer
from tests.support.rpc_server import Request, RpcServer

HBASE = "org.apache.hadoop.hbase."
NO_FAMILY = "regionserver.NoSuchColumnFamilyException"
KEYS = [b"%02d" % number for number in range(40)]


class FalseCluster:
    """
    A server with the table `t` of the rows `KEYS`.

    Attributes:
        splits: row keys at which its regions start; a scanner ends with an exception if they change.
        is_aligned: its filter for patterns is that of a server without unaligned access: all positions are fixed.
        filter_fails: a scanner with a filter ends with an exception.
        filters: of the scanners that were opened with one, whether it is one that checks the server.
        exceptions: for the next calls of a scanner that is open; None answers.
        empty_pages: whether the next pages that are not the last of a region have no rows.
        families: of the table, as the master says.
        get_fails: each get is refused, because the region lacks a family.
        lost_cells: the number of the next gets whose answers have no cells.
        open_scanners: those that were opened and have neither ended nor been closed.
    """

    def __init__(self) -> None:
        self.splits: tuple[bytes, ...] = ()
        self.is_aligned = False
        self.filter_fails = False
        self.filters: list[bool] = []
        self.exceptions: Iterator[str | None] = itertools.repeat(None)
        self.empty_pages: Iterator[bool] = itertools.repeat(False)
        self.open_scanners: dict[int, tuple[tuple[bytes, ...], list[bytes]]] = {}
        self.get_fails = False
        self.lost_cells = 0
        self._numbers = itertools.count(1)
        self._encoder = CellEncoder(1 << 20)
        self.server = RpcServer(self._answer)
        self.cluster = Cluster([self.server.address], may_leave_machine=False)
        self.cluster.open()
        calls = RepeatedCalls(
            self.cluster, RegionCache(self.cluster), lambda: Attempts(5.0, sleep=lambda _seconds: None)
        )
        self.families = frozenset([b"f"])
        self.reader = Reader(calls, lambda _table: self.families)

    def close(self) -> None:
        self.cluster.close()
        self.server.close()

    def settled_scanners(self) -> dict[int, tuple[tuple[bytes, ...], list[bytes]]]:
        """The open scanners, after the server has received all calls without an answer."""
        self.cluster.call(self.server.address, "ClientService", "Settle", b"", time.monotonic() + 10)
        return self.open_scanners

    def _answer(self, request: Request) -> bytes:
        if request.method == "Settle":
            return request.answer()
        if request.method == "GetMetaRegionLocations":
            return registry_answer(request, self.server.address)
        if request.method == "Get":
            return self._get(request)
        message = Message(request.parameter)
        if not message.has(2):
            return self._next(request, message)
        if message.message(1).data(2) == b"hbase:meta,,1":
            return self._meta(request)
        return self._open(request, message)

    def _get(self, request: Request) -> bytes:
        if self.get_fails:
            return request.failure(HBASE + NO_FAMILY)
        if self.lost_cells:
            self.lost_cells -= 1
            return request.answer(get_answer(1))
        return request.answer(get_answer(1), self._encoder.put(Put(b"01", {b"f:q": b"1"}, 1)))

    def _meta(self, request: Request) -> bytes:
        edges = [b"", *self.splits, b""]
        servers = [self.server.address] * (len(edges) - 1)
        # with its end in its name, a region differs from its daughters
        return meta_answer(request, edges, servers, lambda start, end: b"t,%s,%s" % (start, end))

    def _open(self, request: Request, message: Message) -> bytes:
        start, end = message.message(1).data(2).split(b",")[1:]
        edges = [b"", *self.splits, b""]
        if (start, end) not in itertools.pairwise(edges):
            return request.failure(HBASE + "NotServingRegionException")
        scan = message.message(2)
        first, last, is_reverse = scan.data(3), scan.data(4), scan.flag(15)
        if is_reverse:
            assert first == b"" or start < first or scan.flag(21, default=True)
            high = [key for key in KEYS if not first or key < first or (key == first and scan.flag(21, default=True))]
            found = [key for key in high if key >= last][::-1]
        else:
            has_last = scan.flag(22)
            found = [key for key in KEYS if key >= first and (not last or key < last or (has_last and key == last))]
        number_ = next(self._numbers)
        inside = [key for key in found if start <= key and (not end or key < end)]
        filtered = 0
        if scan.has(5):
            assert not is_reverse
            self.filters.append(scan.flag(22))
            if self.filter_fails:
                return request.failure("java.io.IOException", "Index 4 out of bounds for length 4")
            sent = [key for key in inside if self._is_sent(key, scan.message(5))]
            filtered = len(inside) - len(sent)
            inside = sent
        self.open_scanners[number_] = (self.splits, inside)
        return self._page(request, number_, message.number(4), filtered)

    def _is_sent(self, row: bytes, server_filter: Message) -> bool:
        assert server_filter.text(1) == HBASE + "filter.FuzzyRowFilter"
        pairs = [(pair.data(1), pair.data(2)) for pair in Message(server_filter.data(2)).messages(1)]
        return any(
            all(
                byte == fixed or (is_any and not self.is_aligned)
                for byte, fixed, is_any in zip(row, *pair, strict=False)
            )
            for pair in pairs
        )

    def _next(self, request: Request, message: Message) -> bytes:
        number_ = message.number(3)
        if message.flag(5):
            self.open_scanners.pop(number_, None)
            return request.answer()
        name = next(self.exceptions, None)
        if name is None and number_ not in self.open_scanners:
            name = "UnknownScannerException"
        if name is None and self.open_scanners[number_][0] != self.splits:
            name = "NotServingRegionException"
        if name is not None:
            self.open_scanners.pop(number_, None)
            return request.failure(HBASE + name)
        return self._page(request, number_, message.number(4))

    def _page(self, request: Request, number_: int, rows: int, filtered: int = 0) -> bytes:
        left = self.open_scanners[number_][1]
        if left and next(self.empty_pages, False):
            rows = 0
        page = left[:rows]
        del left[:rows]
        if not left:
            del self.open_scanners[number_]
        cells = b"".join(self._encoder.put(Put(key, {b"f:q": key}, 1)) for key in page)
        metrics = data(10, data(1, data(1, b"ROWS_FILTERED") + number(2, filtered)))
        head = number(1, 1) * len(page) + number(2, number_) + flag(8, value=bool(left))
        return request.answer(head + metrics, cells)


@pytest.fixture
def false() -> Iterator[FalseCluster]:
    made = FalseCluster()
    yield made
    made.close()


def expected(scan: Scan) -> list[Row]:
    start, stop = scan.bounds()
    found = KEYS[bisect_left(KEYS, start) : len(KEYS) if stop is None else bisect_left(KEYS, stop)]
    found = [key for key in found if not scan.fuzzy or any(pattern.matches(key) for pattern in scan.fuzzy)]
    rows = [Row(key, (Cell(b"f", b"q", 1, key),)) for key in (found[::-1] if scan.reverse else found)]
    return rows[: scan.limit]


BOUNDS = st.sampled_from([b"", b"05", b"1", b"10", b"17", b"2", b"39", b"4"])
SPLITS = st.sets(st.sampled_from([b"03", b"1", b"10", b"15", b"2", b"25", b"39"])).map(
    lambda found: tuple(sorted(found))
)


@given(
    scan=st.builds(
        Scan,
        start=BOUNDS,
        stop=st.none() | BOUNDS,
        limit=st.none() | st.integers(1, 30),
        reverse=st.booleans(),
        page_rows=st.integers(1, 9),
        fuzzy=st.sampled_from([(), (FuzzyPattern.parse("?5"),), (FuzzyPattern.parse("1?"), FuzzyPattern.parse("?0"))]),
    ),
    is_aligned=st.booleans(),
    splits=st.lists(SPLITS, min_size=1, max_size=4),
    every=st.integers(1, 7),
    exceptions=st.lists(
        st.sampled_from([None, None, "exceptions.RegionMovedException", "UnknownScannerException"]), max_size=6
    ),
    empty_pages=st.lists(st.booleans(), max_size=12),
)
def test_every_row_is_read_once_whatever_happens_to_the_regions(
    scan, is_aligned, splits, every, exceptions, empty_pages
) -> None:
    false = FalseCluster()
    try:
        false.is_aligned = is_aligned
        false.splits = splits[0]
        false.exceptions = iter(exceptions)
        false.empty_pages = iter(empty_pages)
        changes = iter(splits[1:])
        found = []
        for at, row in enumerate(false.reader.scan("t", scan, ScanCounts())):
            found.append(row)
            if at % every == every - 1:
                false.splits = next(changes, false.splits)
        assert found == expected(scan)
        assert false.settled_scanners() == {}
    finally:
        false.close()


def test_scan_that_is_given_up_closes_its_scanner(false: FalseCluster) -> None:
    rows = false.reader.scan("t", Scan(page_rows=3), ScanCounts())
    assert next(rows).key == b"00"
    assert len(false.open_scanners) == 1
    rows.close()
    assert false.settled_scanners() == {}
    list(false.reader.scan("t", Scan(limit=1), ScanCounts()))
    assert false.settled_scanners() == {}


@pytest.mark.parametrize("reverse", [False, True])
def test_scanner_of_a_region_is_a_view(false: FalseCluster, reverse: bool) -> None:
    false.splits = (b"1", b"25")
    counts = ScanCounts()
    views = {counts.views for _ in false.reader.scan("t", Scan(page_rows=3, reverse=reverse), counts)}
    assert views == {1, 2, 3}


def test_scanner_that_is_opened_again_is_another_view(false: FalseCluster) -> None:
    false.exceptions = iter([None, "exceptions.RegionMovedException"])
    counts = ScanCounts()
    views = [counts.views for _ in false.reader.scan("t", Scan(page_rows=3, limit=9), counts)]
    assert views == [1] * 6 + [2] * 3


ENDS_WITH_5 = FuzzyPattern.parse("?5")


def test_server_seeks_once_it_has_found_a_row_with_its_filter(false: FalseCluster) -> None:
    counts = ScanCounts()
    scan = Scan(fuzzy=(ENDS_WITH_5,))
    assert list(false.reader.scan("t", scan, counts)) == expected(scan)
    # the server is checked with "00", the first row; of the 35 rows from "05" on it excludes 31, one by one
    assert false.filters == [True, False]
    assert (counts.rows_touched, counts.seeks, counts.lossy_filters) == (1 + 35, 2 + 31, 0)
    assert list(false.reader.scan("t", scan, counts)) == expected(scan)
    assert false.filters == [True, False, False]
    assert false.settled_scanners() == {}


def test_client_seeks_if_the_server_does_not_find_the_row(false: FalseCluster) -> None:
    false.is_aligned = True
    counts = ScanCounts()
    for _ in range(2):
        scan = Scan(fuzzy=(ENDS_WITH_5,))
        assert list(false.reader.scan("t", scan, counts)) == expected(scan)
    assert false.filters == [True]
    assert counts.lossy_filters > 0
    other = ScanCounts()
    for scan in (Scan(), Scan(fuzzy=(ENDS_WITH_5,), reverse=True)):
        assert list(false.reader.scan("t", scan, other)) == expected(scan)
    assert other.lossy_filters == 0


def test_client_seeks_if_the_filter_fails(false: FalseCluster) -> None:
    false.filter_fails = True
    scan = Scan(fuzzy=(ENDS_WITH_5,))
    assert list(false.reader.scan("t", scan, ScanCounts())) == expected(scan)
    assert false.filters == [True]


def test_client_seeks_in_reverse(false: FalseCluster) -> None:
    scan = Scan(fuzzy=(ENDS_WITH_5,), reverse=True)
    assert list(false.reader.scan("t", scan, ScanCounts())) == expected(scan)
    assert false.filters == []


def test_client_seeks_with_a_pattern_longer_than_row_keys(false: FalseCluster) -> None:
    scan = Scan(fuzzy=(ENDS_WITH_5, FuzzyPattern(bytes(40_000), bytes(40_000))))
    assert list(false.reader.scan("t", scan, ScanCounts())) == expected(scan)
    assert false.filters == []


def test_regions_without_a_row_key_that_can_match_are_not_opened(false: FalseCluster) -> None:
    false.splits = (b"1", b"2", b"3")
    scan = Scan(fuzzy=(FuzzyPattern.parse("0?"),))
    assert list(false.reader.scan("t", scan, ScanCounts())) == expected(scan)
    opened = [Message(request.parameter) for request in false.server.requests if request.method == "Scan"]
    regions = [message.message(1).data(2) for message in opened if message.has(2)]
    assert set(regions) == {b"hbase:meta,,1", b"t,,1"}


def test_rows_that_end_within_a_pattern_are_dropped(false: FalseCluster) -> None:
    scan = Scan(fuzzy=(FuzzyPattern.parse("?5"), FuzzyPattern.parse("?7x")))
    assert list(false.reader.scan("t", scan, ScanCounts())) == expected(scan)
    assert False in false.filters


def test_limit_counts_all_rows_if_a_family_is_dropped_during_the_scan(false: FalseCluster) -> None:
    false.exceptions = iter([None, NO_FAMILY])
    scan = Scan(columns=(b"f:q", b"g:q"), limit=5, page_rows=2)
    assert [row.key for row in false.reader.scan("t", scan, ScanCounts())] == KEYS[:5]
    assert false.settled_scanners() == {}


def test_family_that_only_the_regions_lack_is_waited_for(false: FalseCluster) -> None:
    false.exceptions = iter([NO_FAMILY])
    with pytest.raises(StoreUnavailableError, match="lack one of its families"):
        list(false.reader.scan("t", Scan(columns=(b"f:q",), page_rows=2), ScanCounts()))
    false.get_fails = True
    with pytest.raises(StoreUnavailableError, match="lack one of its families"):
        false.reader.get("t", b"01", [b"f:q"], 1, ALL_TIMES)
    assert false.reader.get("t", b"01", [b"g:q"], 1, ALL_TIMES) is None


def test_get_with_cells_missing_is_another_attempt(false: FalseCluster) -> None:
    false.lost_cells = 2
    found = false.reader.get("t", b"01", [b"f:q"], 1, ALL_TIMES)
    assert found is not None
    assert (found.key, false.lost_cells) == (b"01", 0)
