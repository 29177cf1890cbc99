"""Dumps of real stores by Spark: by the service that writes them, and in a process of its own."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ingest import failpoint
from ingest.api import FamilySpec, Put, Row, Scan, Store, TableSpec
from sinks.dumps.layout import LOCK
from sinks.dumps.reader import DumpReader
from sinks.files.local_root import LocalRoot
from sinks.files.register import RootRegister
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.owning.committed_position import COMMITTED, CommittedPosition
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.mutations import with_physical_keys
from sinks.rowkeys.row_format import UPDATES
from sinks.scanning.plain_reader import PlainReader
from sinks.updates.keys import UpdateKey, update_id_of
from tests.support.commands import Folder
from tests.support.counters import IDENTITY
from tests.support.leases import expire_lease
from tests.support.names import unique
from tests.support.protocols import SLOW_WITH_RPC
from tests.support.servers import HBase, Protocol
from tests.support.service import Service

ROWS = [b"row-%04d\xff" % number for number in range(3_000)]
COMMITTED_MS = 3_000
BUCKETS = 4


class Tables:
    """A plain, a salted and a counting table of HBase, and a pipeline file that declares them."""

    def __init__(self, hbase: HBase, protocol: Protocol, folder: Path) -> None:
        options = hbase.store_options(protocol, thrift2=True)
        self.store = HBaseStore.of(HBaseSettings.model_validate(options))
        self.plain, self.salted, self.counters = unique("plain"), unique("salted"), unique("counters")
        self.folder = folder
        content = {
            "version": 1,
            "service": {"http": {"listen": "127.0.0.1:1"}},
            "spark": {"master": "local[2]"},
            "stores": {"cluster": {"hbase": options}},
            "tables": {
                self.plain: {"families": {"f": {}, "g": {}}},
                self.salted: {"families": {"f": {}, "g": {}}, "distribute": {"hash": BUCKETS}},
                self.counters: {"families": {"f": {}}, "updates": {"processor": "sum"}},
            },
            "dump": {"root": "./dumps", "format": "gzip"},
            "pipelines": {
                "any": {
                    "source": {"files": {"path": "./in"}},
                    "sinks": [{"attr2hbase": {"table": self.plain}}],
                }
            },
        }
        (folder / "pipeline.yaml").write_text(json.dumps(content))

    def fill(self) -> None:
        """Create the tables with rows of several times, and updates above the committed position."""
        families = (FamilySpec(b"f"), FamilySpec(b"g"))
        self.store.ensure_table(TableSpec(self.plain, families, (ROWS[1_000], ROWS[2_000])))
        self.store.ensure_table(TableSpec(self.salted, families, Distribution(BUCKETS).splits(), BUCKETS))
        for first in range(0, len(ROWS), 500):
            for time_ms, column in ((1_000, b"f:old"), (2_000, b"g:\xfe\x00")):
                puts = [Put(row, {column: row[::-1]}, time_ms) for row in ROWS[first : first + 500]]
                self.store.apply(self.plain, puts)
                self.store.apply(self.salted, with_physical_keys(puts, Distribution(BUCKETS).physical))
        inside = UpdateKey(ROWS[5], update_id_of(2_000, 0)).encoded()  # a region starts within a row
        self.store.ensure_table(TableSpec(self.counters, (FamilySpec(b"f"),), (inside,)))
        assert self.store.set_property(self.counters, UPDATES, None, IDENTITY)
        assert self.store.set_property(self.counters, COMMITTED, None, CommittedPosition(COMMITTED_MS, {}).to_text())
        for time_ms in (1_000, 2_000, COMMITTED_MS, COMMITTED_MS + 1):
            puts = [
                Put(UpdateKey(row, update_id_of(time_ms, 0)).encoded(), {b"f:hits": b"1"}, time_ms) for row in ROWS[:9]
            ]
            self.store.apply(self.counters, puts)

    def ingest(self, *arguments: str, code: int = 0, **variables: str) -> dict[str, Any]:
        """Run a command in a process of its own; returns its JSON."""
        done = Folder(self.folder, **variables)(*arguments, "--output", "json", code=code)
        return json.loads(done.stdout) if code == 0 else {"err": done.stderr}


@pytest.fixture
def tables(hbase: HBase, protocol: Protocol, tmp_path: Path) -> Iterator[Tables]:
    made = Tables(hbase, protocol, tmp_path)
    with closing(made.store):
        made.store.open()
        made.fill()
        yield made


def stored(store: Store[Any], table: str) -> list[Row]:
    """The rows of a table by logical row keys."""
    with closing(PlainReader.of(store, table).scan(Scan())) as rows:
        return list(rows)


def dumped(root: Path, table: str, dump: str | None = None) -> list[Row]:
    """The rows of the newest dump, or of a named one, sorted."""
    reader = DumpReader(str(root))
    if dump is not None:
        reader.lock(dump)
    with closing(reader), reader.scan(table) as rows:
        return sorted(row.to_row() for row in rows)


def lines_into_rocksdb(source: Path) -> dict[str, Any]:
    """A pipeline whose events are rows with two equal cells."""
    return {
        "stores": {"local": {"rocksdb": {"path": "./data/store"}}},
        "tables": {"t": {"families": {"f": {}}}},
        "dump": {"root": "./dumps"},
        "pipelines": {
            "lines": {
                "source": {"files": {"path": str(source / "*.jsonl")}},
                "decorators": ["json"],
                "sinks": [
                    {
                        "hbase": {
                            "table": "t",
                            "row_key": {"template": "%{id}"},
                            "cells": [
                                {"family": "f", "qualifier": "a", "value": "%{id}"},
                                {"family": "f", "qualifier": "b", "value": "%{id}"},
                            ],
                        }
                    }
                ],
            }
        },
    }


def write_lines(source: Path, number: int) -> None:
    """A file with 1,000 events, which appears at once."""
    lines = (json.dumps({"id": f"{number * 1_000 + line:08d}"}) for line in range(1_000))
    temporary = source / f".{number}"
    temporary.write_text("\n".join(lines) + "\n")
    temporary.rename(source / f"{number:04d}.jsonl")


@SLOW_WITH_RPC
def test_dump_of_hbase_has_logical_rows(tables: Tables) -> None:
    done = tables.ingest("dump", "run")
    assert (done["rows"], done["consistency"]) == (2 * len(ROWS) + 9, "fuzzy")
    root = tables.folder / "dumps"
    assert dumped(root, tables.plain) == stored(tables.store, tables.plain)
    assert dumped(root, tables.salted) == stored(tables.store, tables.salted)
    assert [(row.key, row.cells[0][2:]) for row in dumped(root, tables.counters)] == [
        (row, (COMMITTED_MS, b"3")) for row in ROWS[:9]
    ]
    assert done["tables"][tables.plain]["files"] >= 3  # its regions


@pytest.mark.slow
def test_killed_dump_of_hbase_is_resumed(tables: Tables) -> None:
    command = ("dump", "run", "--tables", tables.plain, "--min-ranges", "8")
    first = tables.ingest(*command)
    points = {failpoint.FOLDER_VARIABLE: str(tables.folder / "points")}
    tables.ingest(*command, "--id", "killed", code=-9, **{failpoint.VARIABLE: "dump_recorded:5:kill"}, **points)
    root = tables.folder / "dumps"
    assert DumpReader(str(root)).latest().name == first["dump"]
    recorded = {file.name: file.stat().st_ino for file in (root / "_run-killed").rglob("*.json.gz")}
    done = tables.ingest("dump", "run", "--resume", "killed")
    assert done["id"] == "killed"
    assert dumped(root, tables.plain, done["dump"]) == stored(tables.store, tables.plain)
    kept = {file.name: file.stat().st_ino for file in (root / done["dump"]).rglob("*.json.gz")}
    assert len(kept.items() & recorded.items()) >= 2


@pytest.mark.slow
def test_killed_service_leaves_no_view(tmp_path: Path) -> None:
    """The next start removes the view; the dump is repeated once the lock of the root is old enough."""
    source = tmp_path / "in"
    source.mkdir()
    with Service(tmp_path / "service", lines_into_rocksdb(source)) as service:
        write_lines(source, 0)
        points = {failpoint.VARIABLE: "dump_recorded:1:kill", failpoint.FOLDER_VARIABLE: str(tmp_path / "points")}
        service.start(env=points)
        service.wait_for(
            lambda: service.metric("attr2hbase_events_stored_total", pipeline="lines") >= 1_000, "rows", 180
        )
        killed = service.ingest("dump run", "--id", "killed")
        assert killed.returncode != 0
        service.wait_for_exit()
        views = service.folder / "data/store/views"
        assert len(list(views.iterdir())) == 1
        root = service.folder / "dumps"
        assert DumpReader(str(root)).dumps() == []
        service.start()
        service.wait_for_state("running", "lines")
        service.wait_for(lambda: not list(views.iterdir()), "no views")
        expire_lease(RootRegister(LocalRoot(root), LOCK))
        done = service.ingest("dump run", "--resume", "killed", "--output", "json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["consistency"] == "fuzzy"  # a file may be of the killed process
        assert len(dumped(root, "t")) == 1_000
        assert list(views.iterdir()) == []
        assert service.stop() == 0, service.last_lines()


@pytest.mark.slow
def test_service_dumps_its_rocksdb_while_it_writes(tmp_path: Path) -> None:
    """Each event writes two cells at once; in the dump both are there, and all rows that were written before it."""
    source = tmp_path / "in"
    source.mkdir()
    with Service(tmp_path / "service", lines_into_rocksdb(source)) as service:
        for number in range(10):
            write_lines(source, number)
        service.start()
        service.wait_for(
            lambda: service.metric("attr2hbase_events_stored_total", pipeline="lines") >= 10_000, "rows", 180
        )
        ended = threading.Event()

        def keep_writing() -> None:
            number = 10
            while not ended.wait(0.2):
                write_lines(source, number)
                number += 1

        thread = threading.Thread(target=keep_writing)
        thread.start()
        try:
            done = service.ingest("dump run", "--output", "json")
        finally:
            ended.set()
            thread.join()
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)
        assert result["consistency"] == "point-in-time"
        rows = dumped(service.folder / "dumps", "t")
        assert len(rows) == result["rows"] >= 10_000
        assert [row for row in rows if [cell.value for cell in row.cells] != [row.key, row.key]] == []
        assert {row.key for row in rows} >= {b"%08d" % number for number in range(10_000)}
        assert service.metric("attr2hbase_dump_rows_total", table="t") == len(rows)
        assert service.stop() == 0, service.last_lines()
        assert list((service.folder / "data/store/views").iterdir()) == []
        again = service.ingest("dump run", "--format", "gzip", "--output", "json")
        assert again.returncode == 0, again.stderr
        assert json.loads(again.stdout)["rows"] >= len(rows)
