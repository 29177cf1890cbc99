"""Copies of changes: checkpoints after writes, retries, heartbeats, and what a crash repeats."""

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence

import pytest

from ingest.api import Cell, IngestError, Row, SourceUnavailableError, StoreUnavailableError
from ingest.durable.property_register import PropertyRegisters, calls_of
from sinks.feed import consuming
from sinks.feed.balance import LEASE_S, RENEW_S
from sinks.feed.change_feed import Shard
from sinks.feed.client import FeedClient
from sinks.feed.consuming import FIRST_RETRY_S, IDLE_S, Consumed, FeedConsumer
from sinks.feed.envelope import Message, OwnEnvelope
from sinks.feed.errors import ParentUnknownError
from sinks.feed.gaps import GapPolicy, SkipGaps
from sinks.feed.group import GroupMember, GroupOptions
from sinks.feed.leases import GroupLeases, ShardLease
from sinks.feed.outputs import ChangeOutput, LineOutput
from sinks.feed.position import FeedPosition
from sinks.memory import MemoryStore
from tests.support.clock import Clock
from tests.support.feeds import DAY_MS, FeedFixture, T
from tests.support.group_leases import property_leases


class Recorded(ChangeOutput):
    """Keeps messages; fails as often as the test says."""

    def __init__(self) -> None:
        self.rows: list[str] = []
        self.failures: list[IngestError] = []
        self.on_write: Callable[[], None] = lambda: None

    def write(self, messages: Sequence[Message]) -> None:
        if self.failures:
            raise self.failures.pop()
        for message in messages:
            content = json.loads(message.value or b"null")
            self.rows.append(content.get("row", content["op"]))
        self.on_write()

    def close(self) -> None:
        pass


class Setting:
    """A feed, and workers whose clocks advance while they wait."""

    def __init__(self) -> None:
        self.ms, self.s = Clock(T + 1000), Clock(0.0)
        self.store = store = MemoryStore(clock_ms=self.ms)
        store.open()
        self.writer = FeedFixture(store)
        self.client = FeedClient(store, "orders", self.ms)
        self.leases: GroupLeases = property_leases(store, "orders_feed")
        self.output = Recorded()
        self.waits: list[float] = []
        self.retried: list[IngestError] = []
        self.progress: list[int] = []
        self.ends_at = 1e9

    def member(self, name: str = "w", heartbeat_s: float = 0.0, gap_policy: GapPolicy | None = None) -> GroupMember:
        options = GroupOptions("g", name, limit=2, heartbeat_s=heartbeat_s, gap_policy=gap_policy)
        return GroupMember(self.client, self.leases, options, self.s, self.ms)

    def consumer(self, member: GroupMember) -> FeedConsumer:
        def progressed(consumed: Consumed) -> None:
            self.progress.append(consumed.changes)

        return FeedConsumer(member, self.output, OwnEnvelope("orders"), self.wait, progressed, self.retried.append)

    def wait(self, seconds: float) -> bool:
        self.waits += [seconds] if seconds else []
        self.s.now += seconds
        return self.s.now >= self.ends_at


@pytest.fixture
def setting() -> Setting:
    return Setting()


def test_pages_are_written_and_then_checkpointed(setting: Setting):
    setting.writer.put(b"a", b"b", b"c")
    consumed = setting.consumer(setting.member()).run(once=True)
    assert (consumed.changes, consumed.gaps, consumed.lost) == (3, [], 0)
    assert setting.output.rows == ["a", "b", "c"]
    assert setting.progress == [2, 3]
    assert setting.consumer(setting.member()).run(once=True).changes == 0


def test_unavailable_destination_is_retried(setting: Setting):
    setting.writer.put(b"a")
    setting.output.failures = [SourceUnavailableError("away") for _ in range(3)]
    assert setting.consumer(setting.member()).run(once=True).changes == 1
    assert setting.waits == [FIRST_RETRY_S, 2 * FIRST_RETRY_S, 4 * FIRST_RETRY_S]
    assert [str(error) for error in setting.retried] == ["away"] * 3


def test_leases_are_kept_while_the_destination_is_unavailable(setting: Setting):
    """Else another worker, whose destination is as unavailable, would take the shard and write the same again."""
    setting.writer.put(b"a")
    other = setting.member("w2")
    setting.output.failures = [SourceUnavailableError("away") for _ in range(9)]
    wait = setting.wait

    def wait_beside_another(seconds: float) -> bool:
        if seconds:
            other.refresh()
        return wait(seconds)

    setting.wait = wait_beside_another
    consumed = setting.consumer(setting.member("w1")).run(once=True)
    assert (consumed.changes, consumed.lost, other.shards) == (1, 0, ())
    assert sum(setting.waits) > 4 * LEASE_S


def of_two_shards(setting: Setting) -> None:
    """A feed with a change in each of two shards, of which the first has no lease."""
    setting.writer.close_feed()
    setting.writer = FeedFixture(setting.store, time_ms=setting.writer.time_ms, feed_id="s2", shards=2)
    setting.writer.put(b"a", b"\xff")
    member = setting.member()
    member.poll()
    member.close()
    setting.leases.replace("g", 1, setting.leases.read("g")[1], None)


def test_once_copies_the_other_shards_before_it_reports_a_missing_lease(setting: Setting):
    of_two_shards(setting)
    consumer = setting.consumer(setting.member())
    with pytest.raises(ParentUnknownError, match="no lease of shard 1"):
        consumer.run(once=True)
    assert consumer.consumed.changes == len(setting.output.rows) == 1
    assert setting.leases.read("g").keys() == {0, 2}
    assert ShardLease.of(setting.leases.read("g")[2], "g").owner == "", "released"


def test_consumer_goes_on_with_the_other_shards_and_reports_a_missing_lease_once(setting: Setting):
    of_two_shards(setting)
    setting.ends_at = 20 * IDLE_S
    setting.output.on_write = lambda: None
    consumer = setting.consumer(setting.member())
    with pytest.raises(ParentUnknownError):
        consumer.run()
    assert consumer.consumed.changes == 1
    assert [error.code for error in setting.retried] == ["parent_unknown"]
    assert setting.s.now >= setting.ends_at, "it was ended"


def test_consumer_ends_if_no_shard_can_be_read(setting: Setting):
    of_two_shards(setting)
    setting.leases.replace("g", 2, setting.leases.read("g")[2], None)
    with pytest.raises(ParentUnknownError):
        setting.consumer(setting.member()).run()
    assert setting.waits == []


def test_lease_that_is_back_is_no_error(setting: Setting):
    of_two_shards(setting)
    text = ShardLease(FeedPosition.at_start(setting.client.state().feed, setting.writer.feed.shards[0]).to_token())
    group_id = ShardLease.of(setting.leases.read("g")[2], "g").group_id
    wait = setting.wait

    def restore(seconds: float) -> bool:
        if seconds:
            setting.leases.replace("g", 1, None, dataclasses.replace(text, group_id=group_id).to_text())
        return wait(seconds)

    setting.wait = restore
    setting.ends_at = 4 * RENEW_S
    assert setting.consumer(setting.member()).run().changes == 2
    assert [error.code for error in setting.retried] == ["parent_unknown"]


class Unanswered(GroupLeases):
    """Leases of which one change is made, and has no answer."""

    left = 0

    def replace(self, group: str, shard: int, before: str | None, after: str | None) -> bool:
        is_replaced = super().replace(group, shard, before, after)
        self.left -= 1
        if self.left == 0:
            raise StoreUnavailableError("no answer")
        return is_replaced


@pytest.mark.parametrize("change", range(1, 7))
@pytest.mark.parametrize("failures", [0, 3, 4])
def test_changes_are_copied_once_though_an_answer_about_a_lease_is_lost(
    setting: Setting, change: int, failures: int
) -> None:
    """That of a checkpoint, or of a renewal while the destination is unavailable."""
    setting.writer.put(b"a", b"b", b"c")
    leases = setting.leases = Unanswered(PropertyRegisters(calls_of(setting.store), "orders_feed"))
    member = setting.member()
    member.refresh()
    leases.left = change
    setting.output.failures = [SourceUnavailableError("away") for _ in range(failures)]
    consumed = setting.consumer(member).run(once=True)
    assert (setting.output.rows, consumed.changes, consumed.lost) == (["a", "b", "c"], 3, 0)
    assert setting.consumer(setting.member("w2")).run(once=True).changes == 0


def test_shard_that_another_worker_takes_in_the_same_moment_is_not_read(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting.writer.put(b"a")
    member, other = setting.member(), setting.member("w2")
    replace = setting.leases.replace

    def after_the_other(group: str, shard: int, before: str | None, after: str | None) -> bool:
        if after is not None and shard and ShardLease.of(after, "g").owner == "w":
            monkeypatch.undo()
            other.refresh()
        return replace(group, shard, before, after)

    monkeypatch.setattr(setting.leases, "replace", after_the_other)
    assert member.poll() is None
    assert (member.shards, other.shards) == ((), (1,))


@pytest.mark.parametrize("is_renewal", [False, True])
def test_lost_answer_is_settled_though_another_worker_has_requested_the_shard(
    setting: Setting, *, is_renewal: bool
) -> None:
    setting.writer.put(b"a", b"b", b"c")
    leases = setting.leases = Unanswered(PropertyRegisters(calls_of(setting.store), "orders_feed"))
    member = setting.member()
    member.refresh()
    delivery = member.poll()
    assert delivery is not None
    leases.left = 1
    setting.s.now += RENEW_S
    with pytest.raises(StoreUnavailableError):
        (member.keep if is_renewal else delivery.checkpoint)()
    text = leases.read("g")[1]
    assert leases.replace("g", 1, text, dataclasses.replace(ShardLease.of(text, "g"), wanted_by="w2").to_text())
    member.keep()
    delivery.checkpoint()
    setting.s.now += RENEW_S
    assert member.poll() is None
    rest = setting.member("w2").poll()
    assert rest is not None
    assert [record.change.row for record in rest.records] == [b"c"]


def test_page_is_not_written_after_its_shard_was_lost(setting: Setting) -> None:
    """Else an older value would follow a newer one at the destination."""
    setting.writer.put(b"a")
    setting.output.failures = [SourceUnavailableError("away")]
    other, wait = setting.member("w2"), setting.wait

    def wait_suspended(seconds: float) -> bool:
        if seconds == FIRST_RETRY_S:
            other.refresh()
            setting.s.now += LEASE_S
            setting.writer.put(b"b")
            while (delivery := other.poll()) is not None:
                setting.output.rows += [f"other {record.change.row.decode()}" for record in delivery.records]
                delivery.checkpoint()
        return wait(seconds)

    setting.wait = wait_suspended
    consumed = setting.consumer(setting.member("w1")).run(once=True)
    assert (consumed.changes, consumed.lost) == (0, 1)
    assert setting.output.rows == ["other a", "other b"]
    assert 'worker "w2" has taken it over' in str(setting.retried[-1])


def test_gap_is_counted_once_though_the_answer_of_its_checkpoint_is_lost(setting: Setting) -> None:
    setting.writer.put(b"a")
    assert setting.consumer(setting.member()).run(once=True).changes == 1
    setting.writer.put(b"lost")
    setting.ms.now += 3 * DAY_MS
    setting.writer.put(b"b", time_ms=setting.ms.now)
    leases = setting.leases = Unanswered(PropertyRegisters(calls_of(setting.store), "orders_feed"))
    member = setting.member("w2", gap_policy=SkipGaps())
    member.refresh()
    leases.left = 1
    setting.output.on_write = lambda: None
    consumed = setting.consumer(member).run(once=True)
    texts = leases.read("g")
    assert (len(consumed.gaps), [ShardLease.of(texts[shard], "g").gaps for shard in texts if shard]) == (1, [1])


def test_rows_of_a_dump_that_is_unavailable_meanwhile_are_written_once(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(consuming, "_MESSAGES", 2)
    away = [True]

    class FromDump(SkipGaps):
        def rows(self, shard: Shard | None) -> Iterator[Row]:
            for number, key in enumerate((b"p", b"q", b"r", b"s")):
                if number == 3 and away:
                    away.clear()
                    raise SourceUnavailableError("the root is away")
                yield Row(key, (Cell(b"d", b"n", 5, b"1"),))

    setting.writer.put(b"a")
    assert setting.consumer(setting.member()).run(once=True).changes == 1  # the group starts here
    setting.writer.put(b"lost")
    setting.ms.now += 3 * DAY_MS
    setting.writer.put(b"b", time_ms=setting.ms.now)
    consumed = setting.consumer(setting.member("w2", gap_policy=FromDump())).run(once=True)
    assert len(consumed.gaps) == 1
    assert setting.output.rows[-5:] == ["p", "q", "r", "s", "b"]
    assert setting.output.rows.count("p") == 1


def test_lease_is_renewed_between_the_writes_of_a_long_gap(setting: Setting, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(consuming, "_MESSAGES", 1)

    class FromDump(SkipGaps):
        def rows(self, shard: Shard | None) -> Iterator[Row]:
            for key in (b"p", b"q", b"r", b"s"):
                yield Row(key, (Cell(b"d", b"n", 5, b"1"),))

    setting.writer.put(b"a")
    assert setting.consumer(setting.member()).run(once=True).changes == 1  # the group starts here
    setting.writer.put(b"lost")
    setting.ms.now += 3 * DAY_MS
    other = setting.member("w3")

    def slow() -> None:
        setting.s.now += RENEW_S + 1
        other.refresh()

    setting.output.on_write = slow
    consumed = setting.consumer(setting.member("w2", gap_policy=FromDump())).run(once=True)
    assert (len(consumed.gaps), consumed.lost, other.shards) == (1, 0, ())


def test_other_error_ends_the_consumer_and_releases_its_shards(setting: Setting):
    setting.writer.put(b"a")
    setting.output.failures = [IngestError("too large", code="record_too_large")]
    with pytest.raises(IngestError, match="too large"):
        setting.consumer(setting.member("w1")).run()
    assert setting.consumer(setting.member("w2")).run(once=True).changes == 1


def test_consumer_that_should_end_does_not_retry(setting: Setting):
    setting.writer.put(b"a")
    setting.output.failures = [SourceUnavailableError("away") for _ in range(9)]
    setting.ends_at = 5.0
    with pytest.raises(SourceUnavailableError):
        setting.consumer(setting.member()).run()
    assert len(setting.retried) == 9 - len(setting.output.failures)  # each was noted once


def test_page_of_a_lost_shard_is_delivered_by_the_other_worker(setting: Setting):
    setting.writer.put(b"a")
    other = setting.member("w2")

    def hang() -> None:
        setting.output.on_write = lambda: None
        other.poll()
        setting.s.now += LEASE_S
        other.refresh()

    setting.output.on_write = hang
    setting.ends_at = LEASE_S + 1  # before it would take the shard back
    consumed = setting.consumer(setting.member("w1")).run()
    setting.ends_at = 1e9
    assert (consumed.changes, consumed.lost) == (0, 1)
    assert setting.consumer(other).run(once=True).changes == 1
    assert setting.output.rows == ["a", "a"]


def test_once_takes_over_the_shards_of_a_worker_that_was_killed(setting: Setting):
    setting.writer.put(b"a", b"b")
    setting.member("w1").poll()  # without a checkpoint
    consumed = setting.consumer(setting.member("w2")).run(once=True)
    assert (consumed.changes, consumed.shards_elsewhere) == (2, 0)
    assert LEASE_S <= setting.s.now < LEASE_S + 2 * IDLE_S


def test_once_leaves_the_shards_of_a_live_worker_to_it(setting: Setting):
    setting.writer.put(b"a")
    live = setting.member("w1")
    live.poll()
    wait = setting.wait

    def renewing(seconds: float) -> bool:
        live.keep()
        return wait(seconds)

    setting.wait = renewing
    consumed = setting.consumer(setting.member("w2")).run(once=True)
    assert (consumed.changes, consumed.shards_elsewhere) == (0, 1)
    assert setting.s.now < LEASE_S


def test_quiet_shards_have_heartbeats(setting: Setting):
    time_ms = setting.writer.put(b"a")
    setting.ends_at = 10 * RENEW_S
    setting.consumer(setting.member(heartbeat_s=20.0)).run()
    assert setting.output.rows == ["a", "HEARTBEAT", "HEARTBEAT"]
    member = setting.member(heartbeat_s=1.0)
    setting.ends_at = 1e9
    member.poll()
    setting.s.now += 2
    assert member.heartbeats() == [("s1", 1, time_ms)]
    assert member.heartbeats() == []


def test_lines_have_no_tombstones():
    written: list[str] = []
    flushed: list[int] = []
    output = LineOutput(written.append, lambda: flushed.append(len(written)))
    output.write([Message(b"k", b"{}", 1), Message(b"k", None, 1), Message(b"l", b"[]", 1)])
    output.close()
    assert (written, flushed) == (["{}\n", "[]\n"], [2])
