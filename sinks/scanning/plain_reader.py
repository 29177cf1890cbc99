"""The rows of a table as they are stored, by row keys without buckets; the lowest of its readers."""

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from ingest.api import ALL_TIMES, FuzzyPattern, Row, Scan, ScanCounts, Store, TimeRange
from ingest.api.table_reader import Read, Recorded, RowKeys, StoredKey, TableReader
from sinks.rowkeys.distribution import Distribution
from sinks.scanning.partitions import point
from sinks.scanning.physical_keys import get_physical, scan_physical, side_by_side


class PlainReader(TableReader):
    """
    Gets and scans of a table that has no feature which changes its rows.

    A table with buckets is scanned as one table: its buckets are scanned side by side, and their rows are merged in the
    order of the logical keys.

    Args:
        store: open, for reading or writing.
        table: its name.
        buckets: of the table; None if its row keys are stored as they are.

    Attributes:
        distribution: of the row keys; None if they are stored as they are.
    """

    def __init__(self, store: Store[Any], table: str, buckets: int | None) -> None:
        self._store = store
        self._table = table
        self.keys = RowKeys()
        self.distribution = Distribution.of(buckets)

    @classmethod
    def of(cls, store: Store[Any], table: str) -> "PlainReader":
        """The reader of a table with the buckets in its record."""
        return cls(store, table, Recorded.of(store, table).buckets)

    def check(self, scan: Scan) -> None:
        """Nothing is refused."""

    def get(
        self,
        row: bytes,
        *,
        columns: Sequence[bytes] | None = None,
        versions: int = 1,
        times: TimeRange = ALL_TIMES,
    ) -> Row | None:
        """One row, or None if it has no such cells; by one call."""
        physical = row if self.distribution is None else self.distribution.physical(row)
        return self._get(physical, columns, versions, times)

    def scan(self, scan: Scan, counts: ScanCounts | None = None) -> Generator[Row]:
        """Rows of a range, in byte order of their logical keys."""
        if self.distribution is None:
            return self._store.scan(self._table, scan, counts)
        return self._side_by_side(scan, self.distribution, counts)

    def in_range(self, scan: Scan) -> Generator[Read]:
        """The rows of a range of physical row keys; one row is read with fewer calls by a get."""
        if (scan.start, scan.stop) == point(scan.start):
            found = self._row(scan)
            if found is not None:
                yield found, ()
            return
        with closing(scan_physical(self._store, self._table, scan, self.distribution)) as rows:
            for row in rows:
                yield row, ()

    def stored_key(self, key: bytes) -> StoredKey | None:
        """A key with its bucket."""
        distribution = self.distribution
        if distribution is None or len(key) <= 1:
            return None
        logical = distribution.logical(key)
        if distribution.physical(logical) != key:
            return None
        return StoredKey(logical, "a physical key of a salted table; write the row key without the bucket")

    def next_command(self, row: str) -> Sequence[str]:  # noqa: ARG002 - the next one is of other rows
        """A scan of rows with a prefix."""
        return "scan", self._table, "--prefix", "KEY"

    def _side_by_side(self, scan: Scan, distribution: Distribution, counts: ScanCounts | None) -> Generator[Row]:
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

    def _row(self, scan: Scan) -> Row | None:
        key = scan.start if self.distribution is None else self.distribution.logical(scan.start)
        if not key or not _matches(key, scan.fuzzy):
            return None
        return self._get(scan.start, scan.columns, scan.versions, scan.times)

    def _get(self, physical: bytes, columns: Sequence[bytes] | None, versions: int, times: TimeRange) -> Row | None:
        return get_physical(
            self._store, self._table, physical, self.distribution, columns=columns, versions=versions, times=times
        )


def _matches(key: bytes, patterns: Sequence[FuzzyPattern]) -> bool:
    return not patterns or any(pattern.matches(key) for pattern in patterns)


def _key(row: Row) -> bytes:
    return row.key
