"""A dump of a table that a service writes, and a bootstrap from it beside the service."""

import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from random import Random

import pytest

from ingest.api import ConflictError, FamilySpec, Put, TableSpec
from ingest.catalog import Catalog
from ingest.clock import now_ms
from ingest.config import load
from ingest.config.model import Configuration
from ingest.service.dumps.bootstrap import BootstrapRequest, SourceTable, TableOfStore, opened_bootstrap
from ingest.service.dumps.options import DumpRunOptions
from ingest.service.dumps.plan import DumpSources
from ingest.service.dumps.steps import dump_steps
from ingest.service.jobs.place import OwnProcess
from sinks.blobs.status import STORE_ID
from sinks.dumps.errors import DumpNotAvailableError
from sinks.dumps.reader import DumpReader
from sinks.feed.position import FeedPosition
from sinks.files.local_root import LocalRoot
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.support.bootstraps import completed, load_all, random_mutations, rows_of
from tests.support.dump_runs import InProcess
from tests.support.dumps import make_dump, row_of
from tests.support.feeds import FeedFixture
from tests.support.place import Here

FILE = """
version: 1
state_dir: ./state
service: {http: {listen: "127.0.0.1:1"}}  # no service answers there
stores: {local: {rocksdb: {path: ./data}}, copies: {rocksdb: {path: ./copies}}}
tables: {orders: {store: local}}
pipelines:
  orders:
    source: {files: {path: "*.jsonl"}}
    decorators: [json]
    sinks: [attr2hbase: {store: local, table: orders}]
"""
KEYS = [b"%03d" % number for number in range(120)]


@pytest.fixture
def configuration(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_text(FILE)
    return load("p.yaml", env={}, lookup=Catalog())


def here(configuration: Configuration) -> OwnProcess:
    return OwnProcess(configuration, Catalog(), ExitStack())


class Service:
    """Writes micro-batches to the table, with a change feed."""

    def __init__(self, store: RocksDBStore, seed: int) -> None:
        self.random = Random(seed)
        self.writer = FeedFixture(store, "orders", shards=3, time_ms=now_ms() - 60_000)

    def write(self, batches: int = 1) -> None:
        for _ in range(batches):
            at, rows = self.writer.time_ms, self.random.sample(KEYS, 9)
            self.writer.batch({row: random_mutations(self.random, row, at) for row in rows}, at)


class Beside(InProcess):
    """Dumps, while a service writes."""

    def __init__(self, service: Service) -> None:
        super().__init__()
        self._service = service

    def run_slice(self, work, ranges):
        self._service.write()
        few = replace(work, seconds=0.0)
        ended = super().run_slice(few, ranges)
        self._service.write()
        return ended


def dump_of(configuration, service: Service, store: RocksDBStore, *, exact: bool) -> None:
    """From a frozen view, or row by row, as from HBase."""
    view = store.freeze() if exact else None

    def sources(names: Sequence[str]) -> DumpSources:
        return DumpSources(configuration, Catalog(), dict.fromkeys(names, "local"), lambda _name: view)

    options = DumpRunOptions.model_validate({"min_ranges": 4})
    list(dump_steps("./dumps", options, ["orders"], sources, lambda _tables: Beside(service), Here()))


@pytest.mark.parametrize("is_concurrent", [False, True])
@pytest.mark.parametrize("exact", [True, False])
def test_1c_14_copy_beside_a_writer_equals_the_source(configuration, tmp_path, exact, is_concurrent):
    store = RocksDBStore(RocksDBSettings(path=str(tmp_path / "data"), sync=False))
    store.open()
    service = Service(store, seed=exact + 2 * is_concurrent)
    service.write(40)
    dump_of(configuration, service, store, exact=exact)
    request = BootstrapRequest("./dumps", None, "orders", TableOfStore("copies", "copy"), is_concurrent=is_concurrent)
    source = SourceTable(configuration, Catalog(), "orders")
    with opened_bootstrap(here(configuration), request, source) as opened:
        opened.run.on_progress = lambda _progress: service.write() if service.random.random() < 0.5 else None
        completed(opened.run)
        opened.run.on_progress = lambda _progress: None
        found = opened.run.verify()
        assert found is not None
        assert found.is_equal
        assert opened.rows > 50
    copies = RocksDBStore(RocksDBSettings(path=str(tmp_path / "copies")))
    copies.open()
    assert rows_of(copies, "copy") == rows_of(store)
    copies.close()
    store.close()


def test_dump_has_the_positions_of_its_start(configuration, tmp_path):
    store = RocksDBStore(RocksDBSettings(path=str(tmp_path / "data"), sync=False))
    store.open()
    service = Service(store, seed=0)
    service.write(3)
    end_ms = service.writer.time_ms
    dump_of(configuration, service, store, exact=True)
    store.close()
    with DumpReader("./dumps") as reader:
        manifest = reader.latest().manifest
    assert manifest is not None
    positions = {shard: FeedPosition.from_token(str(token)) for shard, token in manifest.feed["orders"].items()}
    assert {shard: (each.shard, each.time_ms) for shard, each in positions.items()} == {
        "1": (1, end_ms), "2": (2, end_ms), "3": (3, end_ms)
    }  # fmt: skip


def test_same_command_continues_with_its_dump_after_a_newer_one_and_after_its_expiry(configuration, tmp_path):
    store = RocksDBStore(RocksDBSettings(path=str(tmp_path / "data"), sync=False))
    store.open()
    service = Service(store, seed=1)
    service.write(20)
    dump_of(configuration, service, store, exact=True)
    request = BootstrapRequest("./dumps", None, "orders", TableOfStore("copies", "copy"))
    source = SourceTable(configuration, Catalog(), "orders")

    def copied(asked: BootstrapRequest) -> str:
        service.write(5)
        with opened_bootstrap(here(configuration), asked, source) as opened:
            completed(opened.run)
            found = opened.run.verify()
            assert found is not None
            assert found.is_equal
            return opened.dump

    dump = copied(request)
    make_dump(LocalRoot(tmp_path / "dumps"), {"orders": [[row_of(b"x", q=b"1")]]}, at_ms=now_ms() + 60_000)
    assert copied(request) == dump
    shutil.rmtree(tmp_path / "dumps" / dump)
    assert copied(request) == dump
    assert copied(replace(request, at=dump)) == dump
    with (
        opened_bootstrap(here(configuration), replace(request, dumped="other"), source) as opened,
        pytest.raises(ConflictError, match='is loaded from table "orders"'),
    ):
        load_all(opened.run)
    store.close()


def test_loaded_table_without_a_feed_is_no_copy_of_a_newer_dump(configuration, tmp_path):
    dumps = LocalRoot(tmp_path / "dumps")
    make_dump(dumps, {"orders": [[row_of(b"x", q=b"1")]]})
    request = BootstrapRequest("./dumps", None, "orders", TableOfStore("copies", "copy"))
    for _ in range(2):
        with opened_bootstrap(here(configuration), request) as opened:
            load_all(opened.run)
            assert opened.run.progress.checksum.rows == 1
    make_dump(dumps, {"orders": [[row_of(b"x", q=b"2")]]}, at_ms=now_ms(), run_id="newer")
    with (
        opened_bootstrap(here(configuration), request) as opened,
        pytest.raises(ConflictError, match=r"is loaded from table .* of dump 2015-02-24"),
    ):
        load_all(opened.run)
    missing = replace(request, root="./none")
    with pytest.raises(DumpNotAvailableError), opened_bootstrap(here(configuration), missing):
        pass


def test_refused_bootstrap_leaves_the_id_of_a_blob_store(configuration, tmp_path):
    make_dump(LocalRoot(tmp_path / "dumps"), {"orders": [[row_of(b"x", q=b"1")]]})
    copies = RocksDBStore(RocksDBSettings(path=str(tmp_path / "copies"), sync=False))
    copies.open()
    copies.ensure_table(TableSpec("copy", (FamilySpec(b"f"),)))
    copies.apply("copy", [Put(b"r", {b"f:q": b"1"}, 1)])
    assert copies.set_property("copy", STORE_ID, None, "here")
    copies.close()
    request = BootstrapRequest("./dumps", None, "orders", TableOfStore("copies", "copy"))
    with (
        opened_bootstrap(here(configuration), request) as opened,
        pytest.raises(ConflictError, match="has rows"),
    ):
        load_all(opened.run)
    copies.open()
    assert copies.properties("copy")[STORE_ID] == "here"
    copies.close()
