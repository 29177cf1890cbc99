"""
A scan of a table: one region after the other, page by page.

The position is what `Paging` has not read yet, without the regions that were read to their end. So the scan continues
at the right row if a region was split, merged or moved, or if a server has closed an idle scanner.

A scan with patterns opens its scanners with a filter on servers that apply it correctly (`filters`): the server moves
to the next row that can match, and sends only rows that do. On other servers, and until a server was checked with a row
of the scan, the client seeks (`Paging`).
"""

import contextlib
from collections.abc import Generator

from ingest.api import MAX_ROW_KEY_BYTES, Row, Scan, prefix_end
from sinks.hbase.paging import Paging
from sinks.hbase.rpc.errors import ConnectionLostError
from sinks.hbase.rpc.filters import ServerFilters
from sinks.hbase.rpc.regions import CLIENT_SERVICE, Region
from sinks.hbase.rpc.repeating import RepeatedCalls
from sinks.hbase.rpc.scanner import Bounds, ClientScanner, Page, ScannedRow, scan_message


class TableScan:
    """
    A running scan.

    Args:
        calls: to the cluster.
        table: to be read.
        paging: which rows.
        scan: which cells of them; if it has columns, their families exist.
        filters: of the servers.
    """

    def __init__(
        self, calls: RepeatedCalls, table: str, paging: Paging[ScannedRow], scan: Scan, filters: ServerFilters
    ) -> None:
        self._calls = calls
        self._table = table
        self._paging = paging
        self._scan = scan
        self._filters = filters
        self._region: Region | None = None
        self._scanner: ClientScanner | None = None
        self._last_row: bytes | None = None

    def rows(self) -> Generator[Row]:
        """The rows that match; `close` releases what they hold on the servers."""
        paging = self._paging
        while paging.must_read:
            page = self._calls.run(self._table, self._page)
            paging.count_filtered(page.filtered_rows)
            if page.rows:
                self._last_row = page.rows[-1].row
                for found in paging.take(page.rows):
                    yield Row(*found)
            if page.is_last:
                self._scanner = None
                self._leave_region()
            elif page.rows and paging.must_seek:
                self.close()

    def close(self) -> None:
        """Close the scanner; may be called twice."""
        scanner, self._scanner = self._scanner, None
        if scanner is not None:
            with contextlib.suppress(ConnectionLostError):
                scanner.close()

    def _page(self, deadline_s: float) -> Page:
        try:
            scanner = self._scanner or self._open(deadline_s)
            return scanner.next(self._paging.rows, deadline_s)
        except BaseException:
            self._scanner = None  # a call that may have been executed cannot be repeated on it
            raise

    def _open(self, deadline_s: float) -> ClientScanner:
        regions = self._calls.regions.of(self._table, deadline_s)
        bounds = self._bounds()
        is_before = bounds.is_reverse and not (bounds.first and bounds.includes_first)
        found = regions.before(bounds.first) if is_before else regions.of(bounds.first)
        region, server = self._calls.located(self._table, found)
        self._region = region
        connection = self._calls.cluster.connection(server, CLIENT_SERVICE, deadline_s)
        scan = self._scan
        server_filter = self._filters.of(scan, connection, region, self._last_row, deadline_s)
        is_lossy = bool(scan.fuzzy) and not scan.reverse and self._filters.is_lossy(connection)
        self._paging.start(server_seeks=server_filter is not None, is_lossy=is_lossy)
        self._paging.count_view()  # a scanner of a region returns what the region had when it was opened
        message = scan_message(bounds, scan.columns, scan.versions, scan.times, server_filter=server_filter)
        self._scanner = ClientScanner(connection, region.name, message, counts_filtered=server_filter is not None)
        return self._scanner

    def _bounds(self) -> Bounds:
        """
        What is left of the scan.

        HBase refuses a bound that is longer than a row key may be. A shorter one selects the same rows, but for one
        that `Paging` skips.
        """
        remaining = self._paging.remaining
        start, stop = remaining.start, remaining.stop
        if not remaining.is_reverse:
            if stop is not None and len(stop) > MAX_ROW_KEY_BYTES:
                stop = prefix_end(stop[:MAX_ROW_KEY_BYTES])
            return Bounds(start[:MAX_ROW_KEY_BYTES], stop or b"")
        # the row that is the end itself was read, or is not in the range
        end = stop or b""
        first = end[:MAX_ROW_KEY_BYTES]
        return Bounds(
            first,
            start[:MAX_ROW_KEY_BYTES],
            includes_first=first != end or not first,
            includes_last=True,
            is_reverse=True,
        )

    def _leave_region(self) -> None:
        """Continue in the next region, if the range has rows in it."""
        region, remaining = self._region, self._paging.remaining
        assert region is not None  # noqa: S101 - a page was read from it
        edge = region.start if remaining.is_reverse else region.end
        if not edge or (edge <= remaining.start if remaining.is_reverse else remaining.ends_before(edge)):
            remaining.end()
        else:
            remaining.continue_at(edge)


def size_of(found: ScannedRow) -> int:
    """Number of bytes of a row, as `ScanCounts` counts them."""
    return len(found.row) + sum(len(cell.family) + 1 + len(cell.qualifier) + len(cell.value) for cell in found.cells)
