"""The tasks of a compaction, in this process: what a task returns, and what the driver makes of it."""

from pathlib import Path

import orjson
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

from ingest.api import ConflictError, Disposition, IngestError, Scan, Store, StoreUnavailableError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.plan.assemble import plan_of
from ingest.plan.codec import packed
from ingest.spark.jobs import compaction as module
from ingest.spark.jobs.compaction import Work, compact_shares
from sinks.rewriting.compaction import CompactionTarget
from sinks.rewriting.groups_of_table import Range
from sinks.rewriting.table_lease import LeaseCheck, TableLease
from sinks.rewriting.units import UnitResult
from sinks.rocksdb.store import RocksDBStore
from sinks.rowkeys.row_format import RowFormat
from sinks.updates.compaction import CompactionRules
from tests.support.counters import IDENTITY, opened, written
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
        lease = TableLease("counters", "compaction")
        lease.take(store)
        return lease.check


def unit(plan: bytes, *shares: list[Range], seconds: float = 60.0, lease: LeaseCheck | None = None) -> UnitResult:
    """A job with a task for each share."""
    target = CompactionTarget("counters", RowFormat(None, IDENTITY), CompactionRules(FOREVER))
    work = Work(plan, "local", target, lease or check(), shares, seconds)
    numbers = [pa.RecordBatch.from_arrays([pa.array([number])], names=["id"]) for number in range(len(shares))]
    results = [result for batch in compact_shares(work, numbers) for result in batch.column("result").to_pylist()]
    return module._joined([orjson.loads(result) for result in results])


def keys() -> int:
    with opened() as store:
        return sum(1 for _ in store.scan("counters", Scan()))


def test_each_task_compacts_its_share(plan: bytes):
    result = unit(plan, [ALL[0]], [ALL[1]])
    assert (result.counts.keys, result.counts.replaced, result.remaining, result.error) == (2, 12, [], None)
    assert keys() == 2


def test_tasks_return_what_remains(plan: bytes):
    lease = check()
    result = unit(plan, [*ALL], seconds=-1.0, lease=lease)
    assert result.counts.keys == 1
    assert result.remaining == [(b"a\x00\x80", b"b"), (b"b", None)]
    assert keys() == 7
    result = unit(plan, [*result.remaining], lease=lease)
    assert (result.remaining, keys()) == ([], 2)


def test_unavailable_store_is_no_error_of_the_job(plan: bytes, monkeypatch: pytest.MonkeyPatch):
    lease = check()

    def away(_store: Store) -> None:
        raise StoreUnavailableError("no answer", hint="wait")

    monkeypatch.setattr(RocksDBStore, "open", away)
    result = unit(plan, [*ALL], lease=lease)
    assert result.remaining == ALL
    assert result.error is not None
    assert (result.error.code, result.error.message, result.error.hint) == ("store_unavailable", "no answer", "wait")
    assert result.error.disposition is Disposition.RETRY


def test_lost_lease_ends_the_job(plan: bytes):
    lease = check()
    with opened() as store:
        TableLease("counters", "rollback", process="other").take(store)
    with pytest.raises(IngestError, match="another process has taken it") as lost:
        unit(plan, [*ALL], lease=lease)
    assert (lost.value.code, lost.value.exit_code) == ("table_lease_lost", ConflictError("").exit_code)
    assert keys() == 12


class Session:
    """A fake of a Spark session whose jobs fail."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.parts: list[int] = []

    def range(self, _start: int, _end: int, _step: int, parts: int) -> "Session":
        self.parts.append(parts)
        return self

    def mapInArrow(self, *_arguments: object) -> "Session":  # noqa: N802 - Spark's name
        return self

    def collect(self) -> None:
        raise self.error


@pytest.mark.usefixtures("plan")
def test_failed_job_is_repeated():
    configuration = load("p.yaml", env={}, lookup=Catalog())
    session = Session(PySparkException("a worker was killed"))
    found = plan_of(configuration, configuration.pipelines["hits"], Catalog())
    engine = module.SparkEngine(session, found, "local", 8, seconds=1.0)
    target = CompactionTarget("counters", RowFormat(None, IDENTITY), CompactionRules(FOREVER))
    result = engine.unit(target, check(), ALL)
    assert (session.parts, result.remaining) == ([2], ALL)
    assert result.error is not None
    assert (result.error.code, result.error.disposition) == ("job_failed", Disposition.RETRY)
