"""Row keys of feed rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sinks.feed.keys import (
    MAX_RANK,
    MAX_SEQUENCE_TIME_MS,
    MAX_SHARD,
    PREFIX_BYTES,
    FeedKey,
    FeedSequence,
    decoded_time,
    encoded_time,
    shard_prefix,
    shard_range,
    split_prefix,
)

SEQUENCES = st.builds(FeedSequence, st.integers(0, MAX_SEQUENCE_TIME_MS), st.integers(0, MAX_RANK), st.binary())
KEYS = st.builds(FeedKey, st.integers(0, MAX_SHARD), SEQUENCES)


def test_the_layout_is_documented() -> None:
    key = FeedKey(1, FeedSequence(0x0102030405060708, 0x0A0B0C, b"row"))

    assert key.encoded().hex() == "00000001" + "0102030405060708" + "0a0b0c" + b"row".hex()
    assert key.sequence.to_text() == "0102030405060708" + "0a0b0c" + b"row".hex()


@given(KEYS)
def test_a_key_is_decoded_as_it_was_encoded(key: FeedKey) -> None:
    assert FeedKey.decoded(key.encoded()) == key


@given(SEQUENCES)
def test_a_sequence_is_read_as_it_was_written(sequence: FeedSequence) -> None:
    assert FeedSequence.from_text(sequence.to_text()) == sequence


@given(KEYS, KEYS)
def test_keys_have_the_order_of_shards_and_sequences(one: FeedKey, other: FeedKey) -> None:
    assert (one.encoded() < other.encoded()) == (one < other)


@given(SEQUENCES, SEQUENCES)
def test_texts_have_the_order_of_sequences(one: FeedSequence, other: FeedSequence) -> None:
    assert (one.to_text() < other.to_text()) == (one < other)


@given(KEYS)
def test_a_prefix_precedes_the_row_key(key: FeedKey) -> None:
    prefix = split_prefix(key.shard, key.sequence.time_ms, key.sequence.rank)

    assert len(prefix) == PREFIX_BYTES
    assert prefix + key.sequence.row == key.encoded()


@given(KEYS, st.integers(0, MAX_SEQUENCE_TIME_MS), st.integers(0, MAX_SEQUENCE_TIME_MS), st.integers(0, MAX_SHARD))
def test_a_range_has_the_keys_of_its_shard_and_times(key: FeedKey, from_ms: int, until_ms: int, shard: int) -> None:
    start, stop = shard_range(shard, from_ms, until_ms)
    expected = key.shard == shard and from_ms <= key.sequence.time_ms < until_ms

    assert (start <= key.encoded() and (stop is None or key.encoded() < stop)) == expected


@given(KEYS, st.integers(0, MAX_SHARD))
def test_a_range_without_end_has_the_whole_shard(key: FeedKey, shard: int) -> None:
    start, stop = shard_range(shard)

    assert (start <= key.encoded() and (stop is None or key.encoded() < stop)) == (key.shard == shard)


@given(KEYS)
def test_bytes_of_a_time_begin_its_sequences(key: FeedKey) -> None:
    start = encoded_time(key.sequence.time_ms)

    assert key.encoded().startswith(shard_prefix(key.shard) + start)
    assert decoded_time(start) == decoded_time(key.sequence.encoded()) == key.sequence.time_ms
    assert decoded_time(b"") == 0


@pytest.mark.parametrize("text", ["", "00", "zz" * 20, "0" * 21, "0" * 23, "F" * 24, "ff" * 12])
def test_other_texts_are_no_sequences(text: str) -> None:
    with pytest.raises(ValueError):
        FeedSequence.from_text(text)


@pytest.mark.parametrize("key", [b"", b"short", b"\xff" * 20])
def test_other_row_keys_are_no_feed_keys(key: bytes) -> None:
    with pytest.raises(ValueError):
        FeedKey.decoded(key)
