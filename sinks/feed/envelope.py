r"""
The messages of a feed for other systems: its own JSON, or the envelope of Debezium.

Each field is described in docs/guides/reading-changes.md. Bytes are strings if they are UTF-8, else `{"b64": …}`;
values of columns with a type are numbers, true or false. A column is `family:qualifier`, with `\xNN` for bytes that are
not printable.

Source of the envelope: the chapter "Data change events" of the connectors in Debezium's reference, version 2.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import orjson

from ingest import __version__
from ingest.api import Cell, Row
from ingest.api.notation import readable, to_notation
from ingest.clock import now_ms
from ingest.formats.column_types import AS_BYTES, ColumnTypes
from sinks.feed.changes import SCHEMA_VERSION, Change, ChangedColumn, ColumnChange, Op
from sinks.feed.client import FeedRecord
from sinks.feed.gaps import Gap

ROW_KEY = "~id"
"""Field of a row in the envelope of Debezium: its key."""
Columns = dict[bytes, tuple[int, bytes]]
"""Column -> time and value of its newest version."""


class Message(NamedTuple):
    """
    A message for another system.

    Attributes:
        key: equal for all changes of a row.
        value: None for a tombstone: the row was deleted.
        timestamp_ms: of the change.
    """

    key: bytes
    value: bytes | None
    timestamp_ms: int


class Envelope(ABC):
    """
    Makes messages of changes.

    Args:
        table: name of the table.
        types: of its columns, with which values are shown.
    """

    def __init__(self, table: str, *, types: ColumnTypes = AS_BYTES) -> None:
        self._table = table
        self._types = types

    @abstractmethod
    def of(self, record: FeedRecord) -> Iterator[Message]:
        """The messages of a change: one, or two if the second is a tombstone."""

    @abstractmethod
    def of_row(self, feed_id: str, shard: int, row: Row) -> Iterator[Message]:
        """The message of a row of a dump, which stands for changes that are lost."""

    @abstractmethod
    def of_gap(self, feed_id: str, shard: int, gap: Gap) -> Iterator[Message]:
        """The message about changes that are lost; none if the envelope has no such message."""

    @abstractmethod
    def of_heartbeat(self, feed_id: str, shard: int, time_ms: int) -> Iterator[Message]:
        """The message of a quiet shard that has been read up to a batch time; none if the envelope has no such one."""


class OwnEnvelope(Envelope):
    """A JSON object for each change, with every cell and delete and its timestamp."""

    def of(self, record: FeedRecord) -> Iterator[Message]:
        """The change."""
        content = record_content(self._table, record, self._types)
        yield Message(record.change.row, orjson.dumps(content), record.change.time_ms)

    def of_row(self, feed_id: str, shard: int, row: Row) -> Iterator[Message]:
        """A record with the operation READ."""
        columns = [
            {
                "type": "PUT",
                "ts": cell.timestamp_ms,
                "column": _name(cell.family, cell.qualifier),
                "value": self._types.plain(cell.family + b":" + cell.qualifier, cell.value),
            }
            for cell in row.cells
        ]
        time_ms = max((cell.timestamp_ms for cell in row.cells), default=0)
        about = self._about(feed_id, shard, "READ") | {"row": to_notation(row.key), "columns": columns}
        yield Message(row.key, orjson.dumps(about), time_ms)

    def of_gap(self, feed_id: str, shard: int, gap: Gap) -> Iterator[Message]:
        """A record with the operation GAP."""
        about = self._about(feed_id, shard, "GAP") | {"from": gap.from_ms, "until": gap.until_ms}
        yield Message(b"", orjson.dumps(about), gap.until_ms)

    def of_heartbeat(self, feed_id: str, shard: int, time_ms: int) -> Iterator[Message]:
        """A record with the operation HEARTBEAT."""
        about = self._about(feed_id, shard, "HEARTBEAT") | {"time": time_ms}
        yield Message(b"", orjson.dumps(about), time_ms)

    def _about(self, feed_id: str, shard: int, op: str) -> dict[str, object]:
        return {"v": SCHEMA_VERSION, "feed": feed_id, "shard": shard, "table": self._table, "op": op}


class DebeziumEnvelope(Envelope):
    """
    Debezium's envelope without a schema, and a tombstone after each delete of a row.

    Args:
        table: name of the table.
        clock_ms: time at which a change is processed.
        types: of its columns, with which values are shown.
    """

    def __init__(self, table: str, clock_ms: Callable[[], int] = now_ms, *, types: ColumnTypes = AS_BYTES) -> None:
        super().__init__(table, types=types)
        self._clock_ms = clock_ms

    def of(self, record: FeedRecord) -> Iterator[Message]:
        """The change, and a tombstone if it deletes the row."""
        change = record.change
        key = self._key(change.row)
        op = _debezium_op(change)
        before = None if change.before is None else _newest(change.before)
        source = self._source(record.feed_id, record.shard, change.time_ms, change.op.value)
        source |= {"snapshot": "false", "sequence": record.sequence}
        after = None if op == "d" else _values(_after(before, change.columns))
        value = self._value(change.row, _values(before) if before else None, after, self._about_change(source, op))
        yield Message(key, value, change.time_ms)
        if op == "d":
            yield Message(key, None, change.time_ms)

    def of_row(self, feed_id: str, shard: int, row: Row) -> Iterator[Message]:
        """The operation r, with a snapshot."""
        time_ms = max((cell.timestamp_ms for cell in row.cells), default=0)
        source = self._source(feed_id, shard, time_ms, "READ") | {"snapshot": "true", "sequence": ""}
        value = self._value(row.key, None, _values(_newest(row.cells)), self._about_change(source, "r"))
        yield Message(self._key(row.key), value, time_ms)

    def of_gap(self, feed_id: str, shard: int, gap: Gap) -> Iterator[Message]:
        """Nothing: Debezium has no such message."""
        del feed_id, shard, gap
        return iter(())

    def of_heartbeat(self, feed_id: str, shard: int, time_ms: int) -> Iterator[Message]:
        """Nothing: Debezium sends heartbeats to a topic of their own."""
        del feed_id, shard, time_ms
        return iter(())

    def _key(self, row: bytes) -> bytes:
        return orjson.dumps({ROW_KEY: to_notation(row)})

    def _value(
        self,
        row: bytes,
        before: Mapping[bytes, bytes | None] | None,
        after: Mapping[bytes, bytes | None] | None,
        about: Mapping[str, object],
    ) -> bytes:
        """A message: the values of a row by column, before and after the change; None if there is no such row."""
        images = {"before": before, "after": after}
        rows = {name: None if image is None else self._image(row, image) for name, image in images.items()}
        return orjson.dumps({**rows, **about})

    def _about_change(self, source: dict[str, object], op: str) -> dict[str, object]:
        return {"source": source, "op": op, "ts_ms": self._clock_ms(), "transaction": None}

    def _image(self, row: bytes, values: Mapping[bytes, bytes | None]) -> dict[str, object]:
        """A row as Debezium has it: a field for the row key, and one for each column."""
        found: dict[str, object] = {ROW_KEY: to_notation(row)}
        for column in sorted(values):
            value = values[column]
            found[readable(column)] = None if value is None else self._types.plain(column, value)
        return found

    def _source(self, feed_id: str, shard: int, time_ms: int, op: str) -> dict[str, object]:
        return {
            "version": __version__,
            "connector": "attr2hbase",
            "name": feed_id,
            "ts_ms": time_ms,
            "db": "",
            "table": self._table,
            "shard": shard,
            "op": op,
        }


def record_content(table: str, record: FeedRecord, types: ColumnTypes = AS_BYTES) -> dict[str, object]:
    """A change as plain data, in the form of `OwnEnvelope`, with values of these types."""
    change = record.change
    content: dict[str, object] = {
        "v": SCHEMA_VERSION,
        "feed": record.feed_id,
        "shard": record.shard,
        "seq": record.sequence,
        "table": table,
        "row": to_notation(change.row),
        "op": change.op.value,
        "time": change.time_ms,
        "columns": [_column_content(column, types) for column in change.columns],
    }
    if change.before is not None:
        content["before"] = [
            {
                "column": _name(cell.family, cell.qualifier),
                "value": types.plain(cell.family + b":" + cell.qualifier, cell.value),
                "ts": cell.timestamp_ms,
            }
            for cell in change.before
        ]
    return content


def _column_content(column: ChangedColumn, types: ColumnTypes) -> dict[str, object]:
    content: dict[str, object] = {"type": column.type.value, "ts": column.timestamp_ms}
    if column.type is ColumnChange.DELETE_FAMILY:
        content["family"] = readable(column.family)
    elif column.type is not ColumnChange.DELETE_ROW:
        content["column"] = _name(column.family, column.qualifier)
    if column.value is not None:
        content["value"] = types.plain(column.family + b":" + (column.qualifier or b""), column.value)
    return content


def _debezium_op(change: Change) -> str:
    """Of Debezium's operations: c creates, u updates, d deletes the row."""
    match change.op:
        case Op.PUT_ROW:
            return "c"
        case Op.DELETE_ROW:
            return "d"
        case Op.DELETE if any(column.type is ColumnChange.DELETE_ROW for column in change.columns):
            return "d"
        case _:
            return "u"


def _newest(cells: Iterable[Cell]) -> Columns:
    found: Columns = {}
    for cell in cells:
        column = cell.family + b":" + cell.qualifier
        if column not in found or found[column][0] < cell.timestamp_ms:
            found[column] = cell.timestamp_ms, cell.value
    return found


def _after(before: Columns | None, columns: Iterable[ChangedColumn]) -> dict[bytes, tuple[int, bytes] | None]:
    """
    The newest versions after a change.

    Without the row before it, only of the columns that the change names; a column that it deletes is None.
    """
    after: dict[bytes, tuple[int, bytes] | None] = dict(before or {})
    puts: Columns = {}
    for column in columns:
        name = column.family + b":" + (column.qualifier or b"")
        if column.type is ColumnChange.PUT:
            if name not in puts or puts[name][0] < column.timestamp_ms:
                puts[name] = column.timestamp_ms, column.value or b""
            continue
        for each in [other for other in after if _is_in(other, column)]:
            if _hides(column, after[each]):
                del after[each]
        if before is None and column.qualifier is not None:
            after[name] = None
    for name, put in puts.items():
        present = after.get(name)
        if present is None or present[0] <= put[0]:
            after[name] = put
    return after


def _is_in(name: bytes, deleted: ChangedColumn) -> bool:
    if deleted.type is ColumnChange.DELETE_ROW:
        return True
    family, _, qualifier = name.partition(b":")
    return family == deleted.family and deleted.qualifier in (None, qualifier)


def _hides(deleted: ChangedColumn, version: tuple[int, bytes] | None) -> bool:
    if version is None:
        return True
    if deleted.type is ColumnChange.DELETE_ONE_VERSION:
        return version[0] == deleted.timestamp_ms
    return version[0] <= deleted.timestamp_ms


def _values(columns: Mapping[bytes, tuple[int, bytes] | None]) -> dict[bytes, bytes | None]:
    return {column: None if version is None else version[1] for column, version in columns.items()}


def _name(family: bytes, qualifier: bytes | None) -> str:
    return readable(family + b":" + (qualifier or b""))
