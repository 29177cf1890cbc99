"""What a worker of a consumer group gets at a time: changes of one shard, with the function that checkpoints them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ingest.api import Row
from sinks.feed.client import FeedRecord
from sinks.feed.gaps import Gap


@dataclass(frozen=True, slots=True)
class Delivery:
    """
    Changes of one shard for one worker.

    Attributes:
        feed_id: id of the feed.
        shard: number of the shard.
        records: the changes in their order; none if there is a gap.
        behind_ms: as in `FeedPage`.
        gap: changes that are lost to this group; None otherwise.
        rows: returns the rows of the shard that stand for the changes in the gap.
        on_checkpoint: records a checkpoint after one of the changes, or after all of them for None.
        check: raises ShardLeaseLostError if the worker knows that it has lost the shard, which it learns within six
            seconds. Older changes of a row would then follow newer ones that another worker has written.
    """

    feed_id: str
    shard: int
    records: tuple[FeedRecord, ...]
    behind_ms: int
    gap: Gap | None
    rows: Callable[[], Iterator[Row]]
    on_checkpoint: Callable[[FeedRecord | None], None] = field(repr=False)
    check: Callable[[], None] = field(repr=False)

    def checkpoint(self, record: FeedRecord | None = None) -> None:
        """
        Record durably that the changes have been processed, all or up to one of them.

        Raises:
            ShardLeaseLostError: another worker reads the shard; it gets the changes since the last checkpoint again.
            StoreError: the leases are unavailable; the call may be repeated.
        """
        is_all = record is None or record is self.records[-1]
        self.on_checkpoint(None if is_all else record)
