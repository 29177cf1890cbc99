"""Scans of a table whose regions are split, merged and moved while they are read."""

import itertools
import time
from bisect import bisect_left
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import Cell, FuzzyPattern, Put, Row, Scan, ScanCounts
from sinks.hbase.rpc.attempts import Attempts
from sinks.hbase.rpc.cells import CellEncoder
from sinks.hbase.rpc.cluster import Cluster
from sinks.hbase.rpc.reading import Reader
from sinks.hbase.rpc.regions import RegionCache
from sinks.hbase.rpc.repeating import RepeatedCalls
from sinks.hbase.rpc.wire import Message, data, flag, number
from tests.support.rpc_server import Request, RpcServer

HBASE = "org.apache.hadoop.hbase."
KEYS = [b"%02d" % number for number in range(40)]


class FalseCluster:
    """
    A server with the table `t` of the rows `KEYS`.

    Attributes:
        splits: row keys at which its regions start; a scanner ends with an exception if they change.
        exceptions: for the next calls of a scanner that is open; None answers.
        empty_pages: whether the next pages that are not the last of a region have no rows.
        open_scanners: those that were opened and have neither ended nor been closed.
    """

    def __init__(self) -> None:
        self.splits: tuple[bytes, ...] = ()
        self.exceptions: Iterator[str | None] = itertools.repeat(None)
        self.empty_pages: Iterator[bool] = itertools.repeat(False)
        self.open_scanners: dict[int, tuple[tuple[bytes, ...], list[bytes]]] = {}
        self._numbers = itertools.count(1)
        self._encoder = CellEncoder(1 << 20)
        self.server = RpcServer(self._answer)
        self.cluster = Cluster([self.server.address], may_leave_machine=False)
        self.cluster.open()
        calls = RepeatedCalls(
            self.cluster, RegionCache(self.cluster), lambda: Attempts(5.0, sleep=lambda _seconds: None)
        )
        self.reader = Reader(calls, lambda _table: frozenset([b"f"]))

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
            address = self.server.address
            return request.answer(data(1, data(2, data(1, address.host.encode()) + number(2, address.port))))
        message = Message(request.parameter)
        if not message.has(2):
            return self._next(request, message)
        if message.message(1).data(2) == b"hbase:meta,,1":
            return self._meta(request)
        return self._open(request, message)

    def _meta(self, request: Request) -> bytes:
        cells = self._encoder.put(Put(b"t", {b"table:state": number(1, 0)}, 1))
        edges = [b"", *self.splits, b""]
        for start, end in itertools.pairwise(edges):
            info = b"PBUF" + number(1, 1) + data(3, start) + data(4, end)
            columns = {b"info:regioninfo": info, b"info:server": str(self.server.address).encode()}
            cells += self._encoder.put(Put(b"t,%s,%s" % (start, end), columns, 1))
        counts = number(1, 1) + number(1, 2) * (len(edges) - 1)
        return request.answer(counts + number(2, 1) + flag(8, value=False), cells)

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
            found = [key for key in KEYS if key >= first and (not last or key < last)]
        number_ = next(self._numbers)
        inside = [key for key in found if start <= key and (not end or key < end)]
        self.open_scanners[number_] = (self.splits, inside)
        return self._page(request, number_, message.number(4))

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

    def _page(self, request: Request, number_: int, rows: int) -> bytes:
        left = self.open_scanners[number_][1]
        if left and next(self.empty_pages, False):
            rows = 0
        page = left[:rows]
        del left[:rows]
        if not left:
            del self.open_scanners[number_]
        cells = b"".join(self._encoder.put(Put(key, {b"f:q": key}, 1)) for key in page)
        return request.answer(number(1, 1) * len(page) + number(2, number_) + flag(8, value=bool(left)), cells)


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
    splits=st.lists(SPLITS, min_size=1, max_size=4),
    every=st.integers(1, 7),
    exceptions=st.lists(
        st.sampled_from([None, None, "exceptions.RegionMovedException", "UnknownScannerException"]), max_size=6
    ),
    empty_pages=st.lists(st.booleans(), max_size=12),
)
def test_every_row_is_read_once_whatever_happens_to_the_regions(scan, splits, every, exceptions, empty_pages) -> None:
    false = FalseCluster()
    try:
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
