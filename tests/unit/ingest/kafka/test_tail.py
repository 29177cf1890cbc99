"""The newest and the first records of several partitions."""

from hypothesis import given
from hypothesis import strategies as st

from ingest.kafka import tail
from ingest.kafka.tail import divided
from ingest.kafka.tail import newest_ranges as ranges_with

A, B, C = ("t", 0), ("t", 1), ("u", 0)


def records(*, size=1, has_record=lambda _offset: True):
    """The records of partitions in which some offsets have none."""

    def found_in(ranges):
        for part, (first, end) in ranges.items():
            yield from ((part, offset, size) for offset in range(first, end) if has_record(offset))

    return found_in


def newest_ranges(begins, ends, count):
    return ranges_with(begins, ends, count, records())


def test_each_partition_has_an_equal_part():
    assert newest_ranges({A: 0, B: 100}, {A: 50, B: 200}, 20) == {A: (40, 50), B: (190, 200)}


def test_other_partitions_have_what_a_small_one_leaves():
    assert newest_ranges({A: 7, B: 0, C: 0}, {A: 9, B: 100, C: 100}, 12) == {A: (7, 9), B: (95, 100), C: (95, 100)}


def test_empty_partitions_are_left_out():
    assert newest_ranges({A: 5, B: 0}, {A: 5, B: 3}, 10) == {B: (0, 3)}
    assert newest_ranges({}, {}, 10) == {}


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=6), st.integers(1, 200))
def test_ranges_have_the_requested_number_of_records(sizes, count):
    begins = {("t", number): begin for number, (begin, _) in enumerate(sizes)}
    ends = {("t", number): begin + size for number, (begin, size) in enumerate(sizes)}
    ranges = newest_ranges(begins, ends, count)
    assert sum(end - first for first, end in ranges.values()) == min(count, sum(size for _, size in sizes))
    for part, (first, end) in ranges.items():
        assert begins[part] <= first < end == ends[part]


def test_records_after_the_last_stable_offset_are_left_out():
    assert divided({A: 9, B: 1}, {A: 7, B: 3}, 10) == {B: 2}


@given(st.sets(st.integers(0, 400)), st.integers(1, 60))
def test_newest_records_are_as_many_as_wanted_if_there_are_so_many(holes, count):
    found = ranges_with({A: 0}, {A: 400}, count, records(has_record=lambda offset: offset not in holes))
    (first, end) = found[A]
    existing = [offset for offset in range(400) if offset not in holes]
    assert [offset for offset in range(first, end) if offset not in holes] == existing[-count:]


def test_search_ends_far_back():
    asked = []

    def none(ranges):
        asked.append(ranges[A])
        return ()

    assert ranges_with({A: 0}, {A: 1_000_000}, 10, none) == {A: (998_790, 1_000_000)}
    assert (asked[0], asked[-1][0]) == ((999_990, 1_000_000), 998_800)


def test_large_records_are_searched_up_to_a_number_of_bytes(monkeypatch):
    monkeypatch.setattr(tail, "SEARCHED_BYTES", 1_000)
    asked = []

    def large(ranges):
        asked.append(ranges[A])
        return records(size=100)(ranges)

    assert ranges_with({A: 0}, {A: 10_000}, 1_000, large) == {A: (9_000, 10_000)}
    assert asked == [(9_936, 10_000)]
