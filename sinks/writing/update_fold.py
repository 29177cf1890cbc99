"""Folds the updates of a split: one update row for each logical row key."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from ingest.api import Delete, Durability, MappingError, Mutation, NotMergeableError, Put, stronger
from ingest.api.event_errors import RowKeyTooLongError
from ingest.api.notation import shown
from sinks.updates.keys import MAX_UPDATED_ROW_BYTES, UpdateKey, encoded_row, update_id_of
from sinks.updates.merging import Merging, RowMerger


class UpdateNotMergeableError(MappingError):
    """A value cannot be added to the update of its column, as beyond 64 bits."""

    code = "not_mergeable"
    remedy = "Correct the producer, or use a processor or `type` that can take the value; then replay the dead letter."


class UpdateFold:
    """
    Folds the updates of one split in memory; the processor merges them as they come, or a few at once if it can merge
    them all.

    One update row for each logical row key and split, whatever the sizes: a micro-batch that runs again writes the
    same rows, because a split has the same records and the same rank. So it buffers the rows of a whole split, which
    `max_events_per_batch` bounds.

    Args:
        tables: table -> merges its updates.
    """

    def __init__(self, tables: Mapping[str, Merging]) -> None:
        self._tables = tables
        self._rows: dict[str, dict[bytes, dict[bytes, bytes]]] = defaultdict(dict)
        self._mergers: dict[str, dict[bytes, RowMerger]] = defaultdict(dict)  # of processors that can merge all updates
        self._durabilities: dict[str, Durability] = {}
        self._withdrawn: set[tuple[str, bytes]] = set()

    def __bool__(self) -> bool:
        return bool(self._tables)

    def __contains__(self, table: object) -> bool:
        return table in self._tables

    def add(self, table: str, put: Put) -> None:
        """
        Add the values of an event.

        Raises:
            MappingError: the processor cannot take a value, or the result has no representation; nothing is added.
        """
        updates, merging = self._updates(table, put), self._tables[table]
        if merging.merges_all:
            mergers = self._mergers[table]
            merger = mergers.get(put.row)
            if merger is None:
                merger = mergers[put.row] = merging.merger()
            merger.add(updates)
        else:
            rows = self._rows[table]
            rows[put.row] = _folded(merging, rows.get(put.row), updates)
        self._durabilities[table] = stronger(self._durabilities.get(table, put.durability), put.durability)

    def check(self, puts: Iterable[tuple[str, Put]]) -> None:
        """
        Check that the values of an event, for tables and rows, can be added one after the other.

        Raises:
            MappingError: as `add`.
        """
        folded: dict[tuple[str, bytes], dict[bytes, bytes]] = {}
        for table, put in puts:
            updates, merging = self._updates(table, put), self._tables[table]
            if not merging.merges_all:
                place = table, put.row
                before = folded.get(place, self._rows.get(table, {}).get(put.row))
                folded[place] = _folded(merging, before, updates)

    def withdraw(self, table: str, row: bytes) -> None:
        """Delete the update row of this split, which an earlier attempt may have written."""
        self._withdrawn.add((table, row))

    def take(self, batch_time_ms: int, rank: int) -> Iterator[tuple[str, Mutation]]:
        """
        The update rows of the split, which is empty afterwards; and deletes of those that were withdrawn.

        Args:
            batch_time_ms: of the micro-batch.
            rank: of the split in it.

        Raises:
            NotMergeableError: a processor that can merge all updates has a bug.
        """
        update_id = update_id_of(batch_time_ms, rank)
        for table, mergers in self._mergers.items():
            self._rows[table] = {row: _merged(table, row, merger) for row, merger in mergers.items()}
        for table, rows in self._rows.items():
            durability = self._durabilities[table]
            for row, columns in rows.items():
                yield table, Put(UpdateKey(row, update_id).encoded(), columns, batch_time_ms, durability)
        for table, row in sorted(self._withdrawn):
            yield table, Delete(UpdateKey(row, update_id).encoded(), batch_time_ms)
        self.clear()

    def clear(self) -> None:
        """Discard the updates of an abandoned split."""
        self._rows.clear()
        self._mergers.clear()
        self._durabilities.clear()
        self._withdrawn.clear()

    def _updates(self, table: str, put: Put) -> dict[bytes, bytes]:
        """The updates of an event."""
        if len(encoded_row(put.row)) - 1 > MAX_UPDATED_ROW_BYTES:
            raise RowKeyTooLongError(
                f"the row key has {len(put.row)} bytes; with the times of an update it is too long"
            )
        return self._tables[table].updates(put.columns)


def _merged(table: str, row: bytes, merger: RowMerger) -> dict[bytes, bytes]:
    try:
        return merger.merged_or_raise()
    except NotMergeableError as error:
        raise NotMergeableError(f'table "{table}", row {shown(row)}, {error}') from error


def _folded(merging: Merging, before: dict[bytes, bytes] | None, updates: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """The columns of an update row after those of an event are added."""
    if before is None:
        return updates
    folded = before | updates
    for column in updates.keys() & before.keys():
        if merging.applies_to(column):
            try:
                folded[column] = merging.merge([before[column], updates[column]])
            except NotMergeableError as error:
                raise UpdateNotMergeableError(f"{shown(column)}: {error}") from error
    return folded
