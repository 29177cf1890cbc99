"""Dumps as DataFrames, without a session."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.serializers import CPickleSerializer

from ingest.api import ConfigError, Row
from ingest.spark.datasource.options import DumpReadOptions, dump_options
from ingest.spark.datasource.source import TableDataSource
from sinks.dumps.errors import DumpNotAvailableError, TableNotInDumpError
from sinks.dumps.layout import FileFormat
from sinks.files.local_root import LocalRoot
from tests.support.dumps import DUMP, START_MS, make_dump, row_of

SERIALIZER = CPickleSerializer()
DAY_MS = 86_400_000


@pytest.fixture(scope="module", params=FileFormat)
def root(request, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dumps") / "root"
    parts = [[row_of(b"%d-%d" % (part, line), a=b"%d" % line, b=b"b") for line in range(5)] for part in range(3)]
    other = [[row_of(b"x\xff", c=b"1")]]
    make_dump(LocalRoot(folder), {"t": parts, "other": other, "empty": []}, file_format=request.param)
    newer: list[list[Row]] = [[row_of(b"new", a=b"9")]]
    make_dump(LocalRoot(folder), {"t": newer}, at_ms=START_MS + DAY_MS, run_id="newer")
    return folder


def partitions(root: Path, table: str = "t", **options: str) -> Any:
    source = TableDataSource({"dump_root": str(root), "table": table, **options})
    reader = source.reader(source.schema())
    sent = SERIALIZER.loads(SERIALIZER.dumps(reader))
    return sent, [SERIALIZER.loads(SERIALIZER.dumps(each)) for each in reader.partitions()]


def rows(root: Path, table: str = "t", **options: str) -> list[tuple[object, ...]]:
    reader, found = partitions(root, table, **options)
    return [tuple(row.values()) for part in found for batch in reader.read(part) for row in batch.to_pylist()]


def test_newest_dump(root: Path):
    assert rows(root) == [(b"new", [("f:a", b"9")])]


def test_named_dump_has_a_partition_for_each_file(root: Path):
    _, found = partitions(root, dump=DUMP)
    assert len(found) == 3
    assert rows(root, dump="2015-02-24T00:00:00Z") == [
        (b"%d-%d" % (part, line), [("f:a", b"%d" % line), ("f:b", b"b")]) for part in range(3) for line in range(5)
    ]


def test_range_of_row_keys(root: Path):
    reader, found = partitions(root, dump=DUMP, start="1-3", stop="2-1")
    assert len(found) == 2
    keys = [key for part in found for batch in reader.read(part) for key in batch.column("row").to_pylist()]
    assert keys == [b"1-3", b"1-4", b"2-0"]
    assert [row[0] for row in rows(root, dump=DUMP, prefix="0-")] == [b"0-%d" % line for line in range(5)]
    assert rows(root, dump=DUMP, prefix="9") == []


def test_declared_columns(root: Path):
    assert rows(root, dump=DUMP, prefix="1-2", columns="row utf8, f:a as n, f:x") == [("1-2", "2", None)]
    assert rows(root, dump=DUMP, columns="f:x") == []


def test_cells_with_their_times(root: Path):
    assert rows(root, versions="1") == [(b"new", [{"column": "f:a", "timestamp": 1_000, "value": b"9"}])]


def test_table_without_rows(root: Path):
    assert rows(root, "empty", dump=DUMP) == []


def test_errors(root: Path, tmp_path: Path):
    with pytest.raises(TableNotInDumpError):
        partitions(root, "unknown")
    with pytest.raises(DumpNotAvailableError):
        partitions(root, dump="2015-02-24T00:00:01Z")
    with pytest.raises(DumpNotAvailableError):
        partitions(tmp_path)


def test_dump_is_pinned_unless_it_is_not_wanted(root: Path):
    before = len(list((root / "_pins").glob("*.json")))
    partitions(root)
    partitions(root, pin="false")
    assert len(list((root / "_pins").glob("*.json"))) == before + 1
    with pytest.raises(TableNotInDumpError):
        partitions(root, "unknown")
    assert len(list((root / "_pins").glob("*.json"))) == before + 1, "no task needs it"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dump_root": "r"}, "the name of the table is missing"),
        ({"dump_root": "", "table": "t"}, 'the option "dump_root" is empty'),
        ({"dump_root": "r", "table": "t", "config": "p.yaml"}, 'the option "config" does not apply to dumps'),
        ({"dump_root": "r", "table": "t", "fuzzy": "a?"}, 'the option "fuzzy" does not apply to dumps'),
        ({"dump_root": "r", "table": "t", "dmp": "x"}, 'did you mean "dump"?'),
        ({"dump_root": "r", "table": "t", "versions": "2"}, "a dump has one version of each cell"),
    ],
)
def test_wrong_options(options: Mapping[str, str], message: str):
    with pytest.raises(ConfigError) as raised:
        dump_options(options)
    assert message in str(raised.value)


def test_options():
    assert dump_options({"dump_root": "r", "table": "t"}) == DumpReadOptions("r", "t")
    assert dump_options({"dump_root": "r", "table": "t", "dump": DUMP, "pin": "false"}) == DumpReadOptions(
        "r", "t", DUMP, is_pinned=False
    )


def test_dumps_are_not_written(root: Path):
    source = TableDataSource({"dump_root": str(root), "table": "t"})
    with pytest.raises(ConfigError, match="only applies to a read of a dump"):
        source.writer(source.schema(), False)
