"""Folds the updates of a split: one update row for each original row key."""

from collections.abc import Iterator, Mapping

from ingest.api import Delete, Durability, MappingError, Mutation, NotMergeableError, Put, stronger
from ingest.api.notation import shown
from sinks.updates.keys import MAX_ORIGINAL_BYTES, UpdateKey, encoded_row, start_of
from sinks.updates.merging import Merging


class UpdateFold:
    """
    Folds the updates of one split in memory; the processor merges them as they come.

    One update row for each original row key and split, whatever the sizes: a micro-batch that runs again writes the
    same rows, because a split has the same records and the same rank. So it buffers the rows of a whole split, which
    `max_events_per_batch` bounds.

    Args:
        tables: table -> merges its updates.
    """

    def __init__(self, tables: Mapping[str, Merging]) -> None:
        self._tables = tables
        self._rows: dict[str, dict[bytes, dict[bytes, bytes]]] = {}
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
        columns = self._folded(table, put)
        self._rows.setdefault(table, {})[put.row] = columns
        self._durabilities[table] = stronger(self._durabilities.get(table, put.durability), put.durability)

    def check(self, table: str, put: Put) -> None:
        """
        Check that the values of an event can be added.

        Raises:
            MappingError: as `add`.
        """
        self._folded(table, put)

    def withdraw(self, table: str, row: bytes) -> None:
        """Delete the update row of this split, which an earlier attempt may have written."""
        self._withdrawn.add((table, row))

    def take(self, batch_time_ms: int, rank: int) -> Iterator[tuple[str, Mutation]]:
        """
        The update rows of the split, which is empty afterwards; and deletes of those that were withdrawn.

        Args:
            batch_time_ms: of the micro-batch.
            rank: of the split in it.
        """
        start = start_of(batch_time_ms, rank)
        for table, rows in self._rows.items():
            durability = self._durabilities[table]
            for row, columns in rows.items():
                yield table, Put(UpdateKey(row, start).encoded(), columns, batch_time_ms, durability)
        for table, row in sorted(self._withdrawn):
            yield table, Delete(UpdateKey(row, start).encoded(), batch_time_ms)
        self.clear()

    def clear(self) -> None:
        """Discard the updates of an abandoned split."""
        self._rows.clear()
        self._durabilities.clear()
        self._withdrawn.clear()

    def _folded(self, table: str, put: Put) -> dict[bytes, bytes]:
        """The columns of the update row after the values of an event are added."""
        if len(encoded_row(put.row)) - 1 > MAX_ORIGINAL_BYTES:
            raise MappingError(
                f"the row key has {len(put.row)} bytes; with the times of an update it is too long",
                code="row_key_too_long",
                hint="shorten it, for example with a hash of the long part",
            )
        merging = self._tables[table]
        updates = merging.updates(put.columns)
        before = self._rows.get(table, {}).get(put.row)
        if before is None:
            return updates
        folded = before | updates
        for column in updates.keys() & before.keys():
            if merging.applies_to(column):
                try:
                    folded[column] = merging.merge([before[column], updates[column]])
                except NotMergeableError as error:
                    raise MappingError(f"{shown(column)}: {error}", code="not_mergeable") from error
        return folded
