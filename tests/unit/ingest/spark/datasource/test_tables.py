"""The table of a data source, by a pipeline file or by options."""

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.api import ConfigError, NotFoundError
from ingest.formats.cell_types import CellType
from ingest.formats.column_types import ColumnTypes
from ingest.spark.datasource.source import TableDataSource
from ingest.spark.datasource.tables import source_table
from sinks.files.local_root import LocalRoot
from tests.support.dumps import DUMP, make_dump, row_of


@pytest.fixture
def pipeline_file(tmp_path: Path) -> Path:
    content: dict[str, Any] = {
        "version": 1,
        "stores": {"here": {"rocksdb": {"path": str(tmp_path / "data")}}, "other": {"memory": {}}},
        "tables": {
            "t": {
                "store": "here",
                "families": {"m": {"versions": 3}},
                "distribute": {"hash": 16},
                "columns": {"m:rx": "int64", "m:ok": "bool8"},
            }
        },
        "pipelines": {
            "p": {
                "source": {"files": {"path": "./in"}},
                "decorators": [{"value": {"attribute": "2hb_", "value": "%{body}"}}],
                "sinks": [{"attr2hbase": {"table": "t", "store": "here"}}],
            }
        },
    }
    path = tmp_path / "pipeline.yaml"
    path.write_text(json.dumps(content))
    return path


def test_table_of_a_pipeline_file(pipeline_file: Path, tmp_path: Path):
    table = source_table({"config": str(pipeline_file), "table": "t"})
    assert table.declared is not None
    assert table.declared.buckets == 16
    store = table.store()
    assert (store.name, store.kind, store.settings.path) == ("here", "rocksdb", str(tmp_path / "data"))


def test_the_option_store_chooses_a_store_of_the_file(pipeline_file: Path):
    table = source_table({"config": str(pipeline_file), "table": "t", "store": "other"})
    assert (table.store().kind, table.declared) == ("memory", None)


def test_store_of_the_options():
    options = {"store": "hbase", "table": "t", "host": "gate", "port": "9999", "security.insecure": "true"}
    settings: Any = source_table(options).store().settings
    assert (settings.host, settings.port, settings.security.insecure) == ("gate", 9999, True)


def test_settings_are_not_shown():
    assert "gate" not in repr(source_table({"store": "hbase", "table": "t", "host": "localhost"}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"store": "hbase", "port": "x"}, 'port must be a whole number, not the text "x"'),
        ({"store": "hbase", "hots": "x"}, '"hots" is not an option of hbase (did you mean "host"?)'),
        ({"store": "hbsae"}, 'there is no store "hbsae" (did you mean "hbase"?)'),
        ({"store": "rocksdb"}, 'rocksdb needs "path"'),
    ],
)
def test_mistakes_in_options_are_named(options: dict[str, str], message: str):
    with pytest.raises(ConfigError) as raised:
        source_table({"table": "t", **options})
    assert message in str(raised.value)


def test_unknown_stores_and_tables_are_named(pipeline_file: Path):
    with pytest.raises(NotFoundError, match=r'there is no store "her" in .*; did you mean "here"'):
        source_table({"config": str(pipeline_file), "table": "t", "store": "her"})
    with pytest.raises(ConfigError, match='table "u" could be in any of the stores'):
        source_table({"config": str(pipeline_file), "table": "u"})


def test_relative_paths_start_at_the_folder_of_the_driver(
    pipeline_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Spark runs the process in a folder of its own."""
    elsewhere = tmp_path / "userFiles"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("SPARK_JOB_ARTIFACT_UUID", "some")
    monkeypatch.setenv("PWD", str(tmp_path))
    assert source_table({"config": pipeline_file.name, "table": "t"}).declared is not None
    settings: Any = source_table({"store": "rocksdb", "path": "data", "table": "t"}).store().settings
    assert settings.path == str(tmp_path / "data")
    assert Path.cwd() == elsewhere


def schema_of_read(**options: str) -> dict[str, str]:
    schema = TableDataSource(options).schema()
    return {field.name: field.dataType.simpleString() for field in schema}


def test_columns_without_a_type_have_that_of_the_table(pipeline_file: Path):
    config = {"config": str(pipeline_file), "table": "t"}
    columns = "m:rx, m:ok, m:unit, m:rx as text utf8"
    assert schema_of_read(**config, columns=columns) == {
        "row": "binary",
        "rx": "bigint",
        "ok": "boolean",
        "unit": "string",
        "text": "string",
    }
    assert schema_of_read(**config, columns=columns, store="other")["rx"] == "string"
    assert schema_of_read(store="hbase", table="t", host="localhost", columns=columns)["rx"] == "string"


def test_columns_of_a_dump_have_the_types_of_its_manifest(tmp_path: Path):
    root = LocalRoot(tmp_path / "dumps")
    make_dump(root, {"t": [[row_of(b"a", n=b"\0\7")]]}, types=ColumnTypes({b"f:n": CellType.INT16}))
    options = {"dump_root": str(tmp_path / "dumps"), "table": "t", "columns": "f:n"}
    assert schema_of_read(**options) == schema_of_read(**options, dump=DUMP) == {"row": "binary", "n": "smallint"}
