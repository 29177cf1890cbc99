"""Reads a feed from recorded positions on: all shards, through splits and merges, parents before their children."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ingest.api import Store
from ingest.clock import now_ms
from sinks.bootstrap.dumped import require_values
from sinks.bootstrap.reopening_store import ReopeningStore
from sinks.feed.changes import Change
from sinks.feed.client import MAX_LIMIT, FeedClient, FeedPage
from sinks.feed.position import FeedPosition
from sinks.rowkeys.row_format import RowFormat

Positions = Mapping[int, str | None]
"""Number of a shard -> iterator of its next change; None if the shard is closed and was read to its end."""


class FeedFollower:
    """
    Reads the changes of a table in an order in which they may be applied.

    Called by one thread.

    Args:
        store: of the table.
        table: its name.
        positions: where to start.
        clock_ms: milliseconds since the epoch.

    Attributes:
        table: its name.
        store: calls the store.
        positions: where the next pages start.
        behind_ms: of the pages of the last `pages`: the largest distance from the newest complete micro-batch.
    """

    def __init__(
        self, store: ReopeningStore, table: str, positions: Positions, clock_ms: Callable[[], int] = now_ms
    ) -> None:
        self.table = table
        self.store = store
        self.positions: dict[int, str | None] = dict(positions)
        self.behind_ms = 0
        self._clock_ms = clock_ms
        self._client: FeedClient | None = None

    @property
    def feed_id(self) -> str:
        """Id of the feed of the positions; "" if there are none."""
        tokens = (token for token in self.positions.values() if token is not None)
        return next((FeedPosition.from_token(token).feed_id for token in tokens), "")

    def check(self) -> None:
        """
        Check that the changes are of rows, and that none after the positions has expired.

        Raises:
            ConfigError: the table has deferred updates, or the positions name no shard.
            FeedDisabledError: the table has no change feed.
            FeedIdMismatchError: the feed was closed and opened since.
            TrimmedError: changes after a position have expired.
        """
        rows = self.store.call(lambda store: RowFormat.recorded(store, self.table))
        require_values(self.table, rows, hint="leave --feed out, and load a newer dump instead")
        for token in self.positions.values():
            if token is not None:
                self._page(token, 1)

    def pages(self) -> Iterator[list[Change]]:
        """
        A page of each shard that is open, or not read to its end; the positions move when the next one is requested.

        Raises:
            TrimmedError: changes after a position have expired.
            StoreError: the store is unavailable.
        """
        self.behind_ms = 0
        for shard in sorted(number for number, token in self.positions.items() if token is not None):
            page = self._page(self.positions[shard] or "", MAX_LIMIT)
            yield [record.change for record in page.records]
            self.positions[shard] = page.next_iterator
            self.behind_ms = max(self.behind_ms, page.behind_ms)
            if page.next_iterator is None:
                self._open_children(page)

    def _page(self, token: str, limit: int) -> FeedPage:
        return self.store.call(lambda store: self._reading(store).records(token, limit))

    def _reading(self, store: Store[Any]) -> FeedClient:
        """The client, always of the same store: it learns how many changes fit into a call."""
        if self._client is None:
            self._client = FeedClient(store, self.table, self._clock_ms)
        return self._client

    def _open_children(self, page: FeedPage) -> None:
        for number in page.child_shards:
            if number not in self.positions:
                token = self.store.call(lambda store, number=number: self._first(store, number))  # type: ignore[misc]
                if token is not None:
                    self.positions[number] = token
                    self.behind_ms = max(1, self.behind_ms)

    def _first(self, store: Store[Any], number: int) -> str | None:
        """An iterator before the first change of a shard; None while a parent of it is not read to its end."""
        state = self._reading(store).state()
        shard = state.shard(self.table, number)
        if any(self.positions.get(parent) is not None for parent in shard.parents):
            return None
        return FeedPosition.at_start(state.feed, shard).to_token()
