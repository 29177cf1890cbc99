"""The data source on a standalone cluster, and streaming writes that are killed: exact."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ingest.api import FamilySpec, Scan, Store, TableSpec
from ingest.formats.cell_types import INT64
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rowkeys.distribution import Distribution
from sinks.scanning.plain_reader import PlainReader
from tests.support import sessions
from tests.support.names import unique
from tests.support.servers import HBase
from tests.support.service import ROOT
from tests.support.spark_cluster import SparkCluster
from tests.support.waiting import reached

pytestmark = pytest.mark.slow

ROWS = 1_000_000
BUCKETS = 16
FILES = 12
ROWS_PER_FILE = 500
KILLS = 3
LIMIT_S = 300.0

_CLUSTER = """
import json, sys
from pyspark.sql import SparkSession, functions as F
master, rows, options = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
conf = {"spark.executor.memory": "512m", "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false"}
spark = SparkSession.builder.master(master).config(map=conf | {"spark.sql.shuffle.partitions": "4"}).getOrCreate()
frame = spark.range(rows).select(F.format_string("%07d", "id").alias("row"), F.col("id").alias("n"),
    F.format_string("group %d", F.col("id") % 10).alias("kind"))
frame.repartition(8).write.format("attr2hbase").options(**options).mode("append").save()
options.pop("time")
table = spark.read.format("attr2hbase").options(**options).load()
table.createOrReplaceTempView("t")
found = {"partitions": table.rdd.getNumPartitions(), "count": table.count()}
found["distinct"] = spark.sql("SELECT count(DISTINCT row) FROM t").first()[0]
found["filtered"] = spark.sql("SELECT count(*) FROM t WHERE n >= 1000 AND kind = 'group 3'").first()[0]
join = "SELECT count(*), sum(b.n) FROM t a JOIN t b ON b.n = 2 * a.n"
found["pairs"], found["sum"] = spark.sql(join).first()
found["prefix"] = spark.read.format("attr2hbase").options(**options, prefix="0123").load().count()
print(json.dumps(found))
"""

_STREAM = """
import json, sys
from pyspark.sql import SparkSession
source, checkpoint, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
conf = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
spark = SparkSession.builder.master("local[2]").config(map=conf).getOrCreate()
stream = spark.readStream.schema("row string, n bigint, at bigint").option("maxFilesPerTrigger", 1).json(source)
write = stream.repartition(2).writeStream.format("attr2hbase").options(**options, time_column="at")
write.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()
"""


def environment() -> dict[str, str]:
    """As where the package is installed: Spark finds the data source on the module path."""
    paths = [str(ROOT), str(ROOT / "deploy" / "spark")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYSPARK_PYTHON": sys.executable}


def created(store: Store[Any], table: str) -> None:
    try:
        store.open()
        store.ensure_table(TableSpec(table, (FamilySpec(b"m"),), Distribution(BUCKETS).splits(), BUCKETS))
    finally:
        store.close()


def hbase_settings(hbase: HBase) -> HBaseSettings:
    address = {"host": hbase.host, "port": hbase.thrift2_port}
    return HBaseSettings.model_validate({"host": hbase.host, "port": hbase.port, "thrift2": address})


@pytest.fixture
def cluster(servers_folder: Path) -> Iterator[SparkCluster]:
    cluster = SparkCluster(servers_folder / "spark-of-source")
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.mark.one_protocol("test_spark_source.py has both")
def test_a_million_rows_are_written_counted_filtered_and_joined_on_a_cluster(
    hbase: HBase, cluster: SparkCluster
) -> None:
    table = unique("million")
    created(HBaseStore.of(hbase_settings(hbase)), table)
    options = {"store": "hbase", "host": hbase.host, "port": hbase.port, "table": table, "time": 1}
    options["columns"] = "row utf8, m:n int64, m:kind"
    command = [sys.executable, "-c", _CLUSTER, cluster.master, str(ROWS), json.dumps(options)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stderr
    halves = ROWS // 2
    assert json.loads(done.stdout) == {
        "partitions": BUCKETS,
        "count": ROWS,
        "distinct": ROWS,
        "filtered": (ROWS - 1_000) // 10,
        "pairs": halves,
        "sum": halves * (halves - 1),
        "prefix": 1_000,
    }


@pytest.mark.parametrize("kind", ["rocksdb", "hbase"])
def test_a_streaming_write_that_is_killed_is_exact(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    table = unique("streamed")
    if kind == "rocksdb":
        rocksdb = RocksDBSettings(path=str(tmp_path / "data"))
        created(RocksDBStore(rocksdb), table)
        store: Store[Any] = RocksDBStore.reader(rocksdb)
        options = {"store": kind, "path": rocksdb.path}
    else:
        server = request.getfixturevalue("hbase")
        created(HBaseStore.of(hbase_settings(server)), table)
        store = HBaseStore.reader(hbase_settings(server))
        options = {"store": kind, "host": server.host, "port": str(server.port)}
    source, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    source.mkdir()
    for file in range(FILES):
        numbers = range(file * ROWS_PER_FILE, (file + 1) * ROWS_PER_FILE)
        lines = [json.dumps({"row": f"k{number}", "n": number, "at": number + 1}) for number in numbers]
        (source / f"{file:03}.json").write_text("\n".join(lines))
    arguments = [str(source), str(checkpoint), json.dumps(options | {"table": table, "columns": "m:n int64"})]
    command = [sys.executable, "-c", _STREAM, *arguments]
    chance = random.Random(kind)

    for kill in range(1, KILLS + 1):
        done = _commits(checkpoint)
        with subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL, start_new_session=True) as running:
            sessions.watch(running.pid)
            # inside the next micro-batch but one: it has started, and is not recorded
            assert reached(lambda: len(list(checkpoint.glob("offsets/[0-9]*"))) > done + 1, LIMIT_S), kill  # noqa: B023
            reached(lambda: False, chance.uniform(0, 1.5))
            os.killpg(running.pid, signal.SIGKILL)
        sessions.forget(running.pid)
    assert _commits(checkpoint) < FILES
    last = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False, timeout=600)
    assert last.returncode == 0, last.stderr
    try:
        store.open()
        found = {row.key: row.cells for row in PlainReader.of(store, table).scan(Scan())}
    finally:
        store.close()
    assert len(found) == FILES * ROWS_PER_FILE
    for number in range(FILES * ROWS_PER_FILE):
        ((_, _, time_ms, value),) = found[b"k%d" % number]
        assert (time_ms, value) == (number + 1, INT64.pack(number))
    # a micro-batch may have two files: Spark logs a file before the batch, and a kill may come between the two
    assert _batches(checkpoint, "commits") == _batches(checkpoint, "offsets")


def _batches(checkpoint: Path, log: str) -> set[str]:
    return {file.name for file in checkpoint.glob(f"{log}/[0-9]*")}


def _commits(checkpoint: Path) -> int:
    return len(_batches(checkpoint, "commits"))
