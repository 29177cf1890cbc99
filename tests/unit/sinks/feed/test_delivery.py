"""Deliveries of a consumer group."""

from sinks.feed.changes import Change, Op
from sinks.feed.client import FeedRecord
from sinks.feed.delivery import Delivery


def test_checkpoint_after_the_last_change_is_one_after_all_changes():
    records = tuple(FeedRecord("s", 1, f"{n:022x}", Change(b"", Op.PUT, (), None, 0, n)) for n in range(3))
    checkpoints: list[FeedRecord | None] = []
    delivery = Delivery("s", 1, records, 0, None, lambda: iter(()), checkpoints.append, lambda: None)
    delivery.checkpoint(records[1])
    delivery.checkpoint(records[2])
    delivery.checkpoint()
    assert checkpoints == [records[1], None, None]
