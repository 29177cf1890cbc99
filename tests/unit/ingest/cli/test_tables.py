"""`scan`, `get` and `table apply`, on an embedded store."""

import pytest

from ingest.api import FamilySpec, Put, TableSpec
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore

ROWS = [b"a1", b"a2", b"b1", b"\xff\x00"]


@pytest.fixture
def store(pipeline):
    """A store that is open, as a service has it."""
    store = RocksDBStore(RocksDBSettings(path="./data"))
    store.open()
    store.ensure_table(TableSpec("mytable", (FamilySpec(b"cf", versions=2), FamilySpec(b"other"))))
    for time_ms in (1000, 2000):
        values = {b"cf:q": b"v%d" % time_ms, b"cf:\xff": b"\x00", b"other:": "Köln".encode()}
        store.apply("mytable", [Put(row, dict(values), time_ms) for row in ROWS])
    yield store
    store.close()


def keys(result):
    assert result.code == 0, result.err
    return [row["row"] for row in result.lines]


SCAN = ("scan", "pipeline.yaml", "mytable", "--output", "json")
LAST = {"b64": "/wA="}


class TestScan:
    def test_rows_as_json(self, ingest, store):
        lines = ingest(*SCAN, "--limit", 1).lines
        assert lines == [
            {
                "row": "a1",
                "cells": [
                    ["cf", "q", 2000, "v2000"],
                    ["cf", {"b64": "/w=="}, 2000, "\x00"],
                    ["other", "", 2000, "Köln"],
                ],
            }
        ]

    @pytest.mark.parametrize(
        ("table", "hint"),
        [("mytabel", 'did you mean "mytable"?'), ("x", "there is mytable")],
        ids=["a-slip", "another-name"],
    )
    def test_other_name_is_told_what_there_is(self, ingest, store, table: str, hint: str):
        result = ingest("scan", "pipeline.yaml", table)
        assert (result.code, result.out) == (3, "")
        assert f'there is no table "{table}"' in result.err
        assert hint in result.err

    def test_rows_as_text(self, ingest, store):
        result = ingest("scan", "pipeline.yaml", "mytable", "--prefix", "\\xff")
        assert result.out == (
            "\\xff\\x00\n"
            "  cf:q     1970-01-01T00:00:02.000Z  v2000\n"
            "  cf:\\xff  1970-01-01T00:00:02.000Z  \\x00\n"
            "  other:   1970-01-01T00:00:02.000Z  Köln\n"
        )
        assert result.err == "1 row\nnext: ingest get pipeline.yaml mytable ROW\n"

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ([], ["a1", "a2", "b1", LAST]),
            (["--prefix", "a"], ["a1", "a2"]),
            (["--start", "a2"], ["a2", "b1", LAST]),
            (["--stop", "b1"], ["a1", "a2"]),
            (["--start", "\\xff"], [LAST]),
            (["--limit", "2"], ["a1", "a2"]),
            (["--reverse"], [LAST, "b1", "a2", "a1"]),
            (["--prefix", "a", "--reverse", "--limit", "1"], ["a2"]),
            (["--columns", "absent:q"], []),
        ],
        ids=str,
    )
    def test_range(self, ingest, store, options, expected):
        assert keys(ingest(*SCAN, *options)) == expected

    @pytest.mark.parametrize(
        "options", [["--columns", "cf:q,other"], ["--columns", "cf:q", "--columns", "other:"]], ids=str
    )
    def test_columns(self, ingest, store, options):
        cells = ingest(*SCAN, "--limit", 1, *options).json["cells"]
        assert [cell[:2] for cell in cells] == [["cf", "q"], ["other", ""]]

    def test_escaped_column(self, ingest, store):
        assert len(ingest(*SCAN, "--limit", 1, "--columns", "cf:\\xff").json["cells"]) == 1

    def test_versions(self, ingest, store):
        cells = ingest(*SCAN, "--limit", 1, "--columns", "cf:q", "--versions", 2).json["cells"]
        assert [cell[2] for cell in cells] == [2000, 1000]

    def test_table_that_is_not_there(self, ingest, store):
        result = ingest("scan", "pipeline.yaml", "absent")
        assert (result.code, result.out) == (3, "")

    def test_store_that_is_not_there(self, ingest, pipeline):
        assert ingest("scan", "pipeline.yaml", "mytable").code == 3


class TestGet:
    def test_row(self, ingest, store):
        result = ingest("get", "pipeline.yaml", "mytable", "\\xff\\x00", "--columns", "cf:q", "--versions", "3")
        assert result.code == 0
        assert result.out == (
            "\\xff\\x00\n  cf:q  1970-01-01T00:00:02.000Z  v2000\n  cf:q  1970-01-01T00:00:01.000Z  v1000\n"
        )

    def test_row_that_is_not_there(self, ingest, store):
        result = ingest("get", "pipeline.yaml", "mytable", "a3")
        assert (result.code, result.out) == (3, "")
        assert 'no row "a3" in table "mytable"' in result.err


STORES = """
version: 1
stores:
  one: {rocksdb: {path: ./one}}
  two: {rocksdb: {path: ./two}}
tables:
  declared: {store: two, families: {b: {}, a: {versions: 3}}}
pipelines:
  p:
    source: {files: {path: ./in}}
    decorators: [{value: {attribute: "2hb_", value: "%{topic}%{offset}"}}]
    sinks: [{attr2hbase: {store: one, table: written}}]
"""


class TestTableApply:
    def test_makes_what_is_missing(self, ingest, folder):
        (folder / "p.yaml").write_text(STORES)
        first = ingest("table", "apply", "p.yaml", "--output", "json")
        assert (first.code, first.json) == (
            0,
            [{"table": "declared", "store": "two", "made": True, "families": ["b", "a"]}],
        )
        (folder / "p.yaml").write_text(STORES.replace("{b: {}", "{c: {}, b: {}"))
        assert ingest("table", "apply", "p.yaml", "--output", "json").json == [
            {"table": "declared", "store": "two", "made": False, "families": ["c"]}
        ]
        again = ingest("table", "apply", "p.yaml")
        assert (again.code, "was there" in again.out) == (0, True)

    def test_nothing_declared(self, ingest, pipeline):
        result = ingest("table", "apply", "pipeline.yaml")
        assert (result.code, result.err) == (0, 'nothing to do: "pipeline.yaml" declares no tables\n')

    def test_store_in_use_exits_with_4(self, ingest, store, pipeline):
        text = (pipeline / "pipeline.yaml").read_text()
        (pipeline / "p.yaml").write_text(text + "\ntables: {mytable: {families: {cf: {}}}}\n")
        assert ingest("table", "apply", "p.yaml").code == 4


class TestWhichStore:
    def test_declared(self, ingest, folder):
        (folder / "p.yaml").write_text(STORES)
        ingest("table", "apply", "p.yaml")
        assert ingest("scan", "p.yaml", "declared").code == 0

    def test_written_by_a_sink(self, ingest, folder):
        (folder / "p.yaml").write_text(STORES)
        result = ingest("scan", "p.yaml", "written")
        assert (result.code, '"one"' in result.err) == (3, True)

    def test_could_be_anywhere(self, ingest, folder):
        (folder / "p.yaml").write_text(STORES)
        result = ingest("scan", "p.yaml", "unknown")
        assert (result.code, "tables: {unknown: {store: NAME}}" in result.err) == (2, True)
