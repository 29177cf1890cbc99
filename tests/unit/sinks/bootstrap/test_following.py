"""A feed that is followed through splits and merges: the order of changes, and what has expired meanwhile."""

from collections.abc import Iterator

import pytest

from sinks.bootstrap import following
from sinks.bootstrap.following import FeedFollower
from sinks.bootstrap.reopening_store import ReopeningStore
from sinks.feed.client import FeedClient, IteratorType
from sinks.feed.errors import TrimmedError
from sinks.memory import MemoryStore
from tests.support.clock import Clock
from tests.support.feeds import DAY_MS, FeedFixture, T


class Followed:
    """A feed with some shards, and its follower from the oldest change on."""

    def __init__(self, shards: int) -> None:
        self.ms = Clock(T + 1_000)
        store = MemoryStore(clock_ms=self.ms)
        store.open()
        self.writer = FeedFixture(store, shards=shards)
        self.client = FeedClient(store, "orders", self.ms)
        positions = {number: self.client.iterator(number, IteratorType.TRIM_HORIZON) for number in range(1, shards + 1)}
        self.follower = FeedFollower(ReopeningStore(store), "orders", positions, self.ms)

    def rows(self) -> Iterator[bytes]:
        """The rows of one round of pages."""
        for page in self.follower.pages():
            yield from (change.row for change in page)


def test_merged_shard_is_read_after_both_parents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "MAX_LIMIT", 1)
    feed = Followed(shards=2)
    feed.writer.put(b"\x01", b"\x81")
    feed.writer.put(b"\x82")
    feed.writer.put(b"\x83")
    feed.client.merge(1, 2)
    feed.writer.put(b"\x01", b"\x81")
    found = [row for _ in range(12) for row in feed.rows()]
    assert sorted(found[:4]) == [b"\x01", b"\x81", b"\x82", b"\x83"]
    assert sorted(found[4:]) == [b"\x01", b"\x81"]


def test_changes_of_a_new_shard_that_expire_before_they_are_read_are_an_error() -> None:
    feed = Followed(shards=1)
    feed.writer.put(b"a")
    feed.client.split(1, b"m")
    feed.writer.put(b"b", b"n")
    while set(feed.follower.positions) == {1}:
        list(feed.rows())
    feed.ms.now += 3 * DAY_MS
    feed.writer.put(b"c", time_ms=feed.ms.now)
    with pytest.raises(TrimmedError):
        list(feed.rows())
