"""Consumer groups; the numbers are those of the acceptance statements of a feed."""

import dataclasses
import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ingest.api import ConfigError, StoreUnavailableError
from sinks.feed.balance import LEASE_S, RENEW_S
from sinks.feed.errors import (
    FeedIdMismatchError,
    GroupRemovedError,
    ShardLeaseLostError,
    TrimmedError,
    WorkerReplacedError,
)
from sinks.feed.group import LATEST, GroupOptions
from sinks.feed.lag import lags_of
from sinks.feed.leases import GroupRecord, ShardLease
from tests.support.feeds import HOUR_MS, FeedFixture, T
from tests.support.group_feeds import GroupFeed, drained, rows


def test_worker_resumes_at_its_checkpoint(feeds: Callable[..., GroupFeed]):
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


def test_checkpoint_of_one_change(feeds: Callable[..., GroupFeed]):
    feed = feeds()
    feed.writer.put(b"a", b"b", b"c")
    first = feed.worker("w1")
    delivery = first.poll()
    assert delivery is not None
    delivery.checkpoint(delivery.records[1])
    first.close()
    assert drained(feed.worker("w2")) == [b"c"]


def test_late_checkpoint_moves_none_back(feeds: Callable[..., GroupFeed]):
    feed = feeds()
    feed.writer.put(b"a", b"b")
    feed.writer.put(b"c", b"d")
    first = feed.worker("w1", limit=2)
    ab, cd = first.poll(), first.poll()
    assert ab is not None
    assert cd is not None
    cd.checkpoint(cd.records[0])
    ab.checkpoint()
    ab.checkpoint(ab.records[0])
    first.close()
    second = feed.worker("w2", limit=2)
    d = second.poll()
    assert d is not None
    assert rows(d) == [b"d"]
    d.checkpoint()
    d.checkpoint(d.records[0])
    second.close()
    assert drained(feed.worker("w3")) == []


def test_group_that_begins_at_latest(feeds: Callable[..., GroupFeed]):
    feed = feeds(2)
    feed.writer.put(b"a", b"\xff")
    feed.client.split(1, b"m")
    feed.writer.put(b"b")
    worker = feed.worker("w1", LATEST)
    assert drained(worker) == []
    assert worker.shards == (2, 3, 4)
    feed.writer.put(b"c", b"z", b"\xfe")
    assert sorted(drained(worker)) == [b"c", b"z", b"\xfe"]


def test_group_that_begins_at_the_iterators_of_a_dump(feeds: Callable[..., GroupFeed]):
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


def test_4c11_lease_of_a_killed_worker_is_taken_after_20_seconds(feeds: Callable[..., GroupFeed]):
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
    with pytest.raises(ShardLeaseLostError, match='worker "w2" has taken it over') as lost:
        unfinished.checkpoint()
    assert lost.value.exit_code == 4
    assert killed.poll() is None
    assert killed.shards == ()


def test_worker_that_starts_again_has_its_shards_at_once(feeds: Callable[..., GroupFeed]):
    feed = feeds(2)
    feed.writer.put(b"a", b"\xfa")
    first = feed.worker("w1")
    assert sorted(drained(first)) == [b"a", b"\xfa"]
    second = feed.worker("w1")
    assert drained(second) == []
    assert second.shards == (1, 2)
    feed.passed(RENEW_S)
    feed.writer.put(b"b")
    with pytest.raises(WorkerReplacedError, match='another process has started as worker "w1"'):
        first.poll()
    assert drained(second) == [b"b"]


def test_earlier_process_of_a_name_takes_no_shard_of_the_later_one(feeds: Callable[..., GroupFeed]):
    feed = feeds(2)
    first, second = feed.worker("w1"), feed.worker("w1")
    first.poll()
    first.close()
    second.poll()
    feed.passed(RENEW_S)
    assert not first.refresh()
    assert (first.shards, second.shards) == ((), (1, 2))


def test_group_that_is_removed_ends_its_workers(feeds: Callable[..., GroupFeed]):
    feed = feeds(2)
    feed.writer.put(b"a")
    busy, idle = feed.worker("w1"), feed.worker("w2")
    delivery = busy.poll()
    assert delivery is not None
    assert idle.poll() is None
    feed.leases.remove("g")
    with pytest.raises(GroupRemovedError):
        delivery.checkpoint()
    for worker in (busy, idle):
        feed.passed(RENEW_S)
        with pytest.raises(GroupRemovedError, match='group "g" was removed while this worker was running'):
            worker.poll()
    assert feed.leases.groups() == ()
    assert drained(feed.worker("w1")) == [b"a"]


def test_group_that_another_worker_creates_at_the_same_time_is_kept(feeds: Callable[..., GroupFeed]):
    feed = feeds(2)
    feed.writer.put(b"a", b"\xfa")
    first, second = feed.worker("w1"), feed.worker("w2")
    read, found = feed.leases.read, []

    def beside_another(group: str) -> Mapping[int, str]:
        texts = read(group)
        if not found:
            found.append(b"")
            found.extend(drained(second))
        return texts

    feed.leases.read = beside_another  # type: ignore[method-assign]
    assert first.poll() is None
    assert sorted(found) == [b"", b"a", b"\xfa"]


def test_group_that_begins_while_it_is_removed_is_kept(feeds: Callable[..., GroupFeed]):
    feed = feeds(2)
    feed.writer.put(b"a", b"\xfa")
    drained(feed.worker("w1"))
    replace, later = feed.leases.replace, feed.worker("w2")

    def beside_another(group: str, shard: int, before: str | None, after: str | None) -> bool:
        is_replaced = replace(group, shard, before, after)
        if (shard, after) == (0, None):
            feed.leases.replace = replace  # type: ignore[method-assign]
            assert sorted(drained(later)) == [b"a", b"\xfa"]
        return is_replaced

    feed.leases.replace = beside_another  # type: ignore[method-assign]
    feed.leases.remove("g")
    feed.passed(RENEW_S)
    feed.writer.put(b"b")
    assert drained(later) == [b"b"]


def test_leases_of_an_earlier_group_are_not_those_of_a_new_one(feeds: Callable[..., GroupFeed]):
    """A suspended worker may write them after its group was removed, and another one of its name has begun."""
    feed = feeds()
    feed.writer.put(b"a", b"z")
    feed.client.split(1, b"m")
    feed.writer.put(b"b", b"y")
    old = feed.worker("w1")
    assert sorted(drained(old)) == [b"a", b"b", b"y", b"z"]
    texts = dict(feed.leases.read("g"))
    feed.leases.remove("g")
    new = feed.worker("w2", limit=1)
    assert rows(new.poll()) == [b"a"]
    for shard in (2, 3):
        assert feed.leases.replace("g", shard, None, texts[shard])
    feed.passed(RENEW_S)
    with pytest.raises(GroupRemovedError):
        old.poll()
    lags = lags_of(feed.client.state(), feed.leases, "g") or ()
    assert [(lag.shard, lag.owner, lag.is_ended) for lag in lags] == [(1, "w2", False), (2, "", False), (3, "", False)]
    feed.passed(LEASE_S)
    found = drained(feed.worker("w3"), new)
    assert (found[0], sorted(found)) == (b"z", [b"b", b"y", b"z"])


OLD_FIELDS = {"format", "holder", "group_id", "id", "is_removed"}


@pytest.mark.parametrize("owner", ["", "w1"])
def test_group_of_an_earlier_version_is_read_on(feeds: Callable[..., GroupFeed], owner: str):
    """Its texts have fewer fields."""
    feed = feeds()
    feed.writer.put(b"a")
    drained(feed.worker("w1"))
    for shard, text in list(feed.leases.read("g").items()):
        content = {name: value for name, value in json.loads(text).items() if name not in OLD_FIELDS}
        old = json.dumps(content | ({"owner": owner} if shard else {}))
        assert feed.leases.replace("g", shard, text, None)
        assert feed.leases.replace("g", shard, None, old)
    feed.writer.put(b"b")
    assert drained(feed.worker("w1")) == [b"b"]


def test_worker_that_starts_beside_one_which_ends_a_removal_leaves_its_group(feeds: Callable[..., GroupFeed]):
    feed = feeds()
    feed.writer.put(b"a")
    feed.worker("w0").poll()
    assert feed.leases.replace("g", 0, feed.leases.read("g")[0], GroupRecord("", {}, is_removed=True).to_text())
    first, second = feed.worker("w1"), feed.worker("w2")
    read, found = feed.leases.read, []

    def beside_another(group: str) -> Mapping[int, str]:
        texts = read(group)
        feed.leases.read = read  # type: ignore[method-assign]
        found.extend(drained(first))
        return texts

    feed.leases.read = beside_another  # type: ignore[method-assign]
    assert (second.poll(), found) == (None, [b"a"])
    feed.passed(RENEW_S)
    assert first.poll() is None


def test_late_lease_of_an_earlier_group_delays_the_beginning_of_a_new_one(feeds: Callable[..., GroupFeed]):
    feed = feeds()
    feed.writer.put(b"a")
    replace = feed.leases.replace

    def beside_another(group: str, shard: int, before: str | None, after: str | None) -> bool:
        if (shard, before) == (1, None):
            feed.leases.replace = replace  # type: ignore[method-assign]
            assert replace("g", 1, None, ShardLease("x", group_id="earlier").to_text())
        return replace(group, shard, before, after)

    feed.leases.replace = beside_another  # type: ignore[method-assign]
    worker = feed.worker("w1")
    assert worker.poll() is None
    feed.passed(RENEW_S)
    assert rows(worker.poll()) == [b"a"]


def test_lease_that_is_created_in_a_removed_group_is_not_taken(feeds: Callable[..., GroupFeed]):
    feed = feeds()
    feed.writer.put(b"a")
    worker = feed.worker("w1")
    assert drained(worker) == [b"a"]
    feed.client.split(1, b"m")
    feed.writer.put(b"b")
    replace = feed.leases.replace

    def removed_before(group: str, shard: int, before: str | None, after: str | None) -> bool:
        if shard == 2 and before is None:
            feed.leases.replace = replace  # type: ignore[method-assign]
            feed.leases.remove("g")
        return replace(group, shard, before, after)

    feed.leases.replace = removed_before  # type: ignore[method-assign]
    with pytest.raises(GroupRemovedError):
        drained(worker)
    assert worker.shards == ()


def test_take_without_an_answer_is_repeated_at_once(feeds: Callable[..., GroupFeed]):
    feed = feeds(2)
    feed.writer.put(b"a")
    first, second = feed.worker("w1"), feed.worker("w1")
    first.poll()
    replace = feed.leases.replace

    def unanswered(*arguments: Any) -> bool:
        feed.leases.replace = replace  # type: ignore[method-assign]
        raise StoreUnavailableError("no answer")

    feed.leases.replace = unanswered  # type: ignore[method-assign]
    with pytest.raises(StoreUnavailableError):
        second.poll()
    second.poll()
    assert second.shards == (1, 2)


def test_take_that_was_executed_without_an_answer_is_known(feeds: Callable[..., GroupFeed]):
    feed = feeds()
    feed.writer.put(b"a")
    other, worker = feed.worker("w1"), feed.worker("w2")
    other.poll()
    worker.poll()
    other.close()
    replace = feed.leases.replace

    def unanswered(*arguments: Any) -> bool:
        feed.leases.replace = replace  # type: ignore[method-assign]
        replace(*arguments)
        raise StoreUnavailableError("no answer")

    feed.leases.replace = unanswered  # type: ignore[method-assign]
    feed.passed(RENEW_S)
    with pytest.raises(StoreUnavailableError):
        worker.poll()
    assert rows(worker.poll()) == [b"a"]


def test_leases_are_released_although_one_is_lost(feeds: Callable[..., GroupFeed]):
    feed = feeds(2)
    worker = feed.worker("w1")
    worker.poll()
    lost = feed.lease(1)
    assert feed.leases.replace("g", 1, lost.to_text(), dataclasses.replace(lost, holder="other", counter=9).to_text())
    with pytest.raises(WorkerReplacedError):
        worker.close()
    assert feed.lease(2).owner == ""


@pytest.mark.parametrize("is_marked", [False, True])
def test_removal_that_was_interrupted_is_finished_by_the_next_worker(
    feeds: Callable[..., GroupFeed], *, is_marked: bool
):
    feed = feeds(2)
    feed.writer.put(b"a", b"\xfa")
    drained(feed.worker("w1"))
    texts = feed.leases.read("g")
    feed.leases.remove("g")
    marked = GroupRecord("", {}, is_removed=True).to_text()
    assert feed.leases.replace("g", 1, None, texts[1])
    assert feed.leases.replace("g", 0, None, marked) if is_marked else True
    assert drained(feed.worker("w1")) == [b"a", b"\xfa"]


def test_interrupted_beginning_of_a_group_is_finished(feeds: Callable[..., GroupFeed]):
    feed = feeds(2)
    feed.writer.put(b"a", b"\xfa")
    drained(feed.worker("w0"))
    texts = feed.leases.read("g")
    feed.leases.remove("g")
    record = texts[0].replace('"is_begun":true', '"is_begun":false')
    assert record != texts[0]
    feed.leases.replace("g", 0, None, record)
    assert drained(feed.worker("w1")) == [b"a", b"\xfa"]


def test_shards_are_divided_evenly(feeds: Callable[..., GroupFeed]):
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


def test_worker_passes_a_shard_on_after_its_checkpoint(feeds: Callable[..., GroupFeed]):
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


def test_4c10_gap_is_an_error_unless_it_is_skipped(feeds: Callable[..., GroupFeed]):
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


def test_change_that_expires_before_the_first_checkpoint_is_a_gap(feeds: Callable[..., GroupFeed]):
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


def test_new_group_reads_the_oldest_changes_page_by_page_while_they_expire(feeds: Callable[..., GroupFeed]):
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


def test_worker_of_a_quiet_table_meets_no_gap(feeds: Callable[..., GroupFeed]):
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


def test_group_of_an_earlier_feed_is_refused(feeds: Callable[..., GroupFeed]):
    feed = feeds()
    feed.writer.put(b"a")
    assert drained(feed.worker("w1")) == [b"a"]
    feed.writer.close_feed()
    FeedFixture(feed.store, time_ms=feed.writer.time_ms + 1, feed_id="s2")
    feed.passed(RENEW_S)
    with pytest.raises(FeedIdMismatchError):
        feed.worker("w1").poll()


def test_name_of_a_group_is_checked():
    with pytest.raises(ConfigError):
        GroupOptions("A.b", "w")


def test_4c13_changes_of_a_row_come_in_their_order(feeds: Callable[..., GroupFeed]):
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
