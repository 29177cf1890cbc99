"""`attr2hbase dump bootstrap` of a table with pointers, and of its blob store, between two embedded stores."""

from pathlib import Path

import pytest

from ingest.api import FamilySpec, Put, TableSpec
from ingest.catalog import Catalog
from ingest.clock import now_ms
from ingest.config import load
from sinks.blobs.blob_options import BlobOptions
from sinks.blobs.large_values import LargeValues
from sinks.blobs.moving import BlobMovingStore
from sinks.blobs.status import STORE_ID
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.support.dump_runs import dumped

FILE = """
version: 1
state_dir: ./state
service: {http: {listen: "127.0.0.1:1"}}  # no service answers there
stores: {local: {rocksdb: {path: ./STORE}}}
tables:
  events: {families: {f: {}}, blobs: {threshold: 1KB, block_size: 1KB, sweep_after: 1h}}
pipelines:
  p:
    source: {files: {path: "*.jsonl"}}
    decorators: [{value: {attribute: 2hb_, value: "%{offset}"}}]
    sinks: [{attr2hbase: {table: events, write_body: "f:body"}}]
"""
VALUES = {f"{number}": f"{number}" * 3_000 for number in range(3)}
AGE_MS = 20 * 24 * 3_600_000
META, BLOCKS = "events_blobs_meta", "events_blobs_value"


@pytest.fixture(autouse=True)
def _dump(folder: Path) -> None:
    """A dump of rows that were written 20 days ago, without a sweep since; `new.yaml` has another store."""

    def clock() -> int:
        return now_ms() - AGE_MS

    for name, store_folder in (("p.yaml", "data"), ("new.yaml", "copies")):
        (folder / name).write_text(FILE.replace("STORE", store_folder))
    store = RocksDBStore(RocksDBSettings(path="./data"), clock_ms=clock)
    store.open()
    store.ensure_table(TableSpec("events", (FamilySpec(b"f"),)))
    rules = {"events": LargeValues("events_blobs", BlobOptions(block_bytes=1_000), 1_000)}
    moving = BlobMovingStore(store, rules, clock_ms=clock)
    moving.apply("events", [Put(row.encode(), {b"f:body": value.encode()}, clock()) for row, value in VALUES.items()])
    store.close()
    dumped(load("p.yaml", env={}, lookup=Catalog()), tables=[META, BLOCKS, "events"])


def loaded(ingest, table: str) -> None:
    found = ingest("dump", "bootstrap", "-f", "new.yaml", "--dump", "dumps", "--to", f"local:{table}")
    assert found.code == 0, found.err


def store_id() -> str | None:
    store = RocksDBStore(RocksDBSettings(path="./copies"))
    store.open()
    try:
        return store.properties(META).get(STORE_ID)
    finally:
        store.close()


def swept(ingest, *options: str) -> tuple[int, int]:
    """Blobs that were deleted, and those without references that stay."""
    found = ingest("admin", "blob", "sweep", "-f", "new.yaml", "events", "--output", "json", *options)
    assert found.code == 0, found.err
    return found.json["purged"], found.json["unreferenced"]


def check_rows(ingest) -> None:
    rows = ingest("scan", "-f", "new.yaml", "events", "--blobs", "--output", "json").lines
    assert {row["row"]: row["cells"][0][3] for row in rows} == VALUES


def test_sweeps_between_the_tables_delete_nothing(ingest):
    assert ingest("table", "apply", "new.yaml").code == 0
    assert swept(ingest) == (0, 0)
    first_id = store_id()
    loaded(ingest, META)
    loaded(ingest, BLOCKS)
    assert store_id() is None
    for options in (["--dry-run"], [], ["--dry-run"]):
        assert swept(ingest, *options) == (0, len(VALUES))
    assert store_id() not in {None, first_id}
    loaded(ingest, "events")
    check_rows(ingest)
    assert swept(ingest) == (0, 0)


def test_tables_in_the_order_of_the_guide(ingest):
    """Nothing has created the table of references."""
    for table in (META, BLOCKS, "events"):
        loaded(ingest, table)
    check_rows(ingest)


def test_copy_with_another_blob_store_in_the_same_store(ingest, folder):
    """The way to another name of a blob store."""
    copy = FILE.replace("STORE", "data").replace("events", "orders").replace("blobs: {", "blobs: {name: renamed, ")
    (folder / "copy.yaml").write_text(copy)
    tables = {META: "renamed_meta", BLOCKS: "renamed_value", "events": "orders"}
    for source, target in tables.items():
        result = ingest(
            "dump", "bootstrap", "-f", "copy.yaml", "--dump", "dumps", "--table", source, "--to", f"local:{target}"
        )
        assert result.code == 0, result.err
    for file, table in (("copy.yaml", "orders"), ("p.yaml", "events")):
        rows = ingest("scan", "-f", file, table, "--blobs", "--output", "json").lines
        assert {row["row"]: row["cells"][0][3] for row in rows} == VALUES
