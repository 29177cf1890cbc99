"""Gets and scans of one table by logical row keys."""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Any

from ingest.api import ALL_TIMES, Row, Scan, ScanCounts, Store, TimeRange, UpdatesDifferError
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.merged_rows import MergedRows, row_of
from sinks.scanning.plain_reader import PlainReader
from sinks.updates.keys import logical_of
from sinks.updates.merging import Merging
from sinks.updates.table_updates import UPDATES_HINT, TableUpdates, merging_of


class TableReader:
    """
    One table of a store; its row keys are the logical ones.

    The rows of a table with deferred updates are merged (`MergedRows`); their cells have the batch time of the row's
    last update. All others are read as they are (`PlainReader`). Which it is is read from the table's record.

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
        self._resolve = resolve
        row_format = RowFormat.recorded(store, table)
        if row_format.updates and merging is None:
            raise UpdatesDifferError(table, "", row_format.updates, hint=UPDATES_HINT)
        self._plain = PlainReader(store, table, row_format.buckets)
        self.distribution = self._plain.distribution
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
        found = self._plain.get(row, columns=columns, versions=versions, times=times)
        return found if found is None or self._resolve is None else self._resolve(found)

    def logical_of(self, key: bytes) -> bytes | None:
        """The logical row key of a physical key that differs from it; None if it is no such key."""
        if self.merged is None:
            stored = self._plain.stored_key(key)
            return None if stored is None else stored.logical
        try:
            return logical_of(key if self.distribution is None else self.distribution.logical(key))
        except ValueError:
            return None

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
        rows = self._plain.scan(scan, counts)
        return rows if self._resolve is None else _each(self._resolve, rows)


def _each(resolve: Callable[[Row], Row], rows: Generator[Row]) -> Generator[Row]:
    with closing(rows):
        for row in rows:
            yield resolve(row)


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
    return merging_of(table, recorded, declared) if recorded else None
