"""The change feed of a table with its committed position, at one moment, and positions in it."""

from dataclasses import dataclass

from sinks.feed.change_feed import ChangeFeed, Shard
from sinks.feed.errors import ShardNotFoundError, TrimmedError
from sinks.feed.position import FeedPosition
from sinks.updates.withdrawn import NOTHING, Withdrawn


@dataclass(frozen=True, slots=True)
class FeedState:
    """
    The change feed of a table at one moment.

    Attributes:
        feed: its identity and shards.
        committed_ms: batch time of the newest complete micro-batch; None if there is none.
        retention_horizon_ms: changes of earlier batch times have expired.
        withdrawn: batch times of the table, of which no change counts.
    """

    feed: ChangeFeed
    committed_ms: int | None
    retention_horizon_ms: int
    withdrawn: Withdrawn = NOTHING

    @property
    def end_ms(self) -> int:
        """The batch time after the newest complete micro-batch."""
        return 0 if self.committed_ms is None else self.committed_ms + 1

    def behind_ms(self, time_ms: int) -> int:
        """How far the newest complete micro-batch is ahead of a batch time with unread changes; at least 1."""
        return max(1, self.end_ms - 1 - time_ms)

    def shard(self, table: str, number: int) -> Shard:
        """
        The shard of a number.

        Raises:
            ShardNotFoundError: the feed never had one.
            TrimmedError: the shard was closed and all its changes have expired.
        """
        try:
            return self.feed.shard(number)
        except ShardNotFoundError as error:
            if 0 < number < max((shard.number for shard in self.feed.shards), default=0):
                raise TrimmedError(table, number, None) from error
            raise

    def is_read(self, shard: Shard, position: FeedPosition) -> bool:
        """Whether a position is at the end of a closed shard."""
        return shard.until_ms is not None and position.time_ms >= shard.until_ms


def latest(state: FeedState, shard: Shard, now_ms: int) -> FeedPosition:
    """The position in a shard after all changes of complete micro-batches."""
    return at_time(state, shard, state.end_ms, now_ms)


def at_time(state: FeedState, shard: Shard, time_ms: int, kept_until_ms: int = 0) -> FeedPosition:
    """The position in a shard before the first change of a batch time; at an end of the shard if it is outside."""
    time_ms = max(time_ms, shard.from_ms)
    if shard.until_ms is not None:
        time_ms = min(time_ms, shard.until_ms)
    return FeedPosition.at_time(state.feed.id, shard.number, time_ms, kept_until_ms)
