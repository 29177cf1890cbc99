"""
The update rows of one logical row: which of them count, and what a read returns.

A compaction writes a merged row and then deletes the rows that it covers. A crash in between, or a lost delete, leaves
covered rows behind. They are recognised by their keys:

1. Of rows with one start, only that with the largest end counts.
2. A row whose start is not after the end of the last merged row that counts does not count.

An update whose batch time was withdrawn does not count either.

Source: HBaseHUT's UpdatesProcessingUtil and HutResultScanner.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, groupby
from typing import NamedTuple, Protocol, Self, TypeVar

from ingest.api import Row
from sinks.updates.keys import UpdateKey
from sinks.updates.merging import MergedColumns, Merging, Unmerged
from sinks.updates.withdrawn import NOTHING, Withdrawn


class HasKey(Protocol):
    """An update row, or a part of it."""

    @property
    def key(self) -> UpdateKey:
        """Its row key."""


K = TypeVar("K", bound=HasKey)


class UpdateRow(NamedTuple):
    """
    An update row as stored.

    Attributes:
        columns: column (`family:qualifier`) -> update.
    """

    key: UpdateKey
    columns: Mapping[bytes, bytes]

    @classmethod
    def of(cls, row: Row) -> Self:
        """
        The update row that a store has read; of several versions of a cell the newest.

        Raises:
            ValueError: the row key is not the key of an update row.
        """
        # the newest version of a cell is the first, and replaces the others
        columns = {family + b":" + qualifier: value for family, qualifier, _, value in reversed(row.cells)}
        return cls(UpdateKey.decoded(row.key), columns)


class HistoryEntry(NamedTuple):
    """
    An update row in the history of its logical row.

    Attributes:
        is_orphaned: a merged row covers it, or its batch time was withdrawn, so it does not count.
        merged: what a read would return if this were the last update row.
    """

    row: UpdateRow
    is_orphaned: bool
    merged: MergedColumns


class MergedRow(NamedTuple):
    """
    A logical row as a read returns it.

    Attributes:
        last: last update id of its updates.
        columns: column -> value; of a column in `unmerged` the newest update.
        unmerged: the columns whose updates cannot be merged.
        update_rows: number of update rows that were merged.
        orphaned: number of update rows that did not count.
    """

    row: bytes
    last: int
    columns: dict[bytes, bytes]
    unmerged: tuple[Unmerged, ...]
    update_rows: int
    orphaned: int


def by_row(rows: Iterable[UpdateRow]) -> Iterator[tuple[bytes, Iterator[UpdateRow]]]:
    """
    The groups of a scan: each logical row key with its update rows, to be read before the next group.

    Args:
        rows: in the order of their keys.
    """
    return groupby(rows, key=lambda row: row.key.row)


def with_orphans(rows: Iterable[K], withdrawn: Withdrawn = NOTHING) -> Iterator[tuple[K, bool]]:
    """
    Each update row of one logical row, and whether it is an orphaned update, which must not count.

    Args:
        rows: of one logical row, in the order of their keys; one row is read ahead.
        withdrawn: of the table.
    """
    covered = 0  # last update id that a merged row covers
    pending: K | None = None
    last_id = withdrawn.last_id
    for row in rows:
        if pending is not None:
            start = pending.key.start
            is_orphaned = start == row.key.start or start <= covered
            is_orphaned = is_orphaned or (start <= last_id and withdrawn.has(pending.key))
            yield pending, is_orphaned
            covered = covered if is_orphaned else max(covered, pending.key.end)
        pending = row
    if pending is not None:
        yield pending, pending.key.start <= covered or withdrawn.has(pending.key)


def merged_row(rows: Iterable[UpdateRow], merging: Merging, withdrawn: Withdrawn = NOTHING) -> MergedRow | None:
    """
    A logical row, merged of its update rows; None without rows that count.

    The updates of a column that is in one row are not merged.

    Args:
        rows: of one logical row, in the order of their keys.
        merging: of the table.
        withdrawn: of the table.
    """
    remaining = iter(rows)
    first, second = next(remaining, None), next(remaining, None)
    if first is None or (second is None and withdrawn.has(first.key)):
        return None
    if second is None:  # as in most groups after a compaction
        columns, unmerged = merging.results(MergedColumns(dict(first.columns)))
        return MergedRow(first.key.row, first.key.last, columns, unmerged, 1, 0)
    return _of_several(chain((first, second), remaining), merging, withdrawn)


def _of_several(rows: Iterable[UpdateRow], merging: Merging, withdrawn: Withdrawn) -> MergedRow | None:
    merger = merging.merger()
    last = count = orphaned = 0
    for row, is_orphaned in with_orphans(rows, withdrawn):
        key = row.key
        if is_orphaned:
            orphaned += 1
        else:
            merger.add(row.columns)
            last, count = key.last, count + 1
    if not count:
        return None
    columns, unmerged = merging.results(merger.merged())
    return MergedRow(key.row, last, columns, unmerged, count, orphaned)


def history_of(rows: Iterable[UpdateRow], merging: Merging, withdrawn: Withdrawn = NOTHING) -> Iterator[HistoryEntry]:
    """
    The history of one logical row, oldest first.

    Args:
        rows: of one logical row, in the order of their keys.
        merging: of the table.
        withdrawn: of the table.
    """
    merger = merging.merger()
    for row, is_orphaned in with_orphans(rows, withdrawn):
        if not is_orphaned:
            merger.add(row.columns)
        yield HistoryEntry(row, is_orphaned, merging.results(merger.merged()))
