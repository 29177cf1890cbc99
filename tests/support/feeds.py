"""
A feed written as a pipeline writes it, without a pipeline: feed rows, cells, committed position, and shards at the
edges.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ingest.api import Delete, FamilySpec, Mutation, Put, Store, TableSpec
from ingest.api.feeds import FEED, FEED_FAMILY, feed_table
from sinks.feed.change_feed import ChangeFeed, even_starts
from sinks.feed.changes import encoded_change, op_of
from sinks.feed.keys import FEED_COLUMN, FeedKey, FeedSequence
from sinks.owning.committed_position import COMMITTED, CommittedPosition

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
T = 1_700_000_000_000
"""Batch time of the first micro-batch of a test."""


class FeedFixture:
    """
    Writes micro-batches to a table with a change feed.

    Args:
        store: open for writing.
        table: created with the family `d`.
        shards: number of shards.
        expiration_ms: of the feed.
        time_ms: batch time from which the feed exists.
    """

    def __init__(
        self,
        store: Store[Any],
        table: str = "orders",
        *,
        shards: int = 1,
        expiration_ms: int = DAY_MS,
        time_ms: int = T,
        feed_id: str = "s1",
    ) -> None:
        self.store = store
        self.table = table
        self.time_ms = time_ms
        if FEED in store.properties(table):
            return
        ttl_s = (expiration_ms + HOUR_MS) // 1000
        store.ensure_table(TableSpec(table, (FamilySpec(b"d"),)))
        store.ensure_table(TableSpec(feed_table(table), (FamilySpec(FEED_FAMILY, ttl_s=ttl_s),)))
        self.set_property(FEED, ChangeFeed.opened(time_ms, expiration_ms, even_starts(shards), feed_id).to_text())

    @classmethod
    def of(cls, store: Store[Any], table: str) -> "FeedFixture":
        """A writer of a feed that exists."""
        return cls(store, table, time_ms=CommittedPosition.of(store.properties(table)[COMMITTED], table).time_ms + 1)

    @property
    def feed(self) -> ChangeFeed:
        """The feed as recorded."""
        return ChangeFeed.of(self.store.properties(self.table)[FEED], self.table)

    def put(self, *rows: bytes, value: bytes = b"v", time_ms: int | None = None) -> int:
        """A micro-batch that puts one cell in each row; returns its batch time."""
        time_ms = self._next(time_ms)
        return self.batch({row: [Put(row, {b"d:a": value}, time_ms)] for row in rows}, time_ms)

    def delete(self, *rows: bytes) -> int:
        """A micro-batch that deletes rows; returns its batch time."""
        time_ms = self._next(None)
        return self.batch({row: [Delete(row, time_ms - 1)] for row in rows}, time_ms)

    def batch(
        self,
        rows: Mapping[bytes, Sequence[Mutation]],
        time_ms: int | None = None,
        *,
        is_complete: bool = True,
        before: Mapping[bytes, Any] | None = None,
    ) -> int:
        """
        A micro-batch with one split.

        Args:
            rows: row key -> what is written to it.
            time_ms: its batch time.
            is_complete: whether the committed position is moved.
            before: cells of the rows before, if they were read.
        """
        time_ms = self._next(None) if time_ms is None else time_ms
        self.time_ms = max(self.time_ms, time_ms + 1)
        change_feed = self.feed
        if change_feed.requested:
            self.set_property(FEED, change_feed.at_edge(time_ms).to_text())
        shards = self.feed.map_at(time_ms)
        for row, mutations in rows.items():
            cells = None if before is None else before.get(row, ())
            value = encoded_change(op_of(mutations, cells), mutations, cells)
            key = FeedKey(shards.of(row), FeedSequence(time_ms, 0, row)).encoded()
            self.store.apply(feed_table(self.table), [Put(key, {FEED_COLUMN: value}, time_ms)])
            self.store.apply(self.table, mutations)
        if is_complete:
            self.complete(time_ms)
        return time_ms

    def complete(self, time_ms: int) -> None:
        """Move the committed position."""
        self.set_property(COMMITTED, CommittedPosition(time_ms, {"t": {"0": time_ms}}).to_text())

    def close_feed(self) -> None:
        """End the feed, as a file without `feed` does."""
        self.store.set_property(self.table, FEED, self.store.properties(self.table)[FEED], None)

    def _next(self, time_ms: int | None) -> int:
        return self.time_ms if time_ms is None else time_ms

    def set_property(self, name: str, value: str) -> None:
        """Replace a property of the table."""
        assert self.store.set_property(self.table, name, self.store.properties(self.table).get(name), value)
