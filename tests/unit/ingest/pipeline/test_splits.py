"""The ranks of splits, and the records of a task by split."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import Record, RecordPlace
from ingest.pipeline import splits
from ingest.pipeline.splits import SplitMismatchError, TooManySplitsError, by_rank, first_places, ranked


def record(topic: str, partition: int, offset: int) -> Record:
    return Record(topic, partition, offset, b"k", b"v", 1_000)


def read(records: Iterable[Record], found: Sequence[RecordPlace]) -> list[tuple[int | None, list[RecordPlace]]]:
    """The places of the records of a task, by rank."""
    return [(rank, [each.place for each in split]) for rank, split in by_rank(records, found)]


@st.composite
def micro_batches(draw: st.DrawFn) -> list[tuple[RecordPlace, list[RecordPlace]]]:
    """The first place of each split, and the places of its records; adjacent splits are ranges of one file."""
    partitions = draw(st.lists(st.tuples(st.sampled_from(["a", "a b", "ä"]), st.integers(0, 2)), unique=True))
    found = []
    for topic, partition in partitions:
        start = draw(st.integers(0, 50))
        for _ in range(draw(st.integers(1, 4))):
            length = draw(st.integers(1, 5))
            offsets = draw(st.sets(st.integers(start, start + length - 1)))
            found.append(((topic, partition, start), [(topic, partition, offset) for offset in sorted(offsets)]))
            start += length + draw(st.sampled_from([0, 0, 3]))
    return found


@given(micro_batch=micro_batches(), data=st.data())
def test_rank_of_a_record_does_not_depend_on_the_tasks(micro_batch, data):
    """Each run reads the splits in another order, in another number of tasks."""
    found = ranked(first for first, _ in micro_batch)
    expected = {place: found.index(first) for first, places in micro_batch for place in places}
    for _ in range(2):
        order = data.draw(st.permutations(micro_batch))
        tasks = data.draw(st.integers(1, 4))
        groups = [
            group
            for task in range(tasks)
            for group in read((record(*place) for _, places in order[task::tasks] for place in places), found)
        ]
        assert {place: rank for rank, places in groups for place in places} == expected
        assert Counter(chain.from_iterable(places for _, places in groups)).total() == len(expected)
        assert max(Counter(rank for rank, _ in groups).values(), default=1) == 1


def test_two_ranges_of_a_file_in_one_task_are_two_splits():
    found = ranked([("/x", 0, 0), ("/x", 0, 16)])
    assert read([record("/x", 0, 0), record("/x", 0, 15), record("/x", 0, 16), record("/x", 0, 40)], found) == [
        (0, [("/x", 0, 0), ("/x", 0, 15)]),
        (1, [("/x", 0, 16), ("/x", 0, 40)]),
    ]


def test_task_without_records_has_no_split():
    assert read([], ranked([("t", 0, 5)])) == []


@pytest.mark.parametrize(
    "place",
    [("t", 1, 4), ("t", 0, 0), ("s", 1, 7), ("t", 2, 7), ("u", 1, 7)],
    ids=["before the first offset", "earlier partition", "earlier topic", "later partition", "later topic"],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_record_outside_of_all_splits_is_refused(place: RecordPlace, is_first: bool):
    records = [record(*place)] if is_first else [record("t", 1, 5), record(*place)]
    with pytest.raises(SplitMismatchError, match=f"record {'/'.join(map(str, place))} is in none of the 1 splits"):
        read(records, ranked([("t", 1, 5)]))


def test_split_that_is_read_in_two_parts_is_refused():
    records = [record("t", 0, 5), record("t", 1, 0), record("t", 0, 6)]
    with pytest.raises(SplitMismatchError, match=r"begins at t/0/5 are not read one after the other: t/0/6 follows"):
        read(records, ranked([("t", 0, 5), ("t", 1, 0)]))


def test_ranks_are_the_sorted_order_of_the_first_places():
    assert ranked([("t", 10, 0), ("s", 1, 9), ("t", 2, 5), ("t", 2, 4), ("s", 1, 9)]) == (
        ("s", 1, 9),
        ("t", 2, 4),
        ("t", 2, 5),
        ("t", 10, 0),
    )


def test_more_splits_than_ranks_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(splits, "MAX_SPLITS", 2)
    assert ranked([("t", 0, 0), ("t", 1, 0)])
    with pytest.raises(TooManySplitsError, match="has 3 splits, the maximum is 2"):
        ranked([("t", 0, 0), ("t", 1, 0), ("t", 2, 0)])


def test_records_in_memory_are_split_by_runs_with_rising_offsets():
    places = [("t", 0, 5), ("t", 0, 6), ("t", 1, 0), ("t", 0, 7), ("t", 0, 1), ("t", 0, 2)]
    records = [record(*place) for place in places]
    found = ranked(first_places(records))
    assert found == (("t", 0, 1), ("t", 0, 5), ("t", 0, 7), ("t", 1, 0))
    assert read(records, found) == [(1, places[:2]), (3, places[2:3]), (2, places[3:4]), (0, places[4:])]
