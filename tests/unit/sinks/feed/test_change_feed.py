"""Feeds and their shards."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import ConfigError, IntegrityError, NotFoundError
from sinks.feed.change_feed import ChangeFeed, MergeRequest, Shard, SplitRequest, even_starts

HOUR_MS = 3_600_000
CHANGE_FEED = ChangeFeed.opened(1_000, HOUR_MS, (b"", b"m"), "aa")


def test_a_new_feed_covers_all_row_keys() -> None:
    assert CHANGE_FEED.shards == (Shard(1, b"", b"m", 1_000), Shard(2, b"m", None, 1_000))
    assert ChangeFeed.opened(1_000, HOUR_MS, (b"",)).id != ChangeFeed.opened(1_000, HOUR_MS, (b"",)).id


def test_a_split_takes_effect_at_the_edge() -> None:
    change_feed = CHANGE_FEED.with_request(SplitRequest(1, b"f"))

    assert change_feed.shards == CHANGE_FEED.shards
    split = change_feed.at_edge(2_000)
    assert split.shards == (
        Shard(1, b"", b"m", 1_000, 2_000),
        Shard(2, b"m", None, 1_000),
        Shard(3, b"", b"f", 2_000, parents=(1,)),
        Shard(4, b"f", b"m", 2_000, parents=(1,)),
    )
    assert split.requested == ()
    assert split.children(1) == split.shards[2:]
    assert split.open_shards() == (split.shards[2], split.shards[3], split.shards[1])
    assert [split.map_at(time).of(b"g") for time in (1_000, 1_999, 2_000)] == [1, 1, 4]


def test_a_merge_has_both_parents() -> None:
    merged = CHANGE_FEED.with_request(MergeRequest((1, 2))).at_edge(2_000)

    assert merged.open_shards() == (Shard(3, b"", None, 2_000, parents=(1, 2)),)


def test_requests_apply_in_their_order() -> None:
    change_feed = CHANGE_FEED.with_request(MergeRequest((1, 2))).with_request(SplitRequest(3, b"x")).at_edge(2_000)

    assert [(shard.number, shard.from_ms, shard.until_ms) for shard in change_feed.shards] == [
        (1, 1_000, 2_000),
        (2, 1_000, 2_000),
        (3, 2_000, 2_000),
        (4, 2_000, None),
        (5, 2_000, None),
    ]
    assert change_feed.map_at(2_000).numbers == (4, 5)


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (SplitRequest(1, b""), "bad_shard_split"),
        (SplitRequest(1, b"m"), "bad_shard_split"),
        (SplitRequest(2, b"m"), "bad_shard_split"),
        (SplitRequest(9, b"a"), "shard_not_found"),
        (MergeRequest((2, 1)), "bad_shard_merge"),
        (MergeRequest((1, 1)), "bad_shard_merge"),
        (MergeRequest((1, 9)), "shard_not_found"),
    ],
)
def test_an_impossible_request_is_refused(request_: SplitRequest | MergeRequest, code: str) -> None:
    with pytest.raises((ConfigError, NotFoundError)) as error:
        CHANGE_FEED.with_request(request_)

    assert error.value.code == code


def test_a_request_for_a_shard_that_an_earlier_request_closes_is_refused() -> None:
    with pytest.raises(ConfigError, match="shard 1 is split or merged"):
        CHANGE_FEED.with_request(SplitRequest(1, b"f")).with_request(SplitRequest(1, b"g"))


def test_a_feed_forgets_closed_shards() -> None:
    split = CHANGE_FEED.with_request(SplitRequest(1, b"f")).at_edge(2_000)

    assert split.trimmed(1_999) is split
    assert [shard.number for shard in split.trimmed(2_000).shards] == [2, 3, 4]
    assert split.trimmed(2_000).children(1) == split.shards[2:]


@pytest.mark.parametrize(
    ("count", "buckets", "splits", "expected"),
    [
        (1, None, (), (b"",)),
        (4, None, (), (b"", b"\x40\x00", b"\x80\x00", b"\xc0\x00")),
        (4, 16, (), (b"", b"\x04", b"\x08", b"\x0c")),
        (4, 2, (), (b"", b"\x01")),
        (2, None, (b"a", b"b", b"c"), (b"", b"b")),
        (4, None, (b"a", b"b", b"c"), (b"", b"a", b"b", b"c")),
        (4, None, (b"a", b"b"), (b"", b"\x40\x00", b"\x80\x00", b"\xc0\x00")),
    ],
)
def test_the_first_shards_are_even(
    count: int, buckets: int | None, splits: tuple[bytes, ...], expected: tuple[bytes, ...]
) -> None:
    assert even_starts(count, buckets, splits) == expected


@given(st.integers(1, 300), st.integers(1, 256) | st.none(), st.lists(st.binary(max_size=3), max_size=40))
def test_the_first_shards_are_in_order(count: int, buckets: int | None, splits: list[bytes]) -> None:
    starts = even_starts(count, buckets, splits)

    assert starts[0] == b""
    assert list(starts) == sorted(set(starts))
    assert len(starts) == (count if buckets is None else min(count, buckets))


@given(st.data())
def test_open_shards_cover_each_row_key_once_at_each_time(data: st.DataObject) -> None:
    change_feed = ChangeFeed.opened(1_000, HOUR_MS, even_starts(data.draw(st.integers(1, 5))))
    time_ms = 1_000
    for _ in range(data.draw(st.integers(0, 8))):
        opened = change_feed.open_shards()
        index = data.draw(st.integers(0, len(opened) - 1))
        at = data.draw(st.binary(min_size=1, max_size=3))
        try:
            if data.draw(st.booleans()) and index + 1 < len(opened):
                change_feed = change_feed.with_request(MergeRequest((opened[index].number, opened[index + 1].number)))
            else:
                change_feed = change_feed.with_request(SplitRequest(opened[index].number, at))
        except ConfigError:
            continue
        if data.draw(st.booleans()):
            time_ms += data.draw(st.integers(2, 1_000))
            change_feed = change_feed.at_edge(time_ms)

    assert ChangeFeed.of(change_feed.to_text(), "t") == change_feed
    key = data.draw(st.binary(max_size=4))
    for at_ms in {shard.from_ms for shard in change_feed.shards} | {time_ms + 1}:
        taking = [shard.number for shard in change_feed.shards if shard.takes(at_ms) and shard.has(key)]
        assert taking == [change_feed.map_at(at_ms).of(key)]


def test_requests_are_stored() -> None:
    change_feed = CHANGE_FEED.with_request(SplitRequest(1, b"f")).with_request(MergeRequest((4, 2)))

    assert ChangeFeed.of(change_feed.to_text(), "t") == change_feed
    assert replace(change_feed, requested=()) == CHANGE_FEED


def test_feed_of_format_1_is_read() -> None:
    content = json.loads(CHANGE_FEED.to_text()) | {"format": 1}
    del content["kept_from_ms"]
    assert ChangeFeed.of(json.dumps(content), "t") == CHANGE_FEED


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"id": "a"}', CHANGE_FEED.to_text().replace("number", "no")])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(IntegrityError, match='the change feed of table "t" cannot be read'):
        ChangeFeed.of(text, "t")
