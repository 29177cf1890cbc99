"""Stores of a configuration, open for reading."""

from pathlib import Path

import pytest

from ingest.api import ConfigError, FamilySpec, LifecycleError, NotFoundError, TableSpec
from ingest.catalog import Catalog
from ingest.config.single_store import single_store
from ingest.plan.assemble import live_store
from ingest.plan.stores import (
    missing_table,
    reading_store,
    reading_store_if_exists,
    unopened_reader,
    unopened_store,
)
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore


def component(folder: Path):
    return single_store("rocksdb", {"path": str(folder)}, name="options", lookup=Catalog())[0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of a store with one table."""
    store = RocksDBStore(RocksDBSettings(path=str(tmp_path / "data")))
    store.open()
    store.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
    store.close()
    return tmp_path / "data"


def test_store_of_a_configuration_and_of_a_plan(folder: Path):
    found = component(folder)
    with reading_store(found, Catalog()) as store:
        assert store.tables() == ("t",)
    with reading_store(Catalog().located("stores", found)) as store:
        assert store.tables() == ("t",)


@pytest.mark.parametrize(
    ("options", "connected_by"),
    [({}, "a Thrift server"), ({"bootstrap_servers": "localhost:16000"}, "HBase's native RPC")],
)
def test_options_of_a_store_choose_its_class(options: dict[str, str], connected_by: str):
    catalog = Catalog()
    found, _ = single_store("hbase", options, name="options", lookup=catalog)
    planned = catalog.located("stores", found)
    for store in (unopened_store(found, catalog), unopened_reader(found, catalog), live_store(planned)):
        assert store.connected_by == connected_by


def test_store_is_closed_after_an_error(folder: Path):
    with pytest.raises(ConfigError), reading_store(component(folder), Catalog()) as store:
        raise ConfigError("x")
    with pytest.raises(LifecycleError):
        store.tables()


def test_store_that_the_first_write_creates_need_not_exist(tmp_path: Path, folder: Path):
    absent = component(tmp_path / "absent")
    with pytest.raises(NotFoundError), reading_store(absent, Catalog()):
        pass
    with reading_store_if_exists(absent, Catalog()) as (store, exists):
        assert (exists, store.capabilities.creates_tables) == (False, True)
    with reading_store_if_exists(component(folder), Catalog()) as (store, exists):
        assert (exists, store.tables()) == (True, ("t",))


@pytest.mark.parametrize(
    ("tables", "hint"),
    [(("events",), 'did you mean "events"?'), (("a", "b"), "there is a, b"), ((), "the store has no tables yet")],
)
def test_error_of_a_missing_table_names_those_that_exist(tables: tuple[str, ...], hint: str):
    error = missing_table("event", tables)
    assert (error.message, error.hint) == ('there is no table "event"', hint)
