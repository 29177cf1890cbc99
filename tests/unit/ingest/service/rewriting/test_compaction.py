"""The compaction of a table: slices, the lease, failures of the store, and its options."""

from contextlib import contextmanager
from typing import Any

import pytest

from ingest.api import ConfigError, ConflictError, IngestError, NotFoundError, TableSpec, UpdatesDifferError
from ingest.durable.property_register import PropertyRegister
from ingest.service.job_kinds import job_of
from ingest.service.jobs.job_run import Progress
from ingest.service.jobs.place import Place
from ingest.service.rewriting.compaction import Compaction, CompactionResult, compaction_steps
from sinks.rewriting.compaction import CompactionCounts, CompactionSlice, InProcess
from sinks.rewriting.table_lease import LEASE
from sinks.rewriting.unfinished_rollback import RollbackUnfinishedError, UnfinishedRollback, note_rollback
from sinks.rowkeys.row_format import UPDATES
from sinks.updates.intervals import Interval
from sinks.updates.keys import update_id_of
from sinks.updates.options import CompactionOptions
from tests.support.leases import left_lease, taken_over
from tests.support.place import Here
from tests.support.update_rows import SUM, VALUE
from tests.support.updated_table import SPLITS, TABLE, UpdateWriter, unavailable

NOW = CompactionOptions(older_than="0s")
HOUR_MS = 3_600_000
SUMS = '{"processor": "sum"}'
DECLARED = TableSpec(TABLE, updates=SUMS)


def with_updates(*, is_shared: bool = False, buckets: int | None = None) -> UpdateWriter:
    table = UpdateWriter(is_shared=is_shared, buckets=buckets)
    for row in (b"a", b"d", b"n", b"z"):
        for time_ms in (5, 10, HOUR_MS + 1, HOUR_MS + 2):
            table.add(row, update_id_of(time_ms, 0), {VALUE: b"1"})
    table.commit(HOUR_MS + 2)
    return table


def steps(
    table: UpdateWriter,
    options: CompactionOptions = NOW,
    engine: Any = None,
    *,
    place: Place | None = None,
    others: tuple[str, ...] = (),
) -> list[Progress]:
    """The progress of a compaction."""
    engine = engine or InProcess(table.calls, SUM)
    group = table.group(*others)

    def of_units(target, check):
        return lambda ranges: engine.run_slice(target, check, ranges)

    return [*compaction_steps(DECLARED, options, table.calls, group, place or Here(), of_units)]


def compacted(table: UpdateWriter, options: CompactionOptions = NOW, engine: Any = None, **where) -> CompactionResult:
    """The result of a compaction."""
    return CompactionResult.from_json(steps(table, options, engine, **where)[-1].result)


@pytest.mark.parametrize("buckets", [None, 4])
@pytest.mark.parametrize("is_shared", [True, False])
def test_all_ranges_are_compacted(buckets: int | None, is_shared: bool):
    table = with_updates(buckets=buckets, is_shared=is_shared)
    before, progress = table.values(), steps(table)
    result = CompactionResult.from_json(progress[-1].result)
    assert table.values() == before
    assert (result.counts.logical_rows, result.counts.written, result.counts.replaced) == (4, 8, 16)
    assert result.bound_ms == HOUR_MS + 2
    assert [(each.done, each.total) for each in progress] == [(4, 4), (4, 4)]  # one slice, and the end
    assert LEASE not in table.store.properties(TABLE)


def test_each_unit_takes_ranges_until_its_time_is_up():
    table, slices = with_updates(), []

    @contextmanager
    def new_slice():
        slices.append(table.values())
        yield

    engine = InProcess(table.calls, SUM, seconds=-1.0)
    compacted(table, engine=engine, place=Here(new_slice=new_slice))
    assert len(slices) > len(SPLITS)
    assert all(values == slices[0] for values in slices)
    assert len(table.update_keys()) == 8


def test_younger_updates_stay():
    table = with_updates()
    assert compacted(table, CompactionOptions()).bound_ms == 2
    assert len(table.update_keys()) == 16
    assert compacted(table, CompactionOptions(older_than=f"{HOUR_MS - 8}ms")).counts.replaced == 8


def test_table_with_an_interrupted_rollback_is_not_compacted():
    table = with_updates()
    note_rollback(table.store, TABLE, UnfinishedRollback(Interval(1, 5), (Interval(1, 5),)))
    with pytest.raises(RollbackUnfinishedError, match="a rollback of table"):
        compacted(table)
    note_rollback(table.store, TABLE, None)
    assert compacted(table).counts.written == 8


def test_table_without_a_committed_position_is_not_compacted():
    table = UpdateWriter()
    table.add(b"a", 10, {VALUE: b"1"})
    table.add(b"a", 20, {VALUE: b"1"})
    assert compacted(table) == CompactionResult()
    assert table.intervals(b"a") == [(10, 0), (20, 0)]


def test_other_tables_of_the_pipeline_may_be_complete_up_to_an_earlier_time():
    table = with_updates()
    table.commit(HOUR_MS + 1, "sums")
    assert compacted(table, others=("sums", "new")).bound_ms == HOUR_MS + 1
    last = update_id_of(HOUR_MS + 2, 0)
    assert {(key.start, key.end) for key in table.update_keys() if key.last >= last} == {(last, 0)}


def test_missing_table():
    table = UpdateWriter()
    with pytest.raises(NotFoundError, match='no table "other"'):
        [*compaction_steps(TableSpec("other"), NOW, table.calls, table.group(), Here(), lambda *_: None)]


def test_rows_of_another_processor_are_refused():
    table = with_updates()
    table.store.set_property(TABLE, UPDATES, SUMS, '{"processor": "max"}')
    with pytest.raises(UpdatesDifferError):
        compacted(table)
    assert table.store.calls == []


def test_a_second_one_at_once_is_refused():
    table = with_updates(is_shared=True)

    @contextmanager
    def other_starts():
        with pytest.raises(ConflictError) as refused:
            compacted(table)
        assert (refused.value.code, refused.value.exit_code) == ("locked", 4)
        yield

    compacted(table, place=Here(new_slice=other_starts))
    assert len(table.update_keys()) == 8
    assert compacted(table).counts.replaced == 0


def test_lease_of_another_process_ends_the_compaction():
    table = with_updates(is_shared=True)

    @contextmanager
    def suspended():
        taken_over(PropertyRegister(table.calls, TABLE, LEASE))
        yield

    with pytest.raises(ConflictError, match="other has taken it"):
        compacted(table, place=Here(new_slice=suspended))
    assert table.store.calls == []
    assert LEASE in table.store.properties(TABLE)


def available_later(table: UpdateWriter):
    """What surrounds slices: the store is available after the first."""

    @contextmanager
    def new_slice():
        yield
        table.store.calls_left = None

    return new_slice


class Away:
    """An engine whose store is unavailable for some slices."""

    def __init__(self, engine: InProcess, failures: int) -> None:
        self.engine = engine
        self.failures = failures

    def run_slice(self, target, check, ranges) -> CompactionSlice:
        if self.failures:
            self.failures -= 1
            return CompactionSlice(CompactionCounts(), ranges, unavailable())
        return self.engine.run_slice(target, check, ranges)


def test_unavailable_store_blocks_it_for_a_while(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ingest.service.jobs.slices.PAUSE_S", 0.0)
    table = with_updates()
    progress = steps(table, engine=Away(InProcess(table.calls, SUM), 3))
    assert [each.blocked for each in progress] == ["no answer", "no answer", "no answer", "", ""]
    assert len(table.update_keys()) == 8
    monkeypatch.setattr("ingest.service.jobs.slices.UNAVAILABLE_S", 0.0)
    with pytest.raises(IngestError, match="no answer"):
        steps(with_updates(), engine=Away(InProcess(table.calls, SUM), 1))
    assert LEASE not in table.store.properties(TABLE)


def test_rows_are_counted_once_though_the_store_was_unavailable_in_a_range(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ingest.service.jobs.slices.PAUSE_S", 0.0)
    for module in ("compaction", "leased_writes"):
        monkeypatch.setattr(f"sinks.rewriting.{module}.CALL_ROWS", 1)
    once, table = with_updates(buckets=1), with_updates(buckets=1)
    table.store.calls_left, table.store.error = 5, unavailable()
    counts, expected = compacted(table, place=Here(new_slice=available_later(table))).counts, compacted(once).counts
    assert table.values() == once.values()
    assert counts.logical_rows == expected.logical_rows
    assert abs(counts.update_rows - expected.update_rows) <= 1  # the rows of the call that failed are read again


def test_deletes_are_flushed_after_a_compaction(monkeypatch: pytest.MonkeyPatch):
    table, flushed = with_updates(), []
    monkeypatch.setattr(table.store, "flush_removed", flushed.append)
    compacted(table)
    assert flushed == [TABLE]
    compacted(table)
    assert flushed == [TABLE]


def test_store_that_is_unavailable_in_a_unit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ingest.service.jobs.slices.PAUSE_S", 0.0)
    table = with_updates()
    table.store.calls_left, table.store.error = 1, unavailable()
    progress = steps(table, place=Here(new_slice=available_later(table)))
    assert [each.blocked for each in progress] == ["no answer", "", ""]
    assert len(table.update_keys()) == 8


def test_cancelled():
    table, place = with_updates(), Here()
    place.cancellation.request()
    with pytest.raises(ConflictError, match="cancelled"):
        steps(table, place=place)
    assert table.store.calls == []
    assert LEASE not in table.store.properties(TABLE)


def test_dry_run_takes_no_lease():
    table = with_updates()
    left_lease(PropertyRegister(table.calls, TABLE, LEASE))
    assert compacted(table, place=Here(is_dry_run=True)).counts.replaced == 16
    assert len(table.update_keys()) == 16


def test_result_as_plain_data():
    result = compacted(with_updates())
    again = CompactionResult.from_json(result.to_json())
    assert again.to_json() == result.to_json()


def test_options_of_a_request():
    job = job_of("compaction", {"table": "t", "window": "5ms"})
    assert isinstance(job, Compaction)
    assert (job.subject, job.options) == ("t", CompactionOptions(window="5ms"))
    assert CompactionOptions(older_than="1h", window="1h") == CompactionOptions()
    for wrong in (
        {},
        {"table": 1},
        {"table": "t", "window": "0s"},
        {"table": "t", "windw": "1h"},
        {"table": "t", "window": 5},
    ):
        with pytest.raises(ConfigError):
            job_of("compaction", wrong)
    with pytest.raises(NotFoundError, match='did you mean "compaction"'):
        job_of("compactoin", {"table": "t"})
