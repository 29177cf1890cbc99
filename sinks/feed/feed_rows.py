"""A row of a change feed: one for each row that a split changes, with the row's mutations."""

from dataclasses import dataclass
from typing import NamedTuple, Self

import msgpack

from ingest.api import MappingError, Mutation, Put
from ingest.api.event_errors import RowKeyTooLongError
from ingest.api.notation import shown_start
from ingest.api.table_writer import TtlRefusedError
from sinks.feed.change_feed import ShardMap
from sinks.feed.changes import Op, encoded_change, op_of
from sinks.feed.keys import FEED_COLUMN, MAX_FEED_ROW_BYTES
from sinks.folding.sizes import size_of
from sinks.rowkeys.row_format import RowFormat

MAX_CHANGE_BYTES = 8 << 20
"""Maximum size of a change as stored: HBase refuses cells of 10 MiB by default (`hbase.client.keyvalue.maxsize`)."""
_MAX_ESCAPED = 6
"""Bytes in JSON for one byte of text at most: a control character is written as \\u and four digits."""
CHANGE_TOO_LARGE = "change_too_large"
PLAIN = RowFormat()
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
        rows: row format of the table.
    """

    time_ms: int
    shards: ShardMap
    rows: RowFormat = PLAIN

    def packed(self) -> bytes:
        """As bytes for `unpacked`."""
        packed: bytes = msgpack.packb((self.time_ms, self.shards.starts, self.shards.numbers, self.rows))
        return packed

    @classmethod
    def unpacked(cls, message: bytes) -> Self:
        """The batch from its bytes."""
        time_ms, starts, numbers, rows = msgpack.unpackb(message)
        return cls(time_ms, ShardMap(tuple(starts), tuple(numbers)), RowFormat(*rows))


class FeedRow(NamedTuple):
    """
    A change of one row.

    Attributes:
        row: that is changed, its logical row key.
        key: of the feed row.
        mutations: of the row, as they are sent.
        is_update: whether they are an update row of a table with deferred updates.
    """

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


def check_change(table: str, mutation: Mutation) -> None:
    """
    Check that a mutation, which has a logical row key, can be in a change.

    Raises:
        MappingError: the row key is too long, or the mutation alone is too large, or has a time to live.
    """
    if mutation.ttl_ms is not None:
        raise TtlRefusedError(f'table "{table}" has a change feed, whose changes do not say when cells expire')
    if len(mutation.row) > MAX_FEED_ROW_BYTES:
        raise RowKeyTooLongError(
            f"the row key has {len(mutation.row)} bytes; with the shard and the time of a change it is too long"
        )
    if size_of(mutation) * _MAX_ESCAPED > MAX_CHANGE_BYTES:
        size = len(encoded_change(Op.PUT, [mutation]))
        if size > MAX_CHANGE_BYTES:
            raise ChangeTooLargeError(too_large(table, mutation.row, size), hint=_LARGE_HINT)


def too_large(table: str, row: bytes, size: int) -> str:
    """Why a change cannot be stored."""
    return (
        f'the change of row {shown_start(row)} has {size:,} bytes in the change feed of table "{table}"; '
        f"{MAX_CHANGE_BYTES:,} are allowed"
    )
