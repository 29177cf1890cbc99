"""`attr2hbase admin blob sweep` of a table with dumps."""

from pathlib import Path

import pytest

from ingest.api import Delete, FamilySpec, Put, TableSpec
from ingest.catalog import Catalog
from ingest.clock import now_ms
from ingest.config import load
from sinks.blobs.blob_options import BlobOptions
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.large_values import LargeValues
from sinks.blobs.moving import BlobMovingStore
from tests.support.dump_runs import dumped, opened

FILE = """
version: 1
service: {http: {listen: "127.0.0.1:1"}}  # no service answers there
stores: {local: {rocksdb: {path: ./data}}}
dump: {root: ./dumps}
tables:
  events: {families: {f: {}}, blobs: {threshold: 1KB}}
pipelines:
  p:
    source: {files: {path: "*.jsonl"}}
    decorators: [{value: {attribute: 2hb_, value: "%{offset}"}}]
    sinks: [{attr2hbase: {table: events, write_body: "f:body"}}]
"""
OPTIONS = BlobOptions()
DAY_MS = 24 * 3_600_000
ROWS = 4
SWEEP = ("admin", "blob", "sweep", "-f", "p.yaml", "events")


@pytest.fixture
def ids(folder: Path) -> list[str]:
    """The blobs of large values, which a dump names; their rows were deleted, and their references dropped."""
    (folder / "p.yaml").write_text(FILE)
    clock_ms = [now_ms() - 10 * DAY_MS]
    with opened() as store:
        store.ensure_table(TableSpec("events", (FamilySpec(b"f"),)))
        rules = {"events": LargeValues("events_blobs", OPTIONS, 1_000)}
        moving = BlobMovingStore(store, rules, clock_ms=lambda: clock_ms[0])
        moving.apply("events", [Put(b"%d" % row, {b"f:body": b"%d" % row * 3_000}, 5) for row in range(ROWS)])
    dumped(load("p.yaml", env={}, lookup=Catalog()), tables=["events"])
    clock_ms[0] += 3 * DAY_MS
    with opened() as store:
        store.apply("events", [Delete(b"%d" % row, 5) for row in range(ROWS)])
        blobs = BlobStore(store, "events_blobs", OPTIONS, owner="events", clock_ms=lambda: clock_ms[0])
        assert blobs.sweep().dropped == ROWS
        return [blob.hex() for blob, _, _ in blobs._tables.statuses.all()]


def test_2c9_blobs_that_only_a_dump_names_stay_until_it_is_removed(ingest, ids):
    (name,) = (path.name for path in Path("dumps").iterdir() if path.name[0].isdigit())
    shown = ingest(*SWEEP, "--dry-run", "--output", "json").json
    assert (shown["ids"], shown["purged"], shown["named"]) == ([], 0, ROWS)
    assert shown["named_ids"] == [{"id": blob, "by": f"dump dumps/{name}"} for blob in ids]
    found = ingest(*SWEEP)
    assert (found.code, found.out) == (0, "")
    assert f"4 blobs stay: the dump dumps/{name} may have pointers\n" in found.err
    dumped(load("p.yaml", env={}, lookup=Catalog()), tables=["events"])  # without rows
    assert ingest("admin", "dump", "expire", "./dumps", "--keep", "1h").code == 0
    assert ingest(*SWEEP).out.splitlines() == ids


def test_dump_with_values_keeps_no_blob(ingest, ids):
    dumped(load("p.yaml", env={}, lookup=Catalog()), tables=["events"], blobs=True)
    assert ingest("admin", "dump", "expire", "./dumps", "--keep", "1h").code == 0
    assert ingest(*SWEEP, "--own-process").out.splitlines() == ids


def test_sweep_ends_if_the_root_of_the_dumps_cannot_be_read(ingest, ids):
    Path("dumps").rename("moved")
    Path("dumps").write_text("")
    result = ingest(*SWEEP)
    assert (result.code, '"dumps" cannot be used' in result.err, result.out) == (3, True, ""), result.err
