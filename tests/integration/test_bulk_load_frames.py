"""Rows of DataFrames in a table with bulk load, as the tasks of Spark write them, without a session."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from pyspark.serializers import CPickleSerializer

from ingest.api import FamilySpec, Scan, TableSpec
from ingest.spark.datasource.source import TableDataSource
from sinks.hbase.rpc.store import RpcStore
from sinks.hbase.settings import HBaseSettings
from sinks.table_records import ensure_declared
from tests.support.names import unique
from tests.support.servers import HBase
from tests.support.spark_types import schema

pytestmark = pytest.mark.one_protocol("a Thrift server loads no files")

SERIALIZER = CPickleSerializer()
SCHEMA = schema("row string, x string, at bigint")


def batches(rows: int) -> Iterator[pa.RecordBatch]:
    keys = [f"k{number:05}" for number in range(rows)]
    arrays = [pa.array(keys), pa.array([f"v{key}" for key in keys]), pa.array(range(1, rows + 1))]
    yield pa.RecordBatch.from_arrays(arrays, names=["row", "x", "at"])


@pytest.mark.parametrize(
    ("options", "has_files"),
    [
        ({"columns": "row, d:x, d:at as at int64"}, True),
        ({"columns": "row, d:x, d:at as at int64", "time": "7"}, False),
        ({"columns": "row, d:x", "time_column": "at"}, False),
    ],
    ids=["time of the write", "time", "time_column"],
)
def test_rows_are_loaded_as_files_if_no_other_write_has_their_time(
    hbase: HBase, tmp_path: Path, options: dict[str, str], *, has_files: bool
) -> None:
    """Another write with a time of its own may give a cell another value at that time, and a file may lose."""
    table = unique("frame")
    store = hbase.store_options("rpc") | {"timeout": "60s", "staging": str(tmp_path / "staging")}
    declared = {"store": "cluster", "families": {"d": {}}, "distribute": {"hash": 2}, "bulk_load": {"from": 1}}
    sinks = [{"attr2hbase": {"table": table}}]
    content = {
        "version": 1,
        "stores": {"cluster": {"hbase": store}},
        "tables": {table: declared},
        "pipelines": {"p": {"source": {"files": {"path": "./in"}}, "sinks": sinks}},
    }
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(content))
    with closing(RpcStore(HBaseSettings(**store))) as opened:
        opened.open()
        ensure_declared(opened, TableSpec(table, (FamilySpec(b"d"),), buckets=2))
        source = TableDataSource({"config": str(tmp_path / "p.yaml"), "table": table, **options})
        writer: Any = SERIALIZER.loads(SERIALIZER.dumps(source.writer(SCHEMA, overwrite=False)))
        writer.commit([writer.write(batches(3_000)), writer.write(batches(3_000))])  # the second is a repeated task
        found = {row.key[1:]: row for row in opened.scan(table, Scan(versions=10))}
    assert sorted(found) == [b"k%05d" % number for number in range(3_000)]
    assert {cell.value for row in found.values() for cell in row.cells if cell.qualifier == b"x"} == {
        b"v" + key for key in found
    }
    assert {len(row.cells) for row in found.values()} == {2 if "d:at" in options["columns"] else 1}
    assert (tmp_path / "staging").is_dir() is has_files
    if has_files:
        assert list((tmp_path / "staging").iterdir()) == []
