"""Calls are limited in size, and have all mutations; none has a row key twice."""

from hypothesis import given
from hypothesis import strategies as st

from ingest.api import Put
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


@given(keys=st.lists(st.sampled_from([b"a", b"b", b"c", b"d"]), max_size=12))
def test_groups_have_each_row_key_once_and_the_mutations_of_a_row_in_order(keys: list[bytes]) -> None:
    groups = list(division.without_repeated_rows([Put(key, {b"f:q": b""}, 1) for key in keys]))
    sent = [index for group in groups for index in group]
    assert sorted(sent) == list(range(len(keys)))
    for key in set(keys):
        assert [index for index in sent if keys[index] == key] == [at for at, each in enumerate(keys) if each == key]
    for group in groups:
        within = [keys[index] for index in group]
        assert len(set(within)) == len(within)
    assert len(groups) == max(map(keys.count, keys), default=1)


def test_call_of_a_full_buffer_is_one_of_two_equal_ones() -> None:
    region = Region(b"", b"", b"r", Address("a", 1))
    rows = 4_000
    encoded = [b"x" * 566] * rows  # nine cells, as the benchmarks write
    sizes = [len(each.batches[0].indexes) for each in division.requests_of([(region, list(range(rows)))], encoded)]
    assert len(sizes) == 2
    assert min(sizes) > rows / 3
