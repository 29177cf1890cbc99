"""`get`, `scan` and `history` of a table with deferred updates, on an embedded store."""

import pytest

from ingest.api import FamilySpec, Put, Scan, TableSpec
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import declared_in
from sinks.rewriting.incomplete_updates import apply_to_updates
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rowkeys.row_format import RowFormat
from sinks.table_records import ensure_declared
from sinks.updates.keys import UpdateKey, update_id_of

HOUR = 3_600_000
PLAIN = """
tables:
  mytable: {}
"""
COUNTERS = f"""{PLAIN}  counters:
    families: {{cf: {{}}}}
    distribute: {{hash: 4}}
    updates: {{processor: %s, columns: [cf:hits]}}
"""
JSON = ("--output", "json")
GET = ("get", "-f", "p.yaml", "counters")
SCAN = ("scan", "-f", "p.yaml", "counters")
HISTORY = ("history", "-f", "p.yaml", "counters")


@pytest.fixture
def declare(pipeline):
    """Write p.yaml: the pipeline of `init` with a table `counters` of this processor."""

    def write(processor: str = "sum", tables: str = COUNTERS) -> None:
        (pipeline / "p.yaml").write_text((pipeline / "pipeline.yaml").read_text() + tables.replace("%s", processor))

    return write


@pytest.fixture
def store(pipeline, declare):
    """An open store, as in a running service, with three rows."""
    declare()
    store = RocksDBStore(RocksDBSettings(path="./data"))
    store.open()
    configuration = load("p.yaml", env={}, lookup=Catalog())
    ((name, component),) = configuration.stores.items()
    assert component.kind == "rocksdb"
    ensure_declared(store, declared_in(name, configuration.tables.values())["counters"])
    write(store, b"monday", 1, 0, b"1")
    write(store, b"monday", 1, 2, b"4", state=b"up")
    write(store, b"monday", 2, 0, b"10")
    write(store, b"tuesday", 2, 0, b"7")
    write(store, b"x\x00", 3, 5, b"5")
    yield store
    store.close()


def write(store, row: bytes, hour: int, split: int, hits: bytes, *, end=0, **others: bytes) -> None:
    key = UpdateKey(row, update_id_of(hour * HOUR, split), end)
    columns = {b"cf:hits": hits, **{f"cf:{name}".encode(): value for name, value in others.items()}}
    rows = RowFormat.recorded(store, "counters")
    apply_to_updates(store, "counters", rows, [Put(key.encoded(), columns, hour * HOUR)])


def test_row_is_merged(ingest, store):
    result = ingest(*GET, "monday")
    assert result.code == 0, result.err
    assert result.out == ("monday  1970-01-01T02:00:00.000Z\n  cf:hits   15\n  cf:state  up\n")
    assert result.err == "merged of 3 update rows\nnext: attr2hbase history -f p.yaml counters monday\n"


def test_row_with_an_orphaned_update(ingest, store):
    write(store, b"monday", 1, 0, b"5", end=update_id_of(HOUR, 2), state=b"up")
    result = ingest(*GET, "monday")
    assert "  15\n" in result.out
    assert result.err.startswith("merged of 2 update rows; 2 orphaned updates not counted\n")
    assert ingest(*GET, "monday", "--columns", "cf:hits", *JSON).json == {
        "row": "monday",
        "cells": [["cf", "hits", 2 * HOUR, "15"]],
        "update_rows": 2,
        "orphaned": 2,
        "unmerged": [],
    }


def test_rows_are_scanned_by_logical_keys(ingest, store):
    lines = ingest(*SCAN, *JSON).lines
    assert [(line["row"], line["cells"][0][3]) for line in lines] == [("monday", "15"), ("tuesday", "7"), ("x\0", "5")]
    assert [line["row"] for line in ingest(*SCAN, "--reverse", "--limit", 2, *JSON).lines] == ["x\0", "tuesday"]
    assert [line["row"] for line in ingest(*SCAN, "--after", "monday", "--stop", "x", *JSON).lines] == ["tuesday"]
    assert [line["row"] for line in ingest(*SCAN, "--fuzzy", "?on", *JSON).lines] == ["monday"]
    assert ingest(*SCAN, "--limit", 1).err.startswith("1 row shown; more exist\n")


def test_column_that_cannot_be_merged_has_a_warning(ingest, store):
    write(store, b"monday", 4, 0, b"many")
    result = ingest(*GET, "monday", *JSON)
    assert result.json["cells"][0] == ["cf", "hits", 4 * HOUR, "many"]
    ((family, name, reason),) = result.json["unmerged"]
    assert (family, name) == ("cf", "hits")
    assert reason
    warning = 'warning: row "monday": cf:hits has its newest update, because its updates cannot be merged: '
    assert warning in result.err
    assert warning in ingest(*SCAN).err


@pytest.mark.parametrize("options", [["--versions", "2"], ["--from", "1970-01-01T00:30:00Z"], ["--to", "1970-01-02"]])
@pytest.mark.parametrize("command", [SCAN, (*GET, "monday")], ids=["scan", "get"])
def test_versions_and_times_need_raw(ingest, store, command, options: list[str]):
    refused = ingest(*command, *options)
    assert refused.code == 2
    assert "read its update rows, with --raw or " in refused.err
    assert ingest(*command, *options, "--raw").code == 0


def test_raw_shows_update_rows(ingest, store):
    write(store, b"monday", 1, 0, b"5", end=update_id_of(HOUR, 2))
    result = ingest(*GET, "monday", "--raw", "--columns", "cf:hits")
    assert result.out == (
        "monday  1970-01-01T01:00:00.000Z split 0, orphaned\n  cf:hits  1\n"
        "monday  1970-01-01T01:00:00.000Z split 0 to 1970-01-01T01:00:00.000Z split 2, merged\n"
        "  cf:hits  5\n"
        "monday  1970-01-01T01:00:00.000Z split 2, orphaned\n  cf:hits  4\n"
        "monday  1970-01-01T02:00:00.000Z split 0\n  cf:hits  10\n"
    )
    assert result.err == "4 update rows\n"
    assert ingest(*GET, "sunday", "--raw").code == 3


def test_raw_rows_as_json(ingest, store):
    write(store, b"monday", 1, 0, b"5", end=update_id_of(HOUR, 2))
    lines = ingest(*SCAN, "--raw", *JSON).lines
    assert lines[1] == {
        "row": "monday",
        "start": {"time": HOUR, "split": 0},
        "end": {"time": HOUR, "split": 2},
        "is_merged": True,
        "is_orphaned": False,
        "cells": [["cf", "hits", HOUR, "5"]],
    }
    assert [line["is_orphaned"] for line in lines] == [True, False, True, False, False, False]
    assert [line["row"] for line in lines] == ["monday"] * 4 + ["tuesday", "x\0"]
    assert ingest(*SCAN, "--raw", "--reverse", *JSON).lines == lines[::-1]
    # the merged row that covers the second is not in the range
    ranged = ingest(*SCAN, "--raw", "--to", "1970-01-01T01:00:00.001Z", "--reverse", "--limit", 1, *JSON).lines
    assert ranged == [lines[2]]
    assert ingest(*SCAN, "--raw", "--limit", 2).err.startswith("2 update rows shown; more exist\n")


def test_blobs_are_refused_without_a_blob_store(ingest, store):
    for options in (("--blobs",), ("--blobs", "--raw")):
        refused = ingest(*SCAN, *options)
        assert (refused.code, 'table "counters" has no blob store' in refused.err) == (2, True)


def test_history_of_a_row(ingest, store):
    write(store, b"monday", 1, 0, b"5", end=update_id_of(HOUR, 2), state=b"up")
    result = ingest(*HISTORY, "monday")
    assert result.out == (
        "1970-01-01T01:00:00.000Z split 0, orphaned\n  cf:hits  1\n"
        "1970-01-01T01:00:00.000Z split 0 to 1970-01-01T01:00:00.000Z split 2, merged\n"
        "  cf:hits   5  -> 5\n  cf:state  up  -> up\n"
        "1970-01-01T01:00:00.000Z split 2, orphaned\n  cf:hits   4\n  cf:state  up\n"
        "1970-01-01T02:00:00.000Z split 0\n  cf:hits  10  -> 15\n"
    )
    assert result.err == "4 update rows\nnext: attr2hbase get -f p.yaml counters monday\n"
    last = ingest(*HISTORY, "monday", *JSON).lines[-1]
    assert last == {
        "start": {"time": 2 * HOUR, "split": 0},
        "end": {"time": 2 * HOUR, "split": 0},
        "is_merged": False,
        "is_orphaned": False,
        "updates": [["cf", "hits", "10"]],
        "merged": [["cf", "hits", "15"], ["cf", "state", "up"]],
        "unmerged": [],
    }


def test_history_of_a_column_that_cannot_be_merged(ingest, store):
    write(store, b"monday", 4, 0, b"many")
    assert "cf:hits  many  cannot be merged: " in ingest(*HISTORY, "monday").out
    assert ingest(*HISTORY, "monday", *JSON).lines[-1]["unmerged"][0][:2] == ["cf", "hits"]


def test_history_of_a_missing_row_exits_with_3(ingest, store):
    result = ingest(*HISTORY, "sunday")
    assert (result.code, 'no row "sunday" in table "counters"' in result.err) == (3, True)


def test_table_without_updates_has_no_history(ingest, store, declare):
    store.ensure_table(TableSpec("plain", (FamilySpec(b"cf"),)))
    refused = ingest("history", "-f", "p.yaml", "plain", "a")
    assert (refused.code, 'table "plain" has no deferred updates' in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("processor", "tables", "declares"),
    [("max", COUNTERS, "the deferred updates"), ("", PLAIN, "no deferred updates")],
    ids=["others", "none"],
)
def test_file_declares_the_recorded_updates(ingest, store, declare, processor: str, tables: str, declares: str):
    declare(processor, tables)
    for command in ((*GET, "monday"), SCAN, (*HISTORY, "monday")):
        refused = ingest(*command)
        assert refused.code == 4
        assert f"but the file declares {declares}" in refused.err
        assert "declare `updates` of the table as recorded, or read its update rows, with --raw or " in refused.err
    assert len(ingest(*SCAN, "--raw", *JSON).lines) == 5


def test_key_of_an_update_row_has_a_hint(ingest, store):
    stored = next(row.key for row in store.scan("counters", Scan()))
    readable = "".join(f"\\x{byte:02x}" for byte in stored)
    refused = ingest(*GET, readable)
    assert refused.code == 3
    assert "this is the key of an update row; write the logical row key: " in refused.err


def test_table_plan_finds_a_row_that_is_no_update_row(ingest, store):
    def differences() -> list[str]:
        found = ingest("table", "plan", "p.yaml", *JSON).json["differences"]
        return [row["what"] for row in found if row["table"] == "counters"]

    assert "misplaced" not in differences()
    store.apply("counters", [Put(b"\x01plain", {b"cf:hits": b"1"}, 1)])
    assert "misplaced" in differences()
    refused = ingest(*SCAN)
    assert refused.code != 0
    assert 'table "counters" has the row key "plain", which is not the key of an update row' in refused.err


def test_doctor_finds_other_updates(ingest, store, declare):
    def findings() -> list[str]:
        found = ingest("doctor", "p.yaml", *JSON).json["findings"]
        return [finding["message"] for finding in found if finding["check"] == "tables"]

    assert findings() == []
    declare("max")
    (message,) = findings()
    assert message.startswith('table "counters" has the deferred updates ')


@pytest.fixture
def counting(folder):
    """A pipeline file that writes to a table with deferred updates, and three events."""
    (folder / "events.jsonl").write_text('{"body": "a"}\n{"body": "b"}\n{"body": "a"}\n')
    (folder / "p.yaml").write_text(
        """
version: 1
stores: {here: {rocksdb: {path: ./data}}}
tables: {counters: {families: {c: {}}, distribute: {hash: 4}, updates: {processor: sum}}}
pipelines:
  p:
    source: {files: {path: ./in}}
    decorators:
      - value: {attribute: "2hb_", value: "%{body}"}
      - value: {attribute: "2hb_c:n", value: "1"}
    sinks: [{attr2hbase: {table: counters}}]
"""
    )
    return folder


def test_explain_and_keys_analyse_show_logical_keys(ingest, counting):
    (first, *others) = ingest("explain", "p.yaml", "--events", "events.jsonl", *JSON).lines
    assert [line["outcome"] for line in (first, *others)] == ["kept"] * 3
    (put,) = first["puts"]
    assert (put["row"], put["cells"]) == ("a", [["c", "n", "1"]])
    assert "key" not in put
    (analysed,) = ingest("admin", "keys", "analyse", "-f", "p.yaml", "--events", "events.jsonl", *JSON).json["tables"]
    assert (analysed["table"], analysed["writes"], analysed["rows"]) == ("counters", 3, 2)


def test_stats_count_the_update_rows_of_a_read(ingest, store):
    write(store, b"monday", 1, 0, b"5", end=update_id_of(HOUR, 2))
    assert "\n3 rows merged of 6 update rows, 2 for each\n" in ingest(*SCAN, "--stats").err
    assert "1 row merged of 4 update rows, 4 for each\n" in ingest(*GET, "monday", "--stats").err
    *_, last = ingest(*SCAN, "--prefix", "t", "--stats", *JSON).lines
    assert (last["stats"]["merged_rows"], last["stats"]["update_rows"]) == (1, 1)
    *_, last = ingest(*GET, "monday", "--stats", *JSON).lines
    assert (last["stats"]["merged_rows"], last["stats"]["update_rows"], last["stats"]["rows_touched"] > 0) == (
        1,
        4,
        True,
    )
    *_, last = ingest(*GET, "monday", "--raw", "--stats", *JSON).lines
    assert "update_rows" not in last["stats"]
    assert "for each" not in ingest(*SCAN, "--prefix", "zz", "--stats").err


def test_stats_of_a_row_without_updates_are_refused(ingest, store):
    store.ensure_table(TableSpec("mytable", (FamilySpec(b"cf"),)))
    refused = ingest("get", "-f", "p.yaml", "mytable", "k", "--stats")
    assert (refused.code, "has no deferred updates" in refused.err) == (2, True)


@pytest.fixture
def int64_store(pipeline, declare):
    """A store with a row of int64 counters, closed."""
    declare("{sum: {type: int64}}")
    store = RocksDBStore(RocksDBSettings(path="./data"))
    store.open()
    configuration = load("p.yaml", env={}, lookup=Catalog())
    (name,) = configuration.stores
    ensure_declared(store, declared_in(name, configuration.tables.values())["counters"])
    for hour, hits in ((1, 1490), (2, 6)):
        write(store, b"monday", hour, 0, hits.to_bytes(8, "big"), state=b"up")
    store.close()


def test_numbers_have_the_type_of_the_processor(ingest, int64_store):
    assert "  cf:hits   1496\n" in ingest(*GET, "monday").out
    assert ["cf", "hits", 2 * HOUR, 1496] in ingest(*SCAN, *JSON).lines[0]["cells"]
    assert "  cf:hits   6  -> 1496\n" in ingest(*HISTORY, "monday").out
    last = ingest(*HISTORY, "monday", *JSON).lines[-1]
    assert (last["updates"][0], last["merged"][0]) == (["cf", "hits", 6], ["cf", "hits", 1496])


def test_raw_shows_bytes_of_numbers(ingest, int64_store):
    total = "\\x00\\x00\\x00\\x00\\x00\\x00\\x05\\xD8"
    assert f"-> {total}\n" in ingest(*HISTORY, "monday", "--raw").out
    assert "\\x00\\x06\n" in ingest(*GET, "monday", "--raw").out


def test_column_that_the_row_does_not_have_is_said(ingest, int64_store):
    note = "no row that is shown has the column cf:hit"
    for command in ((*GET, "monday"), SCAN, (*HISTORY, "monday")):
        first = ingest(*command, "--columns", "cf:hit,cf:state").err.splitlines()[0]
        assert first == f'{note}; did you mean "cf:hits"?'
