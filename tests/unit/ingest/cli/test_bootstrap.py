"""`attr2hbase dump bootstrap`, between two embedded stores."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace

import pytest

from ingest.api import ConfigError, Put
from ingest.api.feeds import FEED
from ingest.catalog import Catalog
from ingest.clock import now_ms
from ingest.config import load
from ingest.observe.metrics import Metrics
from ingest.plan.assemble import plan_of
from ingest.service.job_kinds import job_of
from ingest.service.jobs.place import OwnProcess
from ingest.service.stores import SharedStores
from sinks.bootstrap.progress import BOOTSTRAP
from sinks.feed.client import FeedClient
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.support.bootstraps import dump_files, rows_of
from tests.support.endpoint import serving_jobs
from tests.support.feeds import FeedFixture
from tests.support.place import ended
from tests.support.waiting import reached

START_MS = now_ms() - 60_000
FILE = """
version: 1
state_dir: ./state
service: {http: {listen: "127.0.0.1:1"}}  # no service answers there
stores: {local: {rocksdb: {path: ./data}}, copies: {rocksdb: {path: ./copies}}}
tables:
  orders: {store: local}
  salted: {store: copies, families: {d: {}}, distribute: {hash: 4}}
  expiring: {store: copies, families: {d: {ttl: 1h}}}
pipelines:
  orders:
    source: {files: {path: "*.jsonl"}}
    decorators: [json]
    sinks:
      - hbase:
          store: local
          table: orders
          row_key: {template: "%{id}"}
          cells: [{family: d, qualifier: a, value: "1"}]
"""


@contextmanager
def opened(name: str = "data") -> Iterator[RocksDBStore]:
    store = RocksDBStore(RocksDBSettings(path=f"./{name}"))
    store.open()
    try:
        yield store
    finally:
        store.close()


@pytest.fixture
def file(folder) -> str:
    """A file, a table of five rows with a change feed, a dump of it, and changes since."""
    (folder / "p.yaml").write_text(FILE)
    with opened() as store:
        writer = FeedFixture(store, time_ms=START_MS, shards=2)
        writer.put(*(b"%d" % number for number in range(5)))
        positions = FeedClient(store, "orders").latest()
        rows = rows_of(store)
        dump_files("dumps", "orders", [rows[:2], rows[2:]], positions)
        writer.delete(b"1")
        writer.put(b"2", b"\xff\xfe", value=b"\xff\xfe")
    return "p.yaml"


def bootstrapped(file: str, *options: str, to: str = "copies:copy") -> tuple[str, ...]:
    return ("dump", "bootstrap", "-f", file, "--dump", "dumps", "--to", to, *options)


def test_copy_of_the_dump(ingest, file):
    found = ingest(*bootstrapped(file, "--table", "orders", "--output", "json"))
    assert found.code == 0, found.err
    about = found.json
    assert (about["rows"], about["cells"], about["changes"], about["to"]) == (5, 5, 0, "copies:copy")
    assert about["verified"]["equal"]
    assert about["verified"]["source"] == about["verified"]["target"]
    with opened("copies") as store:
        assert [row.key for row in rows_of(store, "copy")] == [b"0", b"1", b"2", b"3", b"4"]


@pytest.mark.parametrize(("options", "table"), [((), "copy"), (("--concurrent",), "salted")])
def test_copy_of_the_dump_and_its_feed(ingest, file, folder, options, table):
    command = bootstrapped(file, "--feed", f"{file}:orders", *options, to=f"copies:{table}")
    found = ingest(*command)
    assert found.code == 0, found.err
    assert "5 rows of table" in found.err
    assert "3 changes applied" in found.err
    assert "5 rows equal, times included" in found.err
    with opened() as source, opened("copies") as copies:
        assert rows_of(copies, table) == rows_of(source, "orders")
        FeedFixture(source, time_ms=START_MS, shards=2).put(b"new", time_ms=START_MS + 1_000)
    again = ingest(*command, "--output", "json").json
    assert (again["changes"], again["verified"]["target"]["rows"]) == (4, 6)
    assert not list((folder / "state").rglob("*.deletes"))


def test_without_a_comparison(ingest, file):
    found = ingest(*bootstrapped(file, "--table", "orders", "--no-verify"))
    assert (found.code, "not compared" in found.err) == (0, True)
    command = bootstrapped(file, "--table", "orders", "--output", "json", to="copies:expiring")
    assert "verified" not in ingest(*command).json


def test_damaged_copy_is_exit_code_5(ingest, file):
    command = bootstrapped(file, "--table", "orders")
    assert ingest(*command).code == 0
    with opened("copies") as store:
        store.apply("copy", [Put(b"0", {b"d:a": b"wrong"}, now_ms())])
    found = ingest(*command)
    assert (found.code, "the tables differ" in found.err) == (5, True)
    found = ingest(*command, "--output", "json")
    assert (found.code, found.json["verified"]["equal"]) == (5, False)


def test_store_that_another_process_has_locked(ingest, file):
    with opened("copies"):
        found = ingest(*bootstrapped(file, "--table", "orders"))
    assert (found.code, "is held by process" in found.err) == (4, True)


def test_table_with_a_feed_or_with_rows_is_refused(ingest, file):
    with opened("copies") as store:
        FeedFixture(store, "fed")
        store.apply("fed", [Put(b"0", {b"d:a": b"x"}, 1)])
    found = ingest(*bootstrapped(file, "--table", "orders", to="copies:fed"))
    assert (found.code, "has a change feed" in found.err) == (4, True)
    with opened("copies") as store:
        assert store.set_property("fed", FEED, store.properties("fed")[FEED], None)
    found = ingest(*bootstrapped(file, "--table", "orders", to="copies:fed"))
    assert (found.code, "has rows" in found.err) == (4, True)
    with opened("copies") as store:
        assert BOOTSTRAP not in store.properties("fed")


@pytest.mark.parametrize(
    ("options", "to", "code", "message"),
    [
        (["--concurrent"], "copies:copy", 2, "--concurrent applies a feed"),
        (["--feed", "p.yaml"], "copies:copy", 2, "names no table of a file"),
        ([], "copies", 2, "names no table of a store"),
        ([], "copis:copy", 3, 'no store "copis"; did you mean "copies"'),
        ([], "local:salted", 2, 'in store "copies"'),
        ([], "copies:copy", 3, 'has no table "copy"'),
        (["--table", "orders", "--at", "2015-02-24-00-00-00"], "copies:copy", 3, "no complete dump"),
        (["--table", "orders", "--at", "yesterday"], "copies:copy", 2, "yesterday"),
    ],
)
def test_wrong_arguments(ingest, file, options, to, code, message):
    found = ingest(*bootstrapped(file, *options, to=to))
    assert found.code == code, found.err
    assert message in found.err.replace("\n  hint: ", "; ")


def test_dump_without_positions_of_the_feed(ingest, file, folder):
    with opened() as store:
        rows = rows_of(store, "orders")
    for entry in (folder / "dumps").iterdir():
        entry.rename(folder / f"{entry.name}.old")
    dump_files("dumps", "orders", [rows], {})
    found = ingest(*bootstrapped(file, "--feed", f"{file}:orders"))
    assert (found.code, "no position in a change feed" in found.err) == (2, True)


def test_pin_is_removed_at_the_end(ingest, file, folder):
    assert ingest(*bootstrapped(file, "--table", "orders")).code == 0
    assert not list((folder / "dumps" / "_pins").iterdir())


def test_service_loads_a_table_into_the_store_that_it_holds(ingest, file):
    catalog = Catalog()
    configuration = load(file, env={}, lookup=catalog)
    plan = plan_of(configuration, configuration.pipelines["orders"], catalog)
    stores = SharedStores(configuration, [plan])
    metrics = Metrics(["orders"], process=False)
    shared = SimpleNamespace(configuration=configuration, catalog=catalog, stores=stores, metrics=metrics)
    with ExitStack() as used:
        held = stores.used_by(plan, used)["local"]
        held.open()
        with serving_jobs(shared) as jobs:
            command = bootstrapped(file, "--feed", f"{file}:orders", to="local:copy")
            found = ingest(*command, "--output", "json")
            assert found.code == 0, found.err
            assert (found.json["to"], found.json["rows"], found.json["changes"]) == ("local:copy", 5, 3)
            assert found.json["verified"]["equal"]
            with held.held() as store:
                assert rows_of(store, "copy") == rows_of(store, "orders")
            of_dump = bootstrapped(file, "--table", "orders", to="local:plain")
            assert ingest(*of_dump).code == 0
            with held.held() as store:
                store.apply("plain", [Put(b"0", {b"d:a": b"wrong"}, now_ms())])
            differing = ingest(*of_dump)
            assert (differing.code, "the tables differ" in differing.err) == (5, True)
            assert ingest(*command, "--own-process").code == 4
            assert [(each.kind, each.state.value) for each in jobs.statuses()] == [("bootstrap", "done")] * 3
            with held.held():
                status = jobs.submit(job_of("bootstrap", {"to": "local:other", "dump": "dumps", "table": "orders"}))
                assert reached(lambda: jobs.status(status.id).state.value == "running", 60.0)
                jobs.cancel(status.id)
            assert reached(lambda: jobs.status(status.id).state.value == "cancelled", 60.0)


def bootstrapped_by_service(file: str, other: str) -> None:
    """Run a bootstrap with the feed of another file as a service does."""
    job = job_of("bootstrap", {"to": "copies:copy", "dump": "dumps", "feed": f"{other}:orders"})
    catalog = Catalog()
    with ExitStack() as opened:
        place = OwnProcess(load(file, env=os.environ, lookup=catalog), catalog, opened)
        place.is_service = True
        ended(job, place)


def test_service_loads_no_plugins_of_another_file(file, folder):
    (folder / "other.yaml").write_text(f"plugins: [loaded]\n{FILE}")
    (folder / "loaded.py").write_text("raise SystemExit")
    with pytest.raises(ConfigError, match="does not load the plugin"):
        bootstrapped_by_service(file, "other.yaml")


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("${PATH_OF_SERVICE}", "other.yaml:6:35"),
        ("${PATH_OF_SERVICE:rows}", "other.yaml"),
        ("${ABSENT}", "other.yaml:6:35"),
        ("${secret:data}", "other.yaml:6:35"),
    ],
)
def test_service_fills_in_nothing_of_another_file(file, folder, monkeypatch, value, place):
    monkeypatch.setenv("PATH_OF_SERVICE", "data")
    text = FILE.replace("./data", f"'{value}'")
    (folder / "other.yaml").write_text(f"secrets: {{exec: [touch, marker]}}\n{text}")
    with pytest.raises(ConfigError, match="fills in the variables and secrets of its own file alone") as caught:
        bootstrapped_by_service(file, "other.yaml")
    assert caught.value.message.startswith(f"{place}: ")
    assert "--own-process" in caught.value.hint
    assert not (folder / "marker").exists()


def test_service_reads_another_file_without_secrets(file, folder):
    (folder / "other.yaml").write_text(FILE.replace("./data", "'${ABSENT:./data}'"))
    bootstrapped_by_service(file, "other.yaml")


def test_file_of_the_service_keeps_its_variables(file, folder, monkeypatch):
    monkeypatch.setenv("PATH_OF_SERVICE", "data")
    (folder / file).write_text(FILE.replace("./data", "'${PATH_OF_SERVICE}'"))
    bootstrapped_by_service(file, str(folder / file))
