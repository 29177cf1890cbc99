"""Gets and scans."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from itertools import islice

from ingest.api import MAX_ROW_KEY_BYTES, Row, Scan, ScanCounts, TimeRange, split_column
from sinks.hbase.client import NoFamilyError
from sinks.hbase.paging import Paging
from sinks.hbase.rpc.cells import decoded, row_of
from sinks.hbase.rpc.filters import ServerFilters
from sinks.hbase.rpc.regions import Region
from sinks.hbase.rpc.repeating import RepeatedCalls
from sinks.hbase.rpc.requests import columns_message, region_specifier, time_range_message
from sinks.hbase.rpc.table_scan import TableScan, size_of
from sinks.hbase.rpc.wire import data, number


class Reader:
    """
    Gets and scans of the tables of a cluster; called by one thread.

    Args:
        calls: to the cluster.
        families: returns the names of a table's families.
    """

    def __init__(self, calls: RepeatedCalls, families: Callable[[str], frozenset[bytes]]) -> None:
        self._calls = calls
        self._families = families
        self._filters = ServerFilters()

    def get(
        self, table: str, row: bytes, columns: Sequence[bytes] | None, versions: int, times: TimeRange
    ) -> Row | None:
        """
        One row, or None.

        Raises:
            NotFoundError: there is no such table.
        """
        if not 0 < len(row) <= MAX_ROW_KEY_BYTES or columns == ():
            self._check(table)
            return None
        try:
            return self.get_columns(table, row, columns, versions, times)
        except NoFamilyError:
            known = self._known(table, columns)
            return self.get_columns(table, row, known, versions, times) if known else None

    def get_columns(
        self, table: str, row: bytes, columns: Sequence[bytes] | None, versions: int, times: TimeRange
    ) -> Row | None:
        """
        The same for columns whose families should exist.

        Raises:
            NotFoundError: there is no such table.
            NoFamilyError: the table lacks a family.
        """
        # GetRequest of Client.proto: region 1, get 2; Get: row 1, column 2, time_range 5, max_versions 6
        cells = columns_message(2, columns) + time_range_message(5, times) + number(6, versions)
        get = data(2, data(1, row) + cells)

        def request(region: Region) -> bytes:
            return data(1, region_specifier(region.name)) + get

        return self._calls.of_row(table, row, "Get", request, lambda answer: row_of(decoded(answer.cells)))

    def scan(self, table: str, scan: Scan, counts: ScanCounts) -> Generator[Row]:
        """
        Rows of a range, read page by page.

        Raises:
            NotFoundError: there is no such table.
        """
        self._check(table)
        if scan.limit == 0 or scan.columns == ():
            return
        paging = Paging(scan, counts, size_of)
        while True:
            running = TableScan(self._calls, table, paging, scan, self._filters)
            try:
                yield from islice(running.rows(), scan.limit)
            except NoFamilyError:  # of the first call: it names all families
                scan = replace(scan, columns=self._known(table, scan.columns))
                if not scan.columns:
                    return
            else:
                return
            finally:
                running.close()

    def _check(self, table: str) -> None:
        """Raise `NotFoundError` if there is no such table."""
        self._calls.run(table, lambda deadline_s: self._calls.regions.of(table, deadline_s))

    def _known(self, table: str, columns: Sequence[bytes] | None) -> tuple[bytes, ...]:
        """Columns of families that exist: HBase refuses the whole request if one does not."""
        families = self._families(table)
        return tuple(column for column in columns or () if split_column(column)[0] in families)
