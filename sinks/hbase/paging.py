"""
Which rows a scan requests next from a server.

The filter language of the Thrift server has no `FuzzyRowFilter`, and HBase's own loses rows in some scans
(`sinks.hbase.rpc.filters`). There the client of a scan with patterns seeks: it closes its scanner and opens one at the
next row key that can match. That takes up to three calls (open, read, close), the next page of an open scanner takes
one. So the first page after a seek has one row, pages double while rows match, and a scan that seeks too often falls
back to whole pages.

If the server seeks, with a filter, pages are whole, and the client drops the rows that the filter should not return.
"""

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from ingest.api import Scan, ScanCounts
from sinks.rowkeys.fuzzy import RemainingRange

WINDOW_ROWS = 200
"""Number of rows touched after which they are compared with the seeks."""
MAX_SEEKS_PER_ROW = 0.5
"""With more seeks for each row touched, a scan falls back to whole pages."""

_MAX_PAGE_ROWS = 10_000  # of one call: client and server buffer a page in memory
_MIN_CACHING = 16
"""
Rows that a Thrift server requests from HBase in one call after a seek.

A seek that needs one row makes HBase read this many; a page of 500 rows takes 32 calls between the two servers.
"""


class FoundRow(Protocol):
    """A row as a server returned it."""

    @property
    def row(self) -> bytes:
        """The row key."""


R = TypeVar("R", bound=FoundRow)


class Paging(Generic[R]):
    """
    The position of a scan and the size of its pages.

    While `must_read`, the caller requests `rows` rows from a scanner and passes them to `take`. It opens the scanner at
    the start of `remaining` (with `reverse` at its stop), and closes it if `must_seek` is true after `take`.

    Pages of a scan without patterns are whole. A caller whose server can seek says so with `start`, when it opens a
    scanner, and passes the number of rows that the server has skipped to `count_filtered`.

    A fallback ends with the first page of which no row can match: a seek would have skipped it. The scan then touches
    twice as many rows before it falls back again.

    Args:
        size_of: number of bytes of a row, for the counts.

    Attributes:
        remaining: the range that was not read yet.
        rows: number of rows of the next page.
        caching: number of rows that a Thrift server requests from HBase in one call.
        must_seek: the next row that can match is to be read from a new scanner.
    """

    def __init__(self, scan: Scan, counts: ScanCounts, size_of: Callable[[R], int]) -> None:
        self.remaining = RemainingRange(scan)
        self.must_seek = False
        self._counts = counts
        self._size_of = size_of
        self._whole_page = max(1, min(scan.page_rows, _MAX_PAGE_ROWS))
        self._page_of_matches = min(self._whole_page, scan.limit or self._whole_page)
        self._is_fallback = False
        self._window = WINDOW_ROWS
        self._window_rows = self._window_seeks = 0
        self._scanner_rows = 0
        self._server_seeks = False
        self.rows = self.caching = self._page_of_matches
        if scan.fuzzy:
            self._start_small()
        counts.seeks += self.must_read

    def count_view(self) -> None:
        """Count a newer state of the table, of which the next pages are."""
        self._counts.views += 1

    @property
    def must_read(self) -> bool:
        """Whether there may be further rows."""
        return not self.remaining.is_empty

    def start(self, *, server_seeks: bool, is_lossy: bool = False) -> None:
        """A scanner is opened; the server skips the rows that no pattern matches, or else the client does."""
        self._counts.lossy_filters += is_lossy
        if server_seeks:
            self.rows = self.caching = self._page_of_matches
            self._is_fallback = False
        elif self._server_seeks:
            self._start_small()
        self._server_seeks = server_seeks

    def count_filtered(self, rows: int) -> None:
        """Count rows that the server has read and did not send; it has moved to another row at each."""
        self._counts.rows_touched += rows
        self._counts.seeks += rows

    def take(self, page: Sequence[R]) -> list[R]:
        """The rows of a page that match; the scan ends with an empty page."""
        matching: list[R] = []
        has_row_in_range = is_waiting = False
        for found in page:
            if found.row not in self.remaining:
                if self.remaining.ends_before(found.row):
                    self.remaining.end()
                continue
            has_row_in_range = True
            if self.remaining.take(found.row):
                matching.append(found)
                is_waiting = False
            else:
                is_waiting = self.remaining.stop != found.row  # equal in reverse: the next row can match
        if not page:
            self.remaining.end()
        if self._server_seeks:
            self._count(page, len(matching))
            self.must_seek = False
            return matching
        self._count(page, len(matching) + is_waiting)
        self.must_seek = self.must_read and (not has_row_in_range if self._is_fallback else is_waiting)
        self._plan_next()
        return matching

    def _count(self, page: Sequence[R], touched: int) -> None:
        if self._is_fallback:
            self._counts.rows_in_fallback += len(page)
        else:
            self._counts.rows_touched += touched
            self._counts.rows_read_ahead += len(page) - touched
            self._window_rows += touched
        self._counts.bytes_read += sum(map(self._size_of, page))
        self._scanner_rows += len(page)

    def _plan_next(self) -> None:
        if not self.must_seek:
            if not self._is_fallback:
                self.rows = min(self.rows * 2, self._page_of_matches)
            return
        self._counts.seeks += 1
        self._window_seeks += 1
        if self._is_fallback:
            self._is_fallback = False
            self._window *= 2
            self._scanner_rows = self._window_seeks = 0
        elif self._window_rows >= self._window:
            self._is_fallback = self._window_seeks > MAX_SEEKS_PER_ROW * self._window_rows
            self._window_rows = self._window_seeks = 0
        if self._is_fallback:
            self.rows = self.caching = self._whole_page
        else:
            self._start_small()

    def _start_small(self) -> None:
        """The next scanner returns one row first; how many follow is estimated from the scanner before it."""
        self.rows = 1
        self.caching = min(max(self._scanner_rows, _MIN_CACHING), self._page_of_matches)
        self._scanner_rows = 0
