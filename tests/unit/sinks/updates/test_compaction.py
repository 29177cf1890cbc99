"""The parts of a compaction: what is written, what is deleted, and in which order."""

from dataclasses import replace

import pytest

from sinks.updates.compaction import CompactionPart, CompactionRules, UnmergedRows, compaction_of
from sinks.updates.groups import UpdateRow
from sinks.updates.keys import UpdateKey, update_id_of
from sinks.updates.merging import Merging, Unmerged
from sinks.updates.processors.sum import Sum
from tests.support.update_rows import FOREVER, LAST_FIVE, SUM, VALUE, UpdateTable

ALL = CompactionRules(FOREVER)
INT64_SUMS = Merging(Sum(Sum.settings_class()(type="int64")))
Rows = list[tuple[int, int, object]]


def keys(*intervals: tuple[int, int]) -> tuple[UpdateKey, ...]:
    return tuple(UpdateKey(b"k", start, end) for start, end in intervals)


@pytest.mark.parametrize(
    ("rows", "after", "deleted"),
    [
        ([(10, 0, 1), (20, 0, 2), (30, 0, 3)], [(10, 30, 6)], [(10, 0), (20, 0), (30, 0)]),
        (
            [(10, 0, 1), (10, 30, 6), (20, 0, 2), (30, 0, 3)],
            [(10, 30, 6)],
            [(10, 0), (20, 0), (30, 0)],
        ),
        (
            [(10, 0, 1), (10, 30, 6), (20, 0, 2), (30, 0, 3), (40, 0, 4)],
            [(10, 40, 10)],
            [(10, 0), (20, 0), (30, 0), (10, 30), (40, 0)],
        ),
        ([(10, 20, 3), (10, 40, 9), (30, 0, 2), (40, 0, 4)], [(10, 40, 9)], [(10, 20), (30, 0), (40, 0)]),
        ([(10, 0, 1)], [(10, 0, 1)], []),
        ([(10, 30, 6)], [(10, 30, 6)], []),
    ],
    ids=[
        "raw",
        "after a crash",
        "after a crash, and a later update",
        "two merged rows of a start",
        "one",
        "one merged",
    ],
)
def test_rows_are_replaced_by_a_merged_row(rows: Rows, after: Rows, deleted: list) -> None:
    table = UpdateTable.of(*rows)
    value = table.values()
    (*parts,) = table.parts(ALL)
    assert [key for part in parts for key in part.deletes] == list(keys(*deleted))
    table.compact()
    assert table.contents() == after
    assert table.values() == value
    assert table.parts(ALL) == []


def test_an_orphaned_update_after_a_part_deletes_no_merged_row() -> None:
    table = UpdateTable.of((10, 0, 1), (20, 0, 2), (25, 40, 9), (30, 0, 4))  # 25 to 40 has the update of 30
    value = table.values()
    table.compact(replace(ALL, max_rows=2))
    assert (table.contents(), table.values()) == ([(10, 40, 12)], value)


def test_windows() -> None:
    table = UpdateTable.of((110, 0, 1), (150, 0, 2), (199, 0, 3), (200, 0, 4), (250, 0, 5))
    rules = replace(ALL, window=100)
    table.compact(rules)
    assert table.contents() == [(110, 199, 6), (200, 250, 9)]
    assert table.values() == {b"k": {VALUE: b"15"}}
    assert table.parts(rules) == []


def test_a_row_across_windows_merges_with_nothing() -> None:
    table = UpdateTable.of(
        (110, 0, 1), (120, 0, 2), (150, 250, 3), (260, 0, 4), (270, 0, 5), (280, 320, 6), (330, 0, 7)
    )
    table.compact(replace(ALL, window=100))
    assert table.contents() == [(110, 120, 3), (150, 250, 3), (260, 270, 9), (280, 320, 6), (330, 0, 7)]


def test_a_window_is_a_duration() -> None:
    hour = update_id_of(3_600_000, 0)
    rules = replace(ALL, window=hour)
    first, last = update_id_of(7_200_000, 5), update_id_of(10_799_999, 7)
    assert rules.window_of(UpdateKey(b"k", first, last)) == 2
    assert rules.window_of(UpdateKey(b"k", first, last + hour)) is None


@pytest.mark.parametrize(
    ("bound", "after"),
    [
        (20, [(10, 0, 1), (20, 0, 2), (30, 40, 3), (50, 0, 4)]),
        (21, [(10, 20, 3), (30, 40, 3), (50, 0, 4)]),
        (40, [(10, 20, 3), (30, 40, 3), (50, 0, 4)]),
        (41, [(10, 40, 6), (50, 0, 4)]),
        (51, [(10, 50, 10)]),
    ],
)
def test_rows_from_the_bound_on_stay(bound: int, after: Rows) -> None:
    table = UpdateTable.of((10, 0, 1), (20, 0, 2), (30, 40, 3), (50, 0, 4))
    table.compact(CompactionRules(bound))
    assert table.contents() == after


def test_a_scan_may_end_at_the_bound() -> None:
    rows = UpdateTable.of((10, 0, 1), (10, 50, 6), (20, 0, 2), (60, 0, 1)).rows()
    rules = CompactionRules(40)
    below = [row for row in rows if row.key.start < rules.bound]
    assert list(compaction_of(rows, SUM, rules)) == list(compaction_of(below, SUM, rules))


def test_number_of_rows_that_a_read_merges() -> None:
    """An update each 10 s, windows of an hour, a compaction every four hours."""
    hour = 360
    table = UpdateTable()
    for start in range(hour, 12 * hour):
        if start % (4 * hour) == 0:
            table.compact(CompactionRules(start, window=hour))
        table.add(b"k", start, {VALUE: b"1"})
    found = table.read()[b"k"]
    assert (found.update_rows, found.columns) == (7 + 4 * hour, {VALUE: b"%d" % (11 * hour)})


@pytest.mark.parametrize(
    "rules",
    [
        *(replace(ALL, max_rows=rows) for rows in (1, 2, 3, 4, 5, 6, 10, 20)),
        replace(ALL, max_bytes=130),
        replace(ALL, max_bytes=1),
        replace(ALL, max_rows=2, window=5),
    ],
    ids=str,
)
def test_a_large_group_is_compacted_in_parts(rules: CompactionRules) -> None:
    table = UpdateTable(LAST_FIVE)
    for start in range(1, 24):
        table.add(b"k", start, {VALUE: b"%d" % start})
    expected = {b"k": {VALUE: b'["23","22","21","20","19"]'}}
    assert table.values() == expected
    parts = table.parts(rules)
    for part in parts:
        assert part.write is None or part.write.key not in part.deletes
        assert len(part.deletes) <= max(rules.max_rows, 2)
    table.compact(rules)
    assert table.values() == expected
    assert len(table.stored) == (1 if not rules.window else 5)
    assert table.parts(rules) == []


def test_parts_are_computed_while_the_rows_are_read() -> None:
    read = []

    def rows():
        for start in range(1, 100_001):
            read.append(start)
            yield UpdateRow(UpdateKey(b"k", start), {VALUE: b"1"})

    parts = compaction_of(rows(), SUM, replace(ALL, max_rows=100))
    first = next(parts)
    assert (len(read), len(first.deletes)) == (101, 100)
    assert first.write == UpdateRow(UpdateKey(b"k", 1, 100), {VALUE: b"100"})
    *_, last = parts
    assert last.write == UpdateRow(UpdateKey(b"k", 1, 100_000), {VALUE: b"100000"})


def test_a_window_that_cannot_be_merged_stays_and_is_reported() -> None:
    rows: Rows = [(10, 0, 1), (20, 0, "x"), (30, 0, 3), (110, 0, 4), (120, 0, 5)]
    table = UpdateTable.of(*rows)
    assert table.parts(replace(ALL, window=100)) == [
        CompactionPart(unmerged=UnmergedRows(b"k", (Unmerged(VALUE, '"x" is not a number in decimal digits'),))),
        CompactionPart(UpdateRow(UpdateKey(b"k", 110, 120), {VALUE: b"9"}), keys((110, 0), (120, 0))),
    ]


def test_orphaned_updates_in_a_window_that_cannot_be_merged_are_deleted() -> None:
    table = UpdateTable.of((10, 0, 1), (10, 20, 3), (20, 0, 2), (30, 0, "x"))
    table.compact()
    assert table.intervals() == [(10, 20), (30, 0)]


def test_rows_after_those_that_cannot_be_merged_stay_in_their_window() -> None:
    table = UpdateTable.of(*((start, 0, "x" if start == 5 else 1) for start in range(1, 20)))
    parts = table.parts(replace(ALL, max_rows=2))
    assert [part.unmerged is None for part in parts] == [True, True, True, False]
    before = table.values()
    table.compact(replace(ALL, max_rows=2))
    assert table.intervals() == [(1, 4), *((start, 0) for start in range(5, 20))]
    assert table.values() == before


def test_rows_that_follow_an_overflow_are_not_merged_with_its_sum() -> None:
    """They would have the updates of the rows that stay, which count again."""
    table = UpdateTable(INT64_SUMS)
    for start, number in enumerate((2**63 - 1, 1, -5, 2), start=1):
        table.add(b"k", start, {VALUE: number.to_bytes(8, "big", signed=True)})
    before = table.values()
    table.compact(replace(ALL, max_rows=2))
    assert (table.values(), len(table.stored)) == (before, 4)


def test_orphaned_updates_alone_do_not_delete_the_merged_row() -> None:
    """Defect of HBaseHUT: it writes such a merged row again, then deletes it."""
    table = UpdateTable.of((10, 0, 1), (10, 30, 6), (20, 0, 2))
    parts = table.parts(ALL)
    assert {part.write for part in parts} == {None}
    assert [key for part in parts for key in part.deletes] == list(keys((10, 0), (20, 0)))
    table.compact()
    assert table.contents() == [(10, 30, 6)]


def test_a_crash_between_any_two_calls_loses_nothing() -> None:
    """Defect of HBaseHUT: deletes are sent before the merged rows are durable."""
    rows: Rows = [(start, 0, start) for start in range(1, 8)]
    number = len(list(UpdateTable().calls(UpdateTable.of(*rows).parts(replace(ALL, max_rows=3)))))
    assert number > len(rows)
    for crash in range(number + 1):
        table = UpdateTable.of(*rows)
        table.compact(replace(ALL, max_rows=3), calls=crash)
        assert table.values() == {b"k": {VALUE: b"28"}}
        table.compact()
        assert table.contents() == [(1, 7, 28)]


def test_writes_of_several_parts_may_precede_all_deletes() -> None:
    table = UpdateTable.of(*((start, 0, start) for start in range(1, 8)))
    calls = list(table.calls(table.parts(replace(ALL, max_rows=3))))
    for put, key in sorted(calls, key=lambda call: call[0] is None):
        assert table.values() == {b"k": {VALUE: b"28"}}
        if put is None:
            del table.stored[key.encoded()]
        else:
            table.stored[key.encoded()] = dict(put.columns)
    assert table.contents() == [(1, 7, 28)]


def test_the_interval_of_a_merged_row_is_that_of_the_first_and_the_last() -> None:
    """Defect of HBaseHUT: its buffered writer takes the interval from the order of insertion."""
    table = UpdateTable()
    for start in (30, 10, 20):
        table.add(b"k", start, {VALUE: b"1"})
    table.compact()
    assert table.intervals() == [(10, 30)]


def test_reads_return_groups_that_a_compaction_leaves_whole() -> None:
    """Defect of HBaseHUT: a reader with a minimum of rows returns the first row of a smaller group."""
    table = UpdateTable.of((10, 0, 1), (20, 0, 2))
    table.compact(CompactionRules(10))
    assert table.intervals() == [(10, 0), (20, 0)]
    assert table.values() == {b"k": {VALUE: b"3"}}


@pytest.mark.parametrize(
    "wrong", [{"window": -1}, {"max_rows": 0}, {"max_bytes": 0}], ids=lambda wrong: next(iter(wrong))
)
def test_rules_out_of_range_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="out of range"):
        CompactionRules(FOREVER, **wrong)
