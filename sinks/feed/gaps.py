"""What a worker of a consumer group does about changes that have expired before the group has read them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

from ingest.api import Row
from sinks.feed.change_feed import Shard
from sinks.feed.client import PAGING_MS
from sinks.feed.leases import SHARD_END
from sinks.feed.position import FeedPosition
from sinks.feed.state import FeedState


class Gap(NamedTuple):
    """
    Changes that have expired before a group has read them.

    Attributes:
        from_ms: batch time at which the gap begins.
        until_ms: batch time of the first change that may be read again.
    """

    from_ms: int
    until_ms: int


class GapPolicy(ABC):
    """Where a group resumes after a gap, and with which rows."""

    @abstractmethod
    def resume(self, state: FeedState, shard: Shard | None, position: FeedPosition) -> str:
        """
        The iterator at which reading resumes, or `SHARD_END`.

        Args:
            state: of the feed.
            shard: of the position; None if the feed has forgotten it, since all its changes have expired.
            position: of the group.

        Raises:
            IngestError: reading cannot resume.
        """

    @abstractmethod
    def rows(self, shard: Shard | None) -> Iterator[Row]:
        """The rows of a shard that stand for the changes that are missing; whoever iterates must exhaust it."""


class SkipGaps(GapPolicy):
    """Resume at the oldest change that is left."""

    def resume(self, state: FeedState, shard: Shard | None, position: FeedPosition) -> str:
        """The retention horizon, from which the reader may continue page by page."""
        if shard is None:
            return SHARD_END
        kept_ms = state.retention_horizon_ms + PAGING_MS
        return FeedPosition.at_time(position.feed_id, shard.number, state.retention_horizon_ms, kept_ms).to_token()

    def rows(self, shard: Shard | None) -> Iterator[Row]:
        """None: what was changed is not known."""
        del shard
        return iter(())
