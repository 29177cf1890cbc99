"""Gets and scans."""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice

from ingest.api import MAX_ROW_KEY_BYTES, Row, Scan, ScanCounts, StoreUnavailableError, TimeRange, split_column
from sinks.hbase.errors import NoFamilyError
from sinks.hbase.paging import Paging
from sinks.hbase.protobuf import Message, WireError, data, number
from sinks.hbase.rpc.cells import decoded, row_of
from sinks.hbase.rpc.connection import Answer
from sinks.hbase.rpc.filters import ServerFilters
from sinks.hbase.rpc.repeating import RepeatedCalls
from sinks.hbase.rpc.requests import columns_message, time_range_message
from sinks.hbase.rpc.scanner import ScannedRow
from sinks.hbase.rpc.table_scan import TableScan, size_of


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
        except NoFamilyError as error:
            known = self._known(table, columns, error)
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
        return self._calls.of_row(table, row, "Get", data(2, data(1, row) + cells), _row)

    def scan(self, table: str, scan: Scan, counts: ScanCounts) -> Generator[Row]:
        """
        Rows of a range, read page by page.

        Raises:
            NotFoundError: there is no such table.
        """
        self._check(table)
        if scan.limit == 0 or scan.columns == ():
            return
        with closing(self._rows(table, scan, Paging(scan, counts, size_of))) as rows:
            yield from islice(rows, scan.limit)

    def _rows(self, table: str, scan: Scan, paging: Paging[ScannedRow]) -> Generator[Row]:
        """The rows; a family that the table lacks, or loses while it is read, has no cells."""
        while True:
            running = TableScan(self._calls, table, paging, scan, self._filters)
            try:
                yield from running.rows()
            except NoFamilyError as error:
                scan = replace(scan, columns=self._known(table, scan.columns, error))
                if not scan.columns:
                    return
            else:
                return
            finally:
                running.close()

    def _check(self, table: str) -> None:
        """Raise `NotFoundError` if there is no such table."""
        self._calls.run(table, lambda deadline_s: self._calls.regions.of(table, deadline_s))

    def _known(self, table: str, columns: Sequence[bytes] | None, error: NoFamilyError) -> tuple[bytes, ...]:
        """
        Columns of families that exist: HBase refuses the whole request if one does not.

        Raises:
            StoreUnavailableError: all exist, so the regions will have them when they are opened again.
        """
        families = self._families(table)
        known = tuple(column for column in columns or () if split_column(column)[0] in families)
        if len(known) == len(columns or ()):
            raise StoreUnavailableError(f'regions of table "{table}" lack one of its families: {error}') from error
        return known


def _row(answer: Answer) -> Row | None:
    """
    The row in the answer to a get.

    Raises:
        WireError: cells are missing.
    """
    cells = list(decoded(answer.cells))
    # GetResponse: result 1; Result: associated_cell_count 2
    count = Message(answer.message).message(1).number(2)
    if len(cells) != count:
        raise WireError(f"a get returned {len(cells)} cells of {count}")
    return row_of(cells)
