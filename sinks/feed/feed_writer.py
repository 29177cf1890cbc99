"""Writes a table with a change feed: the feed rows first, and the rows that they describe when these are durable."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from itertools import chain
from typing import Any

from ingest.api import Cell, Delete, FeedSpec, LifecycleError, Mutation, Scan, Store
from ingest.api.feeds import FEED, feed_table
from ingest.api.table_writer import (
    FirstWriter,
    FlushCycle,
    Reason,
    RejectedRows,
    RowReader,
    TableWriter,
    refused_error,
)
from sinks.feed.changes import encoded_change, op_of, stored_before
from sinks.feed.feed_rows import CHANGE_TOO_LARGE, MAX_CHANGE_BYTES, FeedBatch, FeedRow, check_change, too_large
from sinks.feed.keys import FEED_COLUMN, PREFIX_BYTES, split_prefix
from sinks.feed.row_after import cells_after
from sinks.folding.fold import Fold
from sinks.folding.sizes import size_of
from sinks.rowkeys.row_format import RowFormat
from sinks.updates.keys import logical_of

GROUP_BYTES = 16 << 20
"""Changes of several splits are written together up to this size; each group waits twice for the store."""
READ_ROWS = 100
"""Rows read in one call: a call in flight for longer than the timeout counts as blocked."""


class FeedWriter(FirstWriter):
    """
    Writes the rows of one table and their changes: a feed row is durable before the row that it describes is sent.

    The operations of a split on a row are one change. They are never cut by bytes, so a micro-batch that runs again
    makes the same feed rows. So it buffers all events of a split, which `max_events_per_batch` bounds. The changes of
    several splits form a group, as long as no two of them change the same row: so a row that the store refuses belongs
    to one change. Only that change is withdrawn, and its events fail in the next attempt.

    If the table has deferred updates, the mutations are its update rows, from the writer before this one.

    Args:
        next_writer: writes both tables.
        table: name of the table.
        spec: of its feed.
        store_name: for messages.
        reader: reads rows before they are changed.
        withdraws: whether an earlier attempt may have written feed rows.
        is_updated: whether the table has deferred updates.
        max_put_bytes: as in `Fold`.
    """

    def __init__(  # noqa: PLR0913 - its table and its place, each used once
        self,
        next_writer: TableWriter,
        table: str,
        spec: FeedSpec,
        *,
        store_name: str,
        reader: RowReader,
        withdraws: bool,
        is_updated: bool,
        max_put_bytes: int | None = None,
    ) -> None:
        super().__init__(next_writer)
        self._table = table
        self._feed = feed_table(table)
        self._spec = spec
        self._store_name = store_name
        self._reader = reader
        self._withdraws = withdraws
        self._is_updated = is_updated
        self._fold = Fold(max_put_bytes)
        self._updates: list[FeedRow] = []
        self._group: dict[bytes, FeedRow] = {}
        self._group_bytes = 0
        self._sent: dict[bytes, FeedRow] = {}
        self._withdrawn: dict[bytes, Delete] = {}
        self._unseen: dict[bytes, list[Mutation]] = {}
        self._refused: dict[bytes, Reason] = {}  # feed row key -> why, of changes
        self._refused_updates: dict[bytes, Reason] = {}  # key of an update row -> why
        self._known_refused: dict[bytes, Reason] = {}
        self._rank: int | None = None
        self._cycle: FlushCycle
        self._batch: FeedBatch | None = None
        self._bucketed: Callable[[bytes], bytes] | None = None
        self._physical: Callable[[bytes], bytes] | None = None

    def begin(self, cycle: FlushCycle) -> None:
        """Start a flush cycle."""
        self._next.begin(cycle)
        self._cycle = cycle
        message = cycle.features.get(self._table, {}).get(FEED)
        self._batch = None
        if message is not None:
            self._batch = batch = FeedBatch.unpacked(message)
            # the bucket and the logical row key, also in a table with deferred updates
            self._bucketed = RowFormat(batch.rows.buckets).physical_key()
            self._physical = batch.rows.physical_key()
        self._known_refused = {row: why for (table, row), why in cycle.refused.items() if table == self._feed}
        self._rank = None
        self._fold.clear()
        self._group_bytes = 0
        for kept in (self._updates, self._group, self._sent, self._withdrawn, self._unseen):
            kept.clear()
        self._refused.clear()
        self._refused_updates.clear()

    def split_start(self, rank: int) -> None:
        """Start a split: its changes have its rank."""
        self._next.split_start(rank)
        self._rank = rank
        self._fold.clear()
        self._updates.clear()

    def withdraw(self, row: bytes) -> None:
        """Delete the change of a refused row; a row that was written keeps its change."""
        if self._withdraws and self.is_refused(self._table, row):
            self._delete_change(self._key(row))

    def is_refused(self, table: str, row: bytes) -> bool:
        """Whether an earlier attempt found the change of the row in this split refused."""
        return bool(self._known_refused) and table == self._table and self._key(row) in self._known_refused

    def check(self, table: str, mutations: Sequence[Mutation]) -> None:
        """Check that each mutation of an event can be in a change."""
        for mutation in mutations:
            check_change(table, mutation)

    def add(self, table: str, mutation: Mutation) -> None:
        """Add the next operation of the split, or an update row of it; a delete withdraws an update row."""
        if self._is_updated:
            row = logical_of(mutation.row)
            if isinstance(mutation, Delete):
                self._delete_change(self._key(row))
                self._next.add(table, mutation)
            else:
                self._updates.append(FeedRow(row, self._key(row), [mutation], is_update=True))
            return
        if self._known_refused and (key := self._key(mutation.row)) in self._known_refused:
            self.withdraw(mutation.row)
            raise refused_error(self._store_name, table, self._known_refused[key])
        check_change(table, mutation)
        self._fold.add(table, mutation)

    def split_end(self) -> None:
        """
        End a split: its changes join a group, which may be sent later.

        Raises:
            LifecycleError: the split has no rank.
            StoreError: the store failed to write earlier changes.
        """
        if self._rank is None:
            raise LifecycleError("a task writes a change feed without the ranks of its splits")
        folded = (FeedRow(row, self._key(row), mutations) for _, row, mutations in self._fold.by_row())
        for change in chain(self._updates, folded):
            place = change.mutations[0].row
            if place in self._group or self._group_bytes > GROUP_BYTES:
                self._close_group()
            self._group[place] = change
            self._group_bytes += sum(map(size_of, change.mutations))
        self._cycle.counts.joined_puts += self._fold.take_joined()
        self._fold.clear()
        self._updates.clear()
        self._next.split_end()

    def flush(self) -> None:
        """Send the rest, and return when it is durable or refused."""
        self._close_group()
        if self._sent or self._withdrawn:
            self._complete_group()
        if self._withdrawn:
            # after the deletes of the update rows that they describe
            for delete in self._withdrawn.values():
                self._next.add(self._feed, delete)
            self._withdrawn.clear()
            self._next.flush()

    def take_refused(self, table: str) -> dict[bytes, Reason]:
        """The refused update rows."""
        if table != self._table:
            return self._next.take_refused(table)
        self._note_refused()
        refused, self._refused_updates = self._refused_updates, {}
        return refused

    def refused(self) -> RejectedRows:
        """The refused changes, by the keys of their feed rows: a row is refused for one split alone."""
        self._note_refused()
        self._refused |= self._next.take_refused(self._feed)  # deletes of changes that are withdrawn
        return {(self._feed, key): why for key, why in self._refused.items()}

    def _key(self, row: bytes) -> bytes:
        """The key of the feed row for a row that the current split changes."""
        if self._rank is None:
            raise LifecycleError("a task writes a change feed without the ranks of its splits")
        batch = self._open_batch()
        shard = batch.shards.of(row if self._bucketed is None else self._bucketed(row))
        return split_prefix(shard, batch.time_ms, self._rank) + row

    def _open_batch(self) -> FeedBatch:
        if self._batch is None:
            raise LifecycleError(f'the change feed of table "{self._table}" is not open at the time of its micro-batch')
        return self._batch

    def _delete_change(self, key: bytes) -> None:
        """Delete a feed row of this split at the end, which an earlier attempt may have written."""
        self._withdrawn[key] = Delete(key, self._open_batch().time_ms)

    def _close_group(self) -> None:
        """Make the feed rows of the group durable, and send its rows."""
        if not self._group:
            return
        if self._sent:
            self._complete_group()
        group, self._group, self._group_bytes = self._group, {}, 0
        for change, value in self._values(list(group.values())):
            if len(value) > MAX_CHANGE_BYTES:
                self._refuse(change, (CHANGE_TOO_LARGE, too_large(self._table, change.row, len(value))))
            else:
                self._next.add(self._feed, change.put(self._open_batch().time_ms, value))
        self._next.flush()
        refused = self._next.take_refused(self._feed)
        for change in group.values():
            if change.key in refused:
                self._refuse(change, refused[change.key])
        self._sent = {place: change for place, change in group.items() if not self._has_refused(change)}
        for change in self._sent.values():
            for mutation in change.mutations:
                self._next.add(self._table, mutation)
            self._note_unseen(change)
        self._next.send()

    def _complete_group(self) -> None:
        """Wait for the rows that were sent, so that those that the store refused are known by their changes."""
        self._next.flush()
        self._note_refused()
        self._sent = {}

    def _note_refused(self) -> None:
        """Note which changes the refused rows are of, as far as they were sent."""
        for row, why in self._next.take_refused(self._table).items():
            change = self._sent.get(row)
            if change is None:  # the delete of an update row that is withdrawn
                self._refused_updates[row] = why
            else:
                self._refuse(change, why)

    def _refuse(self, change: FeedRow, why: Reason) -> None:
        if change.is_update:
            self._refused_updates[change.mutations[0].row] = why
        else:
            self._refused[change.key] = why

    def _has_refused(self, change: FeedRow) -> bool:
        return change.mutations[0].row in self._refused_updates if change.is_update else change.key in self._refused

    def _note_unseen(self, change: FeedRow) -> None:
        """Keep what the reader does not see, for the `before` of a later split that changes the same row."""
        if self._spec.before and not change.is_update and not self._reader.reads_own_writes:
            self._unseen.setdefault(change.row, []).extend(change.mutations)

    def _values(self, changes: Sequence[FeedRow]) -> Iterable[tuple[FeedRow, bytes]]:
        """The changes with the values of their feed rows."""
        read = [change for change in changes if self._spec.before and not change.is_update]
        before = self._before(read) if read else {}
        for change in changes:
            cells = before.get(change.row)
            if cells is None:
                yield change, change.change()
            else:
                yield change, encoded_change(op_of(change.mutations, cells), change.mutations, cells)

    def _before(self, changes: Sequence[FeedRow]) -> dict[bytes, Sequence[Cell]]:
        """
        Row key -> the cells of the row before the change.

        An earlier attempt may have changed the row: then its feed row has the cells that were there before.
        """
        prefixes = sorted({change.key[:PREFIX_BYTES] for change in changes})
        found: dict[bytes, Sequence[Cell]] = self._reader.read(
            lambda store: {
                key: cells for prefix in prefixes for key, cells in _stored_before(store, self._feed, prefix)
            }
        )
        by_row = {change.row: found[change.key] for change in changes if change.key in found}
        unread = [change.row for change in changes if change.row not in by_row]
        for at in range(0, len(unread), READ_ROWS):
            some = unread[at : at + READ_ROWS]

            def read(store: Store[Any], some: Sequence[bytes] = some) -> list[Sequence[Cell]]:
                physical = self._physical
                rows = (store.get(self._table, row if physical is None else physical(row)) for row in some)
                return [() if row is None else row.cells for row in rows]

            for row, cells in zip(some, self._reader.read(read), strict=True):
                unseen = self._unseen.get(row)
                by_row[row] = cells if unseen is None else cells_after(cells, unseen)
        return by_row


def _stored_before(store: Store[Any], feed: str, prefix: bytes) -> Iterable[tuple[bytes, Sequence[Cell]]]:
    """The feed rows that an earlier attempt of a split has written: their keys, and the cells before the change."""
    with closing(store.scan(feed, Scan(prefix=prefix, columns=(FEED_COLUMN,)))) as rows:
        for row in rows:
            cells = stored_before(row.cells[0].value) if row.cells else None
            if cells is not None:
                yield row.key, cells
