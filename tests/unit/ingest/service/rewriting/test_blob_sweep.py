"""A sweep as a job of a service that has an embedded store open."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from ingest.api import ConfigError, ConflictError, NotFoundError
from ingest.catalog import Catalog
from ingest.cli import main
from ingest.clock import now_ms
from ingest.config import load
from ingest.config.model import Configuration
from ingest.observe.metrics import Metrics
from ingest.plan.assemble import plan_of
from ingest.service.endpoint.client import ServiceClient
from ingest.service.jobs.cancellation import Cancellation
from ingest.service.jobs.job_run import JobContext, JobRun, Progress
from ingest.service.jobs.schedule import DAY_S, Daily
from ingest.service.rewriting import blob_sweep
from ingest.service.rewriting.blob_sweep import BlobSweep, BlobSweepOptions
from ingest.service.stores import SharedStores
from sinks.blobs.blob_options import BlobOptions
from sinks.blobs.blob_store import BlobStore
from sinks.files.local_root import LocalRoot
from tests.support.dumps import make_dump, rows_of
from tests.support.endpoint import serving_jobs

BLOBS = 7


@pytest.fixture
def configuration(tmp_path: Path) -> Configuration:
    pipeline = {
        "source": {"files": {"path": "./in"}},
        "decorators": [{"value": {"attribute": "2hb_", "value": "%{offset}"}}],
        "sinks": [{"attr2hbase": {"table": "events", "write_body": "f:body"}}],
    }
    content = {
        "version": 1,
        "stores": {"local": {"rocksdb": {"path": str(tmp_path / "store")}}},
        "tables": {
            "events": {"families": {"f": {}}, "blobs": {"sweep_at": "03:00"}},
            "plain": {"families": {"f": {}}},
        },
        "state_dir": str(tmp_path / "state"),
        "pipelines": {"p": pipeline},
    }
    file = tmp_path / "p.yaml"
    file.write_text(yaml.safe_dump(content))
    return load(file, env={}, lookup=Catalog())


@pytest.fixture
def shared(configuration: Configuration) -> Iterator[SimpleNamespace]:
    """What the pipelines of a service share; there are old blobs, of which one has a reference."""
    catalog = Catalog()
    stores = SharedStores(configuration, [plan_of(configuration, configuration.pipelines["p"], catalog)])
    with ExitStack() as used:
        held = stores.used_by(plan_of(configuration, configuration.pipelines["p"], catalog), used)["local"]
        with held.held() as store:
            two_days_ago_ms = now_ms() - 2 * 24 * 3_600_000
            blobs = BlobStore(store, "events_blobs", BlobOptions(), clock_ms=lambda: two_days_ago_ms)
            blobs.prepare()
            for number in range(BLOBS):
                blobs.put_bytes(b"%d" % number, references=[b"kept"] if number == 3 else [])
        yield SimpleNamespace(
            configuration=configuration, catalog=catalog, stores=stores, metrics=Metrics(["p"], process=False)
        )


def sweep_of(table: str) -> BlobSweep:
    return BlobSweep(table, BlobSweepOptions())


def run_of(shared: SimpleNamespace, reports: list[Progress] | None = None) -> JobRun:
    report = (lambda _progress: None) if reports is None else reports.append
    return JobRun(JobContext(shared, None, 1), 0, Cancellation(), report)


@pytest.mark.parametrize("page", [1, 3, 7, 50])
def test_service_sweeps_some_blobs_at_a_time(shared: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, page: int):
    monkeypatch.setattr(blob_sweep, "PAGE_BLOBS", page)
    reports: list[Progress] = []
    sweep_of("events").run(run_of(shared, reports))
    result = reports[-1].result or {}
    assert (result["blobs"], result["purged"], result["referenced"]) == (BLOBS, BLOBS - 1, 1)
    assert (reports[-1].done, reports[-1].total) == (BLOBS, BLOBS)
    assert len(reports) == BLOBS // page + 2
    text = shared.metrics.render()[1].decode()
    for line in (
        'attr2hbase_blobs_swept_total{table="events"} 6.0',
        'attr2hbase_blobs_swept_bytes_total{table="events"} 6.0',
        'attr2hbase_blobs{state="referenced",table="events"} 1.0',
    ):
        assert line in text
    assert not shared.stores.in_use()["local"]._lock._is_owned()


def test_blobs_that_a_dump_may_name_stay(shared: SimpleNamespace, tmp_path: Path):
    file = tmp_path / "p.yaml"
    file.write_text(f"{file.read_text()}\ndump: {{root: {tmp_path}/dumps}}\n")
    shared.configuration = load(file, env={}, lookup=Catalog())
    make_dump(LocalRoot(tmp_path / "dumps"), {"events": [rows_of(b"r")]})  # before the blobs were stored
    reports: list[Progress] = []
    sweep_of("events").run(run_of(shared, reports))
    result = reports[-1].result or {}
    assert (result["blobs"], result["purged"], result["named"]) == (BLOBS, 0, BLOBS - 1)
    assert 'attr2hbase_blobs{state="named",table="events"} 6.0' in shared.metrics.render()[1].decode()


def test_cancelled_sweep_ends(shared: SimpleNamespace):
    run = run_of(shared)
    run.cancellation.request()
    with pytest.raises(ConflictError, match="was cancelled"):
        sweep_of("events").run(run)


def test_table_without_blobs_is_refused(shared: SimpleNamespace):
    with pytest.raises(ConfigError, match="no blob store"):
        sweep_of("plain").check(shared)
    with pytest.raises(NotFoundError):
        sweep_of("absent").check(shared)


def test_job_is_that_of_its_table_and_pipelines(shared: SimpleNamespace):
    job = sweep_of("events")
    job.check(shared)
    assert (job.uses(["p"]), job.uses(["other"])) == (True, False)
    assert (job.is_same(sweep_of("events")), job.is_same(sweep_of("plain"))) == (True, False)


def test_command_lets_the_service_sweep(
    configuration: Configuration, shared: SimpleNamespace, capfd: pytest.CaptureFixture[str]
):
    with serving_jobs(shared):
        assert main(["admin", "blob", "sweep", "-f", configuration.path, "events", "--output", "json"]) == 0
        out, err = capfd.readouterr()
        result = json.loads(out.splitlines()[-1])  # the log of the service comes before it
        assert (result["blobs"], result["purged"], result["dry_run"]) == (BLOBS, BLOBS - 1, False)
        assert (len(result["ids"]), result["named_ids"]) == (BLOBS - 1, [])
        assert "the running service sweeps the blobs" in err
        assert main(["admin", "blob", "sweep", "-f", configuration.path, "events", "--own-process"]) == 4
        assert main(["admin", "blob", "sweep", "-f", configuration.path, "plain"]) == 2
        with pytest.raises(ConfigError):
            ServiceClient(configuration).submit("blob-sweep", {"table": "plain"})


def test_tables_with_a_time_are_swept_each_day(configuration: Configuration):
    (found,) = BlobSweep.scheduled(configuration)
    assert (found.when, found.tables, found.job.subject) == (Daily(3 * 3600), ("events",), "events")
    metrics = Metrics()
    BlobSweep.schedule_changed(metrics, [found], 10.0 * DAY_S)
    text = metrics.render()[1].decode()
    assert f'attr2hbase_blob_sweep_last_success_timestamp_seconds{{table="events"}} {10.0 * DAY_S}' in text
    assert 'attr2hbase_blob_sweep_interval_seconds{table="events"} 86400.0' in text
