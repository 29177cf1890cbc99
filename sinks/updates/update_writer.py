"""Writes a table with deferred updates: one update row for each logical row key that a split updates."""

from collections.abc import Sequence

from ingest.api import Delete, Durability, LifecycleError, MappingError, Mutation, NotMergeableError, Put, stronger
from ingest.api.event_errors import RowKeyTooLongError
from ingest.api.notation import shown
from ingest.api.table_writer import (
    FirstWriter,
    FlushCycle,
    Reason,
    RejectedRows,
    TableWriter,
    TtlRefusedError,
    refused_error,
)
from sinks.updates.keys import MAX_UPDATED_ROW_BYTES, UpdateKey, encoded_row, logical_of, update_id_of
from sinks.updates.merging import Merging, RowMerger


class UpdateNotMergeableError(MappingError):
    """A value cannot be added to the update of its column, as beyond 64 bits."""

    code = "not_mergeable"
    remedy = "Correct the producer, or use a processor or `type` that can take the value; then replay the dead letter."


class DeleteOfUpdatesError(MappingError):
    """A rule deletes a row, family or column of a table with deferred updates."""

    code = "delete_of_updates"
    remedy = "Remove the rule, or write to a table without `updates`."


class UpdateWriter(FirstWriter):
    """
    Writes a table with deferred updates: folds the updates of a split into one update row for each logical row key.

    The processor merges them as they come, or a few at once if it can merge them all. The rows are the same whatever
    their sizes: a micro-batch that runs again writes the same ones, because a split has the same records and the same
    rank. So it buffers the rows of a whole split, which `max_events_per_batch` bounds.

    Args:
        next_writer: writes the update rows; deletes withdraw those that an earlier attempt may have written.
        table: name of the table.
        merging: merges its updates.
        store_name: for messages.
        withdraws: whether an earlier attempt may have written update rows.
    """

    def __init__(
        self, next_writer: TableWriter, table: str, merging: Merging, *, store_name: str, withdraws: bool
    ) -> None:
        super().__init__(next_writer)
        self._table = table
        self._merging = merging
        self._store_name = store_name
        self._withdraws = withdraws
        self._rows: dict[bytes, dict[bytes, bytes]] = {}
        self._mergers: dict[bytes, RowMerger] = {}  # of a processor that can merge all updates
        self._durability: Durability | None = None
        self._withdrawn: set[bytes] = set()
        self._known_refused: dict[bytes, Reason] = {}
        self._rank: int | None = None
        self._batch_time_ms = 0

    def begin(self, cycle: FlushCycle) -> None:
        """Start a flush cycle."""
        self._next.begin(cycle)
        self._batch_time_ms = cycle.batch_time_ms
        self._known_refused = {row: why for (table, row), why in cycle.refused.items() if table == self._table}
        self._rank = None
        self._clear()

    def split_start(self, rank: int) -> None:
        """Start a split: its update rows have its rank."""
        self._next.split_start(rank)
        self._rank = rank
        self._clear()

    def withdraw(self, row: bytes) -> None:
        """Delete the update row of this split, unless other events write it: it may have the values of the event."""
        if self._withdraws:
            self._withdrawn.add(row)

    def is_refused(self, table: str, row: bytes) -> bool:
        """Whether an earlier attempt found an update row of a row refused."""
        return table == self._table and row in self._known_refused

    def check(self, table: str, mutations: Sequence[Mutation]) -> None:
        """Check that the values of an event can be added one after the other."""
        self._next.check(table, mutations)
        folded: dict[bytes, dict[bytes, bytes]] = {}
        for put in mutations:
            if isinstance(put, Put) and put.row not in self._known_refused:
                updates = self._updates(put)
                if not self._merging.merges_all:
                    before = folded.get(put.row, self._rows.get(put.row))
                    folded[put.row] = _folded(self._merging, before, updates)

    def add(self, table: str, mutation: Mutation) -> None:
        """Add the values of an event; all events of a refused row fail, also those of other splits."""
        if not isinstance(mutation, Put):
            raise DeleteOfUpdatesError(f'table "{table}" has deferred updates, which an event cannot delete')
        if mutation.ttl_ms is not None:
            raise TtlRefusedError(
                f'table "{table}" has deferred updates, whose cells have no time to live of their own'
            )
        row = mutation.row
        if row in self._known_refused:
            # an earlier attempt may have written the update rows of other splits
            self.withdraw(row)
            raise refused_error(self._store_name, table, self._known_refused[row])
        self._next.check(table, [mutation])
        updates = self._updates(mutation)
        if self._merging.merges_all:
            merger = self._mergers.get(row)
            if merger is None:
                merger = self._mergers[row] = self._merging.merger()
            merger.add(updates)
        else:
            self._rows[row] = _folded(self._merging, self._rows.get(row), updates)
        strongest = self._durability
        self._durability = mutation.durability if strongest is None else stronger(strongest, mutation.durability)

    def split_end(self) -> None:
        """
        End a split: write its update rows.

        Raises:
            LifecycleError: the split has no rank.
            NotMergeableError: a processor that can merge all updates has a bug.
            StoreError: the store failed to write.
        """
        if self._rank is None:
            raise LifecycleError("a task writes deferred updates without the ranks of its splits")
        update_id = update_id_of(self._batch_time_ms, self._rank)
        for row, merger in self._mergers.items():
            self._rows[row] = _merged(self._table, row, merger)
        for row, columns in self._rows.items():
            key, durability = UpdateKey(row, update_id).encoded(), self._durability or Durability.SYNC
            self._next.add(self._table, Put(key, columns, self._batch_time_ms, durability))
        for row in sorted(self._withdrawn - self._rows.keys()):
            self._next.add(self._table, Delete(UpdateKey(row, update_id).encoded(), self._batch_time_ms))
        self._clear()
        self._next.split_end()

    def refused(self) -> RejectedRows:
        """The rows of which the store has refused an update row."""
        refused = self._next.take_refused(self._table)
        return {(self._table, logical_of(key)): why for key, why in refused.items()}

    def _clear(self) -> None:
        self._rows.clear()
        self._mergers.clear()
        self._durability = None
        self._withdrawn.clear()

    def _updates(self, put: Put) -> dict[bytes, bytes]:
        """The updates of an event."""
        if len(encoded_row(put.row)) - 1 > MAX_UPDATED_ROW_BYTES:
            raise RowKeyTooLongError(
                f"the row key has {len(put.row)} bytes; with the times of an update it is too long"
            )
        return self._merging.updates(put.columns)


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
