"""Which shards follow those that a group has read; without a group."""

import dataclasses
from collections.abc import Callable

import pytest

from sinks.feed.change_feed import ChangeFeed
from sinks.feed.client import PAGING_MS
from sinks.feed.errors import InvalidIteratorError
from sinks.feed.leases import SHARD_END, ShardLease
from sinks.feed.lineage import descendants, followers, forgotten_leases, starts_at, starts_at_oldest
from sinks.feed.position import FeedPosition
from sinks.feed.state import FeedState
from tests.support.group_feeds import GroupFeed

UNREAD, READ = ShardLease("somewhere"), ShardLease(SHARD_END)


def two_split_shards(feed: GroupFeed) -> ChangeFeed:
    """The shards 1 and 2, of which 1 was split into 3 and 4 an hour before 2 was split into 5 and 6."""
    feed.writer.put(b"a")
    feed.client.split(1, b"m")
    feed.writer.put(b"a")
    feed.passed(3_600)
    feed.client.split(2, b"\xf8")
    feed.writer.put(b"a", time_ms=feed.ms.now)
    return feed.writer.feed


def test_shards_of_a_read_parent_begin_though_another_shard_is_unread_and_forgotten(feeds: Callable[..., GroupFeed]):
    change_feed = two_split_shards(feeds(2))
    trimmed = change_feed.trimmed(change_feed.shards[0].until_ms or 0)
    assert [shard.number for shard in trimmed.shards] == [2, 3, 4, 5, 6]
    found = followers({1: UNREAD, 2: READ}, trimmed)
    assert [(child.shard, child.parents) for child in found] == [(5, (2,)), (6, (2,))]


def test_forgotten_parent_that_has_a_lease_names_its_followers(feeds: Callable[..., GroupFeed]):
    """Until it does, its lease stays: else a follower whose lease is lost would begin anew."""
    change_feed = two_split_shards(feeds(2))
    trimmed = change_feed.trimmed(change_feed.shards[0].until_ms or 0)
    found = followers({1: READ, 2: UNREAD}, trimmed)
    assert [(child.shard, child.parents) for child in found] == [(3, (1,)), (4, (1,))]
    named = dataclasses.replace(READ, followed_by=(3,))
    found = followers({1: named, 2: UNREAD, 3: UNREAD}, trimmed)
    assert [child.shard for child in found] == [4]


def test_lost_shard_does_not_begin_anew(feeds: Callable[..., GroupFeed]):
    change_feed = two_split_shards(feeds(2))
    assert [child.shard for child in followers({1: READ, 2: UNREAD}, change_feed, [3])] == [4]


def test_only_leases_of_forgotten_shards_that_were_read_are_forgotten(feeds: Callable[..., GroupFeed]):
    change_feed = two_split_shards(feeds(2))
    trimmed = change_feed.trimmed(change_feed.shards[0].until_ms or 0)
    every = dict.fromkeys(range(2, 7), UNREAD)
    assert forgotten_leases({1: READ, **every}, trimmed) == (1,)
    assert forgotten_leases({1: UNREAD, **every}, trimmed) == ()
    assert forgotten_leases({1: READ, **every, 2: READ}, trimmed) == (1,), "2 is in the feed"
    every.pop(6)
    assert forgotten_leases({1: READ, **every}, trimmed) == (), "6 has no lease yet"


def test_shard_counts_as_read_from_the_time_when_its_last_change_has_expired(feeds: Callable[..., GroupFeed]):
    """`until_ms` is the batch time after its last one, and changes before the retention horizon have expired."""
    change_feed = two_split_shards(feeds(2))
    closed_ms = change_feed.shards[0].until_ms or 0
    before = starts_at_oldest(FeedState(change_feed, closed_ms, closed_ms - 1))
    assert before.keys() == {1, 2}
    assert SHARD_END not in before.values()
    after = starts_at_oldest(FeedState(change_feed, closed_ms, closed_ms))
    assert after.pop(1) == SHARD_END
    positions = {number: FeedPosition.from_token(token) for number, token in after.items()}
    assert {number: position.time_ms for number, position in positions.items()} == dict.fromkeys((2, 3, 4), closed_ms)
    assert {position.kept_until_ms for position in positions.values()} == {closed_ms + PAGING_MS}, "time for its pages"


def test_descendants_were_opened_after_all_shards_of_a_time(feeds: Callable[..., GroupFeed]):
    change_feed = two_split_shards(feeds(2))
    found = [descendants(change_feed, numbers) for numbers in ([1, 2], [2, 3, 4], [3, 4, 5, 6], [])]
    assert found == [{3, 4, 5, 6}, {5, 6}, set(), set()]


def test_group_cannot_begin_without_an_iterator(feeds: Callable[..., GroupFeed]):
    feed = feeds(2)
    feed.writer.put(b"a")
    feed.client.merge(1, 2)
    time_ms = feed.writer.put(b"a")
    state = FeedState(feed.writer.feed, time_ms, 0)
    assert [shard.parents for shard in state.feed.open_shards()] == [(1, 2)]
    with pytest.raises(InvalidIteratorError, match="shard 3 has none"):
        starts_at(state, {})
