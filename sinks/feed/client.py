"""
Reads the change feed of a table: pages of changes between a position and the committed position of the table, shard by
shard.

A reader sees the changes of complete micro-batches only, those up to the committed position. The pipeline moves the
committed position once all cells of a micro-batch are durable, so the table has the cells of every change that a reader
gets.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple

from ingest.api import ConfigError, IntegrityError, Row, Scan, Store, next_key
from ingest.api.feeds import FEED, MARGIN_S, feed_table
from ingest.clock import now_ms
from ingest.durable.property_register import PropertyRegister, calls_of
from ingest.durable.register import changed
from sinks.feed.change_feed import ChangeFeed, MergeRequest, Request, Shard, SplitRequest
from sinks.feed.changes import Change
from sinks.feed.errors import (
    FeedDisabledError,
    FeedIdMismatchError,
    InvalidIteratorError,
    TrimmedError,
)
from sinks.feed.keys import FeedKey, FeedSequence, sequence_text, shard_prefix, shard_range
from sinks.feed.position import FeedPosition
from sinks.feed.state import FeedState, at_time, latest
from sinks.owning.committed_position import COMMITTED, CommittedPosition
from sinks.updates.withdrawn import Withdrawn

MAX_LIMIT = 5_000
"""Changes of a page."""
MAX_PAGE_BYTES = 4 << 20
"""Size of the changes of a page, unless it has one change only."""
PAGING_MS = MARGIN_S * 1_000 // 2
"""
How long beyond the expiration a reader may continue page by page. Feed rows stay in the store for twice as long, so
none disappears under a reader that is not refused.
"""
_FIRST_ROWS, _MIN_ROWS, _MAX_ROWS = 100, 16, 1_000
"""Rows of one call to the store; it buffers them in memory, and a Thrift server knows no limit in bytes."""


class IteratorType(StrEnum):
    """Where an iterator starts in its shard."""

    TRIM_HORIZON = "TRIM_HORIZON"
    """Before the oldest change that has not expired."""
    LATEST = "LATEST"
    """After all changes of complete micro-batches."""
    AT_SEQUENCE = "AT_SEQUENCE"
    """Before the change of a sequence."""
    AFTER_SEQUENCE = "AFTER_SEQUENCE"
    """After the change of a sequence."""
    AT_TIMESTAMP = "AT_TIMESTAMP"
    """Before the first change whose batch time is not earlier."""


class FeedRecord(NamedTuple):
    """
    A change as read.

    Attributes:
        feed_id: id of the feed.
        shard: number of the shard.
        sequence: place in the shard, as text; the texts sort as the changes.
        change: what was written.
    """

    feed_id: str
    shard: int
    sequence: str
    change: Change

    def after(self, kept_until_ms: int) -> FeedPosition:
        """
        The position after the change.

        Args:
            kept_until_ms: as `FeedPosition.kept_until_ms`.
        """
        return FeedPosition(self.feed_id, self.shard, next_key(bytes.fromhex(self.sequence)), kept_until_ms)


@dataclass(frozen=True, slots=True)
class FeedPage:
    """
    Changes of one shard in their order.

    Attributes:
        records: the changes; may be empty while the shard is open.
        next_iterator: continues after them; None once a closed shard has been read to its end.
        behind_ms: batch time of the newest complete micro-batch minus the last change's, at least 1; 0 after
            all changes of the shard.
        child_shards: the shards that continue a closed shard, once it has been read to its end.
    """

    records: tuple[FeedRecord, ...]
    next_iterator: str | None
    behind_ms: int
    child_shards: tuple[int, ...] = ()


class FeedClient:
    """
    Reads the feed of one table.

    Called by one thread. Iterators are texts; they can be stored, used several times and in other processes, and end
    only when changes after them expire.

    Args:
        store: of the table; open, for reading or, for `split` and `merge`, for writing.
        table: its name.
        clock_ms: milliseconds since the epoch.

    Example::

        client = FeedClient(store, "orders")
        for shard in client.state().feed.shards:
            iterator = client.iterator(shard.number, IteratorType.TRIM_HORIZON)
            while iterator is not None:
                page = client.records(iterator)
                for record in page.records:
                    print(record.sequence, record.change.row, record.change.op)
                if page.behind_ms == 0:
                    break
                iterator = page.next_iterator
    """

    def __init__(self, store: Store[Any], table: str, clock_ms: Callable[[], int] = now_ms) -> None:
        self._store = store
        self._clock_ms = clock_ms
        self._page_rows = _FIRST_ROWS
        self.table = table

    def state(self) -> FeedState:
        """
        The feed, its shards and the committed position.

        Raises:
            FeedDisabledError: the table has no change feed.
            StoreError: the store is unavailable.
        """
        found = self._store.properties(self.table)
        return self._state(found)

    def iterator(
        self, shard: int, kind: IteratorType, *, sequence: str | None = None, time_ms: int | None = None
    ) -> str:
        """
        An iterator that starts at a place of a shard.

        Args:
            shard: number of the shard.
            kind: which place.
            sequence: for AT_SEQUENCE and AFTER_SEQUENCE.
            time_ms: for AT_TIMESTAMP, ms since the epoch.

        Raises:
            InvalidIteratorError: an argument is missing, not allowed, or outside of the shard.
            ShardNotFoundError: there is no such shard.
            TrimmedError: the feed has forgotten the shard, since all its changes have expired.
            FeedDisabledError: the table has no change feed.
        """
        state = self.state()
        found = state.shard(self.table, shard)
        has_sequence = kind in (IteratorType.AT_SEQUENCE, IteratorType.AFTER_SEQUENCE)
        if (sequence is not None) != has_sequence or (time_ms is not None) != (kind is IteratorType.AT_TIMESTAMP):
            raise InvalidIteratorError(
                f"{kind} does not go with these arguments",
                hint="AT_SEQUENCE and AFTER_SEQUENCE need a sequence (--sequence), AT_TIMESTAMP needs a time (--time), "
                "and no other type takes one",
            )
        if kind is IteratorType.TRIM_HORIZON:
            return FeedPosition(state.feed.id, shard).to_token()
        if sequence is not None:
            start = _sequence(found, sequence)
            start = start if kind is IteratorType.AT_SEQUENCE else next_key(start)
            return FeedPosition(state.feed.id, shard, start).to_token()
        if time_ms is None:
            return latest(state, found, self._clock_ms()).to_token()
        return at_time(state, found, time_ms).to_token()

    def latest(self) -> dict[int, str]:
        """
        An iterator for each open shard, after all changes of complete micro-batches.

        A dump that records them before it reads the table, and is loaded before they are read, misses no change.

        Raises:
            FeedDisabledError: the table has no change feed.
        """
        state, now = self.state(), self._clock_ms()
        return {shard.number: latest(state, shard, now).to_token() for shard in state.feed.shards if shard.is_open}

    def records(self, iterator: str, limit: int = 1_000) -> FeedPage:
        """
        The next changes of a shard: at least one if there is any, at most `limit`, and about 4 MiB.

        Args:
            iterator: of `iterator`, or of an earlier page.
            limit: maximum number of changes, 1 to 5,000.

        Raises:
            ConfigError: the limit is out of range.
            InvalidIteratorError: it is no iterator.
            FeedDisabledError: the table has no change feed.
            FeedIdMismatchError: the iterator is of an earlier feed, or of another table.
            ShardNotFoundError: the feed has no such shard.
            TrimmedError: changes after the iterator have expired.
            StoreError: the store is unavailable.
        """
        return self.page(FeedPosition.from_token(iterator), limit)

    def page(self, position: FeedPosition, limit: int = 1_000, state: FeedState | None = None) -> FeedPage:
        """
        The same from a position.

        Args:
            position: in a shard.
            limit: maximum number of changes.
            state: of the feed, read a moment ago; by default it is read now.
        """
        if not 1 <= limit <= MAX_LIMIT:
            raise ConfigError(f"the limit is {limit}; 1 to {MAX_LIMIT} are allowed", hint="use 1000, the default")
        state = state or self.state()
        if position.feed_id != state.feed.id:
            raise FeedIdMismatchError(self.table, position.feed_id, state.feed.id)
        shard = state.shard(self.table, position.shard)
        if position.kept_until_ms > self._clock_ms() + PAGING_MS:
            position = position._replace(kept_until_ms=0)  # by a clock that was ahead
        self._check_kept(state, shard, position)
        first_ms = max(shard.from_ms, state.retention_horizon_ms if position.is_oldest else 0)
        floor = FeedPosition.at_time(position.feed_id, shard.number, first_ms).start
        records, is_end = self._scanned(state, shard, max(floor, position.start), limit)
        if not is_end:
            last = records[-1].change
            following = records[-1].after(max(state.retention_horizon_ms, last.time_ms) + PAGING_MS)
            return FeedPage(records, following.to_token(), state.behind_ms(last.time_ms))
        if shard.until_ms is not None and shard.until_ms <= state.end_ms:
            return FeedPage(records, None, 0, tuple(child.number for child in state.feed.children(shard.number)))
        return FeedPage(records, self._drained(state, shard, position).to_token(), 0)

    def split(self, shard: int, at: bytes) -> ChangeFeed:
        """
        Request that the next micro-batch divides a shard.

        Args:
            shard: number of an open shard.
            at: first physical row key of the second half.

        Returns:
            The feed with the request.

        Raises:
            ShardNotFoundError: there is no such shard.
            ConfigError: the shard is closed, or the key is not inside of it.
            FeedDisabledError: the table has no change feed.
            StoreError: the store is unavailable.
        """
        return self._request(SplitRequest(shard, at), [shard])

    def merge(self, low: int, high: int) -> ChangeFeed:
        """
        Request that the next micro-batch replaces two adjacent shards by one.

        Args:
            low: number of the shard of the lower row keys.
            high: number of the other.

        Raises:
            ShardNotFoundError: there is no such shard.
            ConfigError: a shard is closed, or they are not adjacent.
            FeedDisabledError: the table has no change feed.
            StoreError: the store is unavailable.
        """
        return self._request(MergeRequest((low, high)), [low, high])

    def _request(self, request: Request, shards: Sequence[int]) -> ChangeFeed:
        def change(text: str | None) -> str | None:
            state = self._state({} if text is None else {FEED: text})
            for number in shards:
                state.shard(self.table, number)
            return text if request in state.feed.requested else state.feed.with_request(request).to_text()

        text = changed(PropertyRegister(calls_of(self._store), self.table, FEED), change)
        return self._state({} if text is None else {FEED: text}).feed

    def _state(self, properties: Mapping[str, str]) -> FeedState:
        """The state that these properties of the table record."""
        feed, committed = properties.get(FEED), properties.get(COMMITTED)
        if feed is None:
            raise FeedDisabledError(self.table)
        change_feed = ChangeFeed.of(feed, self.table)
        committed_ms = None if committed is None else CommittedPosition.of(committed, self.table).time_ms
        withdrawn = Withdrawn.in_properties(properties, self.table)
        return FeedState(change_feed, committed_ms, change_feed.horizon_ms(self._clock_ms()), withdrawn)

    def _check_kept(self, state: FeedState, shard: Shard, position: FeedPosition) -> None:
        """Refuse a position after which changes may have expired."""
        time_ms = max(position.time_ms, shard.from_ms)
        # a micro-batch that was blocked for longer than the expiration completes with changes that have expired
        is_late = (state.committed_ms or 0) < state.retention_horizon_ms - PAGING_MS
        kept_until_ms = time_ms if is_late else max(time_ms, position.kept_until_ms)
        if position.is_oldest or state.retention_horizon_ms <= kept_until_ms:
            return
        if time_ms < state.end_ms and not state.is_read(shard, position):
            raise TrimmedError(self.table, shard.number, self._oldest(state, shard))

    def _oldest(self, state: FeedState, shard: Shard) -> str | None:
        """Sequence of the oldest change of a shard that has not expired."""
        floor = FeedPosition.at_time("", shard.number, max(state.retention_horizon_ms, shard.from_ms)).start
        records, _ = self._scanned(state, shard, floor, 1)
        return records[0].sequence if records else None

    def _drained(self, state: FeedState, shard: Shard, position: FeedPosition) -> FeedPosition:
        """The position after all changes of complete micro-batches, which this reader has read."""
        following = latest(state, shard, self._clock_ms())
        return max(following, position, key=lambda each: (each.start, each.kept_until_ms))

    def _scanned(self, state: FeedState, shard: Shard, first: bytes, limit: int) -> tuple[tuple[FeedRecord, ...], bool]:
        """Changes of complete micro-batches from a sequence on, and whether these are all of them."""
        end_ms = state.end_ms if shard.until_ms is None else min(state.end_ms, shard.until_ms)
        _, stop = shard_range(shard.number, 0, end_ms)
        start = shard_prefix(shard.number) + first
        if stop is None or start >= stop:
            return (), True
        scan = Scan(start, stop, page_rows=min(limit + 1, self._page_rows))
        records: list[FeedRecord] = []
        size, is_end = 0, True
        with closing(self._rows(state, scan, limit + 1)) as rows:
            for row in rows:
                size += len(row.key)
                for _, _, _, value in row.cells:
                    size += len(value)
                if len(records) == limit or (records and size > MAX_PAGE_BYTES):
                    is_end = False
                    break
                records.append(_record(state.feed.id, row))
        if records:
            self._page_rows = min(_MAX_ROWS, max(_MIN_ROWS, MAX_PAGE_BYTES * len(records) // size))
        return tuple(records), is_end

    def _rows(self, state: FeedState, scan: Scan, limit: int) -> Generator[Row]:
        """The feed rows of a scan whose changes count, read so many at a time."""
        may_be_withdrawn = bool(state.withdrawn.intervals)
        while True:
            number, last = 0, b""
            with closing(self._store.scan(feed_table(self.table), replace(scan, limit=limit))) as rows:
                for row in rows:
                    number, last = number + 1, row.key
                    if may_be_withdrawn:
                        time_ms = _key(row).sequence.time_ms
                        may_be_withdrawn = time_ms <= state.withdrawn.last_ms  # rows are in the order of the times
                        if state.withdrawn.has_time(time_ms):
                            continue
                    yield row
            if number < limit:
                return
            scan = replace(scan, start=next_key(last))


def _sequence(shard: Shard, text: str) -> bytes:
    try:
        found = FeedSequence.from_text(text)
    except ValueError as error:
        raise InvalidIteratorError(f'"{text[:80]}" is not a sequence', hint="records have it as `seq`") from error
    if not shard.takes(found.time_ms):
        raise InvalidIteratorError(
            f"shard {shard.number} has no changes of the batch time {found.time_ms}",
            hint="'attr2hbase feed describe' lists the shards with their batch times",
        )
    return found.encoded()


def _record(feed_id: str, row: Row) -> FeedRecord:
    key = _key(row)
    return FeedRecord(feed_id, key.shard, sequence_text(row.key), Change.decoded(key, row.cells[0].value))


def _key(row: Row) -> FeedKey:
    try:
        return FeedKey.decoded(row.key)
    except ValueError as error:
        raise IntegrityError(
            f"a feed table has a row that is no feed row: {error}",
            hint="another program has written it; delete the row",
        ) from error
