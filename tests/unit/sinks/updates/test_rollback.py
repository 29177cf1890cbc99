"""The rows that a rollback deletes."""

import pytest

from sinks.updates.compaction import CompactionRules
from sinks.updates.keys import UpdateKey
from sinks.updates.rollback import Rollback, rollback_of
from tests.support.update_rows import FOREVER, LAST_FIVE, VALUE, UpdateTable

C, F = b"c", b"f"


def prices() -> tuple[UpdateTable, list[int]]:
    """The example of HBaseHUT, compacted at each of three times, and the first start from each time on."""
    table, times, start = UpdateTable(LAST_FIVE), [], 0
    for batch in (
        {C: (90, 100, 120), F: (18,)},
        {C: (115, 110), F: (22,)},
        {C: (105,), F: (24, 28)},
        {C: (107, 113), F: (32, 40)},
    ):
        start += 100
        times.append(start)
        for row, values in batch.items():
            for number, value in enumerate(values):
                table.add(row, start + number, {VALUE: b"%d" % value})
    table.compact(CompactionRules(FOREVER, window=100))
    return table, times[1:]


def values_of(table: UpdateTable) -> dict[bytes, bytes]:
    return {row: columns[VALUE] for row, columns in table.values().items()}


@pytest.mark.parametrize(
    ("first", "last", "c", "f"),
    [
        (2, None, b'["105","110","115","120","100"]', b'["28","24","22","18"]'),
        (1, None, b'["110","115","120","100","90"]', b'["22","18"]'),
        (0, None, b'["120","100","90"]', b'["18"]'),
        (0, 2, b'["113","107","120","100","90"]', b'["40","32","18"]'),
        (1, 2, b'["113","107","110","115","120"]', b'["40","32","22","18"]'),
    ],
)
def test_updates_of_an_interval_are_rolled_back(first: int, last: int | None, c: bytes, f: bytes) -> None:
    table, times = prices()
    assert table.roll_back(times[first], FOREVER if last is None else times[last] - 1).straddling == ()
    assert values_of(table) == {C: c, F: f}


def keys(*intervals: tuple[int, int]) -> tuple[UpdateKey, ...]:
    return tuple(UpdateKey(b"k", start, end) for start, end in intervals)


@pytest.mark.parametrize(
    ("first", "last", "deletes", "left"),
    [
        (10, 50, [(20, 0), (10, 0), (15, 30), (40, 50)], []),
        (11, 49, [(20, 0), (15, 30)], [(40, 50)]),
        (15, 30, [(20, 0), (15, 30)], []),
        (16, 39, [(20, 0)], [(15, 30)]),
        (30, 30, [], [(15, 30)]),
        (31, 39, [], []),
        (10, 10, [(10, 0)], []),
    ],
)
def test_both_ends_are_inclusive_and_rows_across_them_stay(first: int, last: int, deletes: list, left: list) -> None:
    """20 is an orphaned update of the merged row from 15 to 30."""
    rows = keys((10, 0), (15, 30), (20, 0), (40, 50))
    assert rollback_of(rows, first, last, [(first, last)])[:2] == (keys(*deletes), keys(*left))


def test_an_orphaned_update_across_the_end_is_not_reported() -> None:
    assert rollback_of(keys((10, 20), (10, 40)), 15, 50, [(15, 50)]) == Rollback((), keys((10, 40)))
