"""Regions of tables, and the writes that each receives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import prefix_end
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.layout import Layout

keys = st.binary(min_size=1, max_size=4)
layouts = st.one_of(
    st.lists(keys, unique=True).map(lambda splits: Layout(tuple(sorted(splits)))),
    st.integers(min_value=1, max_value=64).map(Layout.salted),
    st.tuples(st.lists(keys, unique=True), st.integers(min_value=1, max_value=9)).map(
        lambda drawn: Layout(tuple(sorted(drawn[0])), Distribution(drawn[1]))
    ),
)


def test_table_without_split_points_is_one_region():
    assert (Layout().regions, Layout().bounds(0), Layout().region_of(b"k")) == (1, (b"", None), 0)


def test_region_starts_at_its_split_point():
    layout = Layout((b"g", b"p"))
    assert [layout.region_of(key) for key in (b"f\xff", b"g", b"g\x00", b"p")] == [0, 1, 1, 2]
    assert [layout.bounds(region) for region in range(3)] == [(b"", b"g"), (b"g", b"p"), (b"p", None)]


def test_salted_table_has_a_region_for_each_bucket():
    layout = Layout.salted(16)
    assert layout.regions == 16
    assert layout.region_of(b"row-0001") == Distribution(16).physical(b"row-0001")[0]


@given(keys, layouts)
def test_region_holds_the_physical_key(key, layout):
    start, stop = layout.bounds(layout.region_of(key))
    physical = key if layout.distribution is None else layout.distribution.physical(key)
    assert start <= physical
    assert stop is None or physical < stop


@pytest.mark.parametrize(("prefix", "regions"), [(b"", 3), (b"a", 1), (b"g", 1), (b"f\xff", 1), (b"p", 1), (b"o", 1)])
def test_regions_of_a_prefix(prefix, regions):
    assert Layout((b"g", b"p")).regions_of_prefix(prefix) == regions


def test_regions_of_a_prefix_that_spans_split_points():
    assert Layout((b"k1", b"k3", b"l")).regions_of_prefix(b"k") == 3
    assert Layout.salted(16).regions_of_prefix(b"user-17-") == 16


@given(st.binary(max_size=3), layouts)
def test_regions_of_a_prefix_are_those_that_overlap_its_ranges(prefix, layout):
    stop = prefix_end(prefix)
    ranges = [(prefix, stop)] if layout.distribution is None else layout.distribution.intervals(prefix, stop)
    overlapping = {
        region
        for region in range(layout.regions)
        for first, last in [layout.bounds(region)]
        for start, end in ranges
        if (last is None or start < last) and (end is None or first < end)
    }
    assert layout.regions_of_prefix(prefix) == len(overlapping)


def test_spread_counts_writes_and_newest_writes():
    spread = Layout((b"g", b"p")).spread({b"a": 3, b"h": 1}, {b"h": 1})
    assert (spread.writes, spread.newest) == ((3, 1, 0), (0, 1, 0))
    assert (spread.busiest, spread.busiest_of_newest, spread.empty) == (0.75, 1.0, 1)


def test_spread_without_writes():
    spread = Layout((b"g",)).spread({}, {})
    assert (spread.busiest, spread.busiest_of_newest, spread.empty) == (0.0, 0.0, 2)
