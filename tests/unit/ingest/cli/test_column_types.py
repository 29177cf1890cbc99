"""Commands show the values of columns with the types that `tables` declares."""

import struct

import pytest

from ingest.api import FamilySpec, Put, TableSpec
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.table_records import ensure_declared

TABLES = """
tables:
  mytable: {}
  events:
    families: {e: {}, m: {}}
    columns: {"e:ms": int64, "e:flag": bool8, "e:name": utf8, m: float32, "m:json": json}
"""
JSON = ("--output", "json")


def value(layout, number):
    return struct.pack(layout, number)


ROWS = {
    b"k1": {
        b"e:ms": value(">q", 1496),
        b"e:flag": b"\xff",
        b"e:name": "ö".encode(),
        b"e:other": b"\0\1",
        b"m:load": value(">f", 0.1),
        b"m:json": b"[1]",
    },
    b"k2": {b"e:ms": b"\0\7", b"m:load": value(">f", float("nan")), b"m:json": b"[1", b"e:flag": b"\0"},
}


@pytest.fixture
def events(pipeline):
    """p.yaml with a table `events`, and its rows in the store."""
    (pipeline / "p.yaml").write_text((pipeline / "pipeline.yaml").read_text() + TABLES)
    store = RocksDBStore(RocksDBSettings(path="./data"))
    store.open()
    spec = TableSpec("events", (FamilySpec(b"e"), FamilySpec(b"m")))
    ensure_declared(store, spec)
    store.apply("events", [Put(row, columns, 1_000) for row, columns in ROWS.items()])
    store.close()


def test_get_shows_values_of_their_types(ingest, events):
    result = ingest("get", "-f", "p.yaml", "events", "k1")
    assert result.code == 0
    assert result.out == (
        "k1  1970-01-01T00:00:01.000Z\n"
        "  e:flag   true\n"
        "  e:ms     1496\n"
        "  e:name   ö\n"
        "  e:other  \\x00\\x01\n"
        "  m:json   [1]\n"
        "  m:load   0.1\n"
    )


def test_json_has_numbers(ingest, events):
    (line,) = ingest("get", "-f", "p.yaml", "events", "k1", *JSON).lines
    assert [(f"{family}:{name}", shown) for family, name, _, shown in line["cells"]] == [
        ("e:flag", True),
        ("e:ms", 1496),
        ("e:name", "ö"),
        ("e:other", "\0\1"),
        ("m:json", "[1]"),
        ("m:load", 0.1),
    ]


def test_value_of_another_length_is_shown_as_bytes_with_a_word(ingest, events):
    result = ingest("scan", "-f", "p.yaml", "events", "--prefix", "k2")
    assert result.out == (
        "k2  1970-01-01T00:00:01.000Z\n"
        "  e:flag  false\n"
        "  e:ms    \\x00\\x07  (not int64, 2 bytes)\n"
        "  m:json  [1  (not json, 2 bytes)\n"
        "  m:load  \\x7F\\xC0\\x00\\x00  (not float32, 4 bytes)\n"
    )
    note = '3 values not of the type of the column, shown as bytes, first e:ms of row "k2": not int64, 2 bytes\n'
    assert result.err.startswith(note)
    shown = ingest("scan", "-f", "p.yaml", "events", "--prefix", "k2", *JSON)
    assert [cell[3] for cell in shown.lines[0]["cells"]] == [False, "\0\7", "[1", {"b64": "f8AAAA=="}]
    assert shown.err == note


@pytest.mark.parametrize(
    "command", [("get", "-f", "p.yaml", "events", "k1"), ("scan", "-f", "p.yaml", "events", "--limit", "1")]
)
def test_raw_shows_bytes(ingest, events, command):
    (line,) = ingest(*command, "--raw", "--columns", "e:flag,m", *JSON).lines
    assert line["cells"] == [
        ["e", "flag", 1000, {"b64": "/w=="}],
        ["m", "json", 1000, "[1]"],
        ["m", "load", 1000, {"b64": "PczMzQ=="}],
    ]


def test_column_that_no_row_has_is_said(ingest, events):
    result = ingest("scan", "-f", "p.yaml", "events", "--columns", "e:mss,e:ms")
    assert result.err.splitlines()[0] == 'no row that is shown has the column e:mss; did you mean "e:ms"?'
    alone = ingest("scan", "-f", "p.yaml", "events", "--columns", "e:mss", *JSON)
    assert (alone.code, alone.lines, alone.err) == (0, [], 'no row has the column e:mss; did you mean "e:ms"?\n')
    assert "no row" not in ingest("scan", "-f", "p.yaml", "events", "--columns", "e,e:ms").err
    row = ingest("get", "-f", "p.yaml", "events", "k1", "--columns", "e:ms,e:nosuch")
    assert (row.code, row.err.splitlines()[0]) == (0, "no row that is shown has the column e:nosuch")
