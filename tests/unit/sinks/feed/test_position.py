"""Positions and iterators."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sinks.feed.change_feed import ChangeFeed, SplitRequest
from sinks.feed.errors import InvalidIteratorError
from sinks.feed.position import FeedPosition

POSITIONS = st.builds(
    FeedPosition,
    feed_id=st.from_regex(r"[A-Za-z0-9_-]{1,20}", fullmatch=True),
    shard=st.integers(1, 2**32 - 1),
    start=st.binary(max_size=60),
    kept_until_ms=st.integers(0, 2**62),
)


@given(POSITIONS)
def test_iterator_names_its_position(position: FeedPosition):
    assert FeedPosition.from_token(position.to_token()) == position


@given(POSITIONS, st.data())
def test_damaged_iterator_is_refused(position: FeedPosition, data: st.DataObject):
    token = position.to_token()
    place = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.sampled_from("0123456789abcdefxyz.-"))
    damaged = token[:place] + other + token[place + 1 :]
    if damaged != token:
        with pytest.raises(InvalidIteratorError):
            FeedPosition.from_token(damaged)


@pytest.mark.parametrize("text", ["", "x", "1.s.1..0", "1.s.1..0.00000000", "é" * 100, "1.s.1.0.0.00000000"])
def test_other_texts_are_refused(text: str):
    with pytest.raises(InvalidIteratorError, match="is not an iterator"):
        FeedPosition.from_token(text)


def test_time_of_a_position():
    assert FeedPosition("s", 1).time_ms == 0
    assert FeedPosition("s", 1).is_oldest
    assert FeedPosition.at_time("s", 1, 77).time_ms == 77
    assert FeedPosition("s", 1, (77).to_bytes(8) + b"\x00\x00\x01row").time_ms == 77


def test_start_of_a_child_is_before_its_first_change_and_not_the_oldest_position():
    change_feed = ChangeFeed.opened(1_000, 60_000, (b"",), "s").with_request(SplitRequest(1, b"m")).at_edge(5_000)
    child = change_feed.children(1)[0]
    position = FeedPosition.at_start(change_feed, child)
    assert position == FeedPosition.at_time("s", child.number, 5_000)
    assert not position.is_oldest
