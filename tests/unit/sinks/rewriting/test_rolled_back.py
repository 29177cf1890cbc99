"""The record of the batch times that were rolled back from a table."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import ConflictError, IntegrityError
from sinks.rewriting.rolled_back import ROLLED_BACK, add_rolled_back, remove_rolled_back, rolled_back
from sinks.updates.intervals import Interval, is_in, joined, without
from tests.support.updated_table import TABLE, UpdateWriter

intervals = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10)).map(lambda x: Interval(x[0], x[0] + x[1])))


def times(found: list[Interval]) -> set[int]:
    return {time for each in found for time in range(each.first_ms, each.last_ms + 1)}


@given(intervals, intervals)
def test_intervals_are_sets_of_times(some: list[Interval], others: list[Interval]):
    for found in (joined(some), without(some, others)):
        assert found == sorted(found)
        assert all(before.last_ms + 1 < after.first_ms for before, after in pairwise(found))
    assert times(joined(some)) == times(some)
    assert times(without(some, others)) == times(some) - times(others)


def test_recorded_with_the_table():
    store = UpdateWriter().store
    assert rolled_back(store, TABLE) == ()
    add_rolled_back(store, TABLE, [Interval(10, 20)])
    add_rolled_back(store, TABLE, [Interval(15, 30), Interval(40, 50)])
    assert rolled_back(store, TABLE) == (Interval(10, 30), Interval(40, 50))
    assert [is_in(rolled_back(store, TABLE), time_ms) for time_ms in (9, 10, 30, 31, 45)] == [
        False, True, True, False, True,
    ]  # fmt: skip


def test_replayed_times_are_removed():
    store = UpdateWriter().store
    add_rolled_back(store, TABLE, [Interval(10, 12)])
    remove_rolled_back(store, TABLE, [11])
    assert rolled_back(store, TABLE) == (Interval(10, 10), Interval(12, 12))
    remove_rolled_back(store, TABLE, [10, 11, 12])
    assert ROLLED_BACK not in store.properties(TABLE)


def test_another_process_changes_it_meanwhile():
    store = UpdateWriter().store
    set_property = store.set_property

    def slower(*arguments) -> bool:
        store.set_property = set_property
        add_rolled_back(store, TABLE, [Interval(1, 1)])
        return set_property(*arguments)

    store.set_property = slower
    add_rolled_back(store, TABLE, [Interval(5, 6)])
    assert rolled_back(store, TABLE) == (Interval(1, 1), Interval(5, 6))
    store.set_property = lambda *_arguments: False
    with pytest.raises(ConflictError, match='"rolled_back of table counters" changes all the time'):
        add_rolled_back(store, TABLE, [Interval(7, 8)])


@pytest.mark.parametrize("text", ["{", "[[1]]", '[["a", 2]]', "[1]"])
def test_damage(text: str):
    store = UpdateWriter().store
    store.set_property(TABLE, ROLLED_BACK, None, text)
    with pytest.raises(IntegrityError, match="cannot be read"):
        rolled_back(store, TABLE)
