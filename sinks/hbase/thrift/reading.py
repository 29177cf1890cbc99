"""
Gets and scans through a Thrift server.

The old interface returns the newest version of each cell, and older ones only of one column at a time. Reading several
versions of a row takes one more call for each of its columns.

Its calls have an end of the time range, and no start. The client drops the cells before the start: the newest versions
before the end include the newest ones in the range.
"""

import contextlib
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeVar

from ingest.api import (
    MAX_ROW_KEY_BYTES,
    Cell,
    FamilySpec,
    Row,
    Scan,
    ScanCounts,
    StoreError,
    TimeRange,
    prefix_end,
    split_column,
)
from sinks.hbase.paging import Paging
from sinks.hbase.thrift.connection import Connection
from sinks.hbase.thrift.errors import text_of
from sinks.hbase.thrift.schema import attributes_in, described
from sinks.hbase.thrift.thrift1 import IllegalArgument, TScan
from sinks.rowkeys.fuzzy import RemainingRange

_UNKNOWN_SCANNER = "scanner ID is invalid"
"""The text of `ThriftHBaseServiceHandler`, HBase 2.4 to 2.6."""


class _ThriftCell(Protocol):
    timestamp: int
    value: bytes


_Cells = TypeVar("_Cells", bound=Collection[_ThriftCell])


class _ThriftRow(Protocol):
    """
    A row as the Thrift interface returns it.

    Attributes:
        row: the row key.
        columns: `family:qualifier` -> cell.
    """

    row: bytes
    columns: Mapping[bytes, _ThriftCell]


class _Scanner(NamedTuple):
    """
    An open scanner of a Thrift server.

    Attributes:
        client: of the connection that opened it: behind another connection may be another server, or the same one after
            a restart, where the number belongs to another scanner.
        number: given by the server.
    """

    client: Any
    number: int


class Reader:
    """Gets and scans over one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def families(self, table: str) -> frozenset[bytes]:
        """
        Names of a table's families.

        Raises:
            NotFoundError: there is no such table.
        """
        return frozenset(family.name for family in self.described(table))

    def described(self, table: str) -> tuple[FamilySpec, ...]:
        """
        A table's families, by name.

        Raises:
            NotFoundError: there is no such table.
        """
        return self._connection.read_with(
            table,
            lambda client: tuple(
                sorted(
                    map(described, client.getColumnDescriptors(table.encode()).values()),
                    key=lambda family: family.name,
                )
            ),
        )

    def attributes(self, table: str) -> dict[bytes, dict[str, str]]:
        """
        Family -> name -> value of the attributes besides the options that the server says.

        Raises:
            NotFoundError: there is no such table.
        """
        return self._connection.read_with(
            table,
            lambda client: {
                described(each).name: attributes_in(each)
                for each in client.getColumnDescriptors(table.encode()).values()
            },
        )

    def splits(self, table: str) -> tuple[bytes, ...]:
        """Row keys at which the regions of a table start, except for the first region."""
        regions = self._connection.read(table, "getTableRegions", table.encode())
        return tuple(sorted(region.startKey for region in regions if region.startKey))

    def get(
        self, table: str, row: bytes, columns: Sequence[bytes] | None, versions: int, times: TimeRange
    ) -> Row | None:
        """
        One row, or None.

        Raises:
            NotFoundError: there is no such table.
        """
        wanted = self._known(table, columns)
        if not row or wanted == ():
            return None
        self._connection.cache_regions(table, [row])
        names = None if wanted is None else list(wanted)
        found = self._connection.read_with(
            table,
            lambda client: complete_rows(client.getRowWithColumnsTs(table.encode(), row, names, times.to_ms, {})),
        )
        if not found or not found[0].columns:
            return None
        return self._in_range(table, _row(found[0]), versions, times)

    def scan(self, table: str, scan: Scan, counts: ScanCounts) -> Generator[Row]:
        """
        Rows of a range, read page by page.

        Raises:
            NotFoundError: there is no such table.
        """
        columns = self._known(table, scan.columns)
        if columns == () or scan.limit == 0:
            return
        times = scan.times
        # the client may drop most rows of a page, so a page is not limited to the number of rows that are left to find
        paged = replace(scan, limit=None) if times.from_ms else scan
        with contextlib.closing(self._rows(table, columns, Paging(paged, counts, _size), times)) as found:
            if scan.versions == 1 and not times.from_ms:
                yield from islice(found, scan.limit)
                return
            rows = (self._in_range(table, row, scan.versions, times) for row in found)
            yield from islice((row for row in rows if row is not None), scan.limit)

    def _rows(
        self, table: str, columns: Sequence[bytes] | None, paging: Paging[_ThriftRow], times: TimeRange
    ) -> Generator[Row]:
        scanner = None
        try:
            while paging.must_read:
                if scanner is None:
                    scanner = self._open(table, columns, paging, times)
                page = self._page(table, scanner, paging.rows)
                if page is None:
                    scanner = None  # continue after the last row
                    continue
                paging.count_view()  # between two calls, the server may open another scanner of HBase
                # at once: a page of Thrift's objects takes several times the memory of its rows
                rows = list(map(_row, paging.take(page)))
                del page
                yield from rows
                if paging.must_seek:
                    self._close_scanner(scanner)
                    scanner = None
        finally:
            if scanner is not None:
                self._close_scanner(scanner)

    def _open(
        self, table: str, columns: Sequence[bytes] | None, paging: Paging[_ThriftRow], times: TimeRange
    ) -> _Scanner:
        start, stop = _scanner_range(paging.remaining)
        tscan = TScan(
            startRow=start,
            stopRow=stop,
            timestamp=times.to_ms,
            columns=None if columns is None else list(columns),
            caching=paging.caching,
            reversed=paging.remaining.is_reverse,
        )
        return self._connection.read_with(
            table, lambda client: _Scanner(client, client.scannerOpenWithScan(table.encode(), tscan, {}))
        )

    def _page(self, table: str, scanner: _Scanner, rows: int) -> Sequence[_ThriftRow] | None:
        """The next rows of a scanner; None if the server does not know it any more."""
        try:
            return self._connection.read_with(
                table,
                lambda client: (
                    complete_rows(client.scannerGetList(scanner.number, rows)) if client is scanner.client else None
                ),
            )
        except StoreError as error:
            if not _is_gone(error):
                raise
            return None

    def _close_scanner(self, scanner: _Scanner) -> None:
        with contextlib.suppress(StoreError):  # the server closes an idle scanner anyway
            self._connection.call(
                lambda client: client.scannerClose(scanner.number) if client is scanner.client else None
            )

    def _in_range(self, table: str, row: Row, versions: int, times: TimeRange) -> Row | None:
        """
        The versions of a row's cells in a time range; None if there are none.

        Args:
            table: its name.
            row: with the newest version of each cell before the end of the range.
            versions: maximum number of versions of each cell.
            times: the range.
        """
        cells = [cell for cell in row.cells if cell.timestamp_ms >= times.from_ms]
        if versions > 1:
            cells = [cell for newest in cells for cell in self._versions(table, row.key, newest, versions, times)]
        return Row(row.key, tuple(cells)) if cells else None

    def _versions(self, table: str, row: bytes, newest: Cell, versions: int, times: TimeRange) -> Iterator[Cell]:
        """The versions of a cell in a time range."""
        column = newest.family + b":" + newest.qualifier
        name = table.encode()
        for cell in self._connection.read_with(
            table,
            lambda client: _complete_cells(client.getVerTs(name, row, column, times.to_ms, versions, {})),
        ):
            if cell.timestamp >= times.from_ms:
                yield newest._replace(timestamp_ms=cell.timestamp, value=cell.value)

    def _known(self, table: str, columns: Sequence[bytes] | None) -> Sequence[bytes] | None:
        """
        Columns to request: those of families that exist, and none of a family that is requested as a whole.

        HBase refuses the whole request if a family does not exist, and returns only the column if a request names a
        family and one of its columns.
        """
        if columns is None:
            return None
        families = self.families(table)
        whole = {column for column in columns if b":" not in column}
        return tuple(
            column
            for column in columns
            if (family := split_column(column)[0]) in families and (column in whole or family not in whole)
        )


def complete_rows(rows: Sequence[_ThriftRow]) -> Sequence[_ThriftRow]:
    """
    The rows of an answer, checked: the Thrift library leaves out a field of another type.

    Raises:
        ValueError: a row lacks its key or its columns, or a cell its value or timestamp.
    """
    for found in rows:
        if found.row is None or found.columns is None:
            raise ValueError("a row of an answer is not complete")
        _complete_cells(found.columns.values())
    return rows


def _complete_cells(cells: _Cells) -> _Cells:
    for cell in cells:
        if cell.value is None or cell.timestamp is None:
            raise ValueError("a cell of an answer is not complete")
    return cells


@lru_cache(maxsize=4096)
def _split(column: bytes) -> tuple[bytes, bytes]:
    family, qualifier = split_column(column)
    return family, qualifier or b""


def _size(found: _ThriftRow) -> int:
    return len(found.row) + sum(len(column) + len(cell.value) for column, cell in found.columns.items())


def _row(found: _ThriftRow) -> Row:
    cells = [Cell(*_split(column), cell.timestamp, cell.value) for column, cell in found.columns.items()]
    cells.sort()
    return Row(found.row, tuple(cells))


def _scanner_range(remaining: RemainingRange) -> tuple[bytes | None, bytes | None]:
    """
    The bounds of an HBase scan of a range.

    HBase includes the start of a reverse scan, its larger key, and excludes the end. So the scan starts at the stop of
    the range and ends at some key below its start; `Paging` skips the excess rows.

    HBase refuses a bound that is longer than a row key may be. A shorter one selects the same rows, but for one that
    `Paging` skips.
    """
    start, stop = remaining.start[:MAX_ROW_KEY_BYTES], remaining.stop
    if remaining.is_reverse:
        return None if stop is None else stop[:MAX_ROW_KEY_BYTES], _below(start)
    if stop is not None and len(stop) > MAX_ROW_KEY_BYTES:
        stop = prefix_end(stop[:MAX_ROW_KEY_BYTES])
    return start or None, stop


def _below(key: bytes) -> bytes | None:
    """A key shortly before a key; None for the first key."""
    if not key:
        return None
    head, tail = key[:-1], key[-1]
    return (head or None) if tail == 0 else head + bytes([tail - 1])


def _is_gone(error: StoreError) -> bool:
    """Whether the server no longer knows a scanner: it closes those that are idle for minutes."""
    return isinstance(error.__cause__, IllegalArgument) and _UNKNOWN_SCANNER in text_of(error.__cause__)
