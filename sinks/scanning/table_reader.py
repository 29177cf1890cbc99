"""Gets and scans of one table by logical row keys."""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from ingest.api import ALL_TIMES, Row, Scan, ScanCounts, Store, TimeRange, UpdatesDifferError
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.merged_rows import MergedRows, row_of
from sinks.scanning.physical_keys import get_physical, scan_physical, side_by_side
from sinks.updates.keys import logical_of
from sinks.updates.merging import Merging
from sinks.updates.table_updates import TableUpdates

UPDATES_HINT = (
    "declare `updates` of the table as recorded, or read its update rows, with --raw or the option raw of a DataFrame"
)


class TableReader:
    """
    One table of a store; its row keys are the logical ones.

    A table with buckets is scanned as one table: its buckets are scanned side by side, and their rows are merged in the
    order of the logical keys. The rows of a table with deferred updates are merged (`MergedRows`); their cells have
    the batch time of the row's last update. Both properties are read from the table's record.

    Called by one thread. Whoever iterates over a scan must exhaust or close it: it may hold scanners of the store.

    Args:
        store: open, for reading or writing.
        table: its name.
        merging: of a table with deferred updates, as recorded (`recorded_merging`).
        resolve: returns a row of values with the large ones in place of pointers to their blobs; None to return
            pointers.

    Attributes:
        distribution: of the row keys; None if they are stored as they are.
        merged: reads the merged rows of a table with deferred updates; None for other tables.

    Raises:
        UpdatesDifferError: the table has deferred updates, and there is no merging.
    """

    def __init__(
        self,
        store: Store[Any],
        table: str,
        merging: Merging | None = None,
        resolve: Callable[[Row], Row] | None = None,
    ) -> None:
        self._store = store
        self._table = table
        self._resolve = resolve
        row_format = RowFormat.recorded(store, table)
        if row_format.updates and merging is None:
            raise UpdatesDifferError(table, "", row_format.updates, hint=UPDATES_HINT)
        self.distribution = Distribution.of(row_format.buckets)
        self.merged: MergedRows | None = None
        if row_format.updates and merging is not None:
            self.merged = MergedRows(store, table, row_format, merging)

    def get(
        self,
        row: bytes,
        *,
        columns: Sequence[bytes] | None = None,
        versions: int = 1,
        times: TimeRange = ALL_TIMES,
    ) -> Row | None:
        """
        One row, or None if it has no such cells.

        Raises:
            ConfigError: of a table with deferred updates, several versions or a range of times were requested.
            NotFoundError: there is no such table.
        """
        if self.merged is not None:
            merged = self.merged.get(row, columns, versions=versions, times=times)
            return None if merged is None else row_of(merged)
        physical = row if self.distribution is None else self.distribution.physical(row)
        found = get_physical(
            self._store, self._table, physical, self.distribution, columns=columns, versions=versions, times=times
        )
        return found if found is None or self._resolve is None else self._resolve(found)

    def logical_of(self, key: bytes) -> bytes | None:
        """The logical row key of a physical key that differs from it; None if it is no such key."""
        distribution = self.distribution
        if self.merged is not None:
            try:
                return logical_of(key if distribution is None else distribution.logical(key))
            except ValueError:
                return None
        if distribution is None or len(key) <= 1:
            return None
        logical = distribution.logical(key)
        return logical if distribution.physical(logical) == key else None

    def scan(self, scan: Scan, counts: ScanCounts | None = None) -> Generator[Row]:
        """
        Rows of a range, in byte order of their logical keys; memory is bounded by one page for each bucket.

        Args:
            scan: which rows, by logical keys.
            counts: the work of all its scans of the store is added to it.

        Raises:
            ConfigError: of a table with deferred updates, several versions or a range of times were requested.
            NotFoundError: there is no such table.
        """
        if self.merged is not None:
            return self.merged.rows(scan, counts)
        if self.distribution is None:
            rows = self._store.scan(self._table, scan, counts)
        else:
            rows = self._merged(scan, self.distribution, counts)
        return rows if self._resolve is None else _each(self._resolve, rows)

    def _merged(self, scan: Scan, distribution: Distribution, counts: ScanCounts | None) -> Generator[Row]:
        """The rows of all buckets in the order of their logical keys, of which no two are equal."""
        start, stop = scan.bounds()
        if stop is not None and stop <= start:
            return
        parts = (
            scan_physical(
                self._store, self._table, replace(scan, start=first, stop=end, prefix=b""), distribution, counts
            )
            for first, end in distribution.intervals(start, stop)
        )
        yield from side_by_side(parts, _key, reverse=scan.reverse, limit=scan.limit)


def _each(resolve: Callable[[Row], Row], rows: Generator[Row]) -> Generator[Row]:
    with closing(rows):
        for row in rows:
            yield resolve(row)


def _key(row: Row) -> bytes:
    return row.key


def recorded_merging(store: Store[Any], table: str, declared: TableUpdates | None) -> Merging | None:
    """
    How the update rows of a table are merged, for a `TableReader`; None if it has none.

    Args:
        store: open, for reading or writing.
        table: its name.
        declared: its deferred updates in the file, located; None if the file declares none.

    Raises:
        UpdatesDifferError: the table's record has deferred updates, and the file declares none, or others.
    """
    recorded = RowFormat.recorded(store, table).updates
    if not recorded:
        return None
    identity = "" if declared is None else declared.identity()
    if declared is None or identity != recorded:
        raise UpdatesDifferError(table, identity, recorded, hint=UPDATES_HINT)
    return declared.merging()
