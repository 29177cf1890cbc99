"""The record of the dead letters that a table has counted."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ingest.api import ConflictError, IntegrityError
from sinks.rewriting.counted_letters import COUNTED, CountedLetters, change_counted, counted_letters
from sinks.updates.intervals import Interval
from tests.support.updated_table import TABLE, UpdateWriter

TOPICS = ("t", "a/\udcff.txt")
runs = st.lists(
    st.tuples(
        st.integers(100, 104),
        st.integers(1, 3),
        st.lists(st.tuples(st.sampled_from(TOPICS), st.integers(0, 1), st.integers(0, 20), st.integers(1, 4))),
    ),
    max_size=6,
)


def made(found) -> CountedLetters:
    letters = CountedLetters()
    for time_ms, source_ms, ranges in found:
        places = [((topic, partition, begin), begin + length) for topic, partition, begin, length in ranges]
        letters = letters.with_run(time_ms, source_ms, "s", places)
    return letters


def times_of(letters: CountedLetters, place, source_ms: int) -> list[int]:
    return letters.times_of(place, source_ms, "s", {"s"})


def test_sinks_of_a_table_count_by_themselves():
    letters = CountedLetters().with_run(9, 1, "a", [(("t", 0, 3), 4)])
    assert letters.times_of(("t", 0, 3), 1, "b", {"a", "b"}) == []
    assert letters.times_of(("t", 0, 3), 1, "b", {"b"}) == [9]  # "a" was renamed, or is removed


@given(runs)
def test_records_are_those_that_were_added(found):
    letters = CountedLetters.of(made(found).to_text(), TABLE)
    assert letters == made(found)
    expected: dict[tuple, set[int]] = {}
    for time_ms, source_ms, ranges in found:
        for topic, partition, begin, length in ranges:
            for offset in range(begin, begin + length):
                expected.setdefault((topic, partition, offset, source_ms), set()).add(time_ms)
    for topic in TOPICS:
        for partition in (0, 1):
            for offset in range(26):
                for source_ms in (1, 2, 3):
                    times = times_of(letters, (topic, partition, offset), source_ms)
                    assert sorted(times) == sorted(expected.get((topic, partition, offset, source_ms), ()))


@given(runs, st.integers(0, 24), st.integers(0, 24))
def test_records_between_two_cuts_are_alike(found, begin: int, end: int):
    letters = made(found)
    cuts = letters.cuts(("t", 0, begin), end)
    assert all(begin < cut < end for cut in cuts)
    for offset in range(begin + 1, end):
        if offset not in cuts:
            for source_ms in (1, 2, 3):
                one, other = (times_of(letters, ("t", 0, at), source_ms) for at in (offset - 1, offset))
                assert sorted(one) == sorted(other)


@given(runs, st.integers(90, 430), st.sampled_from([Interval(2, 2), Interval(1, 10**9)]))
@example([], 80, Interval(1, 10**9))  # hours of micro-batches, as after a new checkpoint
def test_what_it_forgets_is_known_to_be_unknown(found, max_chars: int, again: Interval):
    whole = made(found).with_run_again([again])
    text = whole.to_property(max_chars)
    kept = CountedLetters.of(text, TABLE)
    assert len(text or "") <= max_chars
    for source_ms in (1, 2, 3):
        if not kept.is_unknown(source_ms):
            places = [(topic, partition, at) for topic in TOPICS for partition in (0, 1) for at in range(26)]
            assert [times_of(kept, each, source_ms) for each in places] == [
                times_of(whole, each, source_ms) for each in places
            ]
            assert kept.did_run_again(source_ms) == whole.did_run_again(source_ms)


def test_records_that_are_not_consecutive_take_some_characters_each():
    places = [(("t", 0, 1_000_000_000 + 50 * number), 1_000_000_001 + 50 * number) for number in range(20_000)]
    letters = CountedLetters().with_run(1_700_000_000_000, 1_600_000_000_000, "s", places)
    assert CountedLetters.of(letters.to_text(), TABLE) == letters


def test_updates_that_are_removed_are_not_counted():
    letters = made([(100, 1, [("t", 0, 0, 1)]), (102, 2, [("t", 0, 5, 1)])]).without_after(101)
    assert (times_of(letters, ("t", 0, 0), 1), times_of(letters, ("t", 0, 5), 2)) == ([100], [])


def test_recorded_with_the_table():
    store = UpdateWriter().store
    assert counted_letters(store, TABLE) == CountedLetters()
    change_counted(store, TABLE, lambda known: known.with_run(9, 1, "s", [(("t", 0, 3), 4)]))
    change_counted(store, TABLE, lambda known: known.with_run_again([Interval(5, 6)]))
    found = counted_letters(store, TABLE)
    assert (times_of(found, ("t", 0, 3), 1), found.did_run_again(6), found.is_unknown(0)) == ([9], True, False)
    change_counted(store, TABLE, lambda known: known.unknown_up_to(7))
    assert counted_letters(store, TABLE).is_unknown(7)


def test_another_process_changes_it_meanwhile():
    store = UpdateWriter().store
    set_property = store.set_property
    others = [3, 2, 1]

    def set_after_another(table: str, name: str, before: str | None, value: str | None) -> bool:
        if others:
            set_property(table, name, store.properties(table).get(name), _unknown(others.pop()))
        return set_property(table, name, before, value)

    store.set_property = set_after_another
    change_counted(store, TABLE, lambda known: known.with_run(9, 8, "s", [(("t", 0, 3), 4)]))
    found = counted_letters(store, TABLE)
    assert (found.unknown_ms, times_of(found, ("t", 0, 3), 8)) == (3, [9])
    others += range(100, 0, -1)
    with pytest.raises(ConflictError, match="changes all the time"):
        change_counted(store, TABLE, lambda known: known.with_run(11, 200, "s", [(("t", 0, 3), 4)]))


def _unknown(time_ms: int) -> str:
    return CountedLetters(unknown_ms=time_ms).to_property() or ""


@pytest.mark.parametrize("text", ["{", "[]", '{"runs": [[1]], "ran_again": [], "unknown": 0}', '{"runs": 1}'])
def test_unreadable_record_is_refused(text: str):
    store = UpdateWriter().store
    assert store.set_property(TABLE, COUNTED, None, text)
    with pytest.raises(IntegrityError, match="cannot be read"):
        counted_letters(store, TABLE)
