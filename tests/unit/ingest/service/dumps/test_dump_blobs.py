"""Dumps of a table whose large values are in a blob store."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ingest.api import ConfigError, Delete, FamilySpec, IngestError, Put, Scan, TableSpec
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.config.options import DumpOptions
from ingest.service.dumps.options import DumpRunOptions
from ingest.spark.jobs.dump import DumpWork
from sinks.blobs.blob_options import BlobOptions
from sinks.blobs.large_values import LargeValues
from sinks.blobs.moving import BlobMovingStore
from sinks.blobs.pointers import Pointer
from sinks.dumps.errors import DumpNotAvailableError
from sinks.dumps.existing import oldest_with_pointers
from sinks.dumps.ranges import DumpRange, DumpSlice, Limits
from sinks.dumps.reader import DumpReader
from sinks.files.local_root import LocalRoot
from tests.support.dump_runs import InProcess, dumped, opened

FILE = """
version: 1
service: {http: {listen: "127.0.0.1:1"}}  # no service answers there
stores: {local: {rocksdb: {path: ./data}}}
tables:
  events: {families: {f: {}}, blobs: {threshold: 1KB, block_size: 1KB}}
  plain: {families: {f: {}}}
pipelines:
  p:
    source: {files: {path: "*.jsonl"}}
    decorators: [{value: {attribute: 2hb_, value: "%{offset}"}}]
    sinks: [{attr2hbase: {table: events, write_body: "f:body"}}]
"""
ROWS = 5
OPTIONS = BlobOptions(block_bytes=1_000)
ONE_ROW = Limits(file_bytes=2_500)
"""A file ends after the first row whose values are above it."""


@pytest.fixture
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configuration:
    """Rows of 3,000 bytes; the last one is small."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_text(FILE)
    with opened() as store:
        for table in ("events", "plain"):
            store.ensure_table(TableSpec(table, (FamilySpec(b"f"),)))
        moving = BlobMovingStore(store, {"events": LargeValues("events_blobs", OPTIONS, 1_000)})
        moving.apply("events", [Put(b"%d" % number, {b"f:body": value(number)}, 5) for number in range(ROWS)])
        store.apply("plain", [Put(b"r", {b"f:q": b"1"}, 5)])
    return load("p.yaml", env={}, lookup=Catalog())


def value(number: int) -> bytes:
    return b"small" if number == ROWS - 1 else b"%d" % number * 3_000


def values(table: str = "events") -> dict[bytes, bytes]:
    with DumpReader("./dumps").scan(table) as found:
        return {row.key: row.cells[0].value for row in found}


def test_values_or_pointers(configuration: Configuration) -> None:
    dumped(configuration, tables=["events", "plain"], blobs=True)
    assert oldest_with_pointers(LocalRoot(Path("dumps")), "events") is None
    assert values() == {b"%d" % number: value(number) for number in range(ROWS)}
    assert values("plain") == {b"r": b"1"}
    result = dumped(configuration, tables=["events"])
    assert oldest_with_pointers(LocalRoot(Path("dumps")), "events") == (f"dumps/{result.dump}", result.start_ms)
    assert [Pointer.of_value(each) is None for each in values().values()] == [False] * (ROWS - 1) + [True]


@pytest.mark.parametrize("blobs", [True, False])
def test_resumed_dump_continues_with_values_or_with_pointers(configuration: Configuration, blobs: bool) -> None:
    class Killed(InProcess):
        def run_slice(self, work: DumpWork, ranges: Sequence[DumpRange]) -> DumpSlice:
            if len(self.ranges) == 2:
                raise KeyboardInterrupt
            return super().run_slice(work, ranges)

    limits: dict[str, Any] = {"limits": ONE_ROW if blobs else Limits(file_bytes=1), "slice_s": -1.0}
    with pytest.raises(KeyboardInterrupt):
        dumped(configuration, Killed(), tables=["events"], id="one", blobs=blobs, **limits)
    dumped(configuration, resume="one")
    expected = [not blobs] * (ROWS - 1) + [False]
    assert [Pointer.of_value(each) is not None for each in values().values()] == expected


def test_files_end_by_the_size_of_the_values(configuration: Configuration) -> None:
    result = dumped(configuration, tables=["events"], blobs=True, limits=ONE_ROW)
    assert (result.tables["events"].files, result.rows) == (ROWS, ROWS)


def test_missing_block_stops_the_dump(configuration: Configuration) -> None:
    with opened() as store:
        blocks = [row.key for row in store.scan("events_blobs_value", Scan())]
        store.apply("events_blobs_value", [Delete(blocks[0], 2**62)])
    with pytest.raises(IngestError, match="block 0 is missing"):
        dumped(configuration, tables=["events"], blobs=True)
    with pytest.raises(DumpNotAvailableError):
        values()


def test_table_without_a_blob_store_is_refused(configuration: Configuration) -> None:
    with pytest.raises(ConfigError, match="no table of the dump has a blob store"):
        dumped(configuration, tables=["plain"], blobs=True)


def test_option_of_the_file() -> None:
    assert DumpRunOptions().completed(DumpOptions.model_validate({"root": "d", "blobs": True})).blobs
