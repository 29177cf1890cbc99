"""How far a consumer group is behind."""

import pytest

from sinks.feed.client import PAGING_MS, FeedClient
from sinks.feed.group import GroupMember, GroupOptions
from sinks.feed.lag import ShardLag, lags_of
from sinks.memory import MemoryStore
from tests.support.clock import Clock
from tests.support.feeds import DAY_MS, HOUR_MS, FeedFixture, T
from tests.support.group_feeds import GroupFeed
from tests.support.group_leases import property_leases


def split_feed() -> GroupFeed:
    """A feed whose shard was split between two changes."""
    feed = GroupFeed(lambda store: property_leases(store, "orders_feed"), shards=1, expiration_ms=DAY_MS)
    feed.writer.put(b"a")
    feed.client.split(1, b"m")
    feed.writer.put(b"b")
    return feed


def test_lag_and_margin():
    clock = Clock(T)
    store = MemoryStore(clock_ms=clock)
    store.open()
    writer = FeedFixture(store, shards=2, expiration_ms=10 * HOUR_MS)
    client, leases = FeedClient(store, "orders", clock), property_leases(store, "orders_feed")
    member = GroupMember(client, leases, GroupOptions("g", "w", limit=1), lambda: 0.0, clock)
    writer.put(b"a", b"b", time_ms=T)
    delivery = member.poll()
    assert delivery is not None
    delivery.checkpoint()
    assert lags_of(client.state(), leases, "g") == [
        ShardLag(1, "w", is_ended=False, behind_ms=1, margin=1.0, gaps=0),
        ShardLag(2, "w", is_ended=False, behind_ms=1, margin=1.0, gaps=0),
    ]
    clock.now = T + 8 * HOUR_MS
    writer.put(b"c", time_ms=clock.now)
    found = lags_of(client.state(), leases, "g")
    assert found is not None
    assert found[0].behind_ms == 8 * HOUR_MS
    assert found[0].margin == pytest.approx((2 * HOUR_MS + PAGING_MS) / (10 * HOUR_MS))
    clock.now = T + 11 * HOUR_MS
    found = lags_of(client.state(), leases, "g")
    assert found is not None
    assert found[0].margin == 0.0


def test_group_that_has_read_everything():
    feed = split_feed()
    client, leases, member = feed.client, feed.leases, feed.worker("w")
    while (delivery := member.poll()) is not None or member.refresh():
        if delivery is not None:
            delivery.checkpoint()
    member.close()
    assert lags_of(client.state(), leases, "g") == [
        ShardLag(1, "", is_ended=True, behind_ms=0, margin=1.0, gaps=0),
        ShardLag(2, "", is_ended=False, behind_ms=0, margin=1.0, gaps=0),
        ShardLag(3, "", is_ended=False, behind_ms=0, margin=1.0, gaps=0),
    ]
    assert lags_of(client.state(), leases, "nothing") == []
    feed.writer.close_feed()
    FeedFixture(feed.store, time_ms=feed.writer.time_ms, feed_id="s2")
    assert lags_of(client.state(), leases, "g") is None


def test_shards_that_have_not_begun_are_behind():
    """Their worker may have ended before it began them."""
    feed = split_feed()
    client, leases, member = feed.client, feed.leases, feed.worker("w")
    delivery = member.poll()
    assert delivery is not None
    delivery.checkpoint()
    assert leases.read("g").keys() == {0, 1}
    lags = lags_of(client.state(), leases, "g") or []
    assert [(lag.shard, lag.is_ended, lag.behind_ms > 0) for lag in lags] == [
        (1, True, False),
        (2, False, True),
        (3, False, True),
    ]
