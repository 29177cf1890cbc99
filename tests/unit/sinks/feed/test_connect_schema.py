"""Debezium's envelope with the schema of Kafka Connect."""

import struct
from base64 import b64decode
from collections.abc import Sequence
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import Cell, Delete, Mutation, Put, Row
from ingest.formats.cell_types import CellType
from ingest.formats.column_types import ColumnTypes
from sinks.feed.changes import Change, encoded_change, op_of
from sinks.feed.client import FeedRecord
from sinks.feed.connect_schema import DebeziumSchemaEnvelope
from sinks.feed.envelope import DebeziumEnvelope
from sinks.feed.keys import FeedKey, FeedSequence

T = 1_700_000_000_000
TYPES = {"string": str, "bytes": str, "int32": int, "int64": int, "double": float, "boolean": bool, "struct": dict}


def record(row: bytes, mutations: Sequence[Mutation], before: tuple[Cell, ...] | None = None) -> FeedRecord:
    key = FeedKey(4, FeedSequence(T, 2, row))
    change = Change.decoded(key, encoded_change(op_of(mutations, before), mutations, before))
    return FeedRecord("s1", 4, key.sequence.to_text(), change)


def checked(content: bytes | None) -> tuple[dict[str, Any], Any]:
    """The schema and the payload of a message, which is as `JsonConverter` reads it: all of it is in the schema."""
    assert content is not None
    message = orjson.loads(content)
    assert list(message) == ["schema", "payload"]
    check(message["schema"], message["payload"])
    return message["schema"], message["payload"]


def check(schema: dict[str, Any], value: Any) -> None:
    if value is None:
        assert schema["optional"]
        return
    assert isinstance(value, TYPES[schema["type"]])
    if schema["type"] == "struct":
        fields = {each["field"]: each for each in schema["fields"]}
        assert len(fields) == len(schema["fields"])
        assert value.keys() == fields.keys()
        for name, field in fields.items():
            check(field, value[name])
    elif schema["type"] == "bytes":
        b64decode(value, validate=True)


def test_names_are_those_by_which_debezium_knows_an_envelope():
    (message,) = DebeziumSchemaEnvelope("shop:orders", lambda: T + 5).of(
        record(b"k", [Put(b"k", {b"d:a": b"1"}, T)], ())
    )
    key, row = checked(message.key)
    envelope, payload = checked(message.value)
    before, after = envelope["fields"][:2]
    assert (key["name"], row) == ("attr2hbase.shop:orders.Key", {"~id": "k"})
    assert (envelope["name"], envelope["optional"]) == ("attr2hbase.shop:orders.Envelope", False)
    assert before == after | {"field": "before"}
    assert after == {
        "type": "struct",
        "fields": [
            {"type": "string", "optional": False, "field": "~id"},
            {"type": "string", "optional": True, "field": "d:a"},
        ],
        "optional": True,
        "name": "attr2hbase.shop:orders.Value",
        "field": "after",
    }
    assert (payload["before"], payload["after"], payload["op"]) == (None, {"~id": "k", "d:a": "1"}, "c")
    assert (payload["ts_ms"], payload["source"]["ts_ms"], payload["source"]["table"]) == (T + 5, T, "shop:orders")


def test_a_deleted_row_has_a_tombstone_with_the_same_key():
    before = (Cell(b"d", b"a", T - 9, b"1"),)
    first, tombstone = DebeziumSchemaEnvelope("orders").of(record(b"k", [Delete(b"k", T)], before))
    _, payload = checked(first.value)
    assert (payload["op"], payload["before"], payload["after"]) == ("d", {"~id": "k", "d:a": "1"}, None)
    assert (tombstone.key, tombstone.value) == (first.key, None)


def test_a_column_that_is_not_text_before_and_after_is_bytes():
    before = (Cell(b"d", b"a", T - 9, b"1"), Cell(b"d", b"b", T - 9, b"2"))
    mutations = [Put(b"k\xff", {b"d:a": b"\xff", b"d:\xfe": b"x"}, T)]
    (message,) = DebeziumSchemaEnvelope("orders").of(record(b"k\xff", mutations, before))
    envelope, payload = checked(message.value)
    kinds = {each["field"]: each["type"] for each in envelope["fields"][1]["fields"]}
    assert kinds == {"~id": "bytes", "d:a": "bytes", "d:b": "string", "d:\\xFE": "string"}
    assert payload["before"] == {"~id": "a/8=", "d:a": "MQ==", "d:b": "2", "d:\\xFE": None}
    assert payload["after"] == {"~id": "a/8=", "d:a": "/w==", "d:b": "2", "d:\\xFE": "x"}
    assert checked(message.key)[1] == {"~id": "a/8="}


COLUMNS = st.dictionaries(st.binary(max_size=3).map(b"d:".__add__), st.binary(max_size=3), max_size=4)


@given(st.binary(min_size=1, max_size=3), COLUMNS, st.none() | COLUMNS)
def test_any_row_is_as_without_a_schema(
    row: bytes, columns: dict[bytes, bytes], before: dict[bytes, bytes] | None
) -> None:
    cells = before and tuple(Cell(b"d", name[2:], T - 9, value) for name, value in sorted(before.items()))
    found = record(row, [Put(row, columns or {b"d:x": b""}, T)], None if cells is None else tuple(cells or ()))
    (with_schema,) = DebeziumSchemaEnvelope("t", lambda: T).of(found)
    (plain,) = DebeziumEnvelope("t", lambda: T).of(found)
    assert plain.value is not None
    envelope, payload = checked(with_schema.value)
    expected = orjson.loads(plain.value)
    assert payload["source"] == expected["source"]
    kinds = {each["field"]: each["type"] for each in envelope["fields"][1]["fields"]}
    for image in ("before", "after"):
        assert (payload[image] is None) is (expected[image] is None)
        for name, value in (expected[image] or {}).items():
            raw = value.encode() if isinstance(value, str) else b64decode(value["b64"])
            shown = payload[image][name]
            assert (shown.encode() if kinds[name] == "string" else b64decode(shown)) == raw


def test_declared_types_are_those_of_kafka_connect():
    types = ColumnTypes(
        {b"d:n": CellType.INT64, b"d:f": CellType.FLOAT64, b"d:ok": CellType.BOOL8, b"e": CellType.UTF8}
    )
    before = (Cell(b"d", b"n", T - 9, (7).to_bytes(8, "big")), Cell(b"d", b"f", T - 9, b"a text"))
    columns = {b"d:n": (2**60).to_bytes(8, "big"), b"d:f": struct.pack(">d", 0.25), b"d:ok": b"\xff", b"e:s": b"text"}
    found = record(b"k", [Put(b"k", columns, T)], before)
    (message,) = DebeziumSchemaEnvelope("t", types=types).of(found)
    envelope, payload = checked(message.value)
    kinds = {each["field"]: each["type"] for each in envelope["fields"][1]["fields"]}
    # the value of d:f before the change is no float64, so the column is bytes in this message
    assert kinds == {"~id": "string", "d:f": "bytes", "d:n": "int64", "d:ok": "boolean", "e:s": "string"}
    assert (payload["before"]["d:n"], payload["after"]["d:n"]) == (7, 2**60)
    assert b64decode(payload["after"]["d:f"]) == struct.pack(">d", 0.25)
    assert (payload["after"]["d:ok"], payload["after"]["e:s"], payload["before"]["e:s"]) == (True, "text", None)
    (message,) = DebeziumSchemaEnvelope("t", types=types).of(record(b"k", [Put(b"k", columns, T)], ()))
    envelope, payload = checked(message.value)
    assert (payload["after"]["d:f"], envelope["fields"][1]["fields"][1]["type"]) == (0.25, "double")


def test_row_of_a_dump_is_a_snapshot():
    (message,) = DebeziumSchemaEnvelope("orders").of_row("s1", 4, Row(b"k", (Cell(b"d", b"a", T, b"1"),)))
    _, payload = checked(message.value)
    assert (payload["op"], payload["source"]["snapshot"], payload["after"]) == ("r", "true", {"~id": "k", "d:a": "1"})
