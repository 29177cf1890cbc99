"""Calls are limited in size, and have all mutations; none has two that may conflict."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from ingest.api import Delete, Mutation, Put
from sinks.hbase.rpc import division
from sinks.hbase.rpc.multi import MAX_BYTES, MAX_ROWS
from sinks.hbase.rpc.regions import Region
from sinks.hbase.rpc.stream import Address


@given(
    sizes=st.lists(st.integers(1, MAX_BYTES // 2 + 10), min_size=1, max_size=30),
    places=st.lists(st.integers(0, 3), min_size=30, max_size=30),
)
def test_calls_are_limited_and_complete(sizes: list[int], places: list[int]) -> None:
    servers = [Address("a", 1), Address("b", 2)]
    by_region: dict[Region, list[int]] = {}
    for index, _ in enumerate(sizes):
        place = places[index]
        region = Region(b"%d" % place, b"", b"%d" % place, servers[place % 2])
        by_region.setdefault(region, []).append(index)
    encoded = [b"x" * size for size in sizes]
    found: list[int] = []
    for request in division.requests_of(by_region.items(), encoded):
        indexes = [index for batch in request.batches for index in batch.indexes]
        assert all(batch.indexes for batch in request.batches)
        assert {places[index] % 2 for index in indexes} == {servers.index(request.server)}
        assert len(indexes) == 1 or sum(sizes[index] for index in indexes) <= MAX_BYTES
        found += indexes
    assert sorted(found) == list(range(len(sizes)))


def test_rows_of_a_call_are_limited() -> None:
    region = Region(b"", b"", b"r", Address("a", 1))
    requests = list(division.requests_of([(region, list(range(MAX_ROWS + 1)))], [b""] * (MAX_ROWS + 1)))
    assert [len(request.batches[0].indexes) for request in requests] == [MAX_ROWS, 1]


ROWS = st.sampled_from([b"a", b"b", b"c"])
PUTS = st.builds(lambda row, at: Put(row, {b"f:q": b""}, at), ROWS, st.integers(1, 3))
DELETES = st.builds(Delete, ROWS, st.integers(1, 3))


@given(mutations=st.lists(PUTS | DELETES, max_size=12))
def test_mutations_of_a_row_that_may_conflict_are_in_groups_in_their_order(mutations: list[Mutation]) -> None:
    groups = list(division.without_conflicts(mutations))
    group_of = {index: number for number, group in enumerate(groups) for index in group}
    assert sorted(group_of) == list(range(len(mutations)))
    for first, second in combinations(range(len(mutations)), 2):
        one, other = mutations[first], mutations[second]
        are_of_two_times = type(one) is type(other) is Put and one.timestamp_ms != other.timestamp_ms
        if one.row == other.row and not are_of_two_times:
            assert group_of[first] < group_of[second]


def test_puts_of_one_row_at_many_times_are_one_call() -> None:
    puts = [Put(b"device", {b"f:q": b""}, at) for at in range(1, 5_001)]
    assert [len(group) for group in division.without_conflicts(puts)] == [5_000]


def test_call_of_a_full_buffer_is_one_of_two_equal_ones() -> None:
    region = Region(b"", b"", b"r", Address("a", 1))
    rows = 4_000
    encoded = [b"x" * 566] * rows  # nine cells, as the benchmarks write
    sizes = [len(each.batches[0].indexes) for each in division.requests_of([(region, list(range(rows)))], encoded)]
    assert len(sizes) == 2
    assert min(sizes) > rows / 3
