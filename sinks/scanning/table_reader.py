"""Gets and scans of one table by original row keys."""

import heapq
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import islice
from typing import Any

from ingest.api import ALL_TIMES, Row, Scan, ScanCounts, Store, TimeRange
from sinks.rowkeys.distribution import Distribution
from sinks.scanning.stored_keys import get_stored, scan_stored


class TableReader:
    """
    One table of a store; its row keys are the original ones.

    A table with buckets is scanned as one table: its buckets are scanned side by side, and their rows are merged in the
    order of the original keys. The number of buckets is read from the table's record.

    Called by one thread. Whoever iterates over a scan must exhaust or close it: it may hold scanners of the store.

    Args:
        store: open, for reading or writing.
        table: its name.
    """

    def __init__(self, store: Store[Any], table: str) -> None:
        self._store = store
        self._table = table
        self.distribution = Distribution.of(store.buckets(table))

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
            NotFoundError: there is no such table.
        """
        stored = row if self.distribution is None else self.distribution.stored(row)
        return get_stored(
            self._store, self._table, stored, self.distribution, columns=columns, versions=versions, times=times
        )

    def is_stored(self, key: bytes) -> bool:
        """Whether a key is one as stored, with its bucket; False for a table without buckets."""
        distribution = self.distribution
        return distribution is not None and len(key) > 1 and distribution.stored(distribution.original(key)) == key

    def scan(self, scan: Scan, counts: ScanCounts | None = None) -> Generator[Row]:
        """
        Rows of a range, in byte order of their original keys; memory is bounded by one page for each bucket.

        Args:
            scan: which rows, by original keys.
            counts: the work of all its scans of the store is added to it.

        Raises:
            NotFoundError: there is no such table.
        """
        if self.distribution is None:
            return self._store.scan(self._table, scan, counts)
        return self._merged(scan, self.distribution, counts)

    def _merged(self, scan: Scan, distribution: Distribution, counts: ScanCounts | None) -> Generator[Row]:
        """The rows of all buckets in the order of their original keys, of which no two are equal."""
        start, stop = scan.bounds()
        if stop is not None and stop <= start:
            return
        with ExitStack() as opened:
            buckets = []
            for first, end in distribution.intervals(start, stop):
                part = replace(scan, start=first, stop=end, prefix=b"")
                rows = scan_stored(self._store, self._table, part, distribution, counts)
                buckets.append(opened.enter_context(closing(rows)))
            yield from islice(heapq.merge(*buckets, key=_key, reverse=scan.reverse), scan.limit)


def _key(row: Row) -> bytes:
    return row.key
