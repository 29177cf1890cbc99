"""Row keys of a table: spread, recommended split points, warnings."""

import random
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sinks.rowkeys.analysis import KeyLengths, WarningKind, analyse, even_layout
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.layout import Layout

ONE_REGION = Layout()
INCREASING = [b"row-%06d" % number for number in range(2_000)]
MIXED = random.Random(5).sample(INCREASING, len(INCREASING))


def kinds(analysis) -> list[WarningKind]:
    return [warning.kind for warning in analysis.warnings]


def test_increasing_keys():
    analysis = analyse(INCREASING, ONE_REGION)
    assert kinds(analysis) == [WarningKind.INCREASING_KEYS]
    assert analysis.even.busiest_of_newest == 1.0
    assert analysis.recommended_splits == ()  # split points would not divide the newest writes
    for buckets, spread in zip((8, 16, 32), analysis.salted, strict=True):
        assert spread.layout == Layout.salted(buckets)
        assert spread.busiest_of_newest < 0.3


@pytest.mark.parametrize("regions", [2, 8, 64])
def test_increasing_keys_show_whatever_the_number_of_regions(regions):
    assert kinds(analyse(INCREASING, ONE_REGION, regions=regions)) == [WarningKind.INCREASING_KEYS]


def test_keys_in_any_order():
    analysis = analyse(MIXED, ONE_REGION)
    assert kinds(analysis) == []
    assert (analysis.current.busiest, analysis.even.busiest) == (1.0, 0.125)
    assert analysis.even.busiest_of_newest < 0.25
    assert len(analysis.recommended_splits) == 7


def test_increasing_keys_of_a_salted_table():
    salted = Layout.salted(16)
    analysis = analyse(INCREASING, salted)
    assert kinds(analysis) == []
    assert analysis.current == analysis.even
    assert analysis.recommended_splits == ()


def test_salted_table_that_is_not_split():
    analysis = analyse(INCREASING, Layout((), Distribution(16)))
    assert (analysis.current.busiest, kinds(analysis)) == (1.0, [])
    assert analysis.recommended_splits == Distribution(16).splits()


def test_split_points_that_do_not_divide_the_writes():
    analysis = analyse(MIXED, Layout((b"a", b"z")))
    assert kinds(analysis) == [WarningKind.HOT_REGION]
    assert "one of 3 regions receives 100%" in analysis.warnings[0].message
    assert len(analysis.recommended_splits) == 7


@pytest.mark.parametrize(("split", "warned"), [(b"row-001000", []), (b"row-000100", [WarningKind.HOT_REGION])])
def test_one_of_two_regions_may_receive_half_of_the_writes(split, warned):
    assert kinds(analyse(MIXED, Layout((split,)))) == warned


def test_hot_row():
    keys = [key for pair in zip(MIXED, [b"total"] * len(MIXED), [b"total"] * len(MIXED), strict=True) for key in pair]
    analysis = analyse(keys, ONE_REGION)
    assert kinds(analysis) == [WarningKind.HOT_ROW]
    assert '"total" receives 67%' in analysis.warnings[0].message
    assert analysis.recommended_splits == ()


def test_few_writes():
    assert kinds(analyse(INCREASING[:99], ONE_REGION)) == [WarningKind.FEW_WRITES]
    assert kinds(analyse(INCREASING[:100], ONE_REGION)) == [WarningKind.INCREASING_KEYS]


def test_one_write():
    analysis = analyse([b"k"], ONE_REGION)
    assert (analysis.writes, analysis.rows, analysis.current.newest) == (1, 1, (1,))
    assert analysis.even.layout == ONE_REGION


def test_counts_and_lengths():
    analysis = analyse([b"a", b"bbb", b"bbb", b"cc"], ONE_REGION)
    assert (analysis.writes, analysis.rows) == (4, 3)
    assert analysis.lengths == KeyLengths(shortest=1, median=2, longest=3)


def test_requested_prefixes_come_first():
    analysis = analyse(MIXED, ONE_REGION, prefixes=[b"row-0000", b"none", b"row-0000"])
    found = [(count.prefix, count.rows) for count in analysis.prefixes]
    assert found[:2] == [(b"row-0000", 100), (b"none", 0)]
    assert (b"row-000", 1_000) in found
    assert len(found) == len(set(found))


def test_an_even_split_point_is_the_shortest_between_two_rows():
    assert even_layout(Counter([b"apple", b"banana", b"bandana", b"cherry"]), 4).splits == (b"b", b"band", b"c")


@given(st.lists(st.binary(min_size=1, max_size=3), min_size=1, max_size=200), st.integers(min_value=2, max_value=20))
def test_even_regions_have_at_most_one_row_more_than_their_part(keys, regions):
    writes = Counter(keys)
    layout = even_layout(writes, regions)
    assert layout.regions <= regions
    assert all(one < other for one, other in pairwise(layout.splits))
    spread = layout.spread(writes, writes)
    assert spread.empty == 0
    assert max(spread.writes) <= len(keys) / regions + max(writes.values())


@given(st.lists(st.binary(min_size=1, max_size=3), min_size=1, max_size=60))
def test_every_spread_counts_every_write(keys):
    analysis = analyse(keys, Layout((b"g", b"p")))
    for spread in (analysis.current, analysis.even, *analysis.salted):
        assert sum(spread.writes) == len(keys)
        assert sum(spread.newest) == max(1, round(len(keys) / 10))
        assert all(newest <= every for newest, every in zip(spread.newest, spread.writes, strict=True))
