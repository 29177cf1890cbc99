"""Reads of tables with deferred updates, without a session."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.serializers import CPickleSerializer
from pyspark.sql.datasource import EqualTo

from ingest.api import ConfigError, FamilySpec, Put, TableSpec, UpdatesDifferError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.spark.datasource.source import TableDataSource
from sinks.rewriting.incomplete_updates import apply_to_updates
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rowkeys.row_format import RowFormat
from sinks.table_records import ensure_declared
from sinks.updates.keys import UpdateKey, update_id_of

SERIALIZER = CPickleSerializer()
ROWS = 50
TABLES = ("counters", "salted")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline file, and its store with three update rows of each row, and an orphaned update of each second one."""
    folder = tmp_path_factory.mktemp("updates")
    updates = {"processor": "sum"}
    file = folder / "pipeline.yaml"
    file.write_text(
        json.dumps(
            {
                "version": 1,
                "stores": {"here": {"rocksdb": {"path": str(folder / "data")}}},
                "tables": {
                    "counters": {"families": {"c": {}}, "updates": updates},
                    "salted": {"families": {"c": {}}, "updates": updates, "distribute": {"hash": 4}},
                    "values": {"families": {"c": {}}},
                },
                "pipelines": {
                    "p": {
                        "source": {"files": {"path": "./in"}},
                        "decorators": [{"value": {"attribute": "2hb_", "value": "%{body}"}}],
                        "sinks": [{"attr2hbase": {"table": "values"}}],
                    }
                },
            }
        )
    )
    configuration = load(str(file), env={}, lookup=Catalog())
    store = RocksDBStore(RocksDBSettings(path=str(folder / "data")))
    store.open()
    store.ensure_table(TableSpec("values", (FamilySpec(b"c"),)))
    for table in TABLES:
        ensure_declared(store, configuration.tables[table].spec())
        for number in range(ROWS):
            row = b"k%03d" % number
            puts = [_put(UpdateKey(row, update_id_of(time, 7)), number) for time in (1, 2, 3)]
            if number % 2:
                puts.append(_put(UpdateKey(row, update_id_of(1, 7), update_id_of(2, 7)), 2 * number))
            apply_to_updates(store, table, RowFormat.recorded(store, table), puts)
    store.close()
    return file


def _put(key: UpdateKey, number: int) -> Put:
    return Put(key.encoded(), {b"c:n": b"%d" % number}, 1)


def reader_of(file: Path, table: str, **options: str) -> Any:
    source = TableDataSource({"config": str(file), "table": table, **options})
    return source.reader(source.schema())


def rows_of(reader: Any) -> list[list[dict[str, Any]]]:
    """The rows of each partition, read as in another process."""
    reader, partitions = (SERIALIZER.loads(SERIALIZER.dumps(each)) for each in (reader, reader.partitions()))
    return [[row for batch in reader.read(partition) for row in batch.to_pylist()] for partition in partitions]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("partitions", ["1", "8"])
def test_rows_are_merged_in_any_number_of_partitions(file: Path, table: str, partitions: str):
    found = rows_of(reader_of(file, table, minPartitions=partitions, columns="row utf8, c:n as n"))
    assert sum(map(bool, found)) >= min(4 if table == "salted" else 1, int(partitions))
    rows = sorted((row["row"], int(row["n"])) for part in found for row in part)
    assert rows == [(f"k{number:03d}", 3 * number) for number in range(ROWS)]


@pytest.mark.parametrize("table", TABLES)
def test_ranges_and_filters_are_of_logical_keys(file: Path, table: str):
    options = {"start": "k010", "prefix": "k0", "stop": "k020", "fuzzy": "k??5,k??9"}
    found = rows_of(reader_of(file, table, **options))
    assert sorted(row["row"] for part in found for row in part) == [b"k015", b"k019"]
    reader = reader_of(file, table, push_filters="true")
    assert list(reader.pushFilters([EqualTo(("row",), b"k007")])) == []
    assert rows_of(reader) == [[{"row": b"k007", "cells": [("c:n", b"21")]}]]


@pytest.mark.parametrize("table", TABLES)
def test_raw_rows_have_their_intervals(file: Path, table: str):
    found = rows_of(reader_of(file, table, raw="true", prefix="k007", columns="row utf8, c:n as n"))
    (rows,) = [part for part in found if part]
    first = {"start_time": 1, "start_split": 7, "end_time": 1, "end_split": 7, "is_merged": False, "is_orphaned": True}
    assert rows[0] == {"row": "k007", "update_row": first, "n": "7"}
    assert rows[1]["update_row"] == first | {"end_time": 2, "is_merged": True, "is_orphaned": False}
    assert [row["update_row"]["is_orphaned"] for row in rows] == [True, False, True, False]
    everything = rows_of(reader_of(file, table, raw="true", versions="3", minPartitions="8"))
    assert sum(map(len, everything)) == 3 * ROWS + ROWS // 2


def test_options_that_do_not_apply_are_refused(file: Path):
    with pytest.raises(ConfigError, match="cannot be read with several versions"):
        reader_of(file, "counters", versions="2").partitions()
    with pytest.raises(ConfigError, match="cannot be read with a range of times"):
        reader_of(file, "counters", start_time="1").partitions()
    with pytest.raises(ConfigError, match='table "values" has no deferred updates'):
        reader_of(file, "values", raw="true").partitions()
    with pytest.raises(ConfigError, match='a column is named "update_row"'):
        reader_of(file, "counters", raw="true", columns="c:n as Update_Row")


def test_a_read_without_the_pipeline_file_is_raw(file: Path):
    options = {"store": "rocksdb", "path": str(file.parent / "data"), "table": "counters"}
    source = TableDataSource(options)
    with pytest.raises(UpdatesDifferError, match="but the file declares no deferred updates"):
        source.reader(source.schema()).partitions()
    source = TableDataSource(options | {"raw": "true"})
    assert sum(map(len, rows_of(source.reader(source.schema())))) == 3 * ROWS + ROWS // 2
