"""Consumer groups and the parents of shards; the numbers are those of the acceptance statements of a feed."""

import dataclasses
from collections.abc import Callable

import pytest

from sinks.feed.balance import LEASE_S, RENEW_S
from sinks.feed.errors import InvalidIteratorError, ParentUnknownError, ShardLeaseLostError, TrimmedError
from sinks.feed.group import GroupMember
from sinks.feed.leases import ShardLease
from tests.support.feeds import HOUR_MS, T
from tests.support.group_feeds import GroupFeed, drained, rows


def test_4c6_children_wait_for_the_checkpoint_of_their_parent(feeds: Callable[..., GroupFeed]):
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


def test_4c7_merged_shard_waits_for_both_parents(feeds: Callable[..., GroupFeed]):
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


def test_4c12_missing_lease_of_a_parent_is_an_error(feeds: Callable[..., GroupFeed]):
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
    with pytest.raises(ShardLeaseLostError):
        delivery.checkpoint()
    assert set(feed.leases.read("g")) == {0}


def test_missing_lease_of_a_child_is_an_error(feeds: Callable[..., GroupFeed]):
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


def without_lease(feed: GroupFeed, shard: int) -> str:
    """Lose the lease of a shard; returns its text."""
    text = feed.leases.read("g")[shard]
    feed.leases.replace("g", shard, text, None)
    return text


def read_all(worker: GroupMember, found: list[bytes]) -> None:
    """Read until an error; the row keys go to `found`."""
    while (delivery := worker.poll()) is not None:
        found += rows(delivery)
        delivery.checkpoint()


def test_shards_that_do_not_follow_one_without_a_lease_are_read(feeds: Callable[..., GroupFeed]):
    """The lost one may have been read up to anywhere, so neither it nor its children are."""
    feed = feeds(2)
    feed.writer.put(b"a", b"\xf0")
    feed.client.split(1, b"m")
    feed.client.split(2, b"\xf8")
    feed.writer.put(b"b", b"n", b"\xf1", b"\xf9")
    feed.worker("w1").poll()
    text = without_lease(feed, 1)
    feed.passed(LEASE_S)
    other = feed.worker("w2")
    other.refresh()
    feed.passed(LEASE_S)
    found: list[bytes] = []
    with pytest.raises(ParentUnknownError, match="no lease of shard 1") as refused:
        read_all(other, found)
    assert refused.value.exit_code == 3
    assert sorted(found) == [b"\xf0", b"\xf1", b"\xf9"]
    assert set(feed.leases.read("g")) == {0, 2, 5, 6}
    again = feed.worker("w2")
    with pytest.raises(ParentUnknownError):
        again.poll()

    feed.leases.replace("g", 1, None, text)
    feed.passed(RENEW_S)
    again.refresh()
    feed.passed(LEASE_S)
    assert sorted(drained(again)) == [b"a", b"b", b"n"], "once the lease is back"


def test_closed_shard_without_a_lease_whose_children_have_begun_is_no_error(feeds: Callable[..., GroupFeed]):
    feed = feeds()
    feed.writer.put(b"a")
    feed.client.split(1, b"m")
    feed.writer.put(b"b", b"n")
    worker = feed.worker("w1")
    assert sorted(drained(worker)) == [b"a", b"b", b"n"]
    without_lease(feed, 1)
    feed.writer.put(b"c", b"o")
    assert sorted(drained(worker)) == [b"c", b"o"]
    without_lease(feed, 3)
    feed.passed(RENEW_S)
    with pytest.raises(ParentUnknownError, match="no lease of shard 1"):
        feed.worker("w1").poll()


def test_shards_beyond_forgotten_ones_wait_for_a_gap_to_be_recorded(feeds: Callable[..., GroupFeed]):
    """Else a worker would deliver their changes before the gap, which is before them."""
    feed = feeds(expiration_ms=HOUR_MS)
    feed.writer.put(b"a")
    feed.worker("w1", feed.client.latest()).poll()
    feed.client.split(1, b"m")
    feed.writer.put(b"b", b"n")
    feed.client.split(2, b"c")
    feed.writer.put(b"b", b"d", b"o")
    feed.passed(3 * 3600)
    feed.writer.set_property("feed", feed.writer.feed.trimmed(feed.ms.now - 2 * HOUR_MS).to_text())
    assert [shard.number for shard in feed.writer.feed.shards] == [3, 4, 5]
    skipping = feed.worker("w2", skips=True)
    skipping.poll()
    feed.passed(LEASE_S)
    gap = skipping.poll()
    assert gap is not None
    assert (gap.shard, gap.gap is not None) == (1, True)
    feed.passed(RENEW_S)
    assert skipping.poll() is None
    assert set(feed.leases.read("g")) == {0, 1}
    gap.checkpoint()
    feed.passed(RENEW_S)
    skipping.refresh()
    assert set(feed.leases.read("g")) == {0, 3, 4, 5}


def test_shards_that_expired_before_the_group_count_as_read(feeds: Callable[..., GroupFeed]):
    feed = feeds(expiration_ms=HOUR_MS)
    feed.writer.put(b"a", time_ms=T)
    feed.client.split(1, b"m")
    feed.writer.put(b"b", time_ms=T + 1000)
    feed.ms.now = T + HOUR_MS + 2000
    feed.writer.put(b"c", b"n", time_ms=feed.ms.now)
    worker = feed.worker("w1")
    assert sorted(drained(worker)) == [b"c", b"n"]
    assert dataclasses.replace(feed.lease(1), group_id="") == ShardLease("SHARD_END", followed_by=(2, 3))


def test_group_reads_shards_whose_parents_the_feed_has_forgotten(feeds: Callable[..., GroupFeed]):
    feed = feeds(expiration_ms=HOUR_MS)
    feed.writer.put(b"a", b"z")
    feed.client.split(1, b"m")
    feed.writer.put(b"b", b"y")
    feed.passed(3 * 3600)
    feed.writer.set_property("feed", feed.writer.feed.trimmed(feed.ms.now - HOUR_MS).to_text())
    feed.client.split(2, b"c")
    feed.writer.put(b"b", b"d", b"y", time_ms=feed.ms.now)
    assert [shard.number for shard in feed.writer.feed.shards] == [2, 3, 4, 5]
    assert sorted(drained(feed.worker("w1"))) == [b"b", b"d", b"y"]


def test_iterators_of_a_dump_that_do_not_cover_all_row_keys_are_refused(feeds: Callable[..., GroupFeed]):
    feed = feeds(2)
    feed.writer.put(b"a")
    dump = feed.client.latest()
    with pytest.raises(InvalidIteratorError, match="shard 2 has none"):
        feed.worker("w1", {1: dump[1]}).poll()
    with pytest.raises(InvalidIteratorError, match="shard 1 has none"):
        feed.worker("w1", {}).poll()
    feed.client.split(2, b"\xf0")
    feed.writer.put(b"b")
    split = feed.client.latest()
    with pytest.raises(InvalidIteratorError, match="shard 3 has none"):
        feed.worker("w1", {1: split[1], 4: split[4]}).poll()
    assert feed.leases.groups() == ()


def test_shard_between_the_dump_and_the_open_shards_is_forgotten(feeds: Callable[..., GroupFeed]):
    feed = feeds(expiration_ms=HOUR_MS)
    feed.writer.put(b"a")
    dump = feed.client.latest()
    feed.client.split(1, b"m")
    feed.writer.put(b"b", b"n")
    feed.client.split(2, b"c")
    feed.writer.put(b"b", b"d", b"o")
    feed.passed(3 * 3600)
    feed.writer.set_property("feed", feed.writer.feed.trimmed(feed.ms.now - 2 * HOUR_MS).to_text())
    assert [shard.number for shard in feed.writer.feed.shards] == [3, 4, 5]
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


def test_missing_lease_is_an_error_after_those_of_its_parents_were_removed(feeds: Callable[..., GroupFeed]):
    feed = feeds(expiration_ms=HOUR_MS)
    feed.writer.put(b"a", b"z")
    feed.client.split(1, b"m")
    feed.writer.put(b"b", b"y")
    worker = feed.worker("w1")
    assert sorted(drained(worker)) == [b"a", b"b", b"y", b"z"]
    feed.passed(3 * 3600)
    feed.writer.set_property("feed", feed.writer.feed.trimmed(feed.ms.now - HOUR_MS).to_text())
    worker.refresh()
    worker.close()
    assert set(feed.leases.read("g")) == {0, 2, 3}
    feed.leases.replace("g", 3, feed.leases.read("g")[3], None)
    with pytest.raises(ParentUnknownError, match="no lease of shard 3"):
        feed.worker("w2").poll()


def test_leases_of_forgotten_shards_are_removed(feeds: Callable[..., GroupFeed]):
    feed = feeds()
    feed.writer.put(b"a")
    feed.client.split(1, b"m")
    feed.writer.put(b"b", b"n")
    worker = feed.worker("w1")
    drained(worker)
    change_feed = feed.client.state().feed
    feed.writer.set_property("feed", change_feed.trimmed(feed.writer.time_ms).to_text())
    feed.passed(RENEW_S)
    assert worker.poll() is None
    assert set(feed.leases.read("g")) == {0, 2, 3}
    feed.writer.put(b"c", b"o")
    assert sorted(drained(worker)) == [b"c", b"o"]


def test_unread_shard_that_was_forgotten_is_a_gap(feeds: Callable[..., GroupFeed]):
    feed = feeds(expiration_ms=HOUR_MS)
    feed.writer.put(b"a")
    first = feed.worker("w1")
    first.poll()
    first.close()
    feed.client.split(1, b"m")
    feed.writer.put(b"b", b"n")
    feed.writer.set_property("feed", feed.client.state().feed.trimmed(feed.writer.time_ms).to_text())
    with pytest.raises(TrimmedError):
        feed.worker("w1").poll()
    skipping = feed.worker("w1", skips=True)
    gap = skipping.poll()
    assert gap is not None
    assert gap.gap is not None
    assert set(feed.leases.read("g")) == {0, 1}, "what follows waits until the gap is recorded"
    gap.checkpoint()
    assert sorted(drained(skipping)) == [b"b", b"n"]
