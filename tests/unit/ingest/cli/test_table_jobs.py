"""Compactions and rollbacks as jobs of a service that has an embedded store open; commands that request them."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from ingest.api import ConflictError, Scan, StoreUnavailableError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.formats.times import moment
from ingest.observe.metrics import Metrics
from ingest.plan.assemble import plan_of
from ingest.service.jobs.cancellation import Cancellation
from ingest.service.jobs.job_run import JobContext, JobRun, Progress
from ingest.service.rewriting.compaction import Compaction
from ingest.service.rewriting.rollback import Rollback, RollbackOptions, RowsStraddleError
from ingest.service.stores import SharedStores
from sinks.rewriting.rolled_back import rolled_back
from sinks.rewriting.table_lease import LEASE
from sinks.rocksdb.store import RocksDBStore
from sinks.updates.intervals import Interval
from sinks.updates.options import CompactionOptions
from tests.support.counters import HOUR, T, commit, opened, written
from tests.support.endpoint import serving_jobs

NOW = CompactionOptions(older_than="0s")


def rollback(first_ms: int, last_ms: int, *, strict: bool = False) -> Rollback:
    options = {"from": moment(first_ms), "to": moment(last_ms), "strict": strict}
    return Rollback("counters", RollbackOptions.model_validate(options))


@pytest.fixture
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configuration:
    monkeypatch.chdir(tmp_path)
    written(tmp_path)
    commit(T + 5 * HOUR // 2)
    return load("p.yaml", env={}, lookup=Catalog())


@pytest.fixture
def shared(configuration: Configuration) -> Iterator[SimpleNamespace]:
    """What the pipelines of a service share; one of them has the store open."""
    catalog = Catalog()
    plan = plan_of(configuration, configuration.pipelines["hits"], catalog)
    stores = SharedStores(configuration, [plan])
    with ExitStack() as used:
        stores.used_by(plan, used)["local"].open()
        yield SimpleNamespace(
            configuration=configuration, catalog=catalog, stores=stores, metrics=Metrics(["hits"], process=False)
        )


def run_of(shared: SimpleNamespace, reports: list[Progress] | None = None) -> JobRun:
    report = (lambda _progress: None) if reports is None else reports.append
    return JobRun(JobContext(shared, None, 1), 0, Cancellation(), report)


def test_service_compacts_its_own_store(shared: SimpleNamespace):
    with pytest.raises(ConflictError), opened():
        pass  # only the service may write it
    reports: list[Progress] = []
    Compaction("counters", NOW).run(run_of(shared, reports))
    assert (reports[-1].done, reports[-1].total) == (1, 1)
    assert reports[-1].result["replaced"] == 12
    text = shared.metrics.render()[1].decode()
    for line in (
        'attr2hbase_update_rows_per_key{quantile="0.99",table="counters"} 6.0',
        'attr2hbase_compaction_backlog_rows{table="counters"} 12.0',
        'attr2hbase_compaction_read_rows_total{table="counters"} 2.0',
        'attr2hbase_compaction_read_update_rows_total{table="counters"} 12.0',
        'attr2hbase_compaction_rows_total{table="counters"} 12.0',
        'attr2hbase_compaction_unmerged{table="counters"} 0.0',
    ):
        assert line in text
    with shared.stores.in_use()["local"].held() as store:
        assert len(list(store.scan("counters", Scan()))) == 6
        assert LEASE not in store.properties("counters")


def test_pipelines_write_between_the_calls(shared: SimpleNamespace, monkeypatch: pytest.MonkeyPatch):
    """A compaction holds the store for one call at a time."""
    held = shared.stores.in_use()["local"]
    removed = []
    remove_rows = RocksDBStore.remove_rows

    def recording(store: RocksDBStore, table: str, deletes) -> None:
        removed.append(held._lock._is_owned())
        remove_rows(store, table, deletes)

    monkeypatch.setattr(RocksDBStore, "remove_rows", recording)
    run = run_of(shared)
    with held.held():
        assert held._lock._is_owned()
    Compaction("counters", NOW).run(run)
    assert removed == [True]
    assert not held._lock._is_owned()


def test_cancelled_jobs_end(shared: SimpleNamespace):
    for job in (
        Compaction("counters", NOW),
        rollback(T, T + HOUR),
    ):
        run = run_of(shared)
        run.cancellation.request()
        with pytest.raises(ConflictError, match="was cancelled"):
            job.run(run)
        with shared.stores.in_use()["local"].held() as store:
            assert LEASE not in store.properties("counters")


def test_service_rolls_its_own_store_back(shared: SimpleNamespace):
    reports: list[Progress] = []
    rollback(T, T + HOUR).run(run_of(shared, reports))
    assert reports[-1].result["deleted"] == 6
    with shared.stores.in_use()["local"].held() as store:
        assert rolled_back(store, "counters") == (Interval(T, T + HOUR),)
        assert len(list(store.scan("counters", Scan()))) == 6


def test_strict_rollback_of_a_service_deletes_nothing(shared: SimpleNamespace):
    Compaction("counters", NOW).run(run_of(shared))
    with pytest.raises(RowsStraddleError) as refused:
        rollback(T + 1, T + HOUR, strict=True).run(run_of(shared))
    assert refused.value.exit_code == 1
    with shared.stores.in_use()["local"].held() as store:
        assert len(list(store.scan("counters", Scan()))) == 6


def test_commands_let_the_service_work(ingest, configuration: Configuration, shared: SimpleNamespace):
    with serving_jobs(shared):
        done = ingest("compact", "-f", "p.yaml", "counters", "--older-than", "0s", "--output", "json")
        assert done.code == 0, done.err
        assert (done.json["replaced"], done.json["written"]) == (12, 6)
        interval = ("--from", "2023-11-14T22:00:00Z", "--to", "2023-11-14T22:59:59.999Z", "--yes")
        back = ingest("rollback", "-f", "p.yaml", "counters", *interval, "--output", "json")
        assert back.code == 0, back.err
        assert back.json["deleted"] == 2
        locked = ingest("compact", "-f", "p.yaml", "counters", "--own-process")
        assert (locked.code, "is held by process" in locked.err) == (4, True)
        refused = ingest("compact", "-f", "p.yaml", "plain")
        assert (refused.code, "declares no deferred updates" in refused.err) == (2, True)


def test_failed_job_ends_the_command(
    ingest, configuration: Configuration, shared: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
):
    def away(*_arguments: object) -> None:
        raise StoreUnavailableError("the disk is full")

    monkeypatch.setattr("ingest.service.jobs.slices.UNAVAILABLE_S", 0.0)
    monkeypatch.setattr("sinks.writing.retry.time.sleep", lambda _seconds: None)
    with serving_jobs(shared):
        monkeypatch.setattr(RocksDBStore, "remove_rows", away)
        failed = ingest("compact", "-f", "p.yaml", "counters", "--older-than", "0s")
        assert (failed.code, "the disk is full" in failed.err) == (StoreUnavailableError("").exit_code, True)
