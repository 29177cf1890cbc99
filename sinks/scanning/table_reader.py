"""Gets and scans of one table by original row keys."""

import heapq
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import islice
from typing import Any

from ingest.api import Row, Scan, ScanCounts, Store
from sinks.rowkeys.distribution import Distribution


class TableReader:
    """
    One table of a store; its row keys are the original ones.

    A table with buckets is scanned as one table: its buckets are scanned side by side over the same connection, and
    their rows are merged in the order of the original keys. The number of buckets is read from the table's record.

    Called by one thread. Whoever iterates over a scan must exhaust or close it: it may hold scanners of the store.

    Args:
        store: open, for reading or writing.
        table: its name.
    """

    def __init__(self, store: Store[Any], table: str) -> None:
        self._store = store
        self._table = table
        buckets = store.buckets(table)
        self.distribution = None if buckets is None else Distribution(buckets)

    def get(self, row: bytes, *, columns: Sequence[bytes] | None = None, versions: int = 1) -> Row | None:
        """
        One row, or None if it has no such cells.

        Raises:
            NotFoundError: there is no such table.
        """
        if self.distribution is None:
            return self._store.get(self._table, row, columns=columns, versions=versions)
        stored = self.distribution.stored(row)
        found = self._store.get(self._table, stored, columns=columns, versions=versions)
        return None if found is None else Row(row, found.cells)

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
        original = distribution.original
        with ExitStack() as opened:
            buckets = [
                opened.enter_context(closing(self._bucket(bucket, original, counts)))
                for bucket in bucket_scans(scan, distribution)
            ]
            # buckets open their scanners when their first row is needed; equal keys cannot be in two buckets
            yield from islice(heapq.merge(*buckets, key=_key, reverse=scan.reverse), scan.limit)

    def _bucket(self, scan: Scan, original: Callable[[bytes], bytes], counts: ScanCounts | None) -> Generator[Row]:
        with closing(self._store.scan(self._table, scan, counts)) as rows:
            for row in rows:
                yield Row(original(row.key), row.cells)


def bucket_scans(scan: Scan, distribution: Distribution) -> list[Scan]:
    """The scans of stored row keys, one for each bucket in byte order, that together return the rows of a scan."""
    start, stop = scan.bounds()
    if stop is not None and stop <= start:
        return []
    intervals = distribution.intervals(start, stop)
    return [
        replace(
            scan,
            start=first,
            stop=end,
            prefix=b"",
            fuzzy=tuple(pattern.prefixed(prefix) for pattern in scan.fuzzy),
        )
        for prefix, (first, end) in zip(distribution.prefixes, intervals, strict=True)
    ]


def _key(row: Row) -> bytes:
    return row.key
