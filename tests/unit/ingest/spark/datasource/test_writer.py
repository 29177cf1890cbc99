"""Tasks and commits of the data source, without a session."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.serializers import CPickleSerializer

from ingest.api import (
    MAX_ROW_KEY_BYTES,
    Cell,
    ConfigError,
    ConflictError,
    FamilySpec,
    MappingError,
    NotFoundError,
    TableSpec,
)
from ingest.spark.datasource.source import TableDataSource
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.scanning.plain_reader import PlainReader
from tests.support.spark_types import schema

SERIALIZER = CPickleSerializer()
SCHEMA = schema("row string, x string")
TABLES: dict[str, int | None] = {"plain": None, "salted": 16}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RocksDBStore]:
    """Open only where a test opens it."""
    store = RocksDBStore(RocksDBSettings(path=str(tmp_path / "data")))
    store.open()
    for table, buckets in TABLES.items():
        store.ensure_table(TableSpec(table, (FamilySpec(b"m"),), buckets=buckets))
    store.close()
    yield store
    store.close()


def writer_of(tmp_path: Path, table: str, **options: str) -> Any:
    """The writer as its tasks get it."""
    found = {"store": "rocksdb", "path": str(tmp_path / "data"), "table": table, "columns": "m:x", **options}
    return SERIALIZER.loads(SERIALIZER.dumps(TableDataSource(found).writer(SCHEMA, overwrite=False)))


def batch(*rows: tuple[str, str]) -> Iterator[pa.RecordBatch]:
    keys, values = zip(*rows, strict=True)
    yield pa.RecordBatch.from_arrays([pa.array(keys), pa.array(values)], names=["row", "x"])


def rows_of(store: RocksDBStore, table: str, row: bytes) -> tuple[Cell, ...]:
    store.open()
    try:
        found = PlainReader.of(store, table).get(row)
        return () if found is None else found.cells
    finally:
        store.close()


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("rows", [1, 6_000], ids=["mutations", "file"])
def test_rows_are_stored_by_the_commit(store: RocksDBStore, tmp_path: Path, table: str, rows: int):
    writer = writer_of(tmp_path, table, time="7")
    messages = [writer.write(batch(*((f"{task}{number}", "v") for number in range(rows)))) for task in "ab"]
    assert rows_of(store, table, b"b0") == ()
    writer.commit(messages)
    assert rows_of(store, table, b"b0") == (Cell(b"m", b"x", 7, b"v"),)
    assert list((tmp_path / "data.incoming").iterdir()) == []


def test_a_commit_may_be_repeated(store: RocksDBStore, tmp_path: Path):
    writer = writer_of(tmp_path, "salted", time="7")
    message = writer.write(batch(("k", "v")))
    folder = shutil.copytree(message.folder, tmp_path / "kept")
    writer.commit([message])
    shutil.copytree(folder, message.folder)
    writer.commit([message, None])
    assert rows_of(store, "salted", b"k") == (Cell(b"m", b"x", 7, b"v"),)


def test_an_abort_stores_nothing(store: RocksDBStore, tmp_path: Path):
    writer = writer_of(tmp_path, "plain")
    writer.abort([writer.write(batch(("k", "v"))), None])
    assert rows_of(store, "plain", b"k") == ()
    assert list((tmp_path / "data.incoming").iterdir()) == []


def test_the_last_of_several_rows_with_one_key_remains(store: RocksDBStore, tmp_path: Path):
    writer = writer_of(tmp_path, "plain", time="7")
    writer.commit([writer.write(batch(("k", "a"), ("k", "b")))])
    assert rows_of(store, "plain", b"k") == (Cell(b"m", b"x", 7, b"b"),)


def test_all_tasks_of_a_write_have_one_time(store: RocksDBStore, tmp_path: Path):
    writer = writer_of(tmp_path, "plain")
    writer.commit([SERIALIZER.loads(SERIALIZER.dumps(writer)).write(batch((key, "v"))) for key in "ab"])
    (first,), (second,) = rows_of(store, "plain", b"a"), rows_of(store, "plain", b"b")
    assert first.timestamp_ms == second.timestamp_ms


def test_a_store_that_another_process_writes_is_refused(store: RocksDBStore, tmp_path: Path):
    writer = writer_of(tmp_path, "plain")
    message = writer.write(batch(("k", "v")))
    store.open()
    with pytest.raises(ConflictError):
        writer_of(tmp_path, "plain")
    with pytest.raises(ConflictError):
        writer.commit([message])


@pytest.mark.parametrize("is_planned_again", [False, True], ids=["a batch", "a stream"])
def test_a_changed_number_of_buckets_is_refused(store: RocksDBStore, tmp_path: Path, is_planned_again: bool):
    """Spark plans the commit of a micro-batch again."""
    writer = writer_of(tmp_path, "salted")
    message = writer.write(batch(("k", "v")))
    store.open()
    store.ensure_table(TableSpec("salted", (FamilySpec(b"m"),), buckets=8))
    store.close()
    if is_planned_again:
        writer = writer_of(tmp_path, "salted")
    with pytest.raises(ConflictError, match="the number of buckets"):
        writer.commit([message])
    assert rows_of(store, "salted", b"k") == ()


def test_a_task_on_another_machine_is_refused(store: RocksDBStore, tmp_path: Path):
    writer = writer_of(tmp_path, "plain")
    shutil.rmtree(tmp_path / "data.incoming")
    with pytest.raises(ConfigError, match="only tasks on the machine of the driver"):
        writer.write(batch(("k", "v")))


@pytest.mark.parametrize(
    ("table", "row", "message"),
    [
        ("plain", "", "the row key has 0 bytes"),
        ("plain", "k" * (MAX_ROW_KEY_BYTES + 1), "the row key has 32768 bytes"),
        ("salted", "k" * MAX_ROW_KEY_BYTES, "its bucket needs one more"),
    ],
)
def test_row_keys_that_are_not_allowed_are_named(
    store: RocksDBStore, tmp_path: Path, table: str, row: str, message: str
):
    writer = writer_of(tmp_path, table)
    with pytest.raises(MappingError, match=message):
        writer.write(batch((row, "v")))


def test_a_missing_family_is_named(store: RocksDBStore, tmp_path: Path):
    with pytest.raises(ConfigError, match='there is no family "n" in table "plain"'):
        writer_of(tmp_path, "plain", columns="n:x")


def test_a_missing_table_is_named(store: RocksDBStore, tmp_path: Path):
    with pytest.raises(NotFoundError, match='there is no table "plan"; did you mean "plain"'):
        writer_of(tmp_path, "plan")


def test_a_table_cannot_be_replaced(tmp_path: Path):
    source = TableDataSource({"store": "rocksdb", "path": str(tmp_path), "table": "t", "time": "1"})
    with pytest.raises(ConfigError, match='use mode\\("append"\\)'):
        source.writer(SCHEMA, overwrite=True)
    with pytest.raises(ConfigError, match='use outputMode\\("append"\\)'):
        source.streamWriter(SCHEMA, overwrite=True)


def source_of(tmp_path: Path, **table: dict[str, str]) -> TableDataSource:
    """The column m:x of a table of a pipeline file, whose store is in memory."""
    file = tmp_path / "pipeline.yaml"
    value = [{"value": {"attribute": "2hb_", "value": "%{body}"}}]
    pipeline = {"source": {"files": {"path": "./in"}}, "decorators": value, "sinks": [{"attr2hbase": {"table": "t"}}]}
    tables = {"t": {"families": {"m": {}}, **table}}
    content = {"version": 1, "stores": {"m": {"memory": {}}}, "tables": tables, "pipelines": {"p": pipeline}}
    file.write_text(json.dumps(content))
    return TableDataSource({"config": str(file), "table": "t", "columns": "m:x"})


def test_types_of_the_table_do_not_decide_what_is_written(tmp_path: Path):
    source = source_of(tmp_path, columns={"m:x": "int64"})
    assert source.schema().simpleString() == "struct<row:binary,x:bigint>"
    with pytest.raises(ConfigError, match="has no TYPE, and the table shows it as int64"):
        source.writer(schema("row string, x bigint"), overwrite=False)


def test_the_memory_of_one_process_cannot_be_written(tmp_path: Path):
    source = source_of(tmp_path)
    with pytest.raises(ConfigError, match='cannot write the store "m": it is in the memory of one process'):
        source.writer(SCHEMA, overwrite=False)
