"""The rollback of ranges of a table: order of deletes, rows that stay, and what is recorded."""

from collections import Counter
from contextlib import suppress
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import ConflictError, Store
from sinks.rewriting.compaction import CompactionTarget, RangeCompaction
from sinks.rewriting.rollback import RangeRollback, RollbackCounts
from sinks.rewriting.table_ranges import whole_row_ranges
from sinks.rowkeys.distribution import Distribution
from sinks.updates.compaction import CompactionRules
from sinks.updates.intervals import Interval, is_in
from sinks.updates.keys import UpdateKey, update_id_of
from tests.support.update_rows import FOREVER, VALUE
from tests.support.updated_table import SPLITS, TABLE, KilledError, UpdateWriter


def ranges(table: UpdateWriter):
    return whole_row_ranges(SPLITS if table.rows.buckets is None else (), Distribution.of(table.rows.buckets))


def roll_back(table: UpdateWriter, first_ms: int, last_ms: int, **options) -> tuple[RollbackCounts, list[Interval]]:
    """What is counted, and the batch times that are rolled back."""
    table.store.checks_deletes = False
    interval = Interval(first_ms, last_ms)
    taken = [interval]
    for plan in ({"is_dry_run": True}, options):
        rollback = RangeRollback(table.calls, TABLE, table.rows, interval, taken=taken, **plan)
        for keys in ranges(table):
            rollback.run(keys)
        taken = rollback.counts.taken_back(interval) if plan is not options else taken
    return rollback.counts, taken


def compact(table: UpdateWriter, window_ms: int) -> None:
    rules = CompactionRules(FOREVER, update_id_of(window_ms, 0))
    for keys in ranges(table):
        RangeCompaction(table.calls, CompactionTarget(TABLE, table.rows, rules), table.merging).run(keys)


def with_times(*times_ms: int, buckets: int | None = None) -> UpdateWriter:
    """A table of two rows with an update at each time, of its value."""
    table = UpdateWriter(buckets=buckets)
    for row in (b"a", b"k"):
        for time_ms in times_ms:
            table.add(row, update_id_of(time_ms, 3), {VALUE: b"%d" % time_ms})
    return table


@pytest.mark.parametrize("buckets", [None, 4])
def test_updates_of_the_interval_are_deleted(buckets: int | None):
    table = with_times(1, 20, 30, 400, buckets=buckets)
    counts, taken = roll_back(table, 20, 30)
    assert table.values() == {row: {VALUE: b"401"} for row in (b"a", b"k")}
    assert (counts.logical_rows, counts.deleted, counts.straddling) == (2, 4, 0)
    assert taken == [Interval(20, 30)]


def test_merged_rows_across_the_interval_stay_and_are_listed():
    table = with_times(110, 150, 210, 250, 310)
    compact(table, 100)
    counts, taken = roll_back(table, 140, 299)
    assert table.values() == {row: {VALUE: b"570"} for row in (b"a", b"k")}  # 110 + 150 + 310
    assert (counts.deleted, counts.straddling) == (2, 2)
    assert counts.examples[0] == 'row "a": updates from 1970-01-01T00:00:00.110Z to 1970-01-01T00:00:00.150Z'
    assert taken == [Interval(151, 299)]


def test_merged_rows_that_reach_beyond_the_interval_stay_and_are_listed():
    table = with_times(110, 150)
    compact(table, 100)
    counts, taken = roll_back(table, 100, 120)
    assert (counts.deleted, counts.straddling) == (0, 2)
    assert taken == [Interval(100, 109)]


def test_micro_batch_that_a_row_keeps_stays_in_all_rows():
    """A replay runs it as a whole; the rows are joined by row "a" to 10, by row "b" to 20, by row "c" to 30."""
    table = UpdateWriter()
    for row, first_ms, last_ms in ((b"a", 10, 20), (b"b", 20, 30), (b"c", 30, 30), (b"d", 40, 50), (b"e", 51, 51)):
        end = 0 if first_ms == last_ms else update_id_of(last_ms, 0)
        table.add(row, update_id_of(first_ms, 0), {VALUE: b"1"}, end=end)
    counts, taken = roll_back(table, 15, 60)
    assert taken == [Interval(31, 60)]
    assert (counts.deleted, counts.straddling) == (2, 3)
    assert {key.row for key in table.update_keys()} == {b"a", b"b", b"c"}


def test_interval_that_begins_before_1970():
    table = with_times(1, 20)
    assert roll_back(table, -5, 10)[0].deleted == 2
    assert table.values() == {row: {VALUE: b"20"} for row in (b"a", b"k")}


def test_dry_run_counts_and_deletes_nothing():
    table = with_times(1, 20, 30)
    dry = roll_back(table, 20, 30, is_dry_run=True)
    assert table.store.calls == []
    assert dry == roll_back(table, 20, 30)


def test_killed_at_every_call_no_covered_row_counts_again(monkeypatch: pytest.MonkeyPatch):
    """With the merged row deleted before its orphaned updates, these would count again."""
    for module in ("rollback", "leased_writes"):
        monkeypatch.setattr(f"sinks.rewriting.{module}.CALL_ROWS", 1)
    for calls in count():
        table = UpdateWriter()
        for row in (b"a", b"k"):
            table.add(row, update_id_of(5, 0), {VALUE: b"1"})
            for time_ms in (10, 20, 30):
                table.add(row, update_id_of(time_ms, 0), {VALUE: b"2"})
            table.add(row, update_id_of(10, 0), {VALUE: b"6"}, end=update_id_of(30, 0))
        allowed = ({VALUE: b"7"}, {VALUE: b"1"})
        table.store.calls_left = calls
        try:
            roll_back(table, 10, 30)
        except KilledError:
            assert all(values in allowed for values in table.values().values())
        else:
            break
        table.store.calls_left = None
        roll_back(table, 10, 30)
        assert table.values() == {row: {VALUE: b"1"} for row in (b"a", b"k")}
    assert calls == 8
    assert table.update_keys() == {UpdateKey(row, update_id_of(5, 0)) for row in (b"a", b"k")}


def test_lease_is_checked_before_each_delete():
    table = with_times(10)

    def check(_store: Store) -> None:
        raise ConflictError("lost")

    with pytest.raises(ConflictError):
        roll_back(table, 10, 10, check=check)
    assert table.store.calls == []


actions = st.lists(
    st.tuples(st.just("update"), st.sampled_from([b"a", b"b"]), st.integers(0, 9))
    | st.tuples(st.just("compact"), st.none() | st.integers(0, 4))
    | st.tuples(st.just("roll back"), st.integers(0, 6), st.integers(0, 3), st.none() | st.integers(0, 4)),
    max_size=30,
)


@given(actions, st.sampled_from([None, 2]))
def test_rollback_of_whole_windows_leaves_the_others(history: list, buckets: int | None):
    """Against a list of all updates; killed at any call, and run again."""
    table, model, time_ms = UpdateWriter(buckets=buckets), {}, 0
    for action in history:
        match action:
            case "update", row, gap:
                time_ms += gap + 1
                table.add(row, update_id_of(time_ms, 0), {VALUE: b"1"})
                model[row, time_ms] = 1
            case "compact", calls:
                table.store.checks_deletes, table.store.calls_left = True, calls
                with suppress(KilledError):
                    compact(table, 10)
            case _, window, windows, calls:
                first_ms, last_ms = window * 10, (window + windows) * 10 + 9
                table.store.calls_left = calls
                with suppress(KilledError):
                    roll_back(table, first_ms, last_ms)
                table.store.calls_left = None
                assert roll_back(table, first_ms, last_ms)[0].straddling == 0
                model = {key: value for key, value in model.items() if not first_ms <= key[1] <= last_ms}
        table.store.calls_left = None
        expected = {row: sum(row == each for each, _ in model) for row, _ in model}
        assert table.values() == {row: {VALUE: b"%d" % number} for row, number in expected.items()}


changes = st.lists(
    st.tuples(st.just("micro-batch"), st.sets(st.sampled_from([b"a", b"b", b"c"]), min_size=1), st.integers(1, 4))
    | st.tuples(st.just("compact"), st.sampled_from([3, 7, 10]))
    | st.tuples(st.just("roll back"), st.integers(0, 40), st.integers(0, 20)),
    max_size=30,
)


@given(changes)
def test_rollback_takes_a_micro_batch_from_all_rows_or_from_none(history: list):
    """Whatever the windows of the compactions and the interval."""
    table, model, time_ms = UpdateWriter(), [], 0
    for change in history:
        match change:
            case "micro-batch", rows, gap:
                time_ms += gap
                for row in rows:
                    table.add(row, update_id_of(time_ms, 0), {VALUE: b"1"})
                    model.append((row, time_ms))
            case "compact", window_ms:
                table.store.checks_deletes = True
                compact(table, window_ms)
            case _, first_ms, length_ms:
                _, taken = roll_back(table, first_ms, first_ms + length_ms)
                model = [(row, time_ms) for row, time_ms in model if not is_in(taken, time_ms)]
        expected = Counter(row for row, _ in model)
        assert table.values() == {row: {VALUE: b"%d" % number} for row, number in expected.items()}
