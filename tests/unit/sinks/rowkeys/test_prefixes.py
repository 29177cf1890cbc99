"""Prefixes of row keys with many writes."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sinks.rowkeys.prefixes import PrefixCount, Prefixes

samples = st.lists(
    st.lists(st.sampled_from(b"ab\xff"), min_size=1, max_size=6).map(bytes), min_size=1, max_size=20
).map(Counter)


def tenants() -> Counter[bytes]:
    keys = [b"acme|%d" % number for number in range(60)]
    keys += [b"beta|%d" % number for number in range(30)]
    return Counter(keys) + Counter({b"counter": 10})


def test_counts_of_one_prefix():
    prefixes = Prefixes(tenants() + Counter([b"acme|7"]))
    assert prefixes.count(b"acme|") == PrefixCount(b"acme|", writes=61, rows=60)
    assert prefixes.count(b"acme|7") == PrefixCount(b"acme|7", writes=2, rows=1)
    assert prefixes.count(b"none") == PrefixCount(b"none", writes=0, rows=0)
    assert prefixes.count(b"") == PrefixCount(b"", writes=101, rows=91)


def test_hottest_come_first():
    found = Prefixes(tenants()).hottest(10, 0.2)
    assert found == [PrefixCount(b"acme|", 60, 60), PrefixCount(b"beta|", 30, 30)]


def test_hot_row_is_a_prefix():
    assert PrefixCount(b"counter", 10, 1) in Prefixes(tenants()).hottest(10, 0.1)


def test_prefix_is_left_out_if_a_longer_one_has_nearly_all_its_writes():
    keys = [b"a-%d" % number for number in range(99)] + [b"ab"]
    assert [count.prefix for count in Prefixes(Counter(keys)).hottest(10, 0.5)] == [b"a-"]


def test_at_most_the_requested_number():
    assert len(Prefixes(Counter(b"%d" % number for number in range(100))).hottest(3, 0.0)) == 3


def test_no_rows():
    assert Prefixes({}).hottest(10, 0.1) == []


@pytest.mark.parametrize("key", [b"\xff", b"\xff\xff\xff"])
def test_prefix_of_the_last_keys(key):
    assert Prefixes({b"a": 1, key: 2}).count(b"\xff") == PrefixCount(b"\xff", 2, 1)


@given(samples, st.floats(min_value=0, max_value=0.5))
def test_hottest_are_those_of_a_plain_search(writes, min_fraction):
    nodes = {}
    for prefix in {key[:length] for key in writes for length in range(1, len(key) + 1)}:
        below = [key for key in writes if key.startswith(prefix)]
        if prefix in writes or len({key[len(prefix)] for key in below}) > 1:
            nodes[prefix] = PrefixCount(prefix, sum(writes[key] for key in below), len(below))
    expected = [
        count
        for count in nodes.values()
        if count.writes >= min_fraction * writes.total()
        and all(
            other.writes < 0.95 * count.writes
            for other in nodes.values()
            if other.prefix != count.prefix and other.prefix.startswith(count.prefix)
        )
    ]
    expected.sort(key=lambda count: (-count.writes, count.prefix))
    assert Prefixes(writes).hottest(1_000, min_fraction) == expected
