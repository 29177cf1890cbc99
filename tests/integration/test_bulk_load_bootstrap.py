"""Bootstraps into a table with bulk load: the same cells by files and by calls."""

import json
import random
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from ingest import failpoint
from ingest.api import Cell, Put, Row, Scan, Store
from ingest.catalog import Catalog
from ingest.clock import now_ms
from ingest.config import load
from ingest.plan.stores import owned_store
from sinks.feed.client import FeedClient
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.support.bootstraps import dump_files, random_mutations, rows_of
from tests.support.commands import Folder
from tests.support.feeds import FeedFixture
from tests.support.names import unique
from tests.support.servers import HBase

pytestmark = pytest.mark.one_protocol("a Thrift server loads no files")

KEYS = [b"k%05d" % number for number in range(0, 900, 3)]


class Copies:
    """
    A dump in four files, and the tables into which it is loaded.

    Attributes:
        rows: of the dump.
        by_file: table with bulk load.
        by_call: table without.
    """

    def __init__(self, hbase: HBase, folder: Path, options: Mapping[str, object], staging: Path | None = None) -> None:
        self._run = Folder(folder)
        self.folder = folder
        self.by_file, self.by_call = unique("files"), unique("calls")
        store = hbase.store_options("rpc") | {"timeout": "60s", "staging": str(staging or folder / "staging")}
        families = {"d": {"versions": 3}, "e": {"compression": "gz"}}
        content = {
            "version": 1,
            "service": {"http": {"listen": "127.0.0.1:1"}},  # no service answers there
            "stores": {"cluster": {"hbase": store}, "source": {"rocksdb": {"path": str(folder / "source")}}},
            "tables": {
                self.by_file: {"store": "cluster", "families": families, "bulk_load": {"from": 1}, **options},
                self.by_call: {"store": "cluster", "families": families, **options},
            },
            "pipelines": {
                "unused": {
                    "source": {"files": {"path": "./in"}},
                    "sinks": [{"attr2hbase": {"store": "source", "table": "orders"}}],
                }
            },
        }
        (folder / "pipeline.yaml").write_text(yaml.safe_dump(content))

    def dump(self, rows: list[Row], positions: Mapping[int, str] | None = None) -> None:
        """A dump of these rows in four files."""
        size = -(-len(rows) // 4)
        parts = [rows[first : first + size] for first in range(0, len(rows), size)]
        dump_files(str(self.folder / "dumps"), "orders", parts, positions or {})

    def command(self, table: str, *options: str) -> list[str]:
        """The command that loads the dump into a table."""
        command = ["dump", "bootstrap", "--dump", "dumps", "--table", "orders", "--to", f"cluster:{table}"]
        return [*command, *options, "--output", "json"]

    def load(self, table: str, *options: str) -> dict[str, Any]:
        """Load the dump into a table; the result of the command, whose rows are equal."""
        found: dict[str, Any] = json.loads(self._run.here(*self.command(table, *options)).stdout)
        assert found["verified"]["equal"]
        return found

    @contextmanager
    def opened(self) -> Iterator[Store[Any]]:
        """The store of the tables."""
        configuration = load(str(self.folder / "pipeline.yaml"), env={}, lookup=Catalog())
        with owned_store(configuration.stores["cluster"], Catalog()) as store:
            yield store

    def assert_equal(self) -> int:
        """Compare the stored cells of both tables, with all versions; returns the number of rows."""
        with self.opened() as store:
            by_file, by_call = (list(store.scan(table, Scan(versions=10))) for table in (self.by_file, self.by_call))
        assert by_file == by_call
        return len(by_file)


def rows_with_times() -> list[Row]:
    """Rows whose cells have one time, or some."""
    noise = random.Random(5)
    found = []
    for key in KEYS:
        times = [noise.randrange(1, 10**6)] * 3 if noise.random() < 0.5 else noise.sample(range(1, 10**6), 3)
        names = [(b"d", b"a"), (b"d", b"b"), (b"e", b"")]
        cells = [Cell(*name, time, b"%d" % time) for name, time in zip(names, times, strict=True)]
        found.append(Row(key, tuple(cells[: noise.randrange(1, 4)])))
    return found


def puts_in(rows: list[Row]) -> int:
    """A row is one put for each time."""
    return sum(len({cell.timestamp_ms for cell in row.cells}) for row in rows)


@pytest.mark.parametrize(
    "options", [{"splits": ["k00250", "k00700"]}, {"distribute": {"hash": 4}}], ids=["plain", "salted"]
)
def test_cells_are_the_same_by_files_and_by_calls(hbase: HBase, tmp_path: Path, options: dict[str, object]) -> None:
    copies = Copies(hbase, tmp_path, options)
    rows = rows_with_times()
    copies.dump(rows)
    found = copies.load(copies.by_file)["bulk_load"]
    assert (found["rows"], found["refused"], found["unstaged"]) == (puts_in(rows), 0, 0)
    assert found["files"] >= 8
    assert copies.load(copies.by_call)["bulk_load"] == {"rows": 0, "files": 0, "refused": 0, "unstaged": 0}
    assert copies.assert_equal() == len(rows)
    assert list((tmp_path / "staging").iterdir()) == []


@pytest.mark.parametrize("is_concurrent", [False, True])
def test_copies_follow_the_feed_of_a_table(hbase: HBase, tmp_path: Path, *, is_concurrent: bool) -> None:
    """Changes go as calls: with the times of events one may have the time of a cell of the dump, and another value."""
    copies = Copies(hbase, tmp_path, {})
    source = RocksDBStore(RocksDBSettings(path=str(tmp_path / "source"), sync=False))
    source.open()
    noise = random.Random(3)
    writer = FeedFixture(source, "orders", shards=2, time_ms=now_ms() - 60_000)
    writer.put(*KEYS)
    events = [b"event-0", b"event-1", b"event-2"]
    writer.batch({row: [Put(row, {b"d:a": b"first"}, 100)] for row in events})
    copies.dump(rows_of(source), FeedClient(source, "orders").latest())
    for _ in range(5):
        at = writer.time_ms
        writer.batch({row: random_mutations(noise, row, at) for row in noise.sample(KEYS, 30)}, at)
    # with times of their own: an older, an equal and a newer one than in the dump
    writer.batch({row: [Put(row, {b"d:a": b"later"}, 100 + number)] for number, row in enumerate(events, start=-1)})
    source.close()
    options = ["--feed", "pipeline.yaml:orders", *(["--concurrent"] if is_concurrent else [])]
    for table in (copies.by_file, copies.by_call):
        found = copies.load(table, *options)
        assert found["changes"] > 100
        assert bool(found["bulk_load"]["files"]) is (table == copies.by_file)
        assert found["verified"]["source"] == found["verified"]["target"]
    assert copies.load(copies.by_file, *options)["bulk_load"]["rows"] == 0  # nothing is loaded twice
    with copies.opened() as store:
        assert store.values(copies.by_file, b"event-1", b"d:a") == {b"d:a": b"later"}
        loaded = (list(store.scan(table, Scan())) for table in (copies.by_file, copies.by_call))
        assert next(loaded) == next(loaded)


def test_killed_bootstrap_loads_the_rows_again(hbase: HBase, tmp_path: Path) -> None:
    copies = Copies(hbase, tmp_path, {"splits": ["k00500"]})
    rows = rows_with_times()
    copies.dump(rows)
    points = {failpoint.VARIABLE: "bootstrap_written:2:kill", failpoint.FOLDER_VARIABLE: str(tmp_path / "points")}
    Folder(tmp_path, **points)(*copies.command(copies.by_file), code=-signal.SIGKILL)
    assert copies.load(copies.by_file)["bulk_load"]["rows"] == puts_in(rows)
    copies.load(copies.by_call)
    assert copies.assert_equal() == len(rows)


@pytest.mark.parametrize("reason", ["refused", "unstaged"])
def test_rows_whose_files_are_not_loaded_go_as_calls(hbase: HBase, tmp_path: Path, reason: str) -> None:
    """HBase sees no file under the name, since it resolves the dots before the link; or the folder is a file."""
    for name in ("staging", "elsewhere/folder"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere" / "folder")
    staging = tmp_path / "link" / ".." / "staging"
    if reason == "unstaged":
        staging = tmp_path / "file"
        staging.write_text("")
    copies = Copies(hbase, tmp_path, {}, staging)
    rows = rows_with_times()
    copies.dump(rows)
    found = copies.load(copies.by_file)["bulk_load"]
    assert (found["rows"], found["files"]) == (0, 0)
    assert found[reason] > 0
    copies.load(copies.by_call)
    assert copies.assert_equal() == len(rows)
