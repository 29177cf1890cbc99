"""The readers of a table with deferred updates: of its merged rows, and of its update rows."""

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import asdict
from typing import Any

from ingest.amounts import counted, number
from ingest.api import ALL_TIMES, Row, Scan, ScanCounts, Store, TimeRange, next_key
from ingest.api.table_reader import Read, ReaderPlace, ReadStats, Recorded, ShownRow, StoredKey, TableReader
from sinks.rewriting.shown_updates import shown_merged, shown_update
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.merged_rows import MergedRows, check_mergeable, row_of
from sinks.scanning.raw_rows import RawRows, StoredUpdate
from sinks.updates.keys import split_of, time_of
from sinks.updates.merging import Merging
from sinks.updates.row_keys import UpdateRowKeys
from sinks.updates.withdrawn import Withdrawn


class MergedReader(TableReader):
    """
    The merged rows of a table; their cells have the batch time of the row's last update.

    Args:
        place: of the reader; the record of its table has deferred updates.
        merging: of the table, as recorded.

    Attributes:
        rows: the same rows with what is known of their merge.
    """

    counts_gets = True

    def __init__(self, place: ReaderPlace, merging: Merging) -> None:
        self._table = place.table
        self._distribution = Distribution.of(place.recorded.buckets)
        self.keys = UpdateRowKeys()
        withdrawn = Withdrawn.in_properties(place.recorded.properties, place.table)
        self.rows = MergedRows(place.store, place.table, RowFormat.of(place.recorded), merging, withdrawn=withdrawn)

    @classmethod
    def of(cls, store: Store[Any], table: str, merging: Merging) -> "MergedReader":
        """The reader of a table with its record."""
        return cls(ReaderPlace(store, table, Recorded.of(store, table)), merging)

    def check(self, scan: Scan) -> None:
        """Refuse several versions and a range of times, which merged rows do not have."""
        check_mergeable(self._table, scan.versions, scan.times)

    def get(
        self,
        row: bytes,
        *,
        columns: Sequence[bytes] | None = None,
        versions: int = 1,
        times: TimeRange = ALL_TIMES,
    ) -> Row | None:
        """One row, or None if it has no such cells."""
        merged = self.rows.get(row, columns, versions=versions, times=times)
        return None if merged is None else row_of(merged)

    def scan(self, scan: Scan, counts: ScanCounts | None = None) -> Generator[Row]:
        """Rows of a range, in byte order of their logical keys."""
        return self.rows.rows(scan, counts)

    def in_range(self, scan: Scan) -> Generator[Read]:
        """The rows of a range of physical row keys."""
        with closing(self.rows.rows_in_physical_range(scan)) as rows:
            for row in rows:
                yield row, ()

    def stored_key(self, key: bytes) -> StoredKey | None:
        """The key of an update row."""
        try:
            logical = self.keys.logical(key if self._distribution is None else self._distribution.logical(key))
        except ValueError:
            return None
        return StoredKey(logical, "the key of an update row; write the logical row key")

    def next_command(self, row: str) -> Sequence[str]:
        """The history of the row."""
        return "history", self._table, row

    def shown(self, scan: Scan, counts: ScanCounts) -> Generator[ShownRow]:
        """Rows of a range, with what is known of their merge."""
        with closing(self.rows.scan(scan, counts)) as rows:
            for merged in rows:
                yield shown_merged(merged)

    def shown_one(self, row: bytes, scan: Scan, counts: ScanCounts) -> Generator[ShownRow]:
        """One row, with what is known of its merge."""
        merged = self.rows.get(row, scan.columns, versions=scan.versions, times=scan.times, counts=counts)
        if merged is not None:
            yield shown_merged(merged)

    def stats(self) -> ReadStats:
        """The rows that were merged, and the update rows that were read for them."""
        counts = self.rows.merge_counts
        rows, update_rows = counts.merged_rows, counts.update_rows
        mean = f", {number(update_rows / rows)} for each" if rows else ""
        text = f"{counted(rows, 'row')} merged of {counted(update_rows, 'update row')}{mean}"
        return ReadStats(asdict(counts), text)


class RawReader(TableReader):
    """
    The update rows of a table, not merged; the option `raw`.

    Args:
        place: of the reader; the record of its table has deferred updates.
    """

    what = "update row"
    is_several = True
    counts_gets = True

    def __init__(self, place: ReaderPlace) -> None:
        self.keys = UpdateRowKeys()
        withdrawn = Withdrawn.in_properties(place.recorded.properties, place.table)
        self._rows = RawRows(place.store, place.table, RowFormat.of(place.recorded), withdrawn)

    def check(self, scan: Scan) -> None:
        """Nothing is refused: update rows have their times, and may have versions."""

    def get(
        self,
        row: bytes,
        *,
        columns: Sequence[bytes] | None = None,
        versions: int = 1,
        times: TimeRange = ALL_TIMES,
    ) -> Row | None:
        """The oldest update row of a row that has such cells."""
        wanted = None if columns is None else tuple(columns)
        with closing(self.scan(Scan(row, next_key(row), columns=wanted, versions=versions, times=times))) as rows:
            return next(rows, None)

    def scan(self, scan: Scan, counts: ScanCounts | None = None) -> Generator[Row]:
        """Update rows with their logical row keys, in their order, then in that of their starts."""
        with closing(self._rows.scan(scan, counts)) as rows:
            for (key, cells), _ in rows:
                yield Row(key.row, cells)

    def in_range(self, scan: Scan) -> Generator[Read]:
        """Update rows of a range of physical row keys, each with what it covers."""
        with closing(self._rows.in_physical_range(scan)) as rows:
            for update in rows:
                yield _with_interval(update)

    def stored_key(self, key: bytes) -> StoredKey | None:  # noqa: ARG002 - as all readers
        """None: the update rows of a row are shown under its logical row key."""
        return None

    def next_command(self, row: str) -> Sequence[str]:  # noqa: ARG002 - as above
        """No command follows."""
        return ()

    def shown(self, scan: Scan, counts: ScanCounts) -> Generator[ShownRow]:
        """Update rows, each with what it covers."""
        with closing(self._rows.scan(scan, counts)) as rows:
            for update in rows:
                yield shown_update(update)

    def shown_one(self, row: bytes, scan: Scan, counts: ScanCounts) -> Generator[ShownRow]:  # noqa: ARG002
        """The update rows of one row."""
        return self.shown(scan, counts)


def _with_interval(update: StoredUpdate) -> Read:
    (key, cells), is_orphaned = update
    interval = {
        "start_time": time_of(key.start),
        "start_split": split_of(key.start),
        "end_time": time_of(key.last),
        "end_split": split_of(key.last),
        "is_merged": key.is_merged,
        "is_orphaned": is_orphaned,
    }
    return Row(key.row, cells), (interval,)
