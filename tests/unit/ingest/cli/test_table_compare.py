"""`attr2hbase table compare` of tables in RocksDB stores."""

from io import BytesIO, TextIOWrapper

import pytest

from ingest.api import FamilySpec, Put, TableSpec
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rowkeys.distribution import Distribution

FILE = """\
version: 1
stores: {one: {rocksdb: {path: ./one}}, two: {rocksdb: {path: ./two}}}
tables:
  hits: {store: one, families: {f: {}}, columns: {"f:n": int16}}
  new: {store: two, families: {f: {}}, distribute: {hash: 4}, columns: {"f:n": int16}}
pipelines:
  p:
    source: {files: {path: ./in}}
    decorators: [{value: {attribute: "2hb_", value: "%{offset}"}}]
    sinks: [{attr2hbase: {store: one, table: hits}}]
"""
ROWS = {b"a": b"same", b"b": b"old", b"c": b"gone", b"d": b"same"}


@pytest.fixture
def tables(folder):
    """Two tables in two stores, the second one salted and written later."""
    (folder / "pipeline.yaml").write_text(FILE)
    physical = Distribution(4).physical
    for name, table, at in (("one", "hits", 5), ("two", "new", 7)):
        store = RocksDBStore(RocksDBSettings(path=str(folder / name)))
        store.open()
        store.ensure_table(TableSpec(table, (FamilySpec(b"f"),), buckets=4 if table == "new" else None))
        rows = ROWS if table == "hits" else {**ROWS, b"b": b"new", b"e": b"more"}
        puts = [Put(row, {b"f:q": value, b"f:n": b"\0\x01"}, at) for row, value in rows.items()]
        if table == "new":
            puts = [Put(physical(put.row), put.columns, at) for put in puts if put.row != b"c"]
            puts.append(Put(physical(b"b"), {b"f:n": b"\0\x02", b"f:o": b"x"}, at))
        store.apply(table, puts)
        store.close()
    return folder


def test_rows_that_differ(ingest, tables):
    result = ingest("table", "compare", "hits", "new")
    assert (result.code, result.out.splitlines()) == (
        4,
        ["~ b", "    ~ f:n = 1 -> 2", "    + f:o = x", "    ~ f:q = old -> new", "- c", "+ e"],
    )
    assert result.err == "1 added, 1 removed, 1 changed; 2 rows equal\n"


@pytest.mark.parametrize("untyped", ["one", "two"])
def test_types_of_one_table_count_for_both(ingest, tables, untyped):
    lines = FILE.splitlines(keepends=True)
    (tables / "pipeline.yaml").write_text(
        "".join(
            line.replace(', columns: {"f:n": int16}', "") if f"store: {untyped}," in line else line for line in lines
        )
    )
    assert "    ~ f:n = 1 -> 2" in ingest("table", "compare", "hits", "new").out.splitlines()
    [row] = ingest("table", "compare", "hits", "new", "--prefix", "b", "--output", "json").lines[:-1]
    assert [cell[3] for side in ("old", "new") for cell in row[side] if cell[1] == "n"] == [1, 2]


def test_json_has_all_cells(ingest, tables):
    result = ingest("table", "compare", "new", "hits", "--start", "b", "--stop", "d", "--output", "json")
    assert (result.code, result.lines) == (
        4,
        [
            {
                "change": "changed",
                "row": "b",
                "old": [["f", "n", 7, 2], ["f", "o", 7, "x"], ["f", "q", 7, "new"]],
                "new": [["f", "n", 5, 1], ["f", "q", 5, "old"]],
            },
            {"change": "added", "row": "c", "old": None, "new": [["f", "n", 5, 1], ["f", "q", 5, "gone"]]},
            {"equal": 0, "added": 1, "removed": 0, "changed": 1},
        ],
    )


def test_a_part_and_the_times(ingest, tables):
    result = ingest("table", "compare", "hits", "new", "--prefix", "a")
    assert (result.code, result.out, result.err) == (0, "", "1 row equal\n")
    assert ingest("table", "compare", "hits", "hits").err == "4 rows equal\n"
    result = ingest("table", "compare", "hits", "new", "--prefix", "a", "--times", "--columns", "f:q")
    assert result.out.splitlines() == ["~ a", "    ~ f:q = 1970-01-01T00:00:00.005Z -> 1970-01-01T00:00:00.007Z"]
    early = ("--from", "1970-01-01T00:00:00.005Z", "--to", "1970-01-01T00:00:00.007Z")
    assert ingest("table", "compare", "hits", "new", *early).err == "4 removed; 0 rows equal\n"
    result = ingest("table", "compare", "hits", "new", "--limit", "1")
    assert (result.out.splitlines()[0], "- c" in result.out) == ("~ b", False)
    assert "1 removed" in result.err


def test_tables_of_named_stores_and_of_another_file(ingest, tables):
    assert ingest("table", "compare", "one:hits", "two:new").code == 4
    assert ingest("table", "compare", "one:hits", "one:hits").code == 0
    swapped = FILE.replace("./one", "./x").replace("./two", "./one").replace("./x", "./two")
    (tables / "other.yaml").write_text(swapped)
    assert ingest("table", "compare", "hits", "one:new", "--other-file", "other.yaml").code == 4
    result = ingest("table", "compare", "hits", "two:hits")
    assert (result.code, 'there is no table "hits"' in result.err) == (3, True)


def test_secrets_of_the_first_file_are_masked_too(ingest, tables, monkeypatch):
    monkeypatch.setenv("ONE_SECRET", "swordfish")
    (tables / "other.yaml").write_text(FILE)
    masked = "decorators: [{hmac: {secret: '${ONE_SECRET}', attribute: h}}, "
    (tables / "pipeline.yaml").write_text(FILE.replace("./one", "./swordfish").replace("decorators: [", masked))
    result = ingest("table", "compare", "hits", "new", "--other-file", "other.yaml")
    assert result.code == 3
    assert "***" in result.err
    assert "swordfish" not in result.err + result.out


def test_stdin_is_one_of_the_files(ingest, tables, monkeypatch):
    result = ingest("-f", "-", "table", "compare", "hits", "new", "--other-file", "-")
    assert (result.code, "stdin cannot be the pipeline file and --other-file at once" in result.err) == (2, True)
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(FILE.encode())))
    assert ingest("-f", "-", "table", "compare", "hits", "new").code == 4
