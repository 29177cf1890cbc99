"""The options of dumps."""

import pytest

from ingest.api import ConfigInvalidError
from ingest.catalog import Catalog
from ingest.config import Kind, load
from ingest.config.model import Configuration

FILE = """
version: 1
stores: {logs: memory, other: memory}
tables: {declared: {store: other, families: {f: {}}}}
pipelines:
  ticks:
    source: {kafka: {brokers: "localhost:9092", topics: [ticks]}}
    sinks: [{attr2hbase: {store: logs, table: written}}]
"""


def configuration(tmp_path, dump: str, file: str = FILE) -> Configuration:
    path = tmp_path / "p.yaml"
    path.write_text(f"{file}dump: {dump}\n")
    return load(str(path), env={}, lookup=Catalog())


def test_defaults(tmp_path):
    found = configuration(tmp_path, "{root: ./dumps}").dump
    assert (found.tables, found.at, found.at_s, found.keep, found.format, found.max_rate) == (
        [], None, None, 604_800, "gzip", None,
    )  # fmt: skip


def test_no_dump(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text(FILE)
    assert load(str(path), env={}, lookup=Catalog()).dump is None


def test_written_table_need_not_be_declared(tmp_path):
    assert configuration(tmp_path, "{root: ./dumps, tables: [written, declared]}").report.errors == ()


def test_tables_of_blob_stores_can_be_dumped(tmp_path):
    file = FILE.replace("families: {f: {}}}", "families: {f: {}}, blobs: {}}")
    dump = "{root: ./dumps, tables: [declared, declared_blobs_meta, declared_blobs_value, declared_blobs_refs]}"
    assert configuration(tmp_path, dump, file).report.errors == ()


def test_table_whose_options_have_problems_is_there(tmp_path):
    file = FILE.replace("families: {f: {}}}", "families: {f: {}}, blobs: {sweep_after: 1s}}")
    with pytest.raises(ConfigInvalidError) as found:
        configuration(tmp_path, "{root: ./dumps, tables: [declared]}", file)
    assert [problem.kind for problem in found.value.report.errors] == [Kind.OUT_OF_RANGE]


def test_misspelt_option_of_the_only_table_is_the_only_problem(tmp_path):
    file = FILE.replace("families: {f: {}}}", "famlies: {f: {}}}")
    with pytest.raises(ConfigInvalidError) as found:
        configuration(tmp_path, "{root: ./dumps}", file)
    assert [problem.kind for problem in found.value.report.errors] == [Kind.UNKNOWN_FIELD]


@pytest.mark.parametrize(
    ("dump", "kind", "message"),
    [
        ("{root: ./dumps, tables: [writen]}", Kind.UNKNOWN_REFERENCE, 'there is no table "writen"'),
        ("{root: ./dumps, tables: [written, written]}", Kind.CONFLICT, 'table "written" is listed twice'),
        ("{tables: [written]}", Kind.MISSING_FIELD, "root"),
        ("{root: ./dumps, keep: 0d}", Kind.OUT_OF_RANGE, "keep"),
        ('{root: ./dumps, at: "24:00"}', None, "at"),
        ("{root: ./dumps, columns: {written: {a: 'f:a utf8'}}}", Kind.CONFLICT, "columns need `format: parquet`"),
        ("{root: ./dumps, format: parquet, columns: {x: {a: 'f:a utf8'}}}", Kind.UNKNOWN_REFERENCE, 'no table "x"'),
        ("{root: ./dumps, format: csv}", Kind.NOT_ONE_OF, "format"),
    ],
)
def test_problems(tmp_path, dump, kind, message):
    with pytest.raises(ConfigInvalidError) as found:
        configuration(tmp_path, dump)
    (problem,) = found.value.report.errors
    assert kind in (None, problem.kind)
    assert message in str(problem)


def test_file_without_tables_names_those_of_the_dump(tmp_path):
    file = FILE.replace("tables: {declared: {store: other, families: {f: {}}}}\n", "")
    with pytest.raises(ConfigInvalidError, match='dump needs "tables"'):
        configuration(tmp_path, "{root: ./dumps}", file)
    assert configuration(tmp_path, "{root: ./dumps, tables: [written]}", file).dump.tables == ["written"]


TWO_STORES = f"""{FILE.replace("other: memory", "other: memory, third: memory")}  again:
    source: {{kafka: {{brokers: "localhost:9092", topics: [again]}}}}
    sinks: [{{attr2hbase: {{store: third, table: written}}}}]
"""


def test_table_in_two_stores_is_a_conflict_until_it_is_declared(tmp_path):
    with pytest.raises(ConfigInvalidError) as found:
        configuration(tmp_path, "{root: ./dumps, tables: [declared, written]}", TWO_STORES)
    (problem,) = found.value.report.errors
    assert problem.kind is Kind.CONFLICT
    assert problem.hint == "declare its store: tables: {written: {store: NAME}}"
    file = TWO_STORES.replace("tables: {", "tables: {written: {store: third, families: {a: {}}}, ")
    assert configuration(tmp_path, "{root: ./dumps, tables: [declared, written]}", file).report.errors == ()


@pytest.mark.parametrize(("at", "at_s"), [("00:00", 0), ("02:30", 9_000), ("23:59", 86_340)])
def test_time_of_day(tmp_path, at, at_s):
    assert configuration(tmp_path, f"{{root: ./dumps, at: {at}}}").dump.at_s == at_s
