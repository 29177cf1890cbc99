"""The tasks of a compaction, in this process: what a task returns, and what the driver makes of it."""

from pathlib import Path

import orjson
import pytest
from pyspark.errors import PySparkException

from ingest.api import ConflictError, Disposition, IngestError, Scan, Store, StoreUnavailableError, TableSpec
from ingest.catalog import Catalog
from ingest.config import load
from ingest.durable.property_register import PropertyRegister
from ingest.plan.assemble import plan_of
from ingest.plan.codec import packed
from ingest.service.rewriting.compaction import (
    CompactionResult,
    CompactionWork,
    compaction_steps,
    joined,
    slice_on_spark,
    task_result,
)
from ingest.service.rewriting.table_group import TableGroup
from sinks.rewriting.compaction import CompactionSlice, CompactionTarget
from sinks.rewriting.store_calls import StoreCalls, one_at_a_time
from sinks.rewriting.table_lease import LEASE, LeaseCheck
from sinks.rocksdb.store import RocksDBStore
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.partitions import Range
from sinks.updates.compaction import CompactionRules
from sinks.updates.options import CompactionOptions
from tests.support.counters import HOUR, IDENTITY, T, commit, opened, written
from tests.support.jobs import Session
from tests.support.leases import left_lease, taken_over
from tests.support.place import Here
from tests.support.update_rows import FOREVER

ALL: list[Range] = [(b"", b"b"), (b"b", None)]


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """The plan of a pipeline whose store each task may open, as HBase."""
    monkeypatch.chdir(tmp_path)
    configuration = load(written(tmp_path), env={}, lookup=Catalog())
    return packed(plan_of(configuration, configuration.pipelines["hits"], Catalog()))


def check() -> LeaseCheck:
    with opened() as store:
        return LeaseCheck("counters", left_lease(PropertyRegister(StoreCalls(one_at_a_time(store)), "counters", LEASE)))


def run_slice(
    plan: bytes, *of_tasks: list[Range], seconds: float = 60.0, lease: LeaseCheck | None = None
) -> CompactionSlice:
    """A job with a task for each of these."""
    target = CompactionTarget("counters", RowFormat(None, IDENTITY), CompactionRules(FOREVER))
    work = CompactionWork(plan, "local", target, lease or check(), seconds)
    return joined([orjson.loads(orjson.dumps(task_result(work, ranges))) for ranges in of_tasks])


def keys() -> int:
    with opened() as store:
        return sum(1 for _ in store.scan("counters", Scan()))


def test_each_task_compacts_its_ranges(plan: bytes):
    result = run_slice(plan, [ALL[0]], [ALL[1]])
    assert (result.counts.logical_rows, result.counts.replaced, result.remaining, result.error) == (2, 12, [], None)
    assert keys() == 2


def test_tasks_return_what_remains(plan: bytes):
    lease = check()
    result = run_slice(plan, [*ALL], seconds=-1.0, lease=lease)
    assert result.counts.logical_rows == 1
    assert result.remaining == [(b"a\x00\x80", b"b"), (b"b", None)]
    assert keys() == 7
    result = run_slice(plan, [*result.remaining], lease=lease)
    assert (result.remaining, keys()) == ([], 2)


def test_unavailable_store_is_no_error_of_the_job(plan: bytes, monkeypatch: pytest.MonkeyPatch):
    lease = check()

    def away(_store: Store) -> None:
        raise StoreUnavailableError("no answer", hint="wait")

    monkeypatch.setattr(RocksDBStore, "open", away)
    result = run_slice(plan, [*ALL], lease=lease)
    assert result.remaining == ALL
    assert result.error is not None
    assert (result.error.code, result.error.message, result.error.hint) == ("store_unavailable", "no answer", "wait")
    assert result.error.disposition is Disposition.RETRY


def test_lost_lease_ends_the_job(plan: bytes):
    lease = check()
    with opened() as store:
        taken_over(PropertyRegister(StoreCalls(one_at_a_time(store)), "counters", LEASE), "rollback")
    with pytest.raises(IngestError, match="rollback has taken it") as lost:
        run_slice(plan, [*ALL], lease=lease)
    assert (lost.value.code, lost.value.exit_code) == ("lease_lost", ConflictError("").exit_code)
    assert keys() == 12


def test_job_that_spark_could_not_run_returns_all_ranges(plan: bytes):
    session = Session(PySparkException("a worker was killed"))
    target = CompactionTarget("counters", RowFormat(None, IDENTITY), CompactionRules(FOREVER))
    result = slice_on_spark(session, 8, CompactionWork(plan, "local", target, check(), 9.0), ALL)
    assert (session.tasks, result.remaining, keys()) == ([2], ALL, 12)
    assert result.error is not None
    assert (result.error.code, result.error.disposition) == ("spark_job_failed", Disposition.RETRY)


def test_failed_job_is_repeated(plan: bytes, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ingest.service.jobs.slices.PAUSE_S", 0.0)
    commit(T + 3 * HOUR)
    session, calls = Session(PySparkException("a worker was killed")), StoreCalls(opened)
    group = TableGroup("hits", {"local": ["counters"]}, {"local": calls}, Path("no-replay"))
    options = CompactionOptions(older_than="0s", window="24h")

    def engine(target, check):
        return lambda ranges: slice_on_spark(session, 8, CompactionWork(plan, "local", target, check, 9.0), ranges)

    declared = TableSpec("counters", updates=IDENTITY)
    steps = [*compaction_steps(declared, options, calls, group, Here(), engine)]
    assert (session.tasks, CompactionResult.from_json(steps[-1].result).counts.replaced) == ([1, 1], 12)
    assert [each.blocked for each in steps] == ["a Spark job failed; the log has the reason", "", ""]
