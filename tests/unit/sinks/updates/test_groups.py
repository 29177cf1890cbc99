"""What a read returns of the update rows of a logical row."""

import pytest

from ingest.api import Cell, Row
from sinks.updates.groups import MergedRow, UpdateRow, by_row, history_of, merged_row, with_orphans
from sinks.updates.keys import UpdateKey
from tests.support.update_rows import SUM, VALUE, UpdateTable

Rows = list[tuple[int, int, object]]


@pytest.mark.parametrize(
    ("rows", "value", "orphaned"),
    [
        ([(10, 0, 1), (20, 0, 2), (30, 0, 3)], b"6", []),
        ([(10, 0, 1), (10, 30, 6), (20, 0, 2), (30, 0, 3)], b"6", [(10, 0), (20, 0), (30, 0)]),
        ([(10, 0, 1), (10, 30, 6), (20, 0, 2), (30, 0, 3), (40, 0, 4)], b"10", [(10, 0), (20, 0), (30, 0)]),
        ([(10, 30, 6), (25, 0, 5), (40, 0, 4)], b"10", [(25, 0)]),
        ([(10, 20, 3), (10, 40, 9), (30, 0, 2), (40, 0, 4)], b"9", [(10, 20), (30, 0), (40, 0)]),
        ([(10, 40, 9), (20, 0, 1), (20, 30, 2)], b"9", [(20, 0), (20, 30)]),
        ([(10, 0, 7)], b"7", []),
    ],
    ids=[
        "raw",
        "after a crash",
        "after a crash, and a later update",
        "within a merged row",
        "two merged rows of a start",
        "two orphaned updates of a start",
        "one",
    ],
)
def test_a_read_counts_no_row_that_a_merged_row_covers(rows: Rows, value: bytes, orphaned: list) -> None:
    table = UpdateTable.of(*rows)
    found = table.read()[b"k"]
    assert found.columns == {VALUE: value}
    assert (found.update_rows, found.orphaned) == (len(rows) - len(orphaned), len(orphaned))
    assert [row.key[1:] for row, is_orphaned in with_orphans(table.rows()) if is_orphaned] == orphaned


def test_a_read_has_the_last_start_and_counts_update_rows() -> None:
    found = UpdateTable.of((10, 30, 6), (20, 0, 2), (40, 0, 4)).read()[b"k"]
    assert found == MergedRow(b"k", 40, {VALUE: b"10"}, (), update_rows=2, orphaned=1)


def test_a_row_without_updates_is_none() -> None:
    assert merged_row([], SUM) is None


def test_rows_of_a_scan_are_grouped_by_logical_row() -> None:
    table = UpdateTable()
    for row, start in ((b"a", 1), (b"a", 2), (b"ab", 1), (b"b", 3)):
        table.add(row, start, {VALUE: b"1"})
    assert [(row, len(list(rows))) for row, rows in by_row(table.rows())] == [(b"a", 2), (b"ab", 1), (b"b", 1)]
    assert table.values() == {b"a": {VALUE: b"2"}, b"ab": {VALUE: b"1"}, b"b": {VALUE: b"1"}}


def test_sums_by_column() -> None:
    """The example of HBaseHUT: sensors with up to three columns."""
    table = UpdateTable()
    updates = [
        (b"s1", {b"f:a": b"55", b"f:b": b"12"}),
        (b"s1", {b"f:b": b"5", b"f:c": b"7"}),
        (b"s2", {b"f:a": b"13", b"f:b": b"11"}),
        (b"s2", {b"f:b": b"3"}),
        (b"s3", {b"f:a": b"27"}),
    ]
    for start, (row, columns) in enumerate(updates, start=1):
        table.add(row, start, columns)
    expected = {
        b"s1": {b"f:a": b"55", b"f:b": b"17", b"f:c": b"7"},
        b"s2": {b"f:a": b"13", b"f:b": b"14"},
        b"s3": {b"f:a": b"27"},
    }
    assert table.values() == expected
    table.compact()
    assert table.values() == expected
    assert len(table.stored) == 3


def test_the_newest_version_of_a_cell_counts() -> None:
    cells = (Cell(b"f", b"a:b", 9, b"new"), Cell(b"f", b"a:b", 8, b"old"), Cell(b"g", b"", 1, b"x"))
    row = UpdateRow.of(Row(UpdateKey(b"k", 3).encoded(), cells))
    assert row == UpdateRow(UpdateKey(b"k", 3), {b"f:a:b": b"new", b"g:": b"x"})


def test_another_row_key_is_refused() -> None:
    with pytest.raises(ValueError, match="not the key of an update row"):
        UpdateRow.of(Row(b"k", ()))


def test_history_has_the_value_after_each_update_row() -> None:
    table = UpdateTable.of((10, 0, 1), (10, 20, 3), (20, 0, 2), (30, 0, 4), (40, 0, "x"), (50, 0, 5))
    found = list(history_of(table.rows(), SUM))
    assert [entry.row.key[1:] for entry in found] == table.intervals()
    assert [entry.is_orphaned for entry in found] == [True, False, True, False, False, False]
    assert [entry.merged.columns.get(VALUE) for entry in found] == [None, b"3", b"3", b"7", b"x", b"5"]
    assert [bool(entry.merged.unmerged) for entry in found] == [False, False, False, False, True, True]
