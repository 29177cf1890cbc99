"""The row keys of a table with deferred updates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sinks.updates.keys import UpdateKey, update_id_of
from sinks.updates.row_keys import UpdateRowKeys

ROWS = st.binary(max_size=3)
STARTS = st.builds(update_id_of, st.integers(1, 3), st.integers(0, 2))


@given(ROWS, STARTS)
def test_a_logical_row_key_is_found_in_the_key_of_an_update_row(row: bytes, start: int):
    assert row == UpdateRowKeys().logical(UpdateKey(row, start).encoded())


def test_another_key_is_refused():
    with pytest.raises(ValueError, match="not the key of an update row"):
        UpdateRowKeys().logical(b"monday")


@given(ROWS, ROWS, st.none() | ROWS, STARTS)
def test_a_range_has_the_update_rows_of_its_rows(row: bytes, start: bytes, stop: bytes | None, time: int):
    first, end = UpdateRowKeys().range_of(start, stop)
    key = UpdateKey(row, time).encoded()
    is_in = start <= row and (stop is None or row < stop)
    assert is_in == (first <= key and (end is None or key < end))


def test_a_cut_divides_no_logical_row():
    keys = [UpdateKey(b"monday", update_id_of(time, 0)).encoded() for time in (1, 2)]
    assert UpdateRowKeys().whole(keys[1]) < keys[0]
