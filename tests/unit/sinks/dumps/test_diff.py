"""Differences of a table between two dumps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sinks.dumps.diff import Difference, diff_table
from sinks.dumps.errors import DumpCorruptError, TableNotInDumpError
from sinks.dumps.reader import DumpReader
from tests.support.dumps import START_MS, make_dump, row_of, rows_of
from tests.support.memory_root import MemoryRoot

TABLES = st.dictionaries(st.sampled_from([b"a", b"b", b"c", b"d", b"e", b"f"]), st.sampled_from([b"1", b"2"]))


def dumps_of(*contents):
    root = MemoryRoot()
    for number, parts in enumerate(contents):
        make_dump(root, {"t": parts}, at_ms=START_MS + number * 1_000, run_id=str(number))
    return DumpReader(root).dumps()


@given(before=TABLES, after=TABLES, cut=st.integers(0, 6))
def test_differences_are_those_of_the_rows(before, after, cut):
    rows = [[row_of(key, q=value) for key, value in sorted(content.items())] for content in (before, after)]
    # of the second dump, each file has rows between those of the other
    old, new = dumps_of([rows[0][:cut], rows[0][cut:]], [rows[1][::2], rows[1][1::2]])
    expected = dict.fromkeys(before.keys() - after.keys(), Difference.REMOVED)
    expected |= dict.fromkeys(after.keys() - before.keys(), Difference.ADDED)
    expected |= {key: Difference.CHANGED for key in before.keys() & after.keys() if before[key] != after[key]}
    found = list(diff_table(old, new, "t"))
    assert [(each.key, each.kind) for each in found] == sorted(expected.items())
    assert all((each.before is None, each.after is None) == _missing(each.kind) for each in found)


def _missing(kind):
    return kind is Difference.ADDED, kind is Difference.REMOVED


def test_other_time_of_a_cell_is_a_change():
    old, new = dumps_of([[row_of(b"k", q=b"v")]], [[row_of(b"k", time_ms=2_000, q=b"v")]])
    (found,) = diff_table(old, new, "t")
    assert (found.kind, found.before.version, found.after.version) == (Difference.CHANGED, 1_000, 2_000)


def test_unknown_table():
    old, new = dumps_of([rows_of(b"k")], [rows_of(b"k")])
    with pytest.raises(TableNotInDumpError):
        list(diff_table(old, new, "other"))


def test_rows_out_of_order_are_damage():
    old, new = dumps_of([rows_of(b"b", b"a")], [rows_of(b"k")])
    with pytest.raises(DumpCorruptError, match="not in order"):
        list(diff_table(old, new, "t"))
