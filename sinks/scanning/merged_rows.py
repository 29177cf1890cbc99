"""
Reads of a table with deferred updates: the update rows of each logical row are merged.

A compaction may run meanwhile: it writes a merged row and deletes the rows that it covers. A read that finds some of
those before, and misses the others after, would merge too few. So the update rows of a logical row are merged as they
were at one moment:

- All of them, and the row that follows them, come from one view of the scan (`ScanCounts.views`), or they are read
  again, by themselves.
- If that takes several views as well, they are read until two readings in a row find the same keys. The content of an
  update row never changes, and the key of a deleted one does not come back.

A Thrift server does not say when it opens another scanner of HBase within a call. It does so at the start of a region,
so a logical row in two regions is always read until the keys are the same. If a region is moved or split during a
call, a row in that page may be merged of too few updates; HBase's native RPC has no such gap.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, groupby, islice
from operator import attrgetter
from typing import Any, TypeVar

from ingest.api import (
    ALL_TIMES,
    Cell,
    ConfigError,
    IntegrityError,
    Row,
    Scan,
    ScanCounts,
    Store,
    TimeRange,
    split_column,
)
from ingest.api.notation import shown_start
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.physical_keys import ranges_of, scan_physical, side_by_side
from sinks.updates.groups import HistoryEntry, MergedRow, UpdateRow, history_of, merged_row
from sinks.updates.keys import (
    LAST_UPDATE_ID,
    TIMES_BYTES,
    divided_row,
    logical_of,
    range_of,
    rows_of,
    time_of,
    update_id_in,
)
from sinks.updates.merging import Merging
from sinks.updates.withdrawn import NOTHING, Withdrawn

R = TypeVar("R")
T = TypeVar("T")

_PAGE_ROWS = 10_000  # of one logical row
_FEW_ROWS = 50  # of a page of a scan with a small limit
_MAX_REVERSED = 1_000
"""Update rows of a logical row that a reverse scan holds; with more, they are read again in their order."""


@dataclass(slots=True)
class MergeCounts:
    """
    The work of merged reads; update rows by merged row is the factor by which a compaction can speed them up.

    Attributes:
        merged_rows: logical rows that were returned.
        update_rows: update rows that were read for them: also orphaned ones, and those that were read again because the
            table changed meanwhile.
    """

    merged_rows: int = 0
    update_rows: int = 0


class MergedRows:
    """
    The merged rows of a table with deferred updates, by logical row keys.

    Called by one thread. Whoever iterates over a scan must exhaust or close it.

    Args:
        store: open, for reading or writing.
        table: its name.
        row_format: of the table.
        merging: of the table.
        last: update rows that start after this update id are ignored, as those above the mark in a dump. A merged row
            that also covers later ones counts: a compaction merges complete micro-batches only.
        withdrawn: of the table.

    Attributes:
        merge_counts: of all reads so far.
    """

    def __init__(
        self,
        store: Store[Any],
        table: str,
        row_format: RowFormat,
        merging: Merging,
        *,
        last: int = LAST_UPDATE_ID,
        withdrawn: Withdrawn = NOTHING,
    ) -> None:
        self._store = store
        self._table = table
        self._merging = merging
        self._last = last
        self._withdrawn = withdrawn
        self._distribution = Distribution.of(row_format.buckets)
        self.merge_counts = MergeCounts()

    def get(
        self,
        row: bytes,
        columns: Sequence[bytes] | None = None,
        *,
        versions: int = 1,
        times: TimeRange = ALL_TIMES,
        counts: ScanCounts | None = None,
    ) -> MergedRow | None:
        """
        One logical row, or None if it has no such columns.

        Args:
            row: its key.
            columns: only these; all if None.
            versions: must be 1.
            times: must be all.
            counts: the work of all its scans of the store is added to it.

        Raises:
            ConfigError: several versions or a range of times were requested, which merged rows do not have.
            NotFoundError: there is no such table.
            IntegrityError: a row of the table is no update row.
        """
        check_mergeable(self._table, versions, times)
        wanted = None if columns is None else tuple(columns)
        merged = self._at_one_moment(row, wanted, counts or ScanCounts(), self._merged)
        self.merge_counts.merged_rows += merged is not None
        return merged

    def history(self, row: bytes, columns: Sequence[bytes] | None = None) -> list[HistoryEntry]:
        """
        The update rows of one logical row, oldest first, and the values after each.

        Raises:
            NotFoundError: there is no such table.
            IntegrityError: a row of the table is no update row.
        """
        wanted = None if columns is None else tuple(columns)
        rows: list[UpdateRow] = self._at_one_moment(row, wanted, ScanCounts(), list)
        return list(history_of(rows, self._merging, self._withdrawn))

    def rows(self, scan: Scan, counts: ScanCounts | None = None) -> Generator[Row]:
        """As `scan`, without what is known of the merge: the same as `row_of` of its rows, and faster."""
        check_mergeable(self._table, scan.versions, scan.times)
        return self._side_by_side(self._rows, attrgetter("key"), scan, counts or ScanCounts())

    def scan(self, scan: Scan, counts: ScanCounts | None = None) -> Generator[MergedRow]:
        """
        Logical rows of a range, in byte order of their keys.

        Memory is bounded by one page for each bucket, and by the update rows of one logical row that cannot be merged.

        Args:
            scan: which rows, by logical keys; patterns are compared after the rows were read.
            counts: the work of all its scans of the store is added to it when it ends.

        Raises:
            ConfigError: it has versions or times, which merged rows do not have.
            NotFoundError: there is no such table.
            IntegrityError: a row of the table is no update row.
        """
        check_mergeable(self._table, scan.versions, scan.times)
        return self._side_by_side(self._merged_rows, attrgetter("row"), scan, counts or ScanCounts())

    def rows_in_physical_range(self, scan: Scan, counts: ScanCounts | None = None) -> Generator[Row]:
        """
        As `rows`, for a range of physical row keys.

        Args:
            scan: start and stop are physical keys that divide no logical row, with buckets both in one bucket; there is
                neither a prefix nor a limit.
            counts: as in `scan`.
        """
        check_mergeable(self._table, scan.versions, scan.times)
        return self._rows(scan, counts or ScanCounts())

    def _side_by_side(
        self,
        read: Callable[[Scan, ScanCounts], Generator[R]],
        key: Callable[[R], bytes],
        scan: Scan,
        counts: ScanCounts,
    ) -> Generator[R]:
        start, stop = scan.bounds()
        if stop is not None and stop <= start:
            return
        page_rows = scan.page_rows if scan.limit is None else min(scan.page_rows, max(scan.limit, _FEW_ROWS))
        parts = (
            read(replace(scan, start=first, stop=end, prefix=b"", limit=None, page_rows=page_rows), counts)
            for first, end in ranges_of(self._distribution, *range_of(start, stop))
        )
        yield from side_by_side(parts, key, reverse=scan.reverse, limit=scan.limit)

    def _rows(self, scan: Scan, counts: ScanCounts) -> Generator[Row]:
        return self._found(scan, counts, row_of, Row if self._merging.returns_updates else None)

    def _merged_rows(self, scan: Scan, counts: ScanCounts) -> Generator[MergedRow]:
        return self._found(scan, counts, lambda merged: merged, None)

    def _found(
        self,
        scan: Scan,
        counts: ScanCounts,
        result: Callable[[MergedRow], R],
        single: Callable[[bytes, tuple[Cell, ...]], R] | None,
    ) -> Generator[R]:
        """
        The logical rows of a range of physical row keys.

        Args:
            scan: as in `rows_in_physical_range`.
            counts: as there.
            result: makes the result for a logical row.
            single: makes the result for a logical row with one update row, of the row key and the stored cells, which
                have the batch time of the row's last update id; if None, such a row is merged as any other.
        """
        own, divided, work = ScanCounts(), self._rows_in_two_regions, self.merge_counts
        stored = scan_physical(self._store, self._table, replace(scan, fuzzy=()), self._distribution, own)
        merge = self._merged_backward if scan.reverse else self._merged
        with closing(stored):
            try:
                counted = stored if self._last == LAST_UPDATE_ID else self._without_later(stored)
                for _, group in groupby(counted, _encoded_row):
                    view, found = own.views, iter(group)
                    first = next(found)
                    try:
                        row = logical_of(first.key)
                    except ValueError:
                        row = update_row(self._table, first).key.row  # raises the error that names the row key
                    if scan.fuzzy and not any(pattern.matches(row) for pattern in scan.fuzzy):
                        continue
                    second = next(found, None)  # reads the first row that follows, too, as does `merge`
                    made: R | None
                    if second is None and single is not None and not self._may_be_withdrawn(first):
                        work.update_rows += 1
                        made = single(row, first.cells)
                    else:
                        rows = (first,) if second is None else (first, second)
                        merged = merge(self._update_rows(chain(rows, found)))
                        made = None if merged is None else result(merged)
                    if made is None or not view or own.views != view or row in divided:
                        merged = self._at_one_moment(row, scan.columns, counts, self._merged)
                        made = None if merged is None else result(merged)
                    if made is not None:
                        work.merged_rows += 1
                        yield made
            finally:
                counts.add(own)

    def _may_be_withdrawn(self, stored: Row) -> bool:
        return bool(self._withdrawn.intervals) and update_id_in(stored.key) <= self._withdrawn.last_id

    def _without_later(self, stored: Iterable[Row]) -> Iterator[Row]:
        return (row for row in stored if update_id_in(row.key) <= self._last)

    def _merged(self, rows: Iterable[UpdateRow]) -> MergedRow | None:
        return merged_row(rows, self._merging, self._withdrawn)

    def _merged_backward(self, rows: Iterator[UpdateRow]) -> MergedRow | None:
        """The row of which a reverse scan found the update rows; None if they are too many."""
        found = list(islice(rows, _MAX_REVERSED + 1))
        return None if len(found) > _MAX_REVERSED else self._merged(reversed(found))

    def _at_one_moment(
        self,
        row: bytes,
        columns: tuple[bytes, ...] | None,
        counts: ScanCounts,
        result: Callable[[Iterator[UpdateRow]], T],
    ) -> T:
        """The result for the update rows of a logical row that were there at one moment; it reads all of them."""
        prefix = b"" if self._distribution is None else self._distribution.bucket(row)
        start, stop = rows_of(row, last=self._last)
        scan = Scan(start=prefix + start, stop=prefix + stop, columns=columns, page_rows=_PAGE_ROWS)
        before: int | None = None
        while True:
            own, keys = ScanCounts(), _Keys()  # of this reading
            with closing(scan_physical(self._store, self._table, scan, self._distribution, own)) as stored:
                found = result(keys.noting(self._update_rows(stored)))
            counts.add(own)
            is_one_view = own.views == 1 and row not in self._rows_in_two_regions
            if is_one_view or keys.digest == before or not keys.last_start:
                return found
            if before is None:  # without those written since, so that a busy row is read in the end
                scan = replace(scan, stop=prefix + rows_of(row, last=keys.last_start)[1])
            before = keys.digest

    def _update_rows(self, stored: Iterable[Row]) -> Iterator[UpdateRow]:
        for row in stored:
            self.merge_counts.update_rows += 1
            yield update_row(self._table, row)

    @cached_property
    def _rows_in_two_regions(self) -> frozenset[bytes]:
        """The logical rows of which a region may have only some update rows."""
        spec = self._store.describe_table(self._table)
        without_bucket = 0 if self._distribution is None else 1
        keys = (split[without_bucket:] for split in (() if spec is None else spec.splits))
        return frozenset(row for row in map(divided_row, keys) if row is not None)


class _Keys:
    """
    The keys of a reading, as one number.

    Attributes:
        digest: of the keys so far.
        last_start: of the last row so far; 0 without rows.
    """

    def __init__(self) -> None:
        self.digest = 0
        self.last_start = 0

    def noting(self, rows: Iterable[UpdateRow]) -> Iterator[UpdateRow]:
        """The same rows; their keys are added."""
        for row in rows:
            self.digest = hash((self.digest, row.key.start, row.key.end))
            self.last_start = row.key.start
            yield row


def update_row(table: str, row: Row) -> UpdateRow:
    """
    The update row that a store has read of a table.

    Raises:
        IntegrityError: it is none.
    """
    try:
        return UpdateRow.of(row)
    except ValueError as error:
        raise IntegrityError(
            f'table "{table}" has the row key {shown_start(row.key)}, which is not the key of an update row',
            hint="another program writes to the table: delete the row, or copy the others into a new table",
        ) from error


def _encoded_row(stored: Row) -> bytes:
    return stored.key[:-TIMES_BYTES]


def row_of(merged: MergedRow) -> Row:
    """A merged row as the reads of other tables return it; its cells have the batch time of its last update."""
    time_ms = time_of(merged.last)
    cells = (Cell(family, qualifier or b"", time_ms, value) for (family, qualifier), value in _split(merged))
    return Row(merged.row, tuple(cells))


def check_mergeable(table: str, versions: int, times: TimeRange) -> None:
    """
    Refuse a read that merged rows cannot answer.

    Raises:
        ConfigError: it is one of several versions, or of a range of times.
    """
    what = "several versions" if versions > 1 else "a range of times" if times != ALL_TIMES else None
    if what is not None:
        raise ConfigError(
            f'the rows of table "{table}" are merged of deferred updates and cannot be read with {what}',
            hint="read its update rows, with --raw or the option raw of a DataFrame",
        )


def _split(merged: MergedRow) -> list[tuple[tuple[bytes, bytes | None], bytes]]:
    return sorted((split_column(column), value) for column, value in merged.columns.items())
