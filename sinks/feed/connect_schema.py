"""
Debezium's envelope with the schema of Kafka Connect, which its transformations and sinks need.

`ExtractNewRecordState` and the other transformations of Debezium leave a record as it is whose schema has not the
suffix `.Envelope` in its name, so messages without a schema pass through unchanged.

A row has any columns, so each message has a schema of its own: the columns before and after the change.

Sources: `JsonConverter` of Kafka Connect 3.9 (an object of exactly `schema` and `payload`; the types and `field` of a
struct; bytes as Base64), `SmtManager` of Debezium 3.0. Its `ExtractNewRecordState` reads the messages.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import orjson

from ingest.api.notation import readable, to_notation
from ingest.clock import now_ms
from ingest.formats.cell_types import CellType
from ingest.formats.column_types import AS_BYTES, ColumnTypes
from sinks.feed.envelope import ROW_KEY, DebeziumEnvelope

_STRING, _BYTES = "string", "bytes"
_KINDS = {
    CellType.INT8: "int8",
    CellType.INT16: "int16",
    CellType.INT32: "int32",
    CellType.INT64: "int64",
    CellType.FLOAT32: "float",
    CellType.FLOAT64: "double",
    CellType.BOOL8: "boolean",
    CellType.UTF8: _STRING,
    CellType.JSON: _STRING,
}
_Schema = dict[str, Any]


class DebeziumSchemaEnvelope(DebeziumEnvelope):
    """
    Debezium's envelope as `JsonConverter` writes it with `schemas.enable`.

    A column with a declared type has that of Kafka Connect. Another one is a string if its values before and after the
    change are UTF-8. A column with a value that does not fit is bytes.
    """

    def __init__(self, table: str, clock_ms: Callable[[], int] = now_ms, *, types: ColumnTypes = AS_BYTES) -> None:
        super().__init__(table, clock_ms, types=types)
        self._name = f"attr2hbase.{table}"

    def _key(self, row: bytes) -> bytes:
        kind = _kind_of([row])
        schema = _struct(f"{self._name}.Key", [_field(ROW_KEY, kind)])
        return _enveloped(schema, {ROW_KEY: _encoded(kind, row)})

    def _value(
        self,
        row: bytes,
        before: Mapping[bytes, bytes | None] | None,
        after: Mapping[bytes, bytes | None] | None,
        about: Mapping[str, Any],
    ) -> bytes:
        row_kind = _kind_of([row])
        of_row = [_field(ROW_KEY, row_kind)]
        images: list[dict[str, object]] = [{ROW_KEY: _encoded(row_kind, row)}, {ROW_KEY: _encoded(row_kind, row)}]
        for column in sorted({*(before or ()), *(after or ())}):
            name, values = readable(column), [None if image is None else image.get(column) for image in (before, after)]
            kind, encoded = self._column(column, values)
            of_row.append(_field(name, kind, optional=True))
            for image, value in zip(images, encoded, strict=True):
                image[name] = value
        of_image = _struct(f"{self._name}.Value", of_row, optional=True)
        schema = _struct(
            f"{self._name}.Envelope",
            [
                of_image | {"field": "before"},
                of_image | {"field": "after"},
                _SOURCE | {"field": "source"},
                _field("op", _STRING),
                _field("ts_ms", "int64", optional=True),
                _TRANSACTION | {"field": "transaction"},
            ],
        )
        of_before, of_after = (
            None if each is None else image for each, image in zip((before, after), images, strict=True)
        )
        return _enveloped(schema, {"before": of_before, "after": of_after, **about})

    def _column(self, column: bytes, values: Sequence[bytes | None]) -> tuple[str, list[object]]:
        """The kind of a column, and its values before and after the change as `JsonConverter` reads them."""
        declared = self._types.of(column)
        if declared is None:
            kind = _kind_of(value for value in values if value is not None)
            return kind, [_encoded(kind, value) for value in values]
        shown = [None if value is None else self._types.shown(column, value) for value in values]
        if any(each is not None and each.misfit for each in shown):
            return _BYTES, [_encoded(_BYTES, value) for value in values]
        return _KINDS[declared], [None if each is None else each.plain for each in shown]


def _enveloped(schema: _Schema, payload: Mapping[str, Any]) -> bytes:
    return orjson.dumps({"schema": schema, "payload": payload})


def _struct(name: str, fields: Iterable[_Schema], *, optional: bool = False) -> _Schema:
    return {"type": "struct", "fields": list(fields), "optional": optional, "name": name}


def _field(name: str, kind: str, *, optional: bool = False) -> _Schema:
    return {"type": kind, "optional": optional, "field": name}


def _kind_of(values: Iterable[bytes]) -> str:
    """The kind of values without a declared type."""
    return _STRING if all(isinstance(to_notation(value), str) for value in values) else _BYTES


def _encoded(kind: str, value: bytes | None) -> str | None:
    """A string, or bytes in Base64."""
    if value is None:
        return None
    return value.decode() if kind == _STRING else b64encode(value).decode()


_SOURCE = _struct(
    "attr2hbase.Source",
    [
        *(_field(name, _STRING) for name in ("version", "connector", "name")),
        _field("ts_ms", "int64"),
        _field("db", _STRING),
        _field("table", _STRING),
        _field("shard", "int32"),
        _field("op", _STRING),
        _field("snapshot", _STRING, optional=True),
        _field("sequence", _STRING, optional=True),
    ],
)
_TRANSACTION = _struct(
    "event.block",
    [_field("id", _STRING), _field("total_order", "int64"), _field("data_collection_order", "int64")],
    optional=True,
)
