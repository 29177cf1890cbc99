"""A table with a change feed, and the workers of a group that read it."""

from collections.abc import Callable

from sinks.feed.client import FeedClient
from sinks.feed.delivery import Delivery
from sinks.feed.gaps import SkipGaps
from sinks.feed.group import OLDEST, GroupMember, GroupOptions, Start
from sinks.feed.leases import GroupLeases, ShardLease
from sinks.memory import MemoryStore
from tests.support.clock import Clock
from tests.support.feeds import FeedFixture, T


class GroupFeed:
    """A table with a change feed, and the workers of a group, all with one clock."""

    def __init__(self, leases: Callable[[MemoryStore], GroupLeases], shards: int, expiration_ms: int) -> None:
        self.ms = Clock(T + 1000)
        self.s = Clock(0.0)
        self.store = MemoryStore(clock_ms=self.ms)
        self.store.open()
        self.writer = FeedFixture(self.store, shards=shards, expiration_ms=expiration_ms)
        self.client = FeedClient(self.store, "orders", self.ms)
        self.leases = leases(self.store)

    def worker(self, name: str, start: Start = OLDEST, *, limit: int = 1_000, skips: bool = False) -> GroupMember:
        options = GroupOptions("g", name, start, limit, SkipGaps() if skips else None)
        return GroupMember(self.client, self.leases, options, self.s, self.ms)

    def passed(self, seconds: float) -> None:
        """Let time pass for all workers."""
        self.s.now += seconds
        self.ms.now += round(seconds * 1000)

    def lease(self, shard: int) -> ShardLease:
        return ShardLease.of(self.leases.read("g")[shard], "g")


def rows(delivery: Delivery | None) -> list[bytes]:
    return [] if delivery is None else [record.change.row for record in delivery.records]


def drained(*workers: GroupMember) -> list[bytes]:
    """What workers get until nothing is left; each delivery has a checkpoint."""
    found: list[bytes] = []
    idle = 0
    while idle < 2:
        idle += 1
        for worker in workers:
            while (delivery := worker.poll()) is not None:
                found += rows(delivery)
                delivery.checkpoint()
                idle = 0
            idle = 0 if worker.refresh() else idle
    return found
