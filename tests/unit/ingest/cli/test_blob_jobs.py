"""Commands about blobs beside the service that holds the embedded store."""

import hashlib
import os
import random
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from ingest.api import ConfigError, ConflictError, Put, Scan
from ingest.catalog import Catalog
from ingest.config import load
from ingest.observe.metrics import Metrics
from ingest.plan.assemble import plan_of
from ingest.service.job_kinds import job_of
from ingest.service.jobs.place import OwnProcess
from ingest.service.jobs.scheduler import Jobs
from ingest.service.stores import SharedStores
from tests.support.endpoint import serving_jobs
from tests.support.waiting import reached

FILE = """
version: 1
state_dir: ./state
stores: {local: {rocksdb: {path: ./data}}}
tables: {events: {families: {f: {}}, blobs: {block_size: 1KB}}}
pipelines:
  p:
    source: {files: {path: ./in}}
    decorators: [{value: {attribute: "2hb_", value: "%{offset}"}}]
    sinks: [{attr2hbase: {table: events, write_body: "f:body"}}]
"""
BLOB = bytes(range(256)) * 10
ID = hashlib.sha256(BLOB).hexdigest()
OF_TABLE = ("-f", "p.yaml", "events")


@pytest.fixture
def shared(folder: Path) -> Iterator[SimpleNamespace]:
    """What the pipelines of a service share; one of them has the store open."""
    Path("p.yaml").write_text(FILE)
    Path("blob.bin").write_bytes(BLOB)
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


def test_service_stores_pins_and_checks_blobs(ingest, shared: SimpleNamespace, jobs: Jobs):
    put = ingest("blob", "put", *OF_TABLE, "blob.bin", "--reference", "a,b", "--output", "json")
    assert (put.code, put.json["id"], put.json["is_new"]) == (0, ID, True), put.err
    assert ingest("blob", "pin", *OF_TABLE, ID, "other").code == 0
    assert ingest("blob", "stat", *OF_TABLE, ID, "--output", "json").json["references"] == ["a,b", "other"]
    assert ingest("blob", "unpin", *OF_TABLE, ID, "other").code == 0
    assert ingest("blob", "unpin", *OF_TABLE, ID, "other").code == 3
    with shared.stores.in_use()["local"].held() as store:
        row = list(store.scan("events_blobs_value", Scan()))[1]
        data = row.cells[1]
        store.apply("events_blobs_value", [Put(row.key, {b"b:d": data.value[:-1] + b"?"}, data.timestamp_ms)])
    damaged = ingest("admin", "blob", "check", *OF_TABLE, "--repair")
    assert (damaged.code, f"{ID} block 1: damaged block: its checksum differs\n" in damaged.out) == (5, True)
    shown = ingest("admin", "blob", "check", *OF_TABLE, "--own-process", "--output", "json")
    assert (shown.code, [each["block"] for each in shown.json["findings"]]) == (5, [1])
    assert [each.kind for each in jobs.statuses()] == [
        "blob-put", "blob-pin", "blob-unpin", "blob-unpin", "blob-check"
    ]  # fmt: skip
    assert ingest("blob", "put", *OF_TABLE, "blob.bin", "--own-process").code == 4


def test_pin_runs_before_a_sweep_that_waits(ingest, shared: SimpleNamespace, jobs: Jobs):
    assert ingest("blob", "put", *OF_TABLE, "blob.bin").code == 0
    with shared.stores.in_use()["local"].held():
        running = jobs.submit(job_of("blob-check", {"table": "events", "repair": True}))
        assert reached(lambda: jobs.status(running.id).state.value == "running", 60.0)
        jobs.submit(job_of("blob-sweep", {"table": "events"}))
        jobs.submit(job_of("blob-pin", {"table": "events", "id": ID, "reference": "a"}))
        jobs.submit(job_of("blob-unpin", {"table": "events", "id": ID, "reference": "b"}))
        jobs.submit(job_of("blob-put", {"table": "events", "path": "/any"}))
        waiting = [each.kind for each in jobs.statuses() if each.state.value == "waiting"]
    assert waiting == ["blob-pin", "blob-unpin", "blob-put", "blob-sweep"]


def test_store_of_several_writers_is_written_by_the_command(ingest, folder: Path):
    """As HBase: the command waits for no job of the service."""
    (folder / "p.yaml").write_text(FILE.replace("rocksdb: {path: ./data}", "memory: {}"))
    (folder / "blob.bin").write_bytes(BLOB)
    catalog = Catalog()
    configuration = load("p.yaml", env={}, lookup=catalog)
    metrics = Metrics(["p"], process=False)
    of_service = SimpleNamespace(configuration=configuration, catalog=catalog, stores=None, metrics=metrics)
    with serving_jobs(of_service) as jobs:
        assert ingest("blob", "put", *OF_TABLE, "blob.bin").code == 0
        for command in ("pin", "unpin"):
            assert ingest("blob", command, *OF_TABLE, ID, "a").code == 3  # each process has a memory of its own
        assert jobs.statuses() == []


def test_stdin_is_of_the_command(shared: SimpleNamespace):
    job_of("blob-put", {"table": "events", "path": "/any"}).check(shared)
    with pytest.raises(ConfigError, match="no stdin"):
        job_of("blob-put", {"table": "events", "path": "-"}).check(shared)


@pytest.mark.parametrize("path", ["pipe", "/dev/zero"])
def test_service_refuses_what_may_never_end(jobs: Jobs, path: str):
    os.mkfifo("pipe")
    status = jobs.submit(job_of("blob-put", {"table": "events", "path": str(Path(path).absolute())}))
    assert reached(lambda: not jobs.status(status.id).state.is_active, 60.0)
    error = jobs.status(status.id).error
    assert (error.code, "it is no regular file" in error.message) == ("not_found", True)
    assert "regular files alone" in error.hint


def test_pipe_is_read_by_the_command(ingest, folder: Path):
    """As with `<(command)`, whose path names an open file of the shell and the command alone."""
    (folder / "p.yaml").write_text(FILE)
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: Path("pipe").write_bytes(BLOB), daemon=True)
    writer.start()
    put = ingest("blob", "put", *OF_TABLE, "pipe", "--output", "json")
    writer.join()
    assert (put.code, put.json["id"]) == (0, ID), put.err


def test_pipe_is_no_file_of_the_service(ingest, jobs: Jobs):
    os.mkfifo("pipe")
    assert ingest("blob", "put", *OF_TABLE, "pipe").code == 4
    assert jobs.statuses() == []


class CancelledPlace(OwnProcess):
    """Requests the end in a slice."""

    def __init__(self, ends_in: int, opened: ExitStack) -> None:
        super().__init__(load("p.yaml", env={}, lookup=Catalog()), Catalog(), opened)
        self.ends_in = ends_in
        self.slices = 0

    def new_slice(self) -> AbstractContextManager[None]:
        self.slices += 1
        if self.slices == self.ends_in:
            self.cancellation.request()
        return nullcontext()


def cancelled_in(ends_in: int, kind: str, **options: str) -> None:
    """Carry a job out that is cancelled in that slice, and ends with it."""
    with ExitStack() as opened:
        place = CancelledPlace(ends_in, opened)
        with pytest.raises(ConflictError) as caught:
            list(job_of(kind, {"table": "events", **options}).steps(place))
        assert (caught.value.code, place.slices) == ("job_cancelled", ends_in)


@pytest.mark.parametrize("ends_in", [2, 12])
def test_cancelled_job_ends_within_a_blob(ingest, folder: Path, ends_in: int):
    """A blob of 2 MiB: 8 pieces, which are read first, and 16 blocks, each of which is synced."""
    (folder / "p.yaml").write_text(FILE.replace("1KB", "128KiB"))
    (folder / "blob.bin").write_bytes(random.Random(0).randbytes(2 << 20))
    cancelled_in(ends_in, "blob-put", path="blob.bin")
    put = ingest("blob", "put", *OF_TABLE, "blob.bin", "--output", "json")
    assert (put.code, put.json["is_new"]) == (0, True), put.err
    cancelled_in(10, "blob-check")
    assert ingest("admin", "blob", "check", *OF_TABLE).code == 0


def test_service_keeps_the_first_details(ingest, jobs: Jobs, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ingest.service.jobs.job.MAX_DETAILS", 2)
    monkeypatch.setattr("ingest.service.jobs.job_run.MAX_DETAILS", 2)
    for number in range(3):
        Path("blob.bin").write_bytes(b"%d" % number)
        assert ingest("blob", "put", *OF_TABLE, "blob.bin").code == 0
    monkeypatch.setattr("sinks.blobs.checking.content_of", _damaged)
    found = ingest("admin", "blob", "check", *OF_TABLE)
    assert (found.code, len(found.out.splitlines())) == (5, 2), found.err
    assert "a service keeps the first 2" in found.err


def test_cancelled_check_ends(shared: SimpleNamespace, jobs: Jobs, ingest):
    assert ingest("blob", "put", *OF_TABLE, "blob.bin").code == 0
    with shared.stores.in_use()["local"].held():
        status = jobs.submit(job_of("blob-check", {"table": "events"}))
        assert reached(lambda: jobs.status(status.id).state.value == "running", 60.0)
        jobs.cancel(status.id)
    assert reached(lambda: jobs.status(status.id).state.value == "cancelled", 60.0)


def _damaged(*_arguments: object) -> bytes:
    raise ValueError("its checksum differs")
