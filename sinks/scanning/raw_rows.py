"""Reads of a table with deferred updates that return its update rows, not merged."""

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from ingest.api import ALL_TIMES, Cell, FuzzyPattern, Scan, ScanCounts, Store
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.merged_rows import update_row
from sinks.scanning.physical_keys import ranges_of, scan_physical, side_by_side
from sinks.updates.groups import with_orphans
from sinks.updates.keys import UpdateKey, range_of
from sinks.updates.withdrawn import NOTHING, Withdrawn


class RawRow(NamedTuple):
    """
    An update row with its cells.

    Attributes:
        cells: as in `Row`.
    """

    key: UpdateKey
    cells: tuple[Cell, ...]


class StoredUpdate(NamedTuple):
    """
    An update row, and whether it counts.

    Attributes:
        is_orphaned: a merged row covers it, or its batch time was withdrawn, so no read counts it.
    """

    row: RawRow
    is_orphaned: bool


class RawRows:
    """
    The update rows of a table, by logical row keys.

    Each is returned as it is in the page of the scan: while a compaction runs, a row may be there together with the
    merged row that covers it, or both may be missed.

    Called by one thread. Whoever iterates over a scan must exhaust or close it.

    Args:
        store: open, for reading or writing.
        table: its name.
        row_format: of the table; it has updates.
        withdrawn: of the table.
    """

    def __init__(self, store: Store[Any], table: str, row_format: RowFormat, withdrawn: Withdrawn = NOTHING) -> None:
        self._store = store
        self._withdrawn = withdrawn
        self._table = table
        self._distribution = Distribution.of(row_format.buckets)

    def scan(self, scan: Scan, counts: ScanCounts | None = None) -> Generator[StoredUpdate]:
        """
        Update rows in the order of their logical row keys, then of their starts.

        Args:
            scan: which rows, by logical keys; the limit is one of update rows. Patterns and times are applied after
                the rows were read. With `reverse`, all update rows of one logical row are in memory.
            counts: the work of all its scans of the store is added to it.

        Raises:
            NotFoundError: there is no such table.
            IntegrityError: a row of the table is no update row.
        """
        start, stop = scan.bounds()
        if stop is not None and stop <= start:
            return
        parts = (
            self.in_physical_range(replace(scan, start=first, stop=end, prefix=b"", limit=None), counts)
            for first, end in ranges_of(self._distribution, *range_of(start, stop))
        )
        yield from side_by_side(parts, attrgetter("row.key"), reverse=scan.reverse, limit=scan.limit)

    def in_physical_range(self, scan: Scan, counts: ScanCounts | None = None) -> Generator[StoredUpdate]:
        """
        The same for a range of physical row keys.

        Args:
            scan: start and stop are physical keys that divide no logical row, with buckets both in one bucket; there is
                neither a prefix nor a limit.
            counts: as in `scan`.
        """
        # without times: a merged row may be outside of them, and the rows that it covers inside
        part = replace(scan, fuzzy=(), times=ALL_TIMES)
        with closing(scan_physical(self._store, self._table, part, self._distribution, counts)) as stored:
            rows = (RawRow(update_row(self._table, row).key, row.cells) for row in stored)
            for logical, found in groupby(rows, key=attrgetter("key.row")):
                if _matches(logical, scan.fuzzy):
                    yield from _in_times(self._with_orphans(found, is_reverse=scan.reverse), scan)

    def _with_orphans(self, rows: Iterator[RawRow], *, is_reverse: bool) -> Iterator[StoredUpdate]:
        found = with_orphans(list(rows)[::-1] if is_reverse else rows, self._withdrawn)
        flagged = (StoredUpdate(row, is_orphaned) for row, is_orphaned in found)
        return reversed(list(flagged)) if is_reverse else flagged


def _in_times(rows: Iterator[StoredUpdate], scan: Scan) -> Iterator[StoredUpdate]:
    times = scan.times
    if times == ALL_TIMES:
        yield from rows
        return
    for row, is_orphaned in rows:
        cells = tuple(cell for cell in row.cells if times.from_ms <= cell.timestamp_ms < times.to_ms)
        if cells:
            yield StoredUpdate(RawRow(row.key, cells), is_orphaned)


def _matches(row: bytes, patterns: tuple[FuzzyPattern, ...]) -> bool:
    return not patterns or any(pattern.matches(row) for pattern in patterns)
