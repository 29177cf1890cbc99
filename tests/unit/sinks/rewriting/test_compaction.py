"""The compaction of ranges of a table: what is stored at each point, and what a second one finds."""

from collections import Counter
from contextlib import suppress
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import ConflictError, IntegrityError, Put, Store, StoreUnavailableError, WriteRejectedError
from sinks.memory import MemoryStore
from sinks.rewriting.compaction import CompactionCounts, CompactionTarget, RangeCompaction, Timer, bound_of
from sinks.rewriting.table_ranges import whole_row_ranges
from sinks.rowkeys.distribution import Distribution
from sinks.updates.compaction import CompactionRules
from sinks.updates.keys import UpdateKey, last_update_id_of, update_id_of
from sinks.updates.merging import Merging
from sinks.updates.processors.last_n import LastN
from tests.support.update_rows import FOREVER, SUM, VALUE
from tests.support.updated_table import SPLITS, TABLE, KilledError, UpdateWriter, unavailable

ALL = CompactionRules(FOREVER)
LAST = Merging(LastN(LastN.settings_class()(n=4)), [b"f"])


def compact(table: UpdateWriter, rules: CompactionRules = ALL, *, is_dry_run: bool = False, **options):
    target = CompactionTarget(TABLE, table.rows, rules, is_dry_run)
    compaction = RangeCompaction(table.calls, target, table.merging, **options)
    for keys in whole_row_ranges(SPLITS if table.rows.buckets is None else (), Distribution.of(table.rows.buckets)):
        assert compaction.run(keys) is None
    return compaction.counts


def with_rows(*rows: tuple[int, int, int], **options) -> UpdateWriter:
    """A table with one logical row; a row is start, end and value."""
    table = UpdateWriter(**options)
    for start, end, value in rows:
        table.add(b"k", start, {VALUE: b"%d" % value}, end)
    return table


@pytest.mark.parametrize("buckets", [None, 4])
def test_merged_rows_replace_updates(buckets: int | None):
    table = UpdateWriter(buckets=buckets)
    for row in (b"a", b"a\x00", b"k", b"z"):
        for start in (10, 20, 30):
            table.add(row, start, {VALUE: b"1"})
    counts = compact(table)
    assert table.update_keys() == {UpdateKey(row, 10, 30) for row in (b"a", b"a\x00", b"k", b"z")}
    assert table.values() == {row: {VALUE: b"3"} for row in (b"a", b"a\x00", b"k", b"z")}
    assert (counts.logical_rows, counts.update_rows, counts.written, counts.replaced) == (4, 12, 4, 12)
    assert counts.by_update_rows == Counter({3: 4})
    assert compact(table).replaced == 0


def test_merged_row_has_the_time_of_its_last_update():
    table = UpdateWriter()
    for time_ms in (5, 9):
        table.add(b"k", update_id_of(time_ms, 1), {VALUE: b"1"})
    compact(table)
    found = table.store.get(TABLE, UpdateKey(b"k", update_id_of(5, 1), update_id_of(9, 1)).encoded())
    assert found is not None
    assert [cell.timestamp_ms for cell in found.cells] == [9]


def test_writes_come_before_deletes_in_each_call():
    table = UpdateWriter()
    for number in range(1_500):
        table.add(b"%05d" % number, 10, {VALUE: b"1"})
        table.add(b"%05d" % number, 20, {VALUE: b"1"})
    compact(table)
    assert table.store.calls[0] == "apply"
    assert table.store.calls.count("apply") > 1
    assert table.store.calls[-1] == "remove_rows"
    assert table.values() == {b"%05d" % number: {VALUE: b"2"} for number in range(1_500)}


# the defects of the original compaction; `UpdatedStore` refuses deletes of rows that nothing covers


def test_merged_row_with_orphaned_updates_is_not_deleted():
    """It wrote the merged row again, and then deleted it."""
    table = with_rows((10, 30, 6), (10, 0, 1), (20, 0, 2), (30, 0, 3))
    assert compact(table).written == 0
    assert table.intervals() == [(10, 30)]
    assert table.values() == {b"k": {VALUE: b"6"}}


def test_nothing_is_deleted_if_the_write_fails():
    """It sent deletes while the puts were in a buffer that a crash loses."""
    table = with_rows((10, 0, 1), (20, 0, 2))
    table.store.calls_left, table.store.error = 0, unavailable()
    with pytest.raises(StoreUnavailableError):
        compact(table)
    assert table.store.calls == []
    assert table.intervals() == [(10, 0), (20, 0)]


def test_interval_is_that_of_the_times():
    """It took the interval from the order in which the rows were written."""
    table = with_rows((30, 0, 3), (10, 0, 1), (20, 0, 2))
    compact(table)
    assert table.intervals() == [(10, 30)]


def test_group_that_is_not_compacted_keeps_all_its_rows():
    """A scan with a minimum returned only the first row of a small group."""
    table = with_rows((10, 0, 1), (20, 0, 2), (30, 0, 3))
    compact(table, CompactionRules(10))
    assert table.intervals() == [(10, 0), (20, 0), (30, 0)]
    assert table.values() == {b"k": {VALUE: b"6"}}


# killed


@pytest.mark.parametrize("buckets", [None, 4])
@pytest.mark.parametrize("max_rows", [1_000, 2])
def test_killed_at_every_call_and_run_again(buckets: int | None, max_rows: int, monkeypatch: pytest.MonkeyPatch):
    for module in ("compaction", "leased_writes"):
        monkeypatch.setattr(f"sinks.rewriting.{module}.CALL_ROWS", 3)  # several calls of a few rows
    rules = CompactionRules(last_update_id_of(40) + 1, update_id_of(10, 0), max_rows=max_rows)
    for calls in count():
        table = UpdateWriter(buckets=buckets)
        for row in (b"a", b"b", b"k"):
            for time_ms in (3, 5, 9, 12, 14, 41):
                table.add(row, update_id_of(time_ms, 0), {VALUE: b"%d" % time_ms})
        before = table.values()
        table.store.calls_left = calls
        try:
            compact(table, rules)
        except KilledError:
            assert table.values() == before
        else:
            break
        table.store.calls_left = None
        compact(table, rules)
        assert table.values() == before
        assert {(key.start, key.end) for key in table.update_keys()} == {
            (update_id_of(3, 0), update_id_of(9, 0)), (update_id_of(12, 0), update_id_of(14, 0)), (update_id_of(41, 0),
            0)
        }  # fmt: skip
    assert calls > 3


def test_a_compaction_that_resumes_late_restores_nothing():
    """Its process was suspended before a write, and another one has compacted the table meanwhile."""
    table = with_rows((10, 0, 1), (20, 0, 2), (30, 0, 3))
    late = Put(UpdateKey(b"k", 10, 20).encoded(), {VALUE: b"3"}, 0)
    compact(table)
    MemoryStore.apply(table.store, TABLE, [late])
    assert table.values() == {b"k": {VALUE: b"6"}}
    compact(table)
    assert table.intervals() == [(10, 30)]


def test_lease_is_checked_before_each_write():
    table = with_rows((10, 0, 1), (20, 0, 2))

    def check(_store: Store) -> None:
        raise ConflictError("lost")

    with pytest.raises(ConflictError):
        compact(table, check=check)
    assert table.store.calls == []


def test_busy_store_is_called_again():
    table = with_rows((10, 0, 1), (20, 0, 2))
    failures = [unavailable(), unavailable()]

    def check(_store: Store) -> None:
        if failures:
            raise failures.pop()

    compact(table, check=check)
    assert table.intervals() == [(10, 20)]


# what stays


def test_updates_from_the_bound_on_stay():
    table = with_rows((10, 0, 1), (20, 0, 2), (30, 0, 3))
    compact(table, CompactionRules(30))
    assert table.intervals() == [(10, 20), (30, 0)]


def test_bound_is_the_committed_position_less_a_duration():
    assert bound_of(5_000, 0) == last_update_id_of(5_000) + 1
    assert bound_of(5_000, 3_000) == last_update_id_of(2_000) + 1
    assert bound_of(5_000, 9_000) == last_update_id_of(0) + 1


def test_rows_that_cannot_be_merged_stay_and_are_reported():
    table = with_rows((10, 0, 1))
    table.add(b"k", 20, {VALUE: b"no number"}, end=30)
    for start in (10, 20):
        table.add(b"l", start, {VALUE: b"1"})
    before = table.values()
    counts = compact(table)
    assert (table.intervals(), table.intervals(b"l")) == ([(10, 0), (20, 30)], [(10, 20)])
    assert table.values() == before
    assert (counts.unmerged, counts.written, counts.replaced) == (1, 1, 2)
    assert counts.examples == ['row "k", "f:v": "no number" is not a number in decimal digits']
    assert compact(table).unmerged == 1


def test_merged_row_that_the_store_rejects_deletes_nothing():
    table = with_rows((10, 0, 1), (20, 0, 2))
    table.add(b"l", 10, {VALUE: b"1"})
    table.add(b"l", 20, {VALUE: b"1"})
    apply = table.store.apply

    def rejecting(name: str, mutations) -> None:
        if any(one.row.startswith(b"k") for one in mutations):
            raise WriteRejectedError("too large", indexes=[0])
        apply(name, mutations)

    table.store.apply = rejecting
    counts = compact(table)
    assert table.intervals() == [(10, 0), (20, 0)]
    assert table.intervals(b"l") == [(10, 20)]
    assert (counts.written, counts.replaced, counts.unmerged) == (1, 2, 1)
    assert counts.examples == ['row "k": too large']


def test_row_that_is_no_update_is_named():
    table = UpdateWriter()
    MemoryStore.apply(table.store, TABLE, [Put(b"plain", {VALUE: b"1"}, 1)])
    with pytest.raises(IntegrityError, match='row "plain"'):
        compact(table)


def test_dry_run_counts_and_writes_nothing():
    table = with_rows((10, 0, 1), (20, 0, 2))
    dry = compact(table, is_dry_run=True)
    assert table.store.calls == []
    assert dry == compact(table)


def test_range_is_compacted_in_slices(monkeypatch: pytest.MonkeyPatch):
    for module in ("compaction", "leased_writes"):
        monkeypatch.setattr(f"sinks.rewriting.{module}.CALL_ROWS", 2)
    table = UpdateWriter(buckets=2)
    for row in (b"a", b"b", b"c"):
        for start in range(1, 10):
            table.add(row, start, {VALUE: b"1"})
    before, slices, counts = table.values(), 0, CompactionCounts()
    for keys in whole_row_ranges((), Distribution(2)):
        remaining = keys
        while remaining is not None:
            target = CompactionTarget(TABLE, table.rows, CompactionRules(FOREVER, max_rows=3))
            compaction = RangeCompaction(table.calls, target, SUM)
            remaining = compaction.run(remaining, lambda: False)
            counts.add(compaction.counts)
            assert table.values() == before
            slices += 1
    assert slices > 6
    assert (counts.logical_rows, counts.update_rows) == (3, 27)
    assert {(key.start, key.end) for key in table.update_keys()} == {(1, 9)}


def test_timer_ends_a_unit():
    times = iter([0.0, 5.0, 20.0])
    timer = Timer(20.0, lambda: next(times))
    assert [timer(), timer()] == [True, False]


def test_counts_as_plain_data():
    counts = CompactionCounts(written=1, replaced=2, unmerged=1, examples=["row"])
    for rows in (1, 1, 3, 12_345):
        counts.add_logical_row(rows)
    assert counts.by_update_rows == Counter({1: 2, 3: 1, 12_000: 1})
    assert (counts.rows_per_key(0.5), counts.rows_per_key(0.99)) == (1, 12_000)
    assert CompactionCounts.from_json(counts.to_json()) == counts
    total = CompactionCounts()
    total.add(counts)
    total.add(counts)
    assert (total.logical_rows, total.replaced, total.examples) == (8, 4, ["row", "row"])
    assert CompactionCounts().rows_per_key(0.99) == 0


# random histories

WINDOW = 16
columns = st.dictionaries(st.sampled_from([b"f:a", b"f:b", b"g:a"]), st.binary(max_size=2), min_size=1)
updates = st.tuples(st.just("update"), st.sampled_from([b"a", b"a\x00", b"ab", b"q"]), st.integers(1, 9), columns)
rules = st.builds(
    CompactionRules,
    bound=st.integers(1, 200) | st.just(FOREVER),
    window=st.just(WINDOW),
    max_rows=st.sampled_from([1, 2, 3, 1_000]),
)
compactions = st.tuples(st.just("compact"), rules, st.none() | st.integers(0, 8), st.booleans())


@given(st.lists(updates | updates | compactions, max_size=40), st.sampled_from([None, 2]))
def test_reads_return_what_all_updates_would(history: list, buckets: int | None):
    table, every, start = UpdateWriter(LAST, buckets=buckets), UpdateWriter(LAST), 0
    for action in history:
        match action:
            case "update", row, gap, values:
                start += gap
                table.add(row, start, values)
                every.add(row, start, values)
            case "compact", found, calls, is_dry_run:
                table.store.calls_left = calls
                with suppress(KilledError):
                    compact(table, found, is_dry_run=is_dry_run)
                table.store.calls_left = None
        assert table.values() == every.values()
    last = CompactionRules(FOREVER, WINDOW)
    compact(table, last)
    assert table.values() == every.values()
    assert compact(table, last).replaced == 0
    assert len(table.update_keys()) == len({(key.row, key.start // WINDOW) for key in every.update_keys()})
