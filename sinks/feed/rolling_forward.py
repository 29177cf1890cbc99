"""
Changes of a feed that its table may lack: they are applied to the table, or deleted from the feed.

A task writes feed rows before the rows that they describe, so after a crash the feed may have changes above the
committed position that the table lacks in part. The micro-batch usually runs again and completes them. If it will not
run again as it was, the table is completed from the feed (rolled forward), and the committed position moves past these
changes. So the table never has a cell that its feed lacks. Deferred updates are rolled back instead, as their events
are counted again.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from ingest.api import Delete, Mutation, Row, Scan, Store
from ingest.api.feeds import FEED, feed_table
from sinks.feed.change_feed import ChangeFeed
from sinks.feed.changes import Change
from sinks.feed.keys import FEED_COLUMN, FeedKey, shard_range
from sinks.rowkeys.mutations import with_physical_keys
from sinks.rowkeys.row_format import RowFormat
from sinks.writing.bisection import apply_all_but_refused

CHANGES = 500
"""Maximum number of changes applied, or of feed rows deleted, in one call."""
CHANGES_BYTES = 16 << 20
"""Changes are applied in one call up to about this size."""
PAGE_ROWS = 20
"""Changes read in one call: each may have 8 MiB."""


def recorded_feed(store: Store[Any], table: str) -> ChangeFeed | None:
    """The change feed of a table; None without one."""
    text = store.properties(table).get(FEED)
    return None if text is None else ChangeFeed.of(text, table)


def newest_change_ms(store: Store[Any], table: str, change_feed: ChangeFeed, above_ms: int) -> int | None:
    """The batch time of the newest change above a time; None if there is none."""
    keys = (
        FeedKey.decoded(row.key)
        for scan in _scans(store, table, change_feed, above_ms)
        for row in _rows(store, table, replace(scan, reverse=True, limit=1))
    )
    return max((key.sequence.time_ms for key in keys), default=None)


def roll_forward(
    store: Store[Any], table: str, change_feed: ChangeFeed, above_ms: int, last_ms: int | None = None
) -> int | None:
    """
    Apply the changes above a time to their table, with the timestamps that they have. Idempotent.

    A change that the store refuses is deleted from the feed: its events are dead letters when they run again.

    Args:
        store: open for writing.
        table: its name; without deferred updates.
        change_feed: of the table.
        above_ms: the changes have later batch times.
        last_ms: the last batch time; None for all that follow.

    Returns:
        The newest batch time of these changes; None if there are none.

    Raises:
        IntegrityError: a change cannot be read.
        StoreError: the store is unavailable.
    """
    if store.families(table) is None:
        return None
    physical_key = RowFormat.recorded(store, table).physical_key()
    newest: int | None = None
    pending: list[tuple[FeedKey, Mutation]] = []
    pending_bytes = 0

    def apply() -> None:
        mutations = [mutation for _, mutation in pending]
        stored = mutations if physical_key is None else with_physical_keys(mutations, physical_key)
        keys = {id(mutation): key for mutation, (key, _) in zip(stored, pending, strict=True)}
        refused = apply_all_but_refused(store, table, stored)
        if refused:
            _delete(store, table, [keys[id(refusal.mutation)] for refusal in refused])
        pending.clear()

    for key, value in _changes(store, table, change_feed, above_ms, last_ms):
        newest = max(newest or 0, key.sequence.time_ms)
        pending += [(key, mutation) for mutation in Change.decoded(key, value).mutations()]
        pending_bytes += len(value)
        if len(pending) >= CHANGES or pending_bytes >= CHANGES_BYTES:
            apply()
            pending_bytes = 0
    if pending:
        apply()
    return newest


def roll_back_changes(
    store: Store[Any], table: str, change_feed: ChangeFeed, first_ms: int, last_ms: int | None = None
) -> None:
    """
    Delete the changes of micro-batches that no reader has seen; the rows that they describe are deleted before.

    Args:
        store: open for writing.
        table: its name.
        change_feed: of the table.
        first_ms: the first batch time; above the committed position.
        last_ms: the last batch time; None for all that follow.

    Raises:
        StoreError: the store is unavailable.
    """
    keys: list[FeedKey] = []
    for key, _ in _changes(store, table, change_feed, first_ms - 1, last_ms):
        keys.append(key)
        if len(keys) >= CHANGES:
            _delete(store, table, keys)
            keys = []
    if keys:
        _delete(store, table, keys)


def _changes(
    store: Store[Any], table: str, change_feed: ChangeFeed, above_ms: int, last_ms: int | None
) -> Iterator[tuple[FeedKey, bytes]]:
    """The feed rows of a table with later batch times up to a last one, one shard after the other."""
    for scan in _scans(store, table, change_feed, above_ms, last_ms):
        for row in _rows(store, table, scan):
            yield FeedKey.decoded(row.key), row.cells[0].value


def _scans(
    store: Store[Any], table: str, change_feed: ChangeFeed, above_ms: int, last_ms: int | None = None
) -> Iterator[Scan]:
    if store.families(feed_table(table)) is None:
        return
    for shard in change_feed.shards:
        # a former feed may have left rows before the start of this one
        from_ms = max(above_ms + 1, shard.from_ms)
        ends = [each for each in (shard.until_ms, None if last_ms is None else last_ms + 1) if each is not None]
        until_ms = min(ends, default=None)
        if until_ms is None or from_ms < until_ms:
            start, stop = shard_range(shard.number, from_ms, until_ms)
            yield Scan(start=start, stop=stop, columns=(FEED_COLUMN,), page_rows=PAGE_ROWS)


def _rows(store: Store[Any], table: str, scan: Scan) -> Iterator[Row]:
    with closing(store.scan(feed_table(table), scan)) as rows:
        yield from rows


def _delete(store: Store[Any], table: str, keys: Sequence[FeedKey]) -> None:
    store.apply(feed_table(table), [Delete(key.encoded(), key.sequence.time_ms) for key in keys])
