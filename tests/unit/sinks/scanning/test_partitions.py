"""Ranges of row keys and partitions."""

from bisect import bisect_right
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api.table_reader import RowKeys
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.partitions import (
    Range,
    even_cuts,
    intersection,
    partitions_of,
    physical_ranges,
    point,
    prefixed,
    whole_rows,
)
from sinks.updates.keys import UpdateKey, update_id_of
from sinks.updates.row_keys import UpdateRowKeys

KEYS = st.binary(max_size=2)


@st.composite
def disjoint(draw: st.DrawFn) -> list[Range]:
    """Disjoint ranges in byte order."""
    edges = sorted(draw(st.sets(KEYS, max_size=6)))
    ranges: list[Range] = list(pairwise(edges))[::2]
    if edges and len(edges) % 2:
        ranges.append((edges[-1], None))
    return ranges


def contains(ranges: list[Range], key: bytes) -> bool:
    return any(start <= key and (stop is None or key < stop) for start, stop in ranges)


@given(disjoint(), disjoint(), KEYS)
def test_intersection_has_the_keys_that_are_in_both(first: list[Range], second: list[Range], key: bytes):
    found = intersection(first, second)
    assert contains(found, key) is (contains(first, key) and contains(second, key))
    assert found == sorted(found)
    assert all(stop is None or start < stop for start, stop in found)


def test_empty_ranges_do_not_intersect():
    assert intersection([(b"b", b"a")], [(b"", None)]) == []


@given(disjoint(), st.sets(KEYS, max_size=5), KEYS)
def test_each_key_is_in_one_partition_of_one_region(ranges: list[Range], cuts: set[bytes], key: bytes):
    found = partitions_of(ranges, cuts)
    assert sum(contains(list(part), key) for part in found) == contains(ranges, key)
    regions = sorted(cuts)
    for part in found:
        (region,) = {bisect_right(regions, start) for start, _ in part}
        last = part[-1][1]
        assert region == len(regions) or (last is not None and last <= regions[region])


@given(disjoint(), st.integers(1, 5), KEYS)
def test_physical_ranges_have_the_physical_keys(ranges: list[Range], buckets: int, key: bytes):
    distribution = Distribution(buckets)
    assert contains(physical_ranges(ranges, buckets, RowKeys()), distribution.physical(key)) is contains(ranges, key)
    assert physical_ranges(ranges, None, RowKeys()) == ranges


starts = st.builds(update_id_of, st.integers(1, 2), st.integers(0, 2))


@given(disjoint(), st.none() | st.integers(1, 5), KEYS, starts)
def test_physical_ranges_have_the_update_rows(ranges: list[Range], buckets: int | None, row: bytes, start: int):
    rows = RowFormat(buckets, "recorded")
    physical = rows.physical_key() or bytes
    key = physical(UpdateKey(row, start).encoded())
    assert contains(physical_ranges(ranges, buckets, UpdateRowKeys()), key) is contains(ranges, row)


@given(
    st.none() | st.integers(1, 5), KEYS, st.tuples(starts, starts, starts), st.integers(0, 20), st.binary(max_size=2)
)
def test_cuts_divide_no_logical_row(buckets: int | None, row: bytes, times: tuple[int, ...], length: int, other: bytes):
    rows = RowFormat(buckets, "recorded")
    physical = rows.physical_key() or bytes
    keys = [physical(UpdateKey(row, start).encoded()) for start in times]
    for cut in (keys[0], keys[0] + other, keys[0][: length + 1], (keys[0][:1] if buckets else b"") + other):
        whole = whole_rows(cut, buckets, UpdateRowKeys())
        assert len({key < whole for key in keys}) == 1
        assert whole <= cut
        assert whole_rows(whole, buckets, UpdateRowKeys()) == whole
        assert whole_rows(cut, buckets, RowKeys()) == cut


def test_one_row_is_in_one_bucket():
    distribution = Distribution(16)
    assert physical_ranges([point(b"k")], 16, RowKeys()) == [point(distribution.physical(b"k"))]


def test_a_table_with_buckets_has_a_partition_for_each_bucket_and_region():
    distribution = Distribution(3)
    found = partitions_of(physical_ranges([prefixed(b"a")], 3, RowKeys()), {*distribution.prefixes, b"\x01aa"})
    assert found == [
        ((b"\x00a", b"\x00b"),),
        ((b"\x01a", b"\x01aa"),),
        ((b"\x01aa", b"\x01b"),),
        ((b"\x02a", b"\x02b"),),
    ]


@pytest.mark.parametrize(
    ("first", "last", "parts", "cuts"),
    [
        (b"k\x00", b"k\x80", 2, [b"k\x40" + bytes(7)]),
        (b"a", b"c", 2, [b"b" + bytes(7)]),
        (b"k", b"k", 4, []),
        (b"k", b"k\x00", 4, []),
        (b"a", b"c", 1, []),
    ],
)
def test_even_cuts_divide_the_key_space(first: bytes, last: bytes, parts: int, cuts: list[bytes]):
    assert even_cuts(first, last, parts) == cuts


@given(KEYS, KEYS, st.integers(1, 9))
def test_even_cuts_lie_between_the_keys(a: bytes, b: bytes, parts: int):
    first, last = min(a, b), max(a, b)
    cuts = even_cuts(first, last, parts)
    assert len(cuts) < parts
    assert cuts == sorted(set(cuts))
    assert all(first < cut for cut in cuts)
