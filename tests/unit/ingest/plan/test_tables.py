"""Declared tables, compared with those in their stores and applied."""

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.api import ConfigError, FamilySpec, NotFoundError, Put, TableSpec
from ingest.catalog import Catalog
from ingest.config import load
from ingest.plan.tables import PlannedChange, apply_tables, plan_tables
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rowkeys.distribution import Distribution
from sinks.schema_diff import Aspect, Remedy


@pytest.fixture
def configured(tmp_path: Path):
    """A configuration with these tables; each is in the store that it names."""

    def made(tables: dict[str, Any]):
        stores = {name: {"rocksdb": {"path": str(tmp_path / name)}} for name in ("one", "two")}
        pipeline = {
            "source": {"files": {"path": "./in"}},
            "decorators": [{"value": {"attribute": "2hb_", "value": "%{body}"}}],
            "sinks": [{"attr2hbase": {"table": next(iter(tables)), "store": "one"}}],
        }
        file = tmp_path / "pipeline.yaml"
        file.write_text(json.dumps({"version": 1, "stores": stores, "tables": tables, "pipelines": {"p": pipeline}}))
        return load(str(file), env={}, lookup=Catalog())

    return made


def of(changes: list[PlannedChange] | tuple[PlannedChange, ...]) -> list[tuple[str, str, Aspect, Remedy]]:
    return [(each.store, each.difference.table, each.difference.aspect, each.remedy) for each in changes]


def test_changes_of_all_stores_are_planned_and_applied(configured):
    family = {"versions": 3}
    tables = {
        "a": {"store": "one", "families": {"f": family}},
        "b": {"store": "two", "families": {"f": {}}},
        "c": {"store": "one", "families": {"g": {}}},
    }
    configuration = configured(tables)
    missing = [(store, table, Aspect.TABLE, Remedy.MAKE) for store, table in (("one", "a"), ("one", "c"), ("two", "b"))]
    assert of(plan_tables(configuration, Catalog())) == missing
    applied = apply_tables(configuration, Catalog())
    assert (of(applied.done), applied.left, applied.refused) == (missing, (), ())
    assert plan_tables(configuration, Catalog()) == []

    family["versions"] = 1
    configuration = configured(tables)
    loss = [("one", "a", Aspect.VERSIONS, Remedy.DATA_LOSS)]
    assert of(plan_tables(configuration, Catalog())) == loss
    assert of(apply_tables(configuration, Catalog()).left) == loss
    assert of(apply_tables(configuration, Catalog(), allow_data_loss=True).done) == loss


def test_table_is_adopted(configured, tmp_path: Path):
    store = RocksDBStore(RocksDBSettings(path=str(tmp_path / "one")))
    store.open()
    store.ensure_table(TableSpec("a", (FamilySpec(b"f"),)))
    store.apply("a", [Put(Distribution(8).physical(b"row"), {b"f:q": b"v"}, 1)])
    store.close()
    configuration = configured({"a": {"store": "one", "families": {"f": {}}, "distribute": {"hash": 8}}})
    distribute = [("one", "a", Aspect.DISTRIBUTE, Remedy.NEW_TABLE)]
    assert of(plan_tables(configuration, Catalog())) == distribute
    assert of(apply_tables(configuration, Catalog()).left) == distribute
    assert of(apply_tables(configuration, Catalog(), adopt=["a"]).done) == distribute


def test_local_table_with_buckets_has_no_split_points_to_compare(configured):
    configuration = configured({"a": {"store": "one", "families": {"f": {}}, "distribute": {"hash": 8}}})
    apply_tables(configuration, Catalog())
    assert plan_tables(configuration, Catalog()) == []


def test_only_declared_tables_with_buckets_are_adopted(configured):
    configuration = configured({"events": {"store": "one", "families": {"f": {}}}})
    with pytest.raises(NotFoundError, match='did you mean "events"'):
        apply_tables(configuration, Catalog(), adopt=["event"])
    with pytest.raises(ConfigError, match="declares no `distribute`"):
        apply_tables(configuration, Catalog(), adopt=["events"])
