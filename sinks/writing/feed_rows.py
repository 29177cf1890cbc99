"""The feed rows of a flush cycle: one for each row that a split changes, with the row's mutations."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ingest.api import FeedSpec, MappingError, Mutation, Put
from ingest.api.event_errors import RowKeyTooLongError
from ingest.api.notation import shown_start
from sinks.feed.change_feed import ShardMap
from sinks.feed.changes import Op, encoded_change, op_of
from sinks.feed.keys import FEED_COLUMN, MAX_FEED_ROW_BYTES, split_prefix
from sinks.rowkeys.row_format import RowFormat
from sinks.writing.buffer import size_of
from sinks.writing.fold import Fold

MAX_CHANGE_BYTES = 8 << 20
"""Maximum size of a change as stored: HBase refuses cells of 10 MiB by default (`hbase.client.keyvalue.maxsize`)."""
_MAX_ESCAPED = 6
"""Bytes in JSON for one byte of text at most: a control character is written as \\u and four digits."""
CHANGE_TOO_LARGE = "change_too_large"
_LARGE_HINT = "divide the event, or use a table without `feed`"


class ChangeTooLargeError(MappingError):
    """The change of a row is larger than 8 MiB, the maximum that a feed stores."""

    code = "change_too_large"
    remedy = "Divide the event, or write to a table without `feed`."


@dataclass(frozen=True, slots=True)
class FeedBatch:
    """
    How the tasks of a micro-batch write the change feed of a table; chosen by the driver.

    Attributes:
        time_ms: of the feed rows; the batch time, or for records that are replayed a time above the mark.
        shards: that take the changes of this time.
    """

    time_ms: int
    shards: ShardMap


class FeedRow(NamedTuple):
    """
    A change of one row.

    Attributes:
        table: that is changed.
        row: its logical row key.
        key: of the feed row.
        mutations: of the row, as they are sent.
        is_update: whether they are an update row of a table with deferred updates.
    """

    table: str
    row: bytes
    key: bytes
    mutations: list[Mutation]
    is_update: bool = False

    def put(self, time_ms: int, value: bytes) -> Put:
        """The feed row with a change as its value."""
        return Put(self.key, {FEED_COLUMN: value}, time_ms, self.mutations[0].durability)

    def change(self) -> bytes:
        """The change, for a row that was not read before."""
        return encoded_change(Op.UPDATE if self.is_update else op_of(self.mutations, None), self.mutations)


class FeedRows:
    """
    Folds the operations of a split on tables with a change feed, and gives each row the key of its feed row.

    The fold ends with the split and is never cut by bytes, so a micro-batch that runs again makes the same rows. So it
    buffers all events of a split, which `max_events_per_batch` bounds.

    Order: `begin`, then for each split `split_start`, any number of `add`, and `take`.

    Args:
        feeds: table -> its feed.
        max_put_bytes: as in `Fold`; `on_joined` likewise.
    """

    def __init__(self, feeds: Mapping[str, FeedSpec], max_put_bytes: int | None, on_joined: Callable[[], None]) -> None:
        self.feeds = feeds
        self._fold = Fold(max_put_bytes, on_joined)
        self._batches: Mapping[str, FeedBatch] = {}
        self._stored: dict[str, Callable[[bytes], bytes] | None] = {}
        self._rank = 0

    def begin(self, batches: Mapping[str, FeedBatch], declared: Mapping[str, RowFormat]) -> None:
        """
        Start a flush cycle.

        Args:
            batches: table -> how its feed is written.
            declared: table -> its row format.
        """
        self._fold.clear()
        self._batches = batches
        # the bucket and the logical row key, also in a table with deferred updates
        self._stored = {
            table: RowFormat(declared[table].buckets).physical_key() if table in declared else None
            for table in self.feeds
        }

    def split_start(self, rank: int) -> None:
        """Start a split with this rank."""
        self._rank = rank
        self._fold.clear()

    def time_ms(self, table: str) -> int:
        """Time of the feed rows of a table."""
        return self._batches[table].time_ms

    def key(self, table: str, row: bytes) -> bytes:
        """The key of the feed row for a row that the current split changes."""
        batch, stored = self._batches[table], self._stored[table]
        shard = batch.shards.of(row if stored is None else stored(row))
        return split_prefix(shard, batch.time_ms, self._rank) + row

    def check(self, table: str, mutation: Mutation) -> None:
        """
        Check that a mutation can be in a change.

        Raises:
            MappingError: the row key is too long, or the mutation alone is too large.
        """
        if len(mutation.row) > MAX_FEED_ROW_BYTES:
            raise RowKeyTooLongError(
                f"the row key has {len(mutation.row)} bytes; with the shard and the time of a change it is too long"
            )
        if size_of(mutation) * _MAX_ESCAPED > MAX_CHANGE_BYTES:
            size = len(encoded_change(Op.PUT, [mutation]))
            if size > MAX_CHANGE_BYTES:
                raise ChangeTooLargeError(self.too_large(table, mutation.row, size), hint=_LARGE_HINT)

    def add(self, table: str, mutation: Mutation) -> None:
        """
        Add the next operation of the split.

        Raises:
            MappingError: as `check`; or as `Fold.add`.
        """
        self.check(table, mutation)
        self._fold.add(table, mutation)

    def take(self) -> Iterator[FeedRow]:
        """The rows of the split, which is empty afterwards."""
        for table, row, mutations in self._fold.by_row():
            yield FeedRow(table, row, self.key(table, row), mutations)
        self._fold.clear()

    def clear(self) -> None:
        """Discard the operations of an abandoned split."""
        self._fold.clear()

    def too_large(self, table: str, row: bytes, size: int) -> str:
        """Why a change cannot be stored."""
        return (
            f'the change of row {shown_start(row)} has {size:,} bytes in the change feed of table "{table}"; '
            f"{MAX_CHANGE_BYTES:,} are allowed"
        )
