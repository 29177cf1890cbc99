"""The messages of a scanner, and rows that a server sends in parts."""

from typing import Any

import pytest

from ingest.api import ALL_TIMES, MAX_TIME_MS, Put, TimeRange
from sinks.hbase.protobuf import Message, WireError, data, flag, number
from sinks.hbase.rpc.cells import CellEncoder
from sinks.hbase.rpc.connection import Answer
from sinks.hbase.rpc.requests import time_range_message
from sinks.hbase.rpc.scanner import Bounds, ClientScanner, scan_message


class FalseConnection:
    """
    A server whose answers are given; keeps the requests.

    Args:
        pages: of each answer the rows with the qualifiers of their cells, whether the last row is a part, and whether
            the region has more rows.

    Attributes:
        filtered: number of rows that a filter has excluded, in the metrics of the next answers; None without metrics.
    """

    def __init__(self, *pages: tuple[list[tuple[bytes, bytes]], bool, bool]) -> None:
        self._pages = list(pages)
        self.filtered: int | None = None
        self.requests: list[Message] = []

    def call(self, method: str, parameter: bytes, deadline_s: float) -> Answer:
        assert (method, deadline_s) == ("Scan", 1.0)
        self.requests.append(Message(parameter))
        rows, is_part, has_more = self._pages.pop(0)
        message = number(2, 77) + flag(8, value=has_more) + flag(9, value=not rows)
        for at, (_, qualifiers) in enumerate(rows, start=1):
            message += number(1, len(qualifiers)) + flag(7, value=is_part and at == len(rows))
        encoder = CellEncoder(1 << 20)
        if self.filtered is not None:
            metrics = ((b"ROWS_SCANNED", 9), (b"ROWS_FILTERED", self.filtered))
            message += data(10, b"".join(data(1, data(1, name) + number(2, value)) for name, value in metrics))
        puts = [Put(row, {b"f:%c" % name: b"" for name in qualifiers}, 1) for row, qualifiers in rows]
        return Answer(message, b"".join(map(encoder.put, puts)))


def read(connection: Any) -> list[list[tuple[bytes, bytes]]]:
    """The pages of a scanner: rows with the qualifiers of their cells."""
    scanner = ClientScanner(connection, b"region", b"")
    pages = []
    while True:
        page = scanner.next(10, 1.0)
        pages.append([(row.row, b"".join(cell.qualifier for cell in row.cells)) for row in page.rows])
        if page.is_last:
            return pages


@pytest.mark.parametrize("cells", [0, 1, 2**31, 2**63, 2**64 - 1])
def test_row_without_all_its_cells_is_damaged(cells: int):
    class Damaged(FalseConnection):
        def call(self, method: str, parameter: bytes, deadline_s: float) -> Answer:
            answer = super().call(method, parameter, deadline_s)
            return answer._replace(message=answer.message + number(1, cells))

    with pytest.raises(WireError, match=f"a row of {cells} cells is not complete"):
        read(Damaged(([(b"a", b"1")], False, False)))


def test_rows_that_are_sent_in_parts_are_returned_as_a_whole():
    connection = FalseConnection(
        ([(b"a", b"1"), (b"b", b"1")], True, True),
        ([], False, True),
        ([(b"b", b"23")], True, True),
        ([(b"b", b"4"), (b"c", b"1")], True, True),
        ([(b"d", b"1")], True, True),
        ([], False, True),
        ([], False, False),
    )
    whole = [[(b"a", b"1")], [], [], [(b"b", b"1234")], [(b"c", b"1")], [], [(b"d", b"1")]]
    assert read(connection) == whole


def test_part_at_the_end_of_a_region_is_a_whole_row():
    assert read(FalseConnection(([(b"a", b"1")], True, False))) == [[(b"a", b"1")]]
    assert read(FalseConnection(([(b"a", b"1")], True, True), ([(b"a", b"2")], True, False))) == [[], [(b"a", b"12")]]


def test_each_call_accepts_parts_of_rows_and_pages_without_rows():
    connection = FalseConnection(([], False, True), ([], False, True), ([], False, False))
    assert read(connection) == [[], [], []]
    assert [(message.flag(7), message.flag(8)) for message in connection.requests] == [(True, True)] * 3


def test_calls_after_the_first_are_numbered():
    connection = FalseConnection(*[([], False, True)] * 3, ([], False, False))
    read(connection)
    assert [message.has(6) for message in connection.requests] == [False, True, True, True]
    assert [message.number(6) for message in connection.requests[1:]] == [0, 1, 2]


def test_server_ends_a_page_of_two_mib():
    assert Message(scan_message(Bounds(b"a", b"b"), None, 1)).number(10) == 2 << 20


@pytest.mark.parametrize("times", [TimeRange(5), TimeRange(0, 7), TimeRange(5, 7), TimeRange(MAX_TIME_MS)])
def test_time_range_has_both_ends(times: TimeRange):
    message = Message(scan_message(Bounds(b"a", b"b"), None, 3, times)).message(6)
    assert (message.number(1), message.number(2)) == (times.from_ms, times.to_ms)


def test_scan_of_all_times_has_no_time_range():
    assert time_range_message(5, ALL_TIMES) == b""
    assert not Message(scan_message(Bounds(b"", b""), [b"f"], 1)).has(6)


def test_filter_and_the_number_of_rows_that_it_excludes():
    connection: Any = FalseConnection(([], False, True), ([], False, False))
    message = scan_message(Bounds(b"a", b"b"), None, 1, server_filter=b"\x0a\x01f")
    scanner = ClientScanner(connection, b"region", message, counts_filtered=True)
    connection.filtered = 7
    assert scanner.next(10, 1.0).filtered_rows == 7
    connection.filtered = None
    assert scanner.next(10, 1.0).filtered_rows == 0
    assert [request.flag(9) for request in connection.requests] == [True, True]
    assert connection.requests[0].message(2).message(5).data(1) == b"f"
