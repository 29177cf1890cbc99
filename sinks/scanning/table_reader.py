"""Gets and scans of one table by original row keys."""

import heapq
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import islice
from typing import Any

from ingest.api import Row, Scan, ScanCounts, Store
from sinks.rowkeys.distribution import Distribution


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
        with ExitStack() as opened:
            buckets = [
                opened.enter_context(closing(self._store.scan(self._table, each, counts)))
                for each in bucket_scans(scan, distribution)
            ]
            yield from merged(buckets, scan, distribution)


def merged(buckets: Sequence[Iterator[Row]], scan: Scan, distribution: Distribution) -> Iterator[Row]:
    """Rows of all buckets in the order of their original keys, of which no two are equal."""
    original = distribution.original
    originals = [(Row(original(row.key), row.cells) for row in bucket) for bucket in buckets]
    return islice(heapq.merge(*originals, key=_key, reverse=scan.reverse), scan.limit)


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
