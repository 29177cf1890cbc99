"""Commands about bodies beside the service that holds the embedded store."""

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from ingest.api import ConfigError, Put, Scan
from ingest.catalog import Catalog
from ingest.config import load
from ingest.observe.metrics import Metrics
from ingest.plan.assemble import plan_of
from ingest.service.job_kinds import job_of
from ingest.service.jobs import step_job
from ingest.service.jobs.scheduler import Jobs
from ingest.service.stores import SharedStores
from tests.support.endpoint import serving_jobs
from tests.support.waiting import reached

FILE = """
version: 1
state_dir: ./state
stores: {local: {rocksdb: {path: ./data}}}
tables: {events: {families: {f: {}}, bodies: {block_size: 1KB}}}
pipelines:
  p:
    source: {files: {path: ./in}}
    decorators: [{value: {attribute: "2hb_", value: "%{offset}"}}]
    sinks: [{attr2hbase: {table: events, write_body: "f:body"}}]
"""
BODY = bytes(range(256)) * 10
ID = hashlib.sha256(BODY).hexdigest()
OF_TABLE = ("p.yaml", "events")


@pytest.fixture
def shared(folder: Path) -> Iterator[SimpleNamespace]:
    """What the pipelines of a service share; one of them has the store open."""
    Path("p.yaml").write_text(FILE)
    Path("body.bin").write_bytes(BODY)
    catalog = Catalog()
    configuration = load("p.yaml", env={}, lookup=catalog)
    plan = plan_of(configuration, configuration.pipelines["p"], catalog)
    stores = SharedStores(configuration, [plan])
    with ExitStack() as used:
        stores.used_by(plan, used)["local"].open()
        yield SimpleNamespace(
            configuration=configuration, catalog=catalog, stores=stores, metrics=Metrics(["p"], process=False)
        )


@pytest.fixture
def jobs(shared: SimpleNamespace) -> Iterator[Jobs]:
    with serving_jobs(shared) as found:
        yield found


def test_service_stores_marks_and_checks_bodies(ingest, shared: SimpleNamespace, jobs: Jobs):
    put = ingest("body", "put", *OF_TABLE, "body.bin", "--reference", "a,b", "--output", "json")
    assert (put.code, put.json["id"], put.json["is_new"]) == (0, ID, True), put.err
    assert ingest("body", "mark", *OF_TABLE, ID, "other").code == 0
    assert ingest("body", "stat", *OF_TABLE, ID, "--output", "json").json["references"] == ["a,b", "other"]
    assert ingest("body", "unmark", *OF_TABLE, ID, "other").code == 0
    assert ingest("body", "unmark", *OF_TABLE, ID, "other").code == 3
    with shared.stores.in_use()["local"].held() as store:
        row = list(store.scan("events_bodies_value", Scan()))[1]
        data = row.cells[1]
        store.apply("events_bodies_value", [Put(row.key, {b"b:d": data.value[:-1] + b"?"}, data.timestamp_ms)])
    damaged = ingest("body", "fsck", *OF_TABLE, "--repair")
    assert (damaged.code, f"{ID} block 1: damaged block: its checksum differs\n" in damaged.out) == (5, True)
    shown = ingest("body", "fsck", *OF_TABLE, "--own-process", "--output", "json")
    assert (shown.code, [each["block"] for each in shown.json["findings"]]) == (5, [1])
    assert [each.kind for each in jobs.statuses()] == [
        "body-put", "body-mark", "body-unmark", "body-unmark", "body-check"
    ]  # fmt: skip
    assert ingest("body", "put", *OF_TABLE, "body.bin", "--own-process").code == 4


def test_stdin_is_of_the_command(shared: SimpleNamespace):
    job_of("body-put", {"table": "events", "path": "/any"}).check(shared)
    with pytest.raises(ConfigError, match="no stdin"):
        job_of("body-put", {"table": "events", "path": "-"}).check(shared)


def test_service_keeps_the_first_details(ingest, jobs: Jobs, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(step_job, "MAX_DETAILS", 2)
    monkeypatch.setattr("ingest.service.jobs.job.MAX_DETAILS", 2)
    for number in range(3):
        Path("body.bin").write_bytes(b"%d" % number)
        assert ingest("body", "put", *OF_TABLE, "body.bin").code == 0
    monkeypatch.setattr("sinks.bodies.checking.content_of", _damaged)
    found = ingest("body", "fsck", *OF_TABLE)
    assert (found.code, len(found.out.splitlines())) == (5, 2), found.err
    assert "a service keeps the first 2" in found.err


def test_cancelled_check_ends(shared: SimpleNamespace, jobs: Jobs, ingest):
    assert ingest("body", "put", *OF_TABLE, "body.bin").code == 0
    with shared.stores.in_use()["local"].held():
        status = jobs.submit(job_of("body-check", {"table": "events"}))
        assert reached(lambda: jobs.status(status.id).state.value == "running", 60.0)
        jobs.cancel(status.id)
    assert reached(lambda: jobs.status(status.id).state.value == "cancelled", 60.0)


def _damaged(*_arguments: object) -> bytes:
    raise ValueError("its checksum differs")
