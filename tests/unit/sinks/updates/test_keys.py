"""Row keys of update rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sinks.updates.keys import (
    MAX_BATCH_TIME_MS,
    MAX_SPLITS,
    UpdateKey,
    divided_row,
    encoded_row,
    last_update_id_of,
    logical_of,
    range_of,
    rows_of,
    split_of,
    time_of,
    update_id_of,
)

STARTS = st.integers(1, 2**63 - 1)


@pytest.mark.parametrize(
    ("row", "encoded"),
    [(b"", "00"), (b"ab", "616200"), (b"a\x00b", "6100ff6200"), (b"ab\xff", "6162ff00")],
)
def test_a_row_key_is_encoded_so_that_none_is_a_prefix_of_another(row: bytes, encoded: str) -> None:
    assert encoded_row(row).hex() == encoded


@pytest.mark.parametrize(
    ("key", "encoded"),
    [
        (UpdateKey(b"k", 10), "6b00000000000000000a0000000000000000"),
        (UpdateKey(b"k", 10, 30), "6b00000000000000000a000000000000001e"),
        (UpdateKey(b"ford", 1350000000001), "666f7264000000013a52453c010000000000000000"),
        (UpdateKey(b"ford", 1350000000001, 1350000000005), "666f7264000000013a52453c010000013a52453c05"),
    ],
)
def test_a_key_is_the_encoded_row_with_start_and_end(key: UpdateKey, encoded: str) -> None:
    assert key.encoded().hex() == encoded
    assert UpdateKey.decoded(bytes.fromhex(encoded)) == key


@pytest.mark.parametrize(
    ("time_ms", "split", "start"),
    [
        (1_700_000_000_000, 0, 0x18BCFE5680000000),
        (1_700_000_000_001, 0xFFFFF, 0x18BCFE56801FFFFF),
        (2**43 - 1, MAX_SPLITS - 1, 2**63 - 1),
    ],
)
def test_a_start_is_the_batch_time_and_the_split(time_ms: int, split: int, start: int) -> None:
    assert update_id_of(time_ms, split) == start
    assert time_of(start) == time_ms
    assert start <= last_update_id_of(time_ms)


@given(st.tuples(st.binary(max_size=6), STARTS), st.tuples(st.binary(max_size=6), STARTS))
def test_keys_are_in_the_order_of_rows_and_starts(one: tuple[bytes, int], other: tuple[bytes, int]) -> None:
    first, second = UpdateKey(*one).encoded(), UpdateKey(*other).encoded()
    assert (first < second) == (one < other)


@given(st.binary(max_size=6), STARTS, st.booleans())
def test_a_key_is_decoded_to_its_parts(row: bytes, start: int, is_merged: bool) -> None:
    key = UpdateKey(row, start, start if is_merged else 0)
    assert UpdateKey.decoded(key.encoded()) == key
    assert logical_of(key.encoded()) == row


@given(st.binary(max_size=4), STARTS, st.binary(max_size=4), STARTS, STARTS)
def test_the_range_of_a_row_has_its_starts_and_no_other(row: bytes, at: int, other: bytes, a: int, b: int) -> None:
    first, last = sorted((a, b))
    start, stop = rows_of(row, first, last)
    assert (start <= UpdateKey(other, at).encoded() < stop) == (other == row and first <= at <= last)


@pytest.mark.parametrize(
    "key",
    [b"", b"k", b"k" * 16, b"k" * 17, b"k\x00" + bytes(16), b"a\x00b\x00" + b"\x01" * 16, b"k\x00" + b"\xff" * 16],
    ids=["empty", "short", "times only", "no end of the row", "start 0", "00 not encoded", "negative start"],
)
def test_another_key_is_refused(key: bytes) -> None:
    with pytest.raises(ValueError, match="not the key of an update row"):
        UpdateKey.decoded(key)


def test_an_end_before_the_start_is_refused() -> None:
    with pytest.raises(ValueError, match="not the key of an update row"):
        UpdateKey.decoded(UpdateKey(b"k", 9, 5).encoded())


@given(st.binary(max_size=3), STARTS, st.binary(max_size=3), st.none() | st.binary(max_size=3))
def test_a_range_of_logical_rows_has_their_update_rows(
    row: bytes, start: int, first: bytes, stop: bytes | None
) -> None:
    low, high = range_of(first, stop)
    key = UpdateKey(row, start).encoded()
    assert (low <= key and (high is None or key < high)) == (first <= row and (stop is None or row < stop))


@given(st.binary(max_size=3), STARTS, STARTS, st.integers(0, 30), st.binary(max_size=1))
def test_a_divided_row_has_update_rows_on_both_sides(row: bytes, a: int, b: int, length: int, more: bytes) -> None:
    key = UpdateKey(row, a).encoded()[:length] + more
    first, last = rows_of(row, 1, max(a, b))
    found = divided_row(key)
    assert found in {row, None} or not first < key < last
    if found is not None:
        assert encoded_row(found) < key < encoded_row(found) + b"\xff"
    if UpdateKey(row, 1).encoded() < key <= UpdateKey(row, 2**63 - 1).encoded():
        assert found == row


def test_a_start_has_a_time_and_a_split() -> None:
    start = update_id_of(MAX_BATCH_TIME_MS, 7)
    assert (time_of(start), split_of(start)) == (MAX_BATCH_TIME_MS, 7)
    assert UpdateKey.decoded(UpdateKey(b"k", last_update_id_of(MAX_BATCH_TIME_MS)).encoded()).start < 2**63
