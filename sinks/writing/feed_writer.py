"""Writes changes: the feed rows first, and the rows that they describe only when the feed rows are durable."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any

from ingest.api import Cell, Delete, FeedSpec, Mutation, Scan, Store
from ingest.api.feeds import feed_table
from sinks.feed.changes import encoded_change, op_of, stored_before
from sinks.feed.keys import FEED_COLUMN, PREFIX_BYTES
from sinks.rowkeys.row_format import RowFormat
from sinks.writing.buffer import size_of
from sinks.writing.feed_rows import CHANGE_TOO_LARGE, MAX_CHANGE_BYTES, FeedRow, FeedRows
from sinks.writing.messages import RejectedRows
from sinks.writing.row_after import cells_after
from sinks.writing.row_reader import RowReader

GROUP_BYTES = 16 << 20
"""Changes of several splits are written together up to this size; each group waits twice for the store."""
READ_ROWS = 100
"""Rows read in one call: a call in flight for longer than the timeout counts as blocked."""


class FeedWriter:
    """
    Sends feed rows and, when they are durable, the mutations that they describe.

    The changes of several splits form a group, as long as no two of them change the same row: so a row that the store
    refuses belongs to one change. Only that change is withdrawn, and its events fail in the next attempt.

    Called by one thread. Order: `begin`, any number of `write` and `withdraw`, then `flush`.

    Args:
        rows: of the flush cycle.
        buffer: adds a mutation to the send buffers.
        send: sends the send buffers.
        wait: returns when all that was sent is durable or refused.
        refused: returns the rejected rows of the flush cycle, which the writer may change.
        reader: reads rows before they are changed.
    """

    def __init__(
        self,
        rows: FeedRows,
        *,
        buffer: Callable[[str, Mutation], None],
        send: Callable[[], None],
        wait: Callable[[], None],
        refused: Callable[[], RejectedRows],
        reader: RowReader,
    ) -> None:
        self._rows = rows
        self._feeds: Mapping[str, FeedSpec] = rows.feeds
        self._buffer = buffer
        self._send = send
        self._wait = wait
        self._refused = refused
        self._reader = reader
        self._group: dict[tuple[str, bytes], FeedRow] = {}
        self._group_bytes = 0
        self._sent: dict[tuple[str, bytes], FeedRow] = {}
        self._withdrawn: dict[tuple[str, bytes], Delete] = {}
        self._unseen: dict[tuple[str, bytes], list[Mutation]] = {}
        self._stored: Mapping[str, RowFormat] = {}

    def begin(self, declared: Mapping[str, RowFormat]) -> None:
        """
        Start a flush cycle.

        Args:
            declared: table -> its row format.
        """
        self._group.clear()
        self._group_bytes = 0
        self._sent.clear()
        self._withdrawn.clear()
        self._unseen.clear()
        self._stored = declared

    def write(self, changes: Iterable[FeedRow]) -> None:
        """
        Write the changes of a split; they may be sent later.

        Raises:
            StoreError: the store failed to write earlier ones.
        """
        for change in changes:
            place = change.table, change.mutations[0].row
            if place in self._group or self._group_bytes > GROUP_BYTES:
                self._close_group()
            self._group[place] = change
            self._group_bytes += sum(map(size_of, change.mutations))

    def withdraw(self, table: str, key: bytes) -> None:
        """Delete a feed row of this split at the end, which an earlier attempt may have written."""
        self._withdrawn[feed_table(table), key] = Delete(key, self._rows.time_ms(table))

    def flush(self) -> None:
        """
        Send the rest, and return when it is durable or refused.

        Raises:
            StoreError: the store failed to write.
        """
        self._close_group()
        if self._sent or self._withdrawn:
            self._complete_group()
        if self._withdrawn:
            # after the deletes of the update rows that they describe
            for (table, _), delete in self._withdrawn.items():
                self._buffer(table, delete)
            self._withdrawn.clear()
            self._send()
            self._wait()

    def clear(self) -> None:
        """Discard what was not sent; nothing more of the flush cycle is sent."""
        self._group.clear()
        self._group_bytes = 0
        self._withdrawn.clear()
        self._unseen.clear()

    def refused_place(self, table: str, row: bytes) -> tuple[str, bytes]:
        """What names a row that the store has refused in `RejectedRows`: the change that it was sent for."""
        change = self._sent.get((table, row))
        if change is None:  # a feed row
            change = next((each for each in self._sent.values() if each.key == row), None)
        return (table, row) if change is None else refused_place(change)

    def _close_group(self) -> None:
        """Make the feed rows of the group durable, and send its rows."""
        if not self._group:
            return
        if self._sent:
            self._complete_group()
        group, self._group, self._group_bytes = self._group, {}, 0
        self._sent = group
        for change, value in self._values(list(group.values())):
            feed_time_ms = self._rows.time_ms(change.table)
            if len(value) > MAX_CHANGE_BYTES:
                reason = self._rows.too_large(change.table, change.row, len(value))
                self._refused()[refused_place(change)] = CHANGE_TOO_LARGE, reason
            else:
                self._buffer(feed_table(change.table), change.put(feed_time_ms, value))
        self._send()
        self._wait()
        refused = self._refused()
        for change in group.values():
            if refused_place(change) not in refused:
                for mutation in change.mutations:
                    self._buffer(change.table, mutation)
                self._note_unseen(change)
        self._send()

    def _complete_group(self) -> None:
        """Wait for the rows that were sent, so that those that the store refused are known by their changes."""
        self._send()
        self._wait()
        self._sent = {}

    def _note_unseen(self, change: FeedRow) -> None:
        """Keep what the reader does not see, for the `before` of a later split that changes the same row."""
        is_read = self._feeds[change.table].before and not change.is_update
        if is_read and self._reader is not None and not self._reader.reads_own_writes:
            self._unseen.setdefault((change.table, change.row), []).extend(change.mutations)

    def _values(self, changes: Sequence[FeedRow]) -> Iterable[tuple[FeedRow, bytes]]:
        """The changes with the values of their feed rows."""
        read = [change for change in changes if self._feeds[change.table].before and not change.is_update]
        before: dict[tuple[str, bytes], Sequence[Cell]] = {}
        for table in dict.fromkeys(change.table for change in read):
            found = self._before(table, [change for change in read if change.table == table])
            before.update({(table, row): cells for row, cells in found.items()})
        for change in changes:
            cells = before.get((change.table, change.row))
            yield (
                change,
                change.change()
                if cells is None
                else encoded_change(op_of(change.mutations, cells), change.mutations, cells),
            )

    def _before(self, table: str, changes: Sequence[FeedRow]) -> dict[bytes, Sequence[Cell]]:
        """
        Row key -> the cells of the row before the change.

        An earlier attempt may have changed the row: then its feed row has the cells that were there before.
        """
        prefixes = sorted({change.key[:PREFIX_BYTES] for change in changes})
        found: dict[bytes, Sequence[Cell]] = self._reader.read(
            lambda store: {key: cells for prefix in prefixes for key, cells in _stored_before(store, table, prefix)}
        )
        by_row = {change.row: found[change.key] for change in changes if change.key in found}
        unread = [change.row for change in changes if change.row not in by_row]
        physical_key = self._stored[table].physical_key() if table in self._stored else None
        for at in range(0, len(unread), READ_ROWS):
            some = unread[at : at + READ_ROWS]

            def read(store: Store[Any], some: Sequence[bytes] = some) -> list[Sequence[Cell]]:
                rows = (store.get(table, row if physical_key is None else physical_key(row)) for row in some)
                return [() if row is None else row.cells for row in rows]

            for row, cells in zip(some, self._reader.read(read), strict=True):
                unseen = self._unseen.get((table, row))
                by_row[row] = cells if unseen is None else cells_after(cells, unseen)
        return by_row


def refused_place(change: FeedRow) -> tuple[str, bytes]:
    """
    What names a refused change in `RejectedRows`.

    A change of a split; but the updates of a row fail together, in all splits.
    """
    return (change.table, change.row) if change.is_update else (feed_table(change.table), change.key)


def _stored_before(store: Store[Any], table: str, prefix: bytes) -> Iterable[tuple[bytes, Sequence[Cell]]]:
    """The feed rows that an earlier attempt of a split has written: their keys, and the cells before the change."""
    with closing(store.scan(feed_table(table), Scan(prefix=prefix, columns=(FEED_COLUMN,)))) as rows:
        for row in rows:
            cells = stored_before(row.cells[0].value) if row.cells else None
            if cells is not None:
                yield row.key, cells
