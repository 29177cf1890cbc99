"""The compaction of a table: units of work, the lease, failures of the store, and the job of a service."""

import threading
from contextlib import contextmanager

import pytest

from ingest.api import ConfigError, ConflictError, IngestError, NotFoundError, TableSpec, UpdatesDifferError
from ingest.service.jobs.cancellation import Cancellation
from ingest.service.rewriting.compaction import CompactionResult, TableCompaction
from ingest.service.rewriting.compaction_request import CompactionRequest
from ingest.service.rewriting.table_lease import leased, one_at_a_time
from sinks.rewriting.compaction import CompactionCounts
from sinks.rewriting.table_lease import LEASE, TableLease
from sinks.rewriting.units import InProcess, UnitResult
from sinks.rowkeys.row_format import UPDATES
from sinks.updates.keys import start_of
from tests.support.update_rows import SUM, VALUE
from tests.support.updated_table import SPLITS, TABLE, UpdatedTable, unavailable

NOW = CompactionRequest(older_than_ms=0)
HOUR_MS = 3_600_000
SUMS = '{"processor": "sum"}'
DECLARED = TableSpec(TABLE, updates=SUMS)


def with_updates(*, is_shared: bool = False, buckets: int | None = None) -> UpdatedTable:
    table = UpdatedTable(is_shared=is_shared, buckets=buckets)
    for row in (b"a", b"d", b"n", b"z"):
        for time_ms in (5, 10, HOUR_MS + 1, HOUR_MS + 2):
            table.add(row, start_of(time_ms, 0), {VALUE: b"1"})
    table.mark(HOUR_MS + 2)
    return table


def compaction(
    table: UpdatedTable, request: CompactionRequest = NOW, engine=None, *, others: tuple[str, ...] = (), **options
) -> TableCompaction:
    engine = engine or InProcess(table.calls, SUM)
    return TableCompaction(DECLARED, request, table.calls, engine, table.group(*others), **options)


@pytest.mark.parametrize("buckets", [None, 4])
@pytest.mark.parametrize("is_shared", [True, False])
def test_all_ranges_are_compacted(buckets: int | None, is_shared: bool):
    table = with_updates(buckets=buckets, is_shared=is_shared)
    before, progress = table.values(), []
    result = compaction(table).run(on_progress=lambda _result, done, total: progress.append((done, total)))
    assert table.values() == before
    assert (result.counts.original_rows, result.counts.written, result.counts.replaced) == (4, 8, 16)
    assert result.bound_ms == HOUR_MS + 2
    assert progress == [(4, 4)]
    assert LEASE not in table.store.properties(TABLE)


def test_each_unit_takes_ranges_until_its_time_is_up():
    table, units = with_updates(), []

    @contextmanager
    def unit():
        units.append(table.values())
        yield

    engine = InProcess(table.calls, SUM, seconds=-1.0)
    compaction(table, engine=engine, unit_of_work=unit).run()
    assert len(units) > len(SPLITS)
    assert all(values == units[0] for values in units)
    assert len(table.update_keys()) == 8


def test_younger_updates_stay():
    table = with_updates()
    assert compaction(table, CompactionRequest()).run().bound_ms == 2
    assert len(table.update_keys()) == 16
    assert compaction(table, CompactionRequest(older_than_ms=HOUR_MS - 8)).run().counts.replaced == 8


def test_table_without_a_mark_is_not_compacted():
    table = UpdatedTable()
    table.add(b"a", 10, {VALUE: b"1"})
    table.add(b"a", 20, {VALUE: b"1"})
    assert compaction(table).run() == CompactionResult()
    assert table.intervals(b"a") == [(10, 0), (20, 0)]


def test_other_tables_of_the_pipeline_may_be_complete_up_to_an_earlier_time():
    table = with_updates()
    table.mark(HOUR_MS + 1, "sums")
    assert compaction(table, others=("sums", "new")).run().bound_ms == HOUR_MS + 1
    last = start_of(HOUR_MS + 2, 0)
    assert {(key.start, key.end) for key in table.update_keys() if key.last >= last} == {(last, 0)}


def test_missing_table():
    table = UpdatedTable()
    with pytest.raises(NotFoundError, match='no table "other"'):
        TableCompaction(TableSpec("other"), NOW, table.calls, InProcess(table.calls, SUM), table.group()).run()


def test_rows_of_another_processor_are_refused():
    table = with_updates()
    table.store.set_property(TABLE, UPDATES, SUMS, '{"processor": "max"}')
    with pytest.raises(UpdatesDifferError):
        compaction(table).run()
    assert table.store.calls == []


def test_a_second_one_at_once_is_refused():
    table = with_updates(is_shared=True)

    @contextmanager
    def other_starts():
        with pytest.raises(ConflictError) as refused:
            compaction(table).run()
        assert (refused.value.code, refused.value.exit_code) == ("table_in_use", 4)
        yield

    compaction(table, unit_of_work=other_starts).run()
    assert len(table.update_keys()) == 8
    assert compaction(table).run().counts.replaced == 0


def test_lease_of_another_process_ends_the_compaction():
    table = with_updates(is_shared=True)

    @contextmanager
    def taken_over():
        later = TableLease(TABLE, "compaction", clock_ms=lambda: 2**50)
        later.take(table.store)
        yield

    with pytest.raises(ConflictError, match="another process has taken it"):
        compaction(table, unit_of_work=taken_over).run()
    assert table.store.calls == []
    assert LEASE in table.store.properties(TABLE)


class Away:
    """An engine whose store is unavailable for some units."""

    def __init__(self, engine: InProcess, failures: int) -> None:
        self.engine = engine
        self.failures = failures

    def unit(self, target, check, ranges) -> UnitResult:
        if self.failures:
            self.failures -= 1
            return UnitResult(CompactionCounts(), ranges, unavailable())
        return self.engine.unit(target, check, ranges)


def test_unavailable_store_blocks_it_for_a_while(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ingest.service.jobs.units_of_work.PAUSE_S", 0.0)
    table, reasons = with_updates(), []
    compaction(table, engine=Away(InProcess(table.calls, SUM), 3)).run(on_blocked=reasons.append)
    assert reasons == ["no answer", "no answer", "no answer", ""]
    assert len(table.update_keys()) == 8
    monkeypatch.setattr("ingest.service.jobs.units_of_work.UNAVAILABLE_S", 0.0)
    with pytest.raises(IngestError, match="no answer"):
        compaction(with_updates(), engine=Away(InProcess(table.calls, SUM), 1)).run()
    assert LEASE not in table.store.properties(TABLE)


def test_rows_are_counted_once_though_the_store_was_unavailable_in_a_range(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ingest.service.jobs.units_of_work.PAUSE_S", 0.0)
    for module in ("compaction", "leased_writes"):
        monkeypatch.setattr(f"sinks.rewriting.{module}.CALL_ROWS", 1)
    once, table = with_updates(buckets=1), with_updates(buckets=1)
    table.store.calls_left, table.store.error = 5, unavailable()

    def blocked(_reason: str) -> None:
        table.store.calls_left = None

    counts, expected = compaction(table).run(on_blocked=blocked).counts, compaction(once).run().counts
    assert table.values() == once.values()
    assert counts.original_rows == expected.original_rows
    assert abs(counts.update_rows - expected.update_rows) <= 1  # the rows of the call that failed are read again


def test_deletes_are_flushed_after_a_compaction(monkeypatch: pytest.MonkeyPatch):
    table, flushed = with_updates(), []
    monkeypatch.setattr(table.store, "flush_removed", flushed.append)
    compaction(table).run()
    assert flushed == [TABLE]
    compaction(table).run()
    assert flushed == [TABLE]


def test_store_that_is_unavailable_in_a_unit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ingest.service.jobs.units_of_work.PAUSE_S", 0.0)
    table, reasons = with_updates(), []
    table.store.calls_left, table.store.error = 1, unavailable()

    def blocked(reason: str) -> None:
        table.store.calls_left = None
        reasons.append(reason)

    compaction(table).run(on_blocked=blocked)
    assert reasons == ["no answer", ""]
    assert len(table.update_keys()) == 8


def test_cancelled():
    table, cancellation = with_updates(), Cancellation()
    cancellation.request()
    with pytest.raises(ConflictError, match="cancelled"):
        compaction(table).run(cancellation=cancellation)
    assert table.store.calls == []
    assert LEASE not in table.store.properties(TABLE)


def test_dry_run_takes_no_lease():
    table = with_updates()
    TableLease(TABLE, "compaction").take(table.store)
    assert compaction(table).run(is_dry_run=True).counts.replaced == 16
    assert len(table.update_keys()) == 16


def test_result_and_request_as_plain_data():
    table = with_updates()
    result = compaction(table).run()
    again = CompactionResult.from_json(result.to_json())
    assert again.to_json() == result.to_json()
    assert CompactionRequest.of(b"") == CompactionRequest(older_than_ms=HOUR_MS, window_ms=HOUR_MS)
    assert CompactionRequest.of(b'{"window_ms": 5}').window_ms == 5
    for wrong in (b"[]", b'{"window_ms": 0}', b'{"older_than_ms": -1}', b'{"window": 1}'):
        with pytest.raises(ConfigError):
            CompactionRequest.of(wrong)
    assert CompactionRequest.from_durations(None, None) == CompactionRequest()
    assert CompactionRequest.from_durations("0s", "1d") == CompactionRequest(older_than_ms=0, window_ms=24 * HOUR_MS)


def test_released_lease_that_cannot_be_reached_ends_by_itself():
    table = with_updates()
    calls = table.calls
    lease = TableLease(TABLE, "compaction")
    with leased(calls, lease):
        table.store.set_property = _raise


def test_lease_is_renewed_in_the_meantime():
    table, renewed = with_updates(), threading.Event()
    lease = TableLease(TABLE, "compaction")
    renew, failures = lease.renew, [unavailable()]

    def renewing(store) -> None:
        if failures:
            raise failures.pop()
        renew(store)
        renewed.set()

    lease.renew = renewing
    with leased(table.calls, lease, renew_s=0.001) as check:
        assert renewed.wait(10)
        check(table.store)
    assert LEASE not in table.store.properties(TABLE)


def test_store_is_used_by_one_thread_at_a_time():
    access = one_at_a_time(with_updates().store)
    with access():
        waiting = threading.Thread(target=lambda: access().__enter__(), daemon=True)
        waiting.start()
        waiting.join(0.05)
        assert waiting.is_alive()
    waiting.join(10)
    assert not waiting.is_alive()


def _raise(*_arguments: object) -> bool:
    raise unavailable()
