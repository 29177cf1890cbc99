"""Consumer groups whose workers are killed at any access to the leases, and whose calls have unknown outcomes."""

import contextlib
from collections import Counter
from collections.abc import Mapping
from random import Random

import pytest

from ingest.api import StoreUnavailableError
from sinks.feed.balance import LEASE_S, RENEW_S
from sinks.feed.client import FeedClient
from sinks.feed.errors import ShardLeaseLostError
from sinks.feed.group import GroupMember, GroupOptions
from sinks.feed.leases import GroupLeases
from sinks.memory import MemoryStore
from tests.support.clock import Clock
from tests.support.feeds import FeedFixture, T
from tests.support.group_leases import property_leases


class Killed(BaseException):
    """Stands for kill -9."""


class Faulty(GroupLeases):
    """
    Leases whose n-th change fails.

    Args:
        leases: the real ones.
        fails_at: number of the change.
        is_executed: whether the change is made all the same.
        error: what is raised.
    """

    def __init__(self, leases: GroupLeases, fails_at: int, *, is_executed: bool, error: BaseException) -> None:
        self._leases = leases
        self._left = fails_at
        self._is_executed = is_executed
        self._error = error

    def groups(self) -> tuple[str, ...]:
        return self._leases.groups()

    def read(self, group: str) -> Mapping[int, str]:
        return self._leases.read(group)

    def replace(self, group: str, shard: int, before: str | None, after: str | None) -> bool:
        self._left -= 1
        if self._left == 0:
            if self._is_executed:
                self._leases.replace(group, shard, before, after)
            raise self._error
        return self._leases.replace(group, shard, before, after)


class Group:
    """A feed that is split and merged, with the workers of a group."""

    def __init__(self) -> None:
        self.ms, self.s = Clock(T + 1000), Clock(0.0)
        store = MemoryStore(clock_ms=self.ms)
        store.open()
        self.writer = FeedFixture(store, shards=2)
        self.client, self.leases = FeedClient(store, "orders", self.ms), property_leases(store, "orders_feed")
        self.written: set[tuple[bytes, int]] = set()
        self.delivered: Counter[tuple[bytes, int]] = Counter()
        self.last: dict[bytes, int] = {}

    def write(self, *rows: bytes) -> None:
        time_ms = self.writer.put(*rows)
        self.written |= {(row, time_ms) for row in rows}

    def fill(self) -> None:
        """Micro-batches with a split and a merge between them."""
        rows = [bytes([number * 25]) for number in range(10)]
        self.write(*rows)
        self.client.split(1, b"\x30")
        self.write(*rows)
        self.client.merge(3, 4)
        self.client.split(2, b"\xb0")
        self.write(*rows)

    def member(self, name: str, leases: GroupLeases | None = None, limit: int = 4) -> GroupMember:
        return GroupMember(self.client, leases or self.leases, GroupOptions("g", name, limit=limit), self.s, self.ms)

    def turn(self, member: GroupMember) -> bool:
        """One page; returns whether there was one."""
        delivery = member.poll()
        if delivery is None:
            return False
        self.delivered.update((record.change.row, record.change.time_ms) for record in delivery.records)
        delivery.checkpoint()
        return True

    def finish(self, *members: GroupMember) -> None:
        """Let workers read everything."""
        idle = 0
        while idle < 10:
            self.s.now += RENEW_S
            found = False
            for member in members:
                try:
                    while self.turn(member):
                        found = True
                except ShardLeaseLostError:
                    found = True
            idle = 0 if found else idle + 1


@pytest.mark.parametrize("is_executed", [False, True])
def test_4c11_worker_killed_at_any_change_of_the_leases(is_executed: bool):
    fails_at, is_reached = 0, True
    while is_reached:
        fails_at += 1
        group = Group()
        group.fill()
        victim = group.member("w1", Faulty(group.leases, fails_at, is_executed=is_executed, error=Killed()))
        is_reached = False
        try:
            group.finish(victim)
        except Killed:
            is_reached = True
        group.s.now += LEASE_S
        group.write(b"\x01", b"\xf0")
        group.finish(group.member("w2"))
        assert set(group.delivered) == group.written, f"killed at change {fails_at}"
        repeated = [key for key, count in group.delivered.items() if count > 1]
        assert len(repeated) <= 4, f"more than one page is repeated after change {fails_at}"
    assert fails_at > 20


@pytest.mark.parametrize("is_executed", [False, True])
def test_call_with_an_unknown_outcome_is_repeated(is_executed: bool):
    """The caller repeats what has failed, as `FeedConsumer` does."""
    for fails_at in range(1, 40):
        group = Group()
        group.fill()
        error = StoreUnavailableError("no answer")
        member = group.member("w1", Faulty(group.leases, fails_at, is_executed=is_executed, error=error))
        for _ in range(100):
            group.s.now += 1
            try:
                delivery = member.poll()
            except StoreUnavailableError:
                continue
            if delivery is None:
                continue
            group.delivered.update((record.change.row, record.change.time_ms) for record in delivery.records)
            try:
                delivery.checkpoint()
            except StoreUnavailableError:
                delivery.checkpoint()
        assert set(group.delivered) == group.written, f"failed at change {fails_at}"
        assert set(group.delivered.values()) == {1}, f"failed at change {fails_at}"


@pytest.mark.parametrize("seed", range(20))
def test_workers_that_come_and_go(seed: int):
    """Changes of a row are never delivered before earlier ones, but for repeated pages; none is missing."""
    chance = Random(seed)
    group = Group()
    members = {f"w{number}": group.member(f"w{number}") for number in range(3)}
    started = len(members)
    for turn in range(60):
        group.s.now += chance.choice([0.1, 1.0, RENEW_S])
        group.write(*{bytes([chance.randrange(256)]) for _ in range(3)})
        if turn % 15 == 7:
            shard = chance.choice(group.client.state().feed.open_shards())
            key = bytes([chance.randrange(1, 256), 1])
            if shard.has(key) and key != shard.start:
                group.client.split(shard.number, key)
        name = chance.choice(sorted(members))
        with contextlib.suppress(ShardLeaseLostError):
            group.turn(members[name])
        match chance.randrange(12):
            case 0:
                del members[name]  # killed
            case 1:
                members.pop(name).close()
            case 2:
                group.s.now += LEASE_S
        while len(members) < 2:
            started += 1
            members[f"w{started}"] = group.member(f"w{started}")
    group.finish(*members.values())
    assert set(group.delivered) == group.written
