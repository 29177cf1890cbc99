"""Tables as a data source of Spark: read, filtered, joined and written, in RocksDB and HBase."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every PySpark reader knows

from ingest.api import Cell, FamilySpec, Store, TableSpec
from ingest.catalog import Catalog
from ingest.config import load
from ingest.formats.cell_types import FLOAT64, INT32
from ingest.spark.datasource.source import TableDataSource
from ingest.spark.session import close_session, open_session
from sinks.files.local_root import LocalRoot
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rowkeys.distribution import Distribution
from sinks.scanning.plain_reader import PlainReader
from sinks.table_records import ensure_declared
from sinks.updates.keys import UpdateKey, update_id_of
from tests.support.dumps import make_dump, row_of
from tests.support.names import unique
from tests.support.short_lived import java_options
from tests.support.stored_updates import add

ROWS = 2_000
BUCKETS = 4
TIME_MS = 1_000
COLUMNS = "row utf8, m:n as n int32, m:half as half float64, m:doc as doc json, m:kind as kind"


@dataclass(frozen=True)
class Target:
    """A table with buckets, and the options that name it."""

    options: Mapping[str, str]
    table: str
    reader: Callable[[], Store[Any]]

    def cells(self, row: bytes) -> tuple[Cell, ...]:
        store = self.reader()
        try:
            store.open()
            found = PlainReader.of(store, self.table).get(row)
            return () if found is None else found.cells
        finally:
            store.close()


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    session = open_session(
        "test",
        master="local[2]",
        driver_memory_bytes=512 << 20,
        conf={"spark.driver.extraJavaOptions": java_options(), "spark.sql.shuffle.partitions": "2"},
        secret_names=(),
        jars=[],
        java_properties={},
    )
    # an installed package needs no registration: tests/conformance/test_packaging.py
    session.dataSource.register(TableDataSource)
    try:
        yield session
    finally:
        close_session(session)


@pytest.fixture(scope="module", params=["rocksdb", "thrift", pytest.param("rpc", marks=pytest.mark.slow)])
def target(request: pytest.FixtureRequest, session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Target:
    """The table, with the rows of `frame`."""
    table = unique("spark")
    spec = TableSpec(table, (FamilySpec(b"m"),), Distribution(BUCKETS).splits(), BUCKETS)
    store: Store[Any]
    if request.param == "rocksdb":
        rocksdb = RocksDBSettings(path=str(tmp_path_factory.mktemp("spark") / "data"))
        store, options = RocksDBStore(rocksdb), {"path": rocksdb.path}
        found = Target({"store": "rocksdb", "table": table} | options, table, lambda: RocksDBStore.reader(rocksdb))
    else:
        server = request.getfixturevalue("hbase")
        hbase = HBaseSettings.model_validate(server.store_options(request.param, thrift2=True))
        store = HBaseStore.of(hbase)
        options = {name: str(value) for name, value in server.store_options(request.param).items()}
        found = Target({"store": "hbase", "table": table} | options, table, lambda: HBaseStore.reader(hbase))
    try:
        store.open()
        store.ensure_table(spec)
    finally:
        store.close()
    write = frame(session).repartition(3).write.format("attr2hbase").options(**found.options)
    write.options(columns=COLUMNS, time=str(TIME_MS)).mode("append").save()
    return found


def frame(session: SparkSession) -> DataFrame:
    """The rows of the table."""
    return session.range(ROWS).select(
        F.format_string("user-%05d", "id").alias("row"),
        F.col("id").cast("int").alias("n"),
        (F.col("id") / 2).alias("half"),
        F.format_string('{"id":%d}', "id").alias("doc"),
        F.when(F.col("id") % 5 != 0, F.format_string("kind %d", F.col("id") % 3)).alias("kind"),
    )


def declared(folder: Path, table: str, store: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, str]:
    """The options that name a table which a new pipeline file declares."""
    content = {
        "version": 1,
        "stores": {"target": store},
        "tables": {table: {"families": {"m": {}}, **options}},
        "pipelines": {
            "p": {
                "source": {"files": {"path": "./in"}},
                "decorators": [{"value": {"attribute": "2hb_", "value": "%{body}"}}],
                "sinks": [{"attr2hbase": {"table": table}}],
            }
        },
    }
    (folder / "pipeline.yaml").write_text(json.dumps(content))
    return {"config": str(folder / "pipeline.yaml"), "table": table}


ON_ROCKSDB = pytest.mark.parametrize("target", ["rocksdb"], indirect=True)


def loaded(session: SparkSession, target: Target, **options: str) -> DataFrame:
    return session.read.format("attr2hbase").options(**target.options, **{"columns": COLUMNS} | options).load()


def test_rows_that_were_written_are_read(session: SparkSession, target: Target) -> None:
    found = loaded(session, target)
    assert (found.count(), found.exceptAll(frame(session)).count()) == (ROWS, 0)
    assert found.rdd.getNumPartitions() == BUCKETS
    cells = [(b"doc", b'{"id":7}'), (b"half", FLOAT64.pack(3.5)), (b"kind", b"kind 1"), (b"n", INT32.pack(7))]
    assert target.cells(b"user-00007") == tuple(Cell(b"m", name, TIME_MS, value) for name, value in cells)
    assert [cell.qualifier for cell in target.cells(b"user-00010")] == [b"doc", b"half", b"n"]


@ON_ROCKSDB
def test_sql_filters_joins_and_counts(session: SparkSession, target: Target) -> None:
    loaded(session, target).createOrReplaceTempView("users")
    (row,) = session.sql("""
        SELECT count(*) AS pairs, sum(a.n) AS total, count(b.kind) AS kinds
        FROM users a JOIN users b ON a.n = b.half AND a.row < b.row
        WHERE get_json_object(b.doc, '$.id') < 1000
    """).collect()
    halves = range(1, 500)
    assert (row["pairs"], row["total"]) == (len(halves), sum(halves))
    assert row["kinds"] == sum(1 for half in halves if 2 * half % 5)


def test_ranges_and_patterns_apply_to_logical_keys(session: SparkSession, target: Target) -> None:
    found = loaded(session, target, prefix="user-01", fuzzy="user-?1??7", start="user-01100", columns="row utf8, m:doc")
    assert sorted(found.toPandas()["row"]) == [f"user-{number:05}" for number in range(1_107, 2_000, 10)]


@ON_ROCKSDB
def test_time_range_selects_cells(session: SparkSession, target: Target) -> None:
    late = frame(session).where(f"n >= {ROWS - 10}").selectExpr("row", "'late' AS late")
    write = late.write.format("attr2hbase").options(**target.options, columns="row utf8, m:late")
    write.options(time="1970-01-01T00:00:05Z").mode("append").save()

    def rows(**options: str) -> list[tuple[Any, ...]]:
        found = loaded(session, target, columns="row utf8, m:n as n int32, m:late", **options)
        return sorted(map(tuple, found.collect()))

    keys = [(f"user-{number:05}", number) for number in range(ROWS - 10, ROWS)]
    assert rows(start_time=str(TIME_MS + 1), end_time="5001") == [(key, None, "late") for key, _ in keys]
    assert rows(end_time="1970-01-01T00:00:05Z", prefix="user-0199") == [(key, number, None) for key, number in keys]
    assert rows(start_time=str(TIME_MS), prefix="user-0199") == [(key, number, "late") for key, number in keys]
    assert rows(end_time=str(TIME_MS)) == []


@ON_ROCKSDB
def test_all_cells_are_a_map_or_versions(session: SparkSession, target: Target) -> None:
    read = session.read.format("attr2hbase").options(**target.options, prefix="user-00010")
    ((key, cells),) = read.load().collect()
    assert bytes(key) == b"user-00010"
    assert {name: bytes(value) for name, value in cells.items()} == {
        "m:doc": b'{"id":10}',
        "m:half": FLOAT64.pack(5.0),
        "m:n": INT32.pack(10),
    }
    ((_, versions),) = read.option("versions", 2).load().selectExpr("row", "cells.timestamp").collect()
    assert versions == [TIME_MS] * 3


@ON_ROCKSDB
def test_cells_of_one_table_are_written_to_another(session: SparkSession, tmp_path: Path, target: Target) -> None:
    """By a pipeline file, whose declaration creates the table."""
    names = declared(tmp_path, "copy", {"rocksdb": {"path": str(tmp_path / "data")}}, {})
    cells = session.read.format("attr2hbase").options(**target.options).load()
    cells.write.format("attr2hbase").options(**names).mode("append").save()
    found = session.read.format("attr2hbase").options(**names, columns=COLUMNS).load()
    assert found.exceptAll(frame(session)).count() == 0
    assert found.count() == ROWS


def test_rows_of_a_table_are_copied_into_one_with_other_buckets(session: SparkSession, tmp_path: Path) -> None:
    """The steps of docs/guides/row-keys.md, within one store."""
    store = {"rocksdb": {"path": str(tmp_path / "data")}}
    names = declared(tmp_path, "plain", store, {})
    frame(session).write.format("attr2hbase").options(**names, columns=COLUMNS).mode("append").save()
    for source, table, buckets in (("plain", "salted", 4), ("salted", "resalted", 8)):
        names = declared(tmp_path, table, store, {"distribute": {"hash": buckets}})
        rows = session.read.format("attr2hbase").options(**names | {"table": source}).load()
        rows.write.format("attr2hbase").options(**names).mode("append").save()
        found = session.read.format("attr2hbase").options(**names, columns=COLUMNS).load()
        assert (found.count(), found.exceptAll(frame(session)).count()) == (ROWS, 0)
        assert found.rdd.getNumPartitions() == buckets


@ON_ROCKSDB
def test_sql_inserts_rows_into_a_view(session: SparkSession, tmp_path: Path, target: Target) -> None:
    names = declared(tmp_path, "inserted", {"rocksdb": {"path": str(tmp_path / "data")}}, {})
    session.read.format("attr2hbase").options(**target.options, columns="row utf8, m:n as n int32").load().limit(
        0
    ).write.format("attr2hbase").options(**names, columns="row utf8, m:n as n int32").mode("append").save()
    options = ", ".join(f"{name} '{value}'" for name, value in names.items())
    session.sql(
        f"CREATE TEMPORARY VIEW inserted USING attr2hbase OPTIONS ({options}, columns 'row utf8, m:n as n int32')"
    )
    session.sql("INSERT INTO inserted SELECT 'k1', 200")
    assert [tuple(row) for row in session.table("inserted").collect()] == [("k1", 200)]


def test_a_declaration_with_another_number_of_buckets_is_refused(
    session: SparkSession, tmp_path: Path, target: Target
) -> None:
    """Rows in other buckets would not be found."""
    options = dict(target.options)
    kind, table = options.pop("store"), options.pop("table")
    store = {kind: {name: int(value) if name == "port" else value for name, value in options.items()}}
    names = declared(tmp_path, table, store, {"distribute": {"hash": BUCKETS * 2}})
    with pytest.raises(PySparkException, match=r"has `distribute: \{hash: 4\}`"):
        frame(session).write.format("attr2hbase").options(**names, columns=COLUMNS).mode("append").save()


@ON_ROCKSDB
def test_a_value_of_another_type_fails_the_query(session: SparkSession, target: Target) -> None:
    with pytest.raises(PySparkException, match=r'row "user-.*": "m:half" cannot be read as int32'):
        loaded(session, target, columns="m:half as half int32").agg(F.sum("half")).collect()


@ON_ROCKSDB
def test_filters_on_the_row_key_are_pushed_if_both_switches_are_on(session: SparkSession, target: Target) -> None:
    with pytest.raises(PySparkException, match=r"filterPushdown\.enabled"):
        loaded(session, target, push_filters="true").count()
    session.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        found = loaded(session, target, push_filters="true")
        one = found.filter("row = 'user-00042' AND n > 0")
        assert one.rdd.getNumPartitions() == 1
        assert [row["n"] for row in one.collect()] == [42]
        other = loaded(session, target, push_filters="true")
        assert other.filter("row LIKE 'user-0199%' AND row < 'user-01995'").count() == 5
        # Spark 4.2 applies the filters of one query to the next one of the same DataFrame: docs/guides/spark.md
        assert found.count() < ROWS
        assert loaded(session, target).filter("row = 'user-00042'").count() == 1
    finally:
        session.conf.unset("spark.sql.python.filterPushdown.enabled")


@ON_ROCKSDB
def test_a_micro_batch_that_runs_again_writes_the_same_cells(
    session: SparkSession, target: Target, tmp_path: Path
) -> None:
    source, checkpoint = str(tmp_path / "in"), tmp_path / "checkpoint"
    rows = session.range(100).select(
        F.format_string("stream-%03d", "id").alias("row"),
        F.col("id").cast("int").alias("n"),
        F.timestamp_millis(F.col("id") + 1).alias("at"),
    )
    rows.repartition(2).write.parquet(source)

    def run() -> None:
        stream = session.readStream.schema(rows.schema).option("maxFilesPerTrigger", 1).parquet(source)
        write = stream.writeStream.format("attr2hbase").options(**target.options, columns="m:n int32")
        write = write.option("time_column", "at").option("checkpointLocation", str(checkpoint))
        write.trigger(availableNow=True).start().awaitTermination()

    run()
    before = [target.cells(b"stream-%03d" % number) for number in range(100)]
    assert before == [(Cell(b"m", b"n", number + 1, INT32.pack(number)),) for number in range(100)]
    # as if the process had been killed before Spark recorded the last micro-batch
    for file in checkpoint.glob("commits/*1*"):
        file.unlink()
    run()
    assert [target.cells(b"stream-%03d" % number) for number in range(100)] == before
    assert (checkpoint / "commits" / "1").exists()


@ON_ROCKSDB
def test_a_streaming_write_needs_a_time(session: SparkSession, target: Target, tmp_path: Path) -> None:
    stream = session.readStream.format("rate").load().selectExpr("CAST(value AS STRING) AS row", "'x' AS kind")
    write = stream.writeStream.format("attr2hbase").options(**target.options, columns="m:kind")
    with pytest.raises(PySparkException, match="a streaming write needs the timestamp of its cells"):
        write.option("checkpointLocation", str(tmp_path)).trigger(once=True).start().awaitTermination()


@pytest.mark.parametrize("kind", ["rocksdb", "thrift", pytest.param("rpc", marks=pytest.mark.slow)])
def test_rows_of_deferred_updates_are_merged(
    session: SparkSession, kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    table = unique("counters")
    options: dict[str, Any] = {"path": str(tmp_path / "data")}
    store: Store[Any] = RocksDBStore(RocksDBSettings(path=options["path"]))
    if kind != "rocksdb":
        options = request.getfixturevalue("hbase").store_options(kind, thrift2=True)
        store = HBaseStore.of(HBaseSettings.model_validate(options))
    updates = {"updates": {"processor": "sum"}}
    names = declared(tmp_path, table, {"rocksdb" if kind == "rocksdb" else "hbase": options}, updates)
    spec = load(names["config"], env={}, lookup=Catalog()).tables[table].spec()
    # a region starts within the update rows of a row
    split = UpdateKey(b"k05", update_id_of(3, 0)).encoded()
    with closing(store):
        store.open()
        ensure_declared(store, replace(spec, splits=(split,)))
        for time_ms in range(1, 6):
            for number in range(10):
                add(store, table, b"k%02d" % number, time_ms, {b"m:n": b"%d" % number})
    read = session.read.format("attr2hbase").options(**names, columns="row utf8, m:n as n", minPartitions=4)
    found = read.load()
    assert found.rdd.getNumPartitions() > 1
    assert sorted((row["row"], int(row["n"])) for row in found.collect()) == [
        (f"k{number:02}", 5 * number) for number in range(10)
    ]
    raw = read.option("raw", True).load()
    assert raw.count() == 50
    assert raw.filter("row = 'k05' AND update_row.start_time = 3 AND NOT update_row.is_orphaned").count() == 1


def test_dump_is_read_and_filtered(session: SparkSession, tmp_path: Path) -> None:
    parts = [[row_of(b"%d-%d" % (part, line), n=INT32.pack(line)) for line in range(100)] for part in range(3)]
    make_dump(LocalRoot(tmp_path / "dumps"), {"t": parts})
    options = {"dump_root": str(tmp_path / "dumps"), "table": "t", "columns": "row utf8, f:n as n int32"}
    found = session.read.format("attr2hbase").options(**options).load()
    assert found.rdd.getNumPartitions() == 3
    assert found.filter("n >= 50").count() == 150
    assert found.agg(F.sum("n")).collect()[0][0] == 3 * sum(range(100))
    with pytest.raises(PySparkException, match="no table"):
        session.read.format("attr2hbase").options(**options | {"table": "unknown"}).load().count()
