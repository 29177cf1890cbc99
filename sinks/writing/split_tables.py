"""The tables whose mutations are folded by split: those with deferred updates, and those with a change feed."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

from ingest.api import FeedSpec, LifecycleError, MappingError, Mutation, Put
from ingest.api.feeds import feed_table
from sinks.updates.keys import logical_of
from sinks.updates.merging import Merging
from sinks.writing.feed_rows import FeedRow, FeedRows
from sinks.writing.feed_writer import FeedWriter
from sinks.writing.messages import Prepared, RejectedRows
from sinks.writing.row_reader import RowReader
from sinks.writing.update_fold import UpdateFold


class DeleteOfUpdatesError(MappingError):
    """A rule deletes a row, family or column of a table with deferred updates."""

    code = "delete_of_updates"
    remedy = "Remove the rule, or write to a table without `updates`."


class SplitTables:
    """
    Folds the mutations of these tables in a task, and writes them at the end of each split.

    Called by one thread. Order: `begin`, then for each split `split_start`, any number of `add`, and `split_end`, then
    `flush`.

    Args:
        store_name: name of the store in the configuration, for messages.
        updates: table -> merges its deferred updates.
        feeds: table -> its feed.
        withdraws: whether an earlier attempt may have written rows that the store refuses now: then they are deleted.
        max_put_bytes: maximum size of a put; None for none.
        buffer: adds a mutation to the send buffers.
        send: sends the send buffers.
        wait: returns when all that was sent is durable or refused.
        refused: returns the rejected rows of the flush cycle.
        reader: reads rows before they are changed.
        on_joined: as in `Fold`.
    """

    def __init__(  # noqa: PLR0913 - the parts of the mutator that it uses
        self,
        store_name: str,
        updates: Mapping[str, Merging],
        feeds: Mapping[str, FeedSpec],
        *,
        withdraws: bool,
        max_put_bytes: int | None,
        buffer: Callable[[str, Mutation], None],
        send: Callable[[], None],
        wait: Callable[[], None],
        refused: Callable[[], RejectedRows],
        reader: RowReader,
        on_joined: Callable[[], None],
    ) -> None:
        self._store_name = store_name
        self._withdraws = withdraws
        self._buffer = buffer
        self._reader = reader
        self._updates = UpdateFold(updates)
        self._feeds = feeds
        self._feed_rows = FeedRows(feeds, max_put_bytes, on_joined)
        self._feed_writer = FeedWriter(
            self._feed_rows, buffer=buffer, send=send, wait=wait, refused=refused, reader=reader
        )
        self._rank: int | None = None
        self._batch_time_ms = 0
        self._known_refused: RejectedRows = {}
        self.names = frozenset(updates) | frozenset(feeds)

    def begin(self, batch_time_ms: int, prepared: Prepared) -> None:
        """
        Start a flush cycle.

        Args:
            batch_time_ms: of the micro-batch.
            prepared: state of the store, from the driver.
        """
        self._batch_time_ms = batch_time_ms
        self._known_refused = prepared.refused
        self._rank = None
        self._updates.clear()
        if self._feeds:
            self._feed_rows.begin(prepared.feeds, prepared.declared)
            self._feed_writer.begin(prepared.declared)

    def split_start(self, rank: int) -> None:
        """Start a split with this rank in the micro-batch."""
        self._rank = rank
        self._feed_rows.split_start(rank)

    def add(self, table: str, mutation: Mutation) -> None:
        """
        Fold a mutation of one of the tables.

        Raises:
            MappingError: it cannot be written, or the store has refused its row.
        """
        if table in self._updates:
            self._add_update(table, mutation)
            return
        place = self.refused_place(table, mutation.row) if self._known_refused else ("", b"")
        refused = self._known_refused.get(place)
        if refused is None:
            self._feed_rows.add(table, mutation)
            return
        if self._withdraws:
            self._feed_writer.withdraw(table, place[1])
        raise refused_error(self._store_name, table, refused)

    def check(self, mutations: Sequence[tuple[str, Mutation]]) -> None:
        """
        Check that mutations of one event can be added, unless the store has refused their rows.

        Raises:
            MappingError: as `add`.
        """
        updates: list[tuple[str, Put]] = []
        for table, mutation in mutations:
            if table in self._feeds:
                self._feed_rows.check(table, mutation)
            is_refused = (table, mutation.row) in self._known_refused
            if table in self._updates and isinstance(mutation, Put) and not is_refused:
                updates.append((table, mutation))
        self._updates.check(updates)

    def refused_place(self, table: str, row: bytes) -> tuple[str, bytes]:
        """What names a row in `Prepared.refused`: with a change feed, the change of the row in this split."""
        if table in self._feeds and table not in self._updates:
            return feed_table(table), self._feed_rows.key(table, row)
        return table, row

    def place_of_refusal(self, table: str, row: bytes) -> tuple[str, bytes]:
        """The same for a row that the store has refused, as it was sent."""
        place = self._feed_writer.refused_place(table, row) if self._feeds else (table, row)
        return (table, logical_of(row)) if place == (table, row) and table in self._updates else place

    def split_end(self, *, is_discarded: bool) -> None:
        """
        Write what was folded of the split.

        Args:
            is_discarded: nothing more of the flush cycle is written.

        Raises:
            LifecycleError: the split has no rank.
            StoreError: the store failed to write.
        """
        if self._rank is None:
            raise LifecycleError("a task writes deferred updates or a change feed without the ranks of its splits")
        if is_discarded:
            self._updates.clear()
            self._feed_rows.clear()
            self._feed_writer.clear()
        changes: list[FeedRow] = []
        for table, mutation in self._updates.take(self._batch_time_ms, self._rank):
            if table in self._feeds and isinstance(mutation, Put):
                row = logical_of(mutation.row)
                changes.append(FeedRow(table, row, self._feed_rows.key(table, row), [mutation], is_update=True))
            else:
                self._buffer(table, mutation)
        if self._feeds:
            self._feed_writer.write(chain(changes, self._feed_rows.take()))

    def flush(self) -> None:
        """
        Send the rest of the changes, and return when they are durable or refused.

        Raises:
            StoreError: the store failed to write.
        """
        if self._feeds:
            self._feed_writer.flush()

    def close(self) -> None:
        """Close what reads rows."""
        self._reader.close()

    def _add_update(self, table: str, mutation: Mutation) -> None:
        """Fold an update; all events of a rejected row fail, also those of other splits."""
        if not isinstance(mutation, Put):
            raise DeleteOfUpdatesError(f'table "{table}" has deferred updates, which an event cannot delete')
        refused = self._known_refused.get((table, mutation.row))
        if refused is None:
            if table in self._feeds:
                self._feed_rows.check(table, mutation)
            self._updates.add(table, mutation)
            return
        if self._withdraws:
            # an earlier attempt may have written the update rows of other splits
            self._updates.withdraw(table, mutation.row)
            if table in self._feeds:
                self._feed_writer.withdraw(table, self._feed_rows.key(table, mutation.row))
        raise refused_error(self._store_name, table, refused)


def refused_error(store_name: str, table: str, refused: tuple[str, str]) -> MappingError:
    """The error of an event whose row the store refuses, from its code and reason."""
    code, reason = refused
    return MappingError(f'store "{store_name}" refused a row of table "{table}": {reason}', code=code)
