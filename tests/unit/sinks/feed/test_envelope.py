"""Messages of changes in both envelopes."""

from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from ingest.api import Cell, Delete, Mutation, Put, Row
from ingest.formats.cell_types import CellType
from ingest.formats.column_types import ColumnTypes
from sinks.feed.changes import Change, Op, encoded_change, op_of
from sinks.feed.client import FeedRecord
from sinks.feed.envelope import DebeziumEnvelope, OwnEnvelope, record_content
from sinks.feed.gaps import Gap
from sinks.feed.keys import FeedKey, FeedSequence
from sinks.updates.keys import UpdateKey, update_id_of

T = 1_700_000_000_000
ROW = b"k\xff"


def record(mutations: Sequence[Mutation], before: tuple[Cell, ...] | None = None, op: Op | None = None) -> FeedRecord:
    key = FeedKey(4, FeedSequence(T, 2, ROW))
    change = Change.decoded(key, encoded_change(op or op_of(mutations, before), mutations, before))
    return FeedRecord("s1", 4, key.sequence.to_text(), change)


def own(found: FeedRecord) -> Any:
    (message,) = OwnEnvelope("orders").of(found)
    assert (message.key, message.timestamp_ms) == (ROW, T)
    assert message.value is not None
    return orjson.loads(message.value)


def debezium(found: FeedRecord) -> Any:
    first, *rest = DebeziumEnvelope("orders", lambda: T + 5).of(found)
    assert orjson.loads(first.key) == {"~id": {"b64": "a/8="}}
    assert first.value is not None
    content = orjson.loads(first.value)
    assert [(message.key, message.value) for message in rest] == ([(first.key, None)] if content["op"] == "d" else [])
    return content


def test_own_record_has_every_cell_and_delete():
    mutations: list[Mutation] = [
        Delete(ROW, T - 1),
        Delete(ROW, T - 2, b"d"),
        Delete(ROW, T - 3, b"d", b"x"),
        Put(ROW, {b"d:a": b"1", b"d:\xfe": b"\xff"}, T),
    ]
    assert own(record(mutations, (Cell(b"d", b"x", T - 9, b"old"),))) == {
        "v": 1,
        "feed": "s1",
        "shard": 4,
        "seq": "0000018bcfe56800" + "000002" + "6bff",
        "table": "orders",
        "row": {"b64": "a/8="},
        "op": "UPDATE_ROW",
        "time": T,
        "columns": [
            {"type": "DELETE_ROW", "ts": T - 1},
            {"type": "DELETE_FAMILY", "ts": T - 2, "family": "d"},
            {"type": "DELETE_ALL_VERSIONS", "ts": T - 3, "column": "d:x"},
            {"type": "PUT", "ts": T, "column": "d:a", "value": "1"},
            {"type": "PUT", "ts": T, "column": "d:\\xFE", "value": {"b64": "/w=="}},
        ],
        "before": [{"column": "d:x", "value": "old", "ts": T - 9}],
    }


def test_own_record_without_the_row_before():
    content = own(record([Put(ROW, {b"d:a": b"1"}, T)]))
    assert content["op"] == "PUT"
    assert "before" not in content
    assert own(record([Put(ROW, {b"d:a": b"1"}, T)], ()))["before"] == []


def test_gaps_and_heartbeats():
    about = {"v": 1, "feed": "s1", "shard": 4, "table": "orders"}
    (gap,) = OwnEnvelope("orders").of_gap("s1", 4, Gap(T, T + 1))
    assert gap.value is not None
    assert orjson.loads(gap.value) == about | {"op": "GAP", "from": T, "until": T + 1}
    (beat,) = OwnEnvelope("orders").of_heartbeat("s1", 4, T)
    assert beat.value is not None
    assert orjson.loads(beat.value) == about | {"op": "HEARTBEAT", "time": T}
    assert list(DebeziumEnvelope("orders").of_gap("s1", 4, Gap(T, T + 1))) == []
    assert list(DebeziumEnvelope("orders").of_heartbeat("s1", 4, T)) == []


def test_debezium_create():
    content = debezium(record([Put(ROW, {b"d:a": b"1"}, T)], ()))
    assert content.pop("source") == {
        "version": content_version(),
        "connector": "attr2hbase",
        "name": "s1",
        "ts_ms": T,
        "snapshot": "false",
        "db": "",
        "table": "orders",
        "sequence": "0000018bcfe568000000026bff",
        "shard": 4,
        "op": "PUT_ROW",
    }
    after = {"~id": {"b64": "a/8="}, "d:a": "1"}
    assert content == {"before": None, "after": after, "op": "c", "ts_ms": T + 5, "transaction": None}


def content_version() -> str:
    from ingest import __version__

    return __version__


BEFORE = (Cell(b"d", b"a", T - 9, b"1"), Cell(b"d", b"b", T - 9, b"2"), Cell(b"e", b"c", T - 9, b"3"))


@pytest.mark.parametrize(
    ("mutations", "before", "op", "after"),
    [
        ([Put(ROW, {b"d:a": b"x"}, T)], BEFORE, "u", {"d:a": "x", "d:b": "2", "e:c": "3"}),
        ([Put(ROW, {b"d:a": b"x"}, T - 20)], BEFORE, "u", {"d:a": "1", "d:b": "2", "e:c": "3"}),
        ([Delete(ROW, T - 1, b"d", b"b")], BEFORE, "u", {"d:a": "1", "e:c": "3"}),
        ([Delete(ROW, T - 1, b"d"), Put(ROW, {b"d:z": b"9"}, T)], BEFORE, "u", {"d:z": "9", "e:c": "3"}),
        ([Delete(ROW, T - 20, b"d")], BEFORE, "u", {"d:a": "1", "d:b": "2", "e:c": "3"}),
        ([Delete(ROW, T - 9, b"d", b"a", exact=True)], BEFORE, "u", {"d:b": "2", "e:c": "3"}),
        ([Delete(ROW, T - 1), Put(ROW, {b"d:z": b"9"}, T)], BEFORE, "u", {"d:z": "9"}),
        ([Delete(ROW, T - 1)], BEFORE, "d", None),
        ([Put(ROW, {b"d:a": b"x"}, T)], None, "u", {"d:a": "x"}),
        ([Delete(ROW, T - 1, b"d", b"b"), Put(ROW, {b"d:a": b"x"}, T)], None, "u", {"d:a": "x", "d:b": None}),
        ([Delete(ROW, T - 1, b"d", b"a"), Put(ROW, {b"d:a": b"x"}, T)], None, "u", {"d:a": "x"}),
        ([Delete(ROW, T - 1, b"d")], None, "u", {}),
        ([Delete(ROW, T - 1)], None, "d", None),
    ],
)
def test_debezium_operations(
    mutations: list[Mutation], before: tuple[Cell, ...] | None, op: str, after: dict[str, object] | None
):
    content = debezium(record(mutations, before))
    row = {"~id": {"b64": "a/8="}}
    assert content["op"] == op
    assert content["after"] == (None if after is None else row | after)
    assert content["before"] == (row | {"d:a": "1", "d:b": "2", "e:c": "3"} if before else None)


def test_deferred_updates():
    update = Put(UpdateKey(ROW, update_id_of(T, 2)).encoded(), {b"d:hits": b"2"}, T)
    found = record([update], op=Op.UPDATE)
    assert own(found)["op"] == "UPDATE"
    content = debezium(found)
    assert (content["op"], content["source"]["op"]) == ("u", "UPDATE")
    assert content["after"] == {"~id": {"b64": "a/8="}, "d:hits": "2"}


def test_values_have_the_types_of_their_columns():
    types = ColumnTypes({b"d:n": CellType.INT64, b"d:ok": CellType.BOOL8})
    seven = b"\0\0\0\0\0\0\0\7"
    before = (Cell(b"d", b"n", T - 9, b"\0" * 8), Cell(b"d", b"ok", T - 9, b"\0"))
    found = record([Put(ROW, {b"d:n": seven, b"d:ok": b"many"}, T)], before)
    content: Any = record_content("orders", found, types)
    assert [column["value"] for column in content["columns"]] == [7, "many"]
    assert [column["value"] for column in content["before"]] == [0, False]
    (message,) = DebeziumEnvelope("orders", types=types).of(found)
    after = orjson.loads(message.value or b"")
    assert (after["before"]["d:n"], after["after"]["d:n"], after["after"]["d:ok"]) == (0, 7, "many")


def test_rows_of_a_dump_have_the_types_of_their_columns():
    types = ColumnTypes({b"d": CellType.INT16})
    row = Row(ROW, (Cell(b"d", b"n", T, b"\0\7"),))
    (message,) = OwnEnvelope("orders", types=types).of_row("s1", 4, row)
    assert orjson.loads(message.value or b"")["columns"][0]["value"] == 7
    (message,) = DebeziumEnvelope("orders", types=types).of_row("s1", 4, row)
    assert orjson.loads(message.value or b"")["after"]["d:n"] == 7
