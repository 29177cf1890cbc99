"""
A scanner of one region.

Source: ScanRequest and ScanResponse of Client.proto. The first call opens the scanner and returns its first rows, each
further one the next rows. A scanner that has reached the end of the region is closed by the server.

A server that finds few rows reads until the page is full or the region ends, which may take longer than the time-out of
the call. It answers after half of that time with what it has found, if the client accepts pages without rows
("heartbeats") and parts of rows. A row of which the server may send more cells is returned with its last part.
"""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from ingest.api import ALL_TIMES, Cell, TimeRange
from sinks.hbase.protobuf import Message, WireError, data, flag, number
from sinks.hbase.rpc.cells import decoded, row_of
from sinks.hbase.rpc.connection import Answer, Connection
from sinks.hbase.rpc.requests import columns_message, region_specifier, time_range_message

_PAGE_BYTES = 2 << 20
"""A server ends a page at the cell with which it becomes larger (`hbase.client.scanner.max.result.size`)."""


class Bounds(NamedTuple):
    """
    The row keys of a scan within one region, in the order of the scan.

    Attributes:
        first: where the scan starts; empty for the first row of the table, with `reverse` the last one.
        last: where it ends; empty for the end of the table in its order.
    """

    first: bytes
    last: bytes
    includes_first: bool = True
    includes_last: bool = False
    is_reverse: bool = False


class ScannedRow(NamedTuple):
    """A row as a scanner returns it; as `Row`, with the name that `Paging` expects."""

    row: bytes
    cells: tuple[Cell, ...]


class Page(NamedTuple):
    """
    Some rows of a region; none if the server has not found one within the time of the call.

    Attributes:
        is_last: the region has no more of the scan.
        filtered_rows: number of rows that the scan's filter has excluded since the page before.
    """

    rows: list[ScannedRow]
    is_last: bool
    filtered_rows: int = 0


def scan_message(
    bounds: Bounds,
    columns: Sequence[bytes] | None,
    versions: int,
    times: TimeRange = ALL_TIMES,
    *,
    server_filter: bytes | None = None,
) -> bytes:
    """A Scan of Client.proto; a filter is a Filter of Filter.proto."""
    parts = [columns_message(1, columns), data(3, bounds.first), data(4, bounds.last), time_range_message(6, times)]
    parts += [number(7, versions), number(10, _PAGE_BYTES)]
    if server_filter is not None:
        parts.append(data(5, server_filter))
    if bounds.is_reverse:
        parts.append(flag(15))
    parts += [flag(21, value=bounds.includes_first), flag(22, value=bounds.includes_last)]
    return b"".join(parts)


class ClientScanner:
    """
    A scanner; it belongs to one connection.

    Args:
        connection: to the server with the region.
        region: its name.
        scan: a Scan of Client.proto.
        counts_filtered: the pages have the number of rows that the scan's filter has excluded.
    """

    def __init__(self, connection: Connection, region: bytes, scan: bytes, *, counts_filtered: bool = False) -> None:
        self._connection = connection
        # of ScanRequest: client_handles_partials 7, client_handles_heartbeats 8, track_scan_metrics 9
        self._flags = flag(7) + flag(8) + (flag(9) if counts_filtered else b"")
        self._opening = data(1, region_specifier(region)) + data(2, scan)
        self._id: int | None = None
        self._calls = 0
        self._has_ended = False
        self._started: ScannedRow | None = None  # a row of which the server may send more cells

    def next(self, rows: int, deadline_s: float) -> Page:
        """
        The next rows.

        Args:
            rows: their maximum number.
            deadline_s: of the call.

        Raises:
            RemoteError: the server answered with an exception.
            ConnectionLostError: there is no answer.
            WireError: the answer is not one.
        """
        if self._id is None:
            request = self._opening
        else:
            # a call that the server runs twice would skip rows; so it checks the number of the call
            request = number(3, self._id) + number(6, self._calls)
            self._calls += 1
        answer = self._connection.call("Scan", request + number(4, rows) + self._flags, deadline_s)
        response = Message(answer.message)
        self._id = response.number(2)
        self._has_ended = not (response.flag(3, default=True) and response.flag(8, default=True))
        whole = self._whole(_rows(response, answer), response.numbers(7))
        return Page(whole, self._has_ended, _filtered_rows(response))

    def _whole(self, rows: list[ScannedRow], are_parts: list[int]) -> list[ScannedRow]:
        """
        The rows that are complete, with the parts that were received before.

        Args:
            rows: as received.
            are_parts: whether the server may send more cells of each row; it can be true of the last one only.
        """
        started, self._started = self._started, None
        is_part = bool(are_parts and are_parts[-1]) if rows else started is not None
        if started is not None:
            if rows and rows[0].row == started.row:
                rows[0] = ScannedRow(started.row, started.cells + rows[0].cells)
            else:
                rows.insert(0, started)
        if is_part and not self._has_ended:
            self._started = rows.pop()
        return rows

    def close(self) -> None:
        """Close the scanner on the server, without waiting for the answer; the connection stays open."""
        if self._id is not None and not self._has_ended:
            self._has_ended = True
            self._connection.post("Scan", number(3, self._id) + flag(5))


def _filtered_rows(response: Message) -> int:
    # ScanResponse: scan_metrics 10; ScanMetrics of MapReduce.proto: metrics 1; NameInt64Pair: name 1, value 2
    metrics = response.message(10).messages(1) if response.has(10) else ()
    return sum(metric.number(2) for metric in metrics if metric.data(1) == b"ROWS_FILTERED")


def _rows(response: Message, answer: Answer) -> list[ScannedRow]:
    cells = decoded(answer.cells)
    rows = []
    for count in response.numbers(1):
        # a number of 64 bits is more than `islice` takes
        row = row_of(islice(cells, min(count, len(answer.cells))))
        if row is None or len(row.cells) != count:
            raise WireError(f"a row of {count} cells is not complete")
        rows.append(ScannedRow(*row))
    return rows
