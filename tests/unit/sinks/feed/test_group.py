"""Consumer groups; the numbers are those of the acceptance statements of a feed."""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from ingest.api import ConfigError
from sinks.feed.balance import LEASE_S, RENEW_S
from sinks.feed.client import FeedClient
from sinks.feed.delivery import Delivery
from sinks.feed.errors import (
    InvalidIteratorError,
    LeaseLostError,
    ParentUnknownError,
    StreamIdMismatchError,
    TrimmedError,
)
from sinks.feed.gaps import SkipGaps
from sinks.feed.group import LATEST, OLDEST, GroupMember, GroupOptions, Start
from sinks.feed.leases import FileLeases, LeaseStore, PropertyLeases, ShardLease
from sinks.memory import MemoryStore
from tests.support.clock import Clock
from tests.support.feeds import HOUR_MS, FeedFixture, T


class Feed:
    """A table with a feed, and the workers of a group, all with one clock."""

    def __init__(self, leases: Callable[[MemoryStore], LeaseStore], shards: int, expiration_ms: int) -> None:
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
        return ShardLease.from_text(self.leases.read("g")[shard])


@pytest.fixture(params=["properties", "files"])
def feeds(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Feed]:
    def opened(shards: int = 1, expiration_ms: int = 24 * HOUR_MS) -> Feed:
        def leases(store: MemoryStore) -> LeaseStore:
            return FileLeases(tmp_path) if request.param == "files" else PropertyLeases(store, "orders_feed")

        return Feed(leases, shards, expiration_ms)

    return opened


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


def test_worker_resumes_at_its_checkpoint(feeds: Callable[..., Feed]):
    feed = feeds()
    feed.writer.put(b"a", b"b")
    feed.writer.put(b"c")
    first = feed.worker("w1", limit=2)
    delivery = first.poll()
    assert (rows(delivery), delivery and delivery.behind_ms) == ([b"a", b"b"], 1)
    assert delivery is not None
    delivery.checkpoint()
    assert rows(first.poll()) == [b"c"]  # without a checkpoint
    first.close()
    second = feed.worker("w2", LATEST)  # the group exists, so it does not begin at LATEST
    assert drained(second) == [b"c"]
    assert drained(second) == []
    feed.writer.put(b"d")
    assert drained(second) == [b"d"]


def test_checkpoint_of_one_change(feeds: Callable[..., Feed]):
    feed = feeds()
    feed.writer.put(b"a", b"b", b"c")
    first = feed.worker("w1")
    delivery = first.poll()
    assert delivery is not None
    delivery.checkpoint(delivery.records[1])
    first.close()
    assert drained(feed.worker("w2")) == [b"c"]


def test_group_that_begins_at_latest(feeds: Callable[..., Feed]):
    feed = feeds(2)
    feed.writer.put(b"a", b"\xff")
    feed.client.split(1, b"m")
    feed.writer.put(b"b")
    worker = feed.worker("w1", LATEST)
    assert drained(worker) == []
    assert worker.shards == (2, 3, 4)
    feed.writer.put(b"c", b"z", b"\xfe")
    assert sorted(drained(worker)) == [b"c", b"z", b"\xfe"]


def test_group_that_begins_at_the_iterators_of_a_dump(feeds: Callable[..., Feed]):
    feed = feeds()
    feed.writer.put(b"a")
    feed.client.split(1, b"m")
    feed.writer.put(b"b", b"n")
    dump = feed.client.latest()
    feed.writer.put(b"c", b"o")
    feed.client.split(3, b"t")
    feed.writer.put(b"d", b"p", b"u")
    worker = feed.worker("w1", dump)
    assert sorted(drained(worker)) == [b"c", b"d", b"o", b"p", b"u"]
    assert worker.shards == (2, 4, 5)


def test_4c6_children_wait_for_the_checkpoint_of_their_parent(feeds: Callable[..., Feed]):
    feed = feeds()
    feed.writer.put(b"a", b"b", b"c", b"d", b"z")
    feed.client.split(1, b"m")
    feed.writer.put(b"e", b"y")
    workers = [feed.worker(f"w{number}", limit=4) for number in range(3)]
    held = workers[0].poll()
    assert rows(held) == [b"a", b"b", b"c", b"d"]
    assert held is not None
    for _ in range(4):
        feed.passed(RENEW_S)
        last = workers[0].poll()
        assert rows(last) in ([b"z"], [])
        assert [worker.poll() for worker in workers[1:]] == [None, None]
        held = last or held
    held.checkpoint()
    assert feed.lease(1).is_ended
    found = {row: worker for worker in range(3) for row in drained(workers[worker])}
    assert sorted(found) == [b"e", b"y"]
    assert feed.lease(1).followed_by == (2, 3)


def test_4c7_merged_shard_waits_for_both_parents(feeds: Callable[..., Feed]):
    feed = feeds(2)
    feed.writer.put(b"a", b"\xfa")
    feed.client.merge(1, 2)
    feed.writer.put(b"b", b"\xfb")
    worker = feed.worker("w1")
    first, second = worker.poll(), worker.poll()
    assert first is not None
    assert second is not None
    assert rows(first) + rows(second) == [b"a", b"\xfa"]
    second.checkpoint()
    assert worker.poll() is None
    first.checkpoint()
    assert drained(worker) == [b"b", b"\xfb"]
    assert (feed.lease(1).followed_by, feed.lease(2).followed_by) == ((3,), (3,))


def test_4c11_lease_of_a_killed_worker_is_taken_after_20_seconds(feeds: Callable[..., Feed]):
    feed = feeds()
    feed.writer.put(b"a")
    feed.writer.put(b"b")
    killed, other = feed.worker("w1", limit=1), feed.worker("w2", limit=1)
    first = killed.poll()
    assert first is not None
    first.checkpoint()
    unfinished = killed.poll()
    assert rows(unfinished) == [b"b"]
    assert other.poll() is None
    for _ in range(3):
        feed.passed(RENEW_S)
        assert other.poll() is None
    feed.passed(LEASE_S - 3 * RENEW_S)
    assert other.refresh()
    assert rows(other.poll()) == [b"b"]
    assert unfinished is not None
    with pytest.raises(LeaseLostError, match='worker "w2" has taken it over') as lost:
        unfinished.checkpoint()
    assert lost.value.exit_code == 4
    assert killed.poll() is None
    assert killed.shards == ()


def test_4c12_missing_lease_of_a_parent_is_an_error(feeds: Callable[..., Feed]):
    feed = feeds()
    feed.writer.put(b"a")
    feed.client.split(1, b"m")
    feed.writer.put(b"b", b"n")
    first = feed.worker("w1")
    delivery = first.poll()
    assert rows(delivery) == [b"a"]
    assert delivery is not None
    feed.leases.replace("g", 1, feed.leases.read("g")[1], None)
    other = feed.worker("w2")
    for _ in range(2):
        feed.passed(LEASE_S)
        with pytest.raises(ParentUnknownError, match="no lease of shard 1") as refused:
            other.poll()
        assert refused.value.exit_code == 3
    with pytest.raises(LeaseLostError):
        delivery.checkpoint()
    assert set(feed.leases.read("g")) == {0}


def test_missing_lease_of_a_child_is_an_error(feeds: Callable[..., Feed]):
    feed = feeds()
    feed.writer.put(b"a")
    feed.client.split(1, b"m")
    feed.writer.put(b"b", b"n")
    worker = feed.worker("w1")
    assert sorted(drained(worker)) == [b"a", b"b", b"n"]
    worker.close()
    feed.leases.replace("g", 3, feed.leases.read("g")[3], None)
    with pytest.raises(ParentUnknownError, match="no lease of shard 3"):
        feed.worker("w2").poll()


def test_shards_that_expired_before_the_group_count_as_read(feeds: Callable[..., Feed]):
    feed = feeds(expiration_ms=HOUR_MS)
    feed.writer.put(b"a", time_ms=T)
    feed.client.split(1, b"m")
    feed.writer.put(b"b", time_ms=T + 1000)
    feed.ms.now = T + HOUR_MS + 2000
    feed.writer.put(b"c", b"n", time_ms=feed.ms.now)
    worker = feed.worker("w1")
    assert sorted(drained(worker)) == [b"c", b"n"]
    assert feed.lease(1) == ShardLease("SHARD_END", followed_by=(2, 3))


def test_group_reads_shards_whose_parents_the_stream_has_forgotten(feeds: Callable[..., Feed]):
    feed = feeds(expiration_ms=HOUR_MS)
    feed.writer.put(b"a", b"z")
    feed.client.split(1, b"m")
    feed.writer.put(b"b", b"y")
    feed.passed(3 * 3600)
    feed.writer._set("feed", feed.writer.stream.trimmed(feed.ms.now - HOUR_MS).to_text())
    feed.client.split(2, b"c")
    feed.writer.put(b"b", b"d", b"y", time_ms=feed.ms.now)
    assert [shard.number for shard in feed.writer.stream.shards] == [2, 3, 4, 5]
    assert sorted(drained(feed.worker("w1"))) == [b"b", b"d", b"y"]


def test_iterators_of_a_dump_that_do_not_cover_all_row_keys_are_refused(feeds: Callable[..., Feed]):
    feed = feeds(2)
    feed.writer.put(b"a")
    dump = feed.client.latest()
    with pytest.raises(InvalidIteratorError, match="shard 2 has none"):
        feed.worker("w1", {1: dump[1]}).poll()
    with pytest.raises(InvalidIteratorError, match="shard 1 has none"):
        feed.worker("w1", {}).poll()
    assert feed.leases.groups() == ()


def test_shard_between_the_dump_and_the_open_shards_is_forgotten(feeds: Callable[..., Feed]):
    feed = feeds(expiration_ms=HOUR_MS)
    feed.writer.put(b"a")
    dump = feed.client.latest()
    feed.client.split(1, b"m")
    feed.writer.put(b"b", b"n")
    feed.client.split(2, b"c")
    feed.writer.put(b"b", b"d", b"o")
    feed.passed(3 * 3600)
    feed.writer._set("feed", feed.writer.stream.trimmed(feed.ms.now - 2 * HOUR_MS).to_text())
    assert [shard.number for shard in feed.writer.stream.shards] == [3, 4, 5]
    feed.writer.put(b"e", b"f", b"p", time_ms=feed.ms.now)
    with pytest.raises(TrimmedError):
        feed.worker("w1", dump).poll()
    feed.passed(LEASE_S)
    skipping, gaps, found = feed.worker("w2", skips=True), 0, []
    skipping.poll()
    for _ in range(10):
        feed.passed(LEASE_S)
        while (delivery := skipping.poll()) is not None:
            gaps += delivery.gap is not None
            found += rows(delivery)
            delivery.checkpoint()
    assert (gaps, sorted(found)) == (4, [b"e", b"f", b"p"]), "a gap in each of the shards 1, 3, 4 and 5"


def test_missing_lease_is_an_error_after_those_of_its_parents_were_removed(feeds: Callable[..., Feed]):
    feed = feeds(expiration_ms=HOUR_MS)
    feed.writer.put(b"a", b"z")
    feed.client.split(1, b"m")
    feed.writer.put(b"b", b"y")
    worker = feed.worker("w1")
    assert sorted(drained(worker)) == [b"a", b"b", b"y", b"z"]
    feed.passed(3 * 3600)
    feed.writer._set("feed", feed.writer.stream.trimmed(feed.ms.now - HOUR_MS).to_text())
    worker.refresh()
    worker.close()
    assert set(feed.leases.read("g")) == {0, 2, 3}
    feed.leases.replace("g", 3, feed.leases.read("g")[3], None)
    with pytest.raises(ParentUnknownError, match="no lease of shard 3"):
        feed.worker("w2").poll()


def test_interrupted_beginning_of_a_group_is_finished(feeds: Callable[..., Feed]):
    feed = feeds(2)
    feed.writer.put(b"a", b"\xfa")
    drained(feed.worker("w0"))
    texts = feed.leases.read("g")
    feed.leases.remove("g")
    record = texts[0].replace('"is_begun":true', '"is_begun":false')
    assert record != texts[0]
    feed.leases.replace("g", 0, None, record)
    assert drained(feed.worker("w1")) == [b"a", b"\xfa"]


def test_shards_are_divided_evenly(feeds: Callable[..., Feed]):
    feed = feeds(6)
    first = feed.worker("w1")
    assert drained(first) == []
    assert len(first.shards) == 6
    others = [feed.worker("w2"), feed.worker("w3")]
    found: Counter[bytes] = Counter()
    for turn in range(30):
        feed.passed(RENEW_S)
        feed.writer.put(*(bytes([turn + 40 * part]) for part in range(6)))
        for worker in (first, *others):
            worker.refresh()
            while (delivery := worker.poll()) is not None:
                found.update(rows(delivery))
                delivery.checkpoint()
    found.update(drained(first, *others))
    assert [len(worker.shards) for worker in (first, *others)] == [2, 2, 2]
    assert set(found.values()) == {1}, "no change is delivered twice when shards are passed on"
    assert len(found) == 180
    first.close()
    for _ in range(12):
        feed.passed(RENEW_S)
        for worker in others:
            worker.poll()
    assert sorted(len(worker.shards) for worker in others) == [3, 3]


def test_worker_passes_a_shard_on_after_its_checkpoint(feeds: Callable[..., Feed]):
    feed = feeds(2)
    feed.writer.put(b"a", b"\xfa")
    first, second = feed.worker("w1"), feed.worker("w2")
    deliveries = [first.poll(), first.poll()]
    for _ in range(5):
        feed.passed(RENEW_S)
        assert (first.poll(), second.poll()) == (None, None)
    for delivery in deliveries:
        assert delivery is not None
        delivery.checkpoint()
    feed.passed(RENEW_S)
    first.poll()
    second.refresh()
    assert sorted([*first.shards, *second.shards]) == [1, 2]
    assert len(second.shards) == 1
    assert drained(first, second) == []


def test_4c10_gap_is_an_error_unless_it_is_skipped(feeds: Callable[..., Feed]):
    feed = feeds(expiration_ms=HOUR_MS)
    feed.writer.put(b"a", time_ms=T)
    feed.writer.put(b"b", time_ms=T + 1)
    worker = feed.worker("w1", limit=1)
    delivery = worker.poll()
    assert delivery is not None
    delivery.checkpoint()
    worker.close()
    feed.ms.now = T + 3 * HOUR_MS
    feed.writer.put(b"c", time_ms=feed.ms.now)
    with pytest.raises(TrimmedError) as trimmed:
        feed.worker("w1").poll()
    assert trimmed.value.oldest is not None
    skipping = feed.worker("w1", skips=True)
    gap = skipping.poll()
    assert gap is not None
    assert gap.gap is not None
    assert (gap.records, gap.gap.from_ms, gap.gap.until_ms) == ((), T, T + 2 * HOUR_MS)
    feed.passed(1)
    gap.checkpoint()
    assert drained(skipping) == [b"c"]


def test_change_that_expires_before_the_first_checkpoint_is_a_gap(feeds: Callable[..., Feed]):
    feed = feeds(expiration_ms=HOUR_MS)
    feed.writer.put(b"a", time_ms=T + 1000)
    assert rows(feed.worker("w1").poll()) == [b"a"]
    feed.passed(3 * 3600)
    feed.writer.put(b"b", time_ms=feed.ms.now)
    other = feed.worker("w2")
    assert other.poll() is None
    feed.passed(LEASE_S)
    with pytest.raises(TrimmedError):
        other.poll()


def test_new_group_reads_the_oldest_changes_page_by_page_while_they_expire(feeds: Callable[..., Feed]):
    feed = feeds(expiration_ms=HOUR_MS)
    for minute in range(90):
        feed.writer.put(b"%02d" % minute, time_ms=T + minute * 60_000)
    feed.ms.now = T + 90 * 60_000
    worker = feed.worker("w1", limit=1)
    found = []
    while (delivery := worker.poll()) is not None:
        found += rows(delivery)
        delivery.checkpoint()
        feed.passed(60)
    assert found == [b"%02d" % minute for minute in range(30, 90)]


def test_worker_of_a_quiet_table_meets_no_gap(feeds: Callable[..., Feed]):
    feed = feeds(expiration_ms=HOUR_MS)
    feed.writer.put(b"a", time_ms=T)
    worker = feed.worker("w1")
    assert drained(worker) == [b"a"]
    for _ in range(30):
        feed.passed(600)
        assert worker.poll() is None
    worker.close()
    feed.passed(600)
    feed.writer.put(b"b", time_ms=feed.ms.now)
    assert drained(feed.worker("w2")) == [b"b"]


def test_group_of_an_earlier_stream_is_refused(feeds: Callable[..., Feed]):
    feed = feeds()
    feed.writer.put(b"a")
    assert drained(feed.worker("w1")) == [b"a"]
    feed.writer.close_feed()
    FeedFixture(feed.store, time_ms=feed.writer.time_ms + 1, stream="s2")
    feed.passed(RENEW_S)
    with pytest.raises(StreamIdMismatchError):
        feed.worker("w1").poll()


def test_leases_of_forgotten_shards_are_removed(feeds: Callable[..., Feed]):
    feed = feeds()
    feed.writer.put(b"a")
    feed.client.split(1, b"m")
    feed.writer.put(b"b", b"n")
    worker = feed.worker("w1")
    drained(worker)
    stream = feed.client.state().stream
    feed.writer._set("feed", stream.trimmed(feed.writer.time_ms).to_text())
    feed.passed(RENEW_S)
    assert worker.poll() is None
    assert set(feed.leases.read("g")) == {0, 2, 3}
    feed.writer.put(b"c", b"o")
    assert sorted(drained(worker)) == [b"c", b"o"]


def test_unread_shard_that_was_forgotten_is_a_gap(feeds: Callable[..., Feed]):
    feed = feeds(expiration_ms=HOUR_MS)
    feed.writer.put(b"a")
    first = feed.worker("w1")
    first.poll()
    first.close()
    feed.client.split(1, b"m")
    feed.writer.put(b"b", b"n")
    feed.writer._set("feed", feed.client.state().stream.trimmed(feed.writer.time_ms).to_text())
    with pytest.raises(TrimmedError):
        feed.worker("w1").poll()
    skipping = feed.worker("w1", skips=True)
    gap = skipping.poll()
    assert gap is not None
    assert gap.gap is not None
    assert set(feed.leases.read("g")) == {0, 1}, "what follows waits until the gap is recorded"
    gap.checkpoint()
    assert sorted(drained(skipping)) == [b"b", b"n"]


def test_name_of_a_group_is_checked():
    with pytest.raises(ConfigError):
        GroupOptions("A.b", "w")


def test_4c13_changes_of_a_row_come_in_their_order(feeds: Callable[..., Feed]):
    feed = feeds(2)
    workers = [feed.worker(f"w{number}", limit=7) for number in range(3)]
    requests: Mapping[int, Callable[[], object]] = {
        20: lambda: feed.client.split(1, b"\x20"),
        40: lambda: feed.client.split(4, b"\x40"),
        60: lambda: feed.client.merge(5, 6),
    }
    written: dict[bytes, list[int]] = {}
    read: dict[bytes, list[int]] = {}
    for turn in range(90):
        requests.get(turn, lambda: None)()
        keys = [bytes([(turn * 37 + part * 11) % 200]) for part in range(11)]
        time_ms = feed.writer.put(*dict.fromkeys(keys))
        for key in dict.fromkeys(keys):
            written.setdefault(key, []).append(time_ms)
        feed.passed(2)
        delivery = workers[turn % 3].poll()
        if delivery is not None:
            for record in delivery.records:
                read.setdefault(record.change.row, []).append(record.change.time_ms)
            delivery.checkpoint()
    for _ in range(100):
        feed.passed(2)
        for worker in workers:
            while (delivery := worker.poll()) is not None:
                for record in delivery.records:
                    read.setdefault(record.change.row, []).append(record.change.time_ms)
                delivery.checkpoint()
    assert read == written
