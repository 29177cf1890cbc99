"""Joins and cleanups of an archive as jobs of the service that writes it, and the command of a re-run beside it."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from ingest.api import ConfigError, ConflictError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.observe.metrics import Metrics
from ingest.service.archive.rerun import ArchiveRerun, RerunOptions
from ingest.service.job_kinds import job_of
from ingest.service.jobs.scheduler import Jobs
from ingest.spark.state import checkpoint_folder
from ingest.spark.streaming.checkpoint import Checkpoint
from sinks.archive.partition import Partition
from sinks.archive.rewrites import announcements
from sinks.files.local_root import LocalRoot
from tests.support.archives import DAY_MS, START_S, Writer, event, visible
from tests.support.checkpoint import acknowledge
from tests.support.endpoint import serving_jobs
from tests.support.waiting import reached

FILE = """
version: 1
state_dir: ./state
pipelines:
  p:
    source: {kafka: {topics: [t], brokers: "localhost:1"}}
    sinks: [archive: {root: ./archive, table: customer}]
"""
TABLE = ("-f", "p.yaml", "customer")


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    monkeypatch.chdir(tmp_path)
    Path("p.yaml").write_text(FILE)
    catalog = Catalog()
    configuration = load("p.yaml", env={}, lookup=catalog)
    return SimpleNamespace(configuration=configuration, catalog=catalog, metrics=Metrics(["p"], process=False))


@pytest.fixture
def partition(shared: SimpleNamespace) -> Partition:
    """A version of two files, whose micro-batch is acknowledged."""
    found = Partition(LocalRoot(Path("archive", "customer").absolute()), "dt=20151210")
    Writer(found.root).run(DAY_MS + 1, [event(1)], [event(2)])
    folder = checkpoint_folder(shared.configuration, "p")
    for name, text in (("offsets", "v1\n{}\n{}"), ("times", str(DAY_MS + 1))):
        (folder / name).mkdir(parents=True)
        (folder / name / "0").write_text(text)
    acknowledge(folder, 0, {"t": {0: 0}})
    return found


@pytest.fixture
def jobs(shared: SimpleNamespace) -> Iterator[Jobs]:
    with serving_jobs(shared) as found:
        yield found


def test_commands_let_the_service_join_and_clean_up(ingest, jobs: Jobs, partition: Partition) -> None:
    done = ingest("archive", "join", *TABLE, "--dt", "20151210", "--output", "json")
    assert (done.code, done.json["files_read"], done.json["files_written"]) == (0, 2, 1), done.err
    assert visible(partition.root) == {"20151210": [1, 2]}
    cleanup = ("admin", "archive", "cleanup", *TABLE, "--older-than", "0s", "--force", "--output", "json")
    assert len(ingest(*cleanup, "--dry-run").json["paths"]) == 5
    removed = ingest(*cleanup)
    assert (removed.code, removed.json["versions"], len(removed.json["paths"])) == (0, 1, 5), removed.err
    assert partition.version_ids() == [done.json["version"]] != [START_S]
    assert [(each.kind, each.state.value) for each in jobs.statuses()] == [
        ("archive-join", "done"),
        ("archive-cleanup", "done"),
    ]
    alone = ingest("archive", "join", *TABLE, "--dt", "20151210", "--own-process", "--output", "json")
    assert (alone.code, len(jobs.statuses())) == (0, 2)


def test_cancelled_join_leaves_the_older_version(shared: SimpleNamespace, jobs: Jobs, partition: Partition) -> None:
    checkpoint = Checkpoint(checkpoint_folder(shared.configuration, "p"))
    checkpoint.lock()  # the pipeline runs, and does not answer yet
    try:
        status = jobs.submit(job_of("archive-join", {"table": "customer", "dt": "20151210"}))
        assert reached(lambda: jobs.status(status.id).reason == "waits for the running pipeline", 60.0)
        jobs.cancel(status.id)
        assert reached(lambda: not jobs.status(status.id).state.is_active, 60.0)
    finally:
        checkpoint.unlock()
    assert (jobs.status(status.id).state.value, partition.current()) == ("cancelled", START_S)
    assert list(announcements(partition.root, 0)) == []


def test_service_with_another_version_of_the_pipeline_is_not_asked_to_run_it(
    ingest, shared: SimpleNamespace, jobs: Jobs, partition: Partition
) -> None:
    Path("p.yaml").write_text(FILE.replace("table: customer", "table: customer, late: 1d"))
    refused = ingest("archive", "rerun", *TABLE, "--dt", "20151210")
    assert (refused.code, "another version of pipeline" in refused.err) == (4, True)
    assert "attr2hbase reload" in refused.err
    assert jobs.statuses() == []
    # it only reads and writes files
    assert ingest("archive", "join", *TABLE, "--dt", "20151210").code == 0


def test_request_need_not_name_a_version(shared: SimpleNamespace) -> None:
    request = {"table": "customer", "dt": "20151210"}
    job_of("archive-rerun", request).check(shared)
    same = ArchiveRerun("customer", RerunOptions(dt="20151210"))
    same.checked(shared.configuration)
    job_of("archive-rerun", {**request, "fingerprints": same.fingerprints(shared.configuration)}).check(shared)
    with pytest.raises(ConflictError):
        job_of("archive-rerun", {**request, "fingerprints": {"p": "other"}}).check(shared)
    with pytest.raises(ConfigError, match="fingerprints"):
        job_of("archive-rerun", {**request, "fingerprints": ["p"]})
    with pytest.raises(ConfigError, match="fingerprints"):
        job_of("archive-join", {**request, "fingerprints": {}})
