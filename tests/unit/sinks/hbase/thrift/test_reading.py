"""Scans when the server forgets a scanner, restarts, or limits the length of a bound; scans of a time range."""

from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from ingest.api import ALL_TIMES, MAX_ROW_KEY_BYTES, Scan, ScanCounts, StoreUnavailableError, TimeRange
from sinks.hbase.thrift.errors import translated
from sinks.hbase.thrift.reading import Reader
from sinks.hbase.thrift.thrift1 import IllegalArgument, TScan

T = TypeVar("T")

ROWS = [b"row%03d" % number for number in range(60)]


class Server:
    """
    The scanners of one process of a Thrift server; their numbers start at 0, as in every process.

    Attributes:
        pages: number of pages that were read.
    """

    def __init__(self, rows: Iterable[bytes], times_ms: Mapping[bytes, int] | None = None) -> None:
        self._rows = sorted(rows)
        self._times_ms = times_ms or {}
        self.pages = 0
        self.scanners: dict[int, list[bytes]] = {}
        self.opened: list[TScan] = []

    def scannerOpenWithScan(self, table: bytes, scan: TScan, _attributes: object) -> int:  # noqa: N802 - Thrift's name
        assert table == b"t"
        assert max(len(scan.startRow or b""), len(scan.stopRow or b"")) <= MAX_ROW_KEY_BYTES
        rows = self._rows
        if scan.reversed:
            rows = [
                row
                for row in reversed(rows)
                if (scan.startRow is None or row <= scan.startRow) and (scan.stopRow is None or row > scan.stopRow)
            ]
        else:
            rows = [
                row for row in rows if row >= (scan.startRow or b"") and (scan.stopRow is None or row < scan.stopRow)
            ]
        self.opened.append(scan)
        number = len(self.opened) - 1
        self.scanners[number] = list(rows)
        return number

    def scannerGetList(self, number: int, count: int) -> list[Any]:  # noqa: N802 - Thrift's name
        if number not in self.scanners:
            raise IllegalArgument(message=b"scanner ID is invalid")
        page, self.scanners[number] = self.scanners[number][:count], self.scanners[number][count:]
        self.pages += 1
        return [
            SimpleNamespace(
                row=row, columns={b"f:q": SimpleNamespace(timestamp=self._times_ms.get(row, 1), value=b"v")}
            )
            for row in page
        ]

    def scannerClose(self, number: int) -> None:  # noqa: N802 - Thrift's name
        del self.scanners[number]


class Connection:
    """A connection to the newest process of a server."""

    def __init__(self, server: Server) -> None:
        self.client = server

    def call(self, request: Callable[[Any], T], *, table: str | None = None) -> T:
        try:
            return request(self.client)
        except IllegalArgument as error:
            raise translated(error, table=table) from error

    def read_with(self, table: str, request: Callable[[Any], T]) -> T:
        return self.call(request, table=table)


def keys(connection: Connection, scan: Scan) -> list[bytes]:
    return [row.key for row in Reader(connection).scan("t", scan, ScanCounts())]  # type: ignore[arg-type]


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_continues_on_its_own_scanner_after_a_restart_of_the_server(reverse: bool):
    connection = Connection(Server(ROWS))
    found = Reader(connection).scan("t", Scan(page_rows=10, reverse=reverse), ScanCounts())  # type: ignore[arg-type]
    seen = [next(found).key for _ in range(10)]
    connection.client = Server(ROWS)
    other = connection.client.scannerOpenWithScan(b"t", TScan(), {})

    seen += [row.key for row in found]

    assert seen == (ROWS[::-1] if reverse else ROWS)
    assert len(connection.client.scanners[other]) == len(ROWS)  # untouched
    assert set(connection.client.scanners) == {other}  # its own is closed


def test_abandoned_scan_does_not_close_a_scanner_of_the_new_server():
    connection = Connection(Server(ROWS))
    found = Reader(connection).scan("t", Scan(page_rows=10), ScanCounts())  # type: ignore[arg-type]
    next(found)
    connection.client = Server(ROWS)
    other = connection.client.scannerOpenWithScan(b"t", TScan(), {})
    found.close()
    assert set(connection.client.scanners) == {other}


def test_scan_continues_after_the_server_closed_its_idle_scanner():
    connection = Connection(Server(ROWS))
    found = Reader(connection).scan("t", Scan(page_rows=10), ScanCounts())  # type: ignore[arg-type]
    seen = [next(found).key for _ in range(15)]
    connection.client.scanners.clear()
    assert seen + [row.key for row in found] == ROWS


def test_page_is_a_view():
    counts = ScanCounts()
    found = Reader(Connection(Server(ROWS))).scan("t", Scan(page_rows=10), counts)  # type: ignore[arg-type]
    assert [counts.views for _ in found] == [1 + number // 10 for number in range(len(ROWS))]


def test_other_refusals_of_a_page_are_errors():
    class Refusing(Server):
        def scannerGetList(self, number: int, count: int) -> list[Any]:  # noqa: N802 - Thrift's name
            raise IllegalArgument(message=b"something else")

    with pytest.raises(StoreUnavailableError, match="something else"):
        keys(Connection(Refusing(ROWS)), Scan())


LONGEST = b"k" * MAX_ROW_KEY_BYTES


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("scan", "expected"), [
    (Scan(start=LONGEST + b"\x00"), [b"z"]),
    (Scan(start=LONGEST), [LONGEST, b"z"]),
    (Scan(stop=LONGEST + b"\x00"), [b"a", LONGEST]),
    (Scan(stop=LONGEST), [b"a"]),
    (Scan(start=LONGEST, stop=LONGEST + b"\x00"), [LONGEST]),
    (Scan(prefix=LONGEST), [LONGEST]),
    (Scan(start=b"\xff" * 40_000), []),
    (Scan(stop=b"\xff" * 40_000), [b"a", LONGEST, b"z"]),
])  # fmt: skip
def test_bounds_longer_than_a_row_key_select_the_same_rows(scan: Scan, expected: list[bytes], reverse: bool):
    connection = Connection(Server([b"a", LONGEST, b"z"]))
    wanted = Scan(start=scan.start, stop=scan.stop, prefix=scan.prefix, reverse=reverse, page_rows=1)
    assert keys(connection, wanted) == (expected[::-1] if reverse else expected)


def test_scan_continues_after_a_row_whose_key_has_the_maximum_length():
    connection = Connection(Server([b"a", LONGEST, b"z"]))
    found = Reader(connection).scan("t", Scan(page_rows=1), ScanCounts())  # type: ignore[arg-type]
    seen = [next(found).key, next(found).key]
    connection.client.scanners.clear()
    assert [*seen, *(row.key for row in found)] == [b"a", LONGEST, b"z"]


def test_rows_before_a_time_range_are_dropped_and_pages_stay_whole():
    server = Server(ROWS, {row: number for number, row in enumerate(ROWS)})
    assert keys(Connection(server), Scan(times=TimeRange(50), limit=2, page_rows=20)) == ROWS[50:52]
    assert server.pages == 3


@pytest.mark.parametrize("times", [ALL_TIMES, TimeRange(0, 7), TimeRange(1, 7)])
def test_server_applies_the_end_of_a_time_range(times: TimeRange):
    server = Server(ROWS)
    assert keys(Connection(server), Scan(times=times)) == ROWS
    assert [scan.timestamp for scan in server.opened] == [times.to_ms]
