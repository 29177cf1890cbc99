"""
A change: what one split of a micro-batch does to one row, as it is stored in a feed row.

A change has every cell and every delete with the timestamps that are written to the table, so all changes of a feed,
applied to an empty table, give the table.

The value of a feed row is JSON:

- `v`: 1, the version of this format.
- `op`: the operation, see `Op`.
- `puts`: for each timestamp a list of the timestamp, and then column, value, column, value …
- `deletes`: for each delete a list of its type, its timestamp, and the family and qualifier that it names.
- `before`: the cells of the row before the change, each as a list of column, timestamp, value; left out if the row was
  not read.

Bytes are strings if they are UTF-8, else `{"b64": …}`. What is empty is left out, except for `before`.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from ingest.api import Cell, Delete, IntegrityError, Mutation, Put
from ingest.api.errors import DecodeError
from ingest.api.notation import from_notation, to_notation
from sinks.feed.keys import FeedKey
from sinks.updates.keys import UpdateKey, update_id_of

SCHEMA_VERSION = 1
"""Version of the JSON of a change, and of the records that readers get."""
_MOST_COLUMNS = 1_024  # whose names are kept in parts; a bound, since names come from the data


class Op(StrEnum):
    """What a change does to its row."""

    PUT = "PUT"
    """It writes cells, and may delete others; the row was not read before."""
    DELETE = "DELETE"
    """It only deletes; the row was not read before."""
    PUT_ROW = "PUT_ROW"
    """It writes cells, and the row had none before."""
    UPDATE_ROW = "UPDATE_ROW"
    """It writes or deletes cells of a row that had cells before, or deletes some of its columns."""
    DELETE_ROW = "DELETE_ROW"
    """It deletes the whole row."""
    UPDATE = "UPDATE"
    """It adds to the row of a table with deferred updates: the columns of one update row."""


class ColumnChange(StrEnum):
    """What a change does to a column, a family or the row."""

    PUT = "PUT"
    DELETE_ONE_VERSION = "DELETE_ONE_VERSION"
    """Hides the version of the column that has exactly the timestamp."""
    DELETE_ALL_VERSIONS = "DELETE_ALL_VERSIONS"
    """Hides all versions of the column up to and including the timestamp."""
    DELETE_FAMILY = "DELETE_FAMILY"
    """Hides all cells of the family up to and including the timestamp."""
    DELETE_ROW = "DELETE_ROW"
    """Hides all cells of the row up to and including the timestamp."""


_NAMES = {
    ColumnChange.DELETE_ONE_VERSION: 2,
    ColumnChange.DELETE_ALL_VERSIONS: 2,
    ColumnChange.DELETE_FAMILY: 1,
    ColumnChange.DELETE_ROW: 0,
}
"""How many names a delete has: family, qualifier."""


class ChangedColumn(NamedTuple):
    """
    One part of a change.

    Attributes:
        family: empty if the whole row is deleted.
        qualifier: None if the whole family or the whole row is deleted.
        type: what is done.
        value: of a put; else None.
        timestamp_ms: as written to the table.
    """

    family: bytes
    qualifier: bytes | None
    type: ColumnChange
    value: bytes | None
    timestamp_ms: int


class Change(NamedTuple):
    """
    A change of one row.

    Attributes:
        row: the logical row key.
        op: what it does.
        columns: deletes first; their order does not matter.
        before: the newest cells of the row before the change; None if the row was not read, empty if it had none.
        time_ms: batch time of the micro-batch that wrote it.
        rank: of the split in the micro-batch.
    """

    row: bytes
    op: Op
    columns: tuple[ChangedColumn, ...]
    before: tuple[Cell, ...] | None
    time_ms: int
    rank: int

    @classmethod
    def decoded(cls, key: FeedKey, value: bytes) -> "Change":
        """
        The change of a feed row.

        Raises:
            IntegrityError: the value is none, or a later version has written it.
        """
        try:
            content = orjson.loads(value)
            version = content["v"]
            if type(version) is int and version > SCHEMA_VERSION:
                raise _unreadable(key, f"it has version {version} of the format")
            columns = (*_deletes(content.get("deletes", ())), *_puts(content.get("puts", ())))
            before = content.get("before")
            return cls(
                key.sequence.row,
                Op(content["op"]),
                columns,
                None if before is None else tuple(_cell(*each) for each in before),
                key.sequence.time_ms,
                key.sequence.rank,
            )
        except (ValueError, TypeError, KeyError, AttributeError, DecodeError) as error:
            raise _unreadable(key, str(error)) from error

    def mutations(self) -> list[Mutation]:
        """
        The mutations that apply the change to a table: deletes first; they need no order.

        They have logical row keys; those of a change of deferred updates have the key of the update row.
        """
        if self.op is Op.UPDATE:
            return self._mutations(UpdateKey(self.row, update_id_of(self.time_ms, self.rank)).encoded())
        return self._mutations(self.row)

    def _mutations(self, row: bytes) -> list[Mutation]:
        mutations: list[Mutation] = []
        puts: dict[int, dict[bytes, bytes]] = {}
        for family, qualifier, kind, value, at in self.columns:
            if kind is ColumnChange.PUT:
                puts.setdefault(at, {})[family + b":" + (qualifier or b"")] = value or b""
            elif kind is ColumnChange.DELETE_ROW:
                mutations.append(Delete(row, at))
            else:
                exact = kind is ColumnChange.DELETE_ONE_VERSION
                mutations.append(Delete(row, at, family, qualifier, exact=exact))
        mutations.extend(Put(row, columns, at) for at, columns in puts.items())
        return mutations


def encoded_change(op: Op, mutations: Iterable[Mutation], before: Iterable[Cell] | None = None) -> bytes:
    """
    The value of a feed row, for the mutations of one row.

    Args:
        op: what the change does.
        mutations: as written to the table; their row keys are not used.
        before: the cells of the row before the change; None if it was not read.
    """
    puts: list[list[object]] = []
    deletes: list[list[object]] = []
    for mutation in mutations:
        if type(mutation) is Put:
            flat: list[object] = [mutation.timestamp_ms]
            for column, value in mutation.columns.items():
                flat += (to_notation(column), to_notation(value))
            puts.append(flat)
        elif isinstance(mutation, Delete):
            deletes.append(_of_delete(mutation))
    content: dict[str, object] = {"v": SCHEMA_VERSION, "op": op.value}
    if deletes:
        content["deletes"] = deletes
    if puts:
        content["puts"] = puts
    if before is not None:
        content["before"] = [
            (to_notation(cell.family + b":" + cell.qualifier), cell.timestamp_ms, to_notation(cell.value))
            for cell in before
        ]
    return orjson.dumps(content)


def stored_before(value: bytes) -> tuple[Cell, ...] | None:
    """The cells before the change in the value of a feed row; None if it has none, or cannot be read."""
    try:
        before = orjson.loads(value).get("before")
        return None if before is None else tuple(_cell(*each) for each in before)
    except (ValueError, TypeError, AttributeError, DecodeError):
        return None


def op_of(mutations: Sequence[Mutation], before: Sequence[Cell] | None) -> Op:
    """
    What the mutations of one row do.

    Args:
        mutations: of the row, as written.
        before: the cells of the row before; None if it was not read.
    """
    has_puts = any(isinstance(mutation, Put) for mutation in mutations)
    if before is None:
        return Op.PUT if has_puts else Op.DELETE
    if has_puts:
        return Op.UPDATE_ROW if before else Op.PUT_ROW
    is_whole = any(isinstance(mutation, Delete) and mutation.family is None for mutation in mutations)
    return Op.DELETE_ROW if is_whole else Op.UPDATE_ROW


def _of_delete(delete: Delete) -> list[object]:
    at, family, qualifier = delete.timestamp_ms, delete.family, delete.qualifier
    if family is None:
        return [ColumnChange.DELETE_ROW.value, at]
    if qualifier is None:
        return [ColumnChange.DELETE_FAMILY.value, at, to_notation(family)]
    kind = ColumnChange.DELETE_ONE_VERSION if delete.exact else ColumnChange.DELETE_ALL_VERSIONS
    return [kind.value, at, to_notation(family), to_notation(qualifier)]


def _deletes(stored: Iterable[list[Any]]) -> Iterable[ChangedColumn]:
    for word, at, *names in stored:
        kind = ColumnChange(word)
        if len(names) != _NAMES[kind]:
            raise ValueError(f"a delete of type {word} names {len(names)} parts of a column")
        family, qualifier = (*map(_bytes, names), None, None)[:2]
        yield ChangedColumn(family or b"", qualifier, kind, None, _time(at))


def _puts(stored: Iterable[list[Any]]) -> list[ChangedColumn]:
    columns = []
    kind = ColumnChange.PUT
    for put in stored:
        if type(put) is not list or not put:
            raise ValueError("a put is no list of a timestamp, columns and values")
        time_ms = _time(put[0])
        for column, value in zip(put[1::2], put[2::2], strict=True):
            family, qualifier = _split(column)
            data = value.encode() if type(value) is str else _bytes(value)  # without a call for most values
            columns.append(ChangedColumn(family, qualifier, kind, data, time_ms))
    return columns


def _cell(column: object, at: object, value: object) -> Cell:
    return Cell(*_split(column), _time(at), _bytes(value))


def _time(at: object) -> int:
    if type(at) is not int:
        raise ValueError("a timestamp is no number")
    return at


def _split(column: object) -> tuple[bytes, bytes]:
    return _split_text(column) if type(column) is str else _split_bytes(_bytes(column))


@lru_cache(_MOST_COLUMNS)
def _split_text(column: str) -> tuple[bytes, bytes]:
    return _split_bytes(column.encode())


def _split_bytes(column: bytes) -> tuple[bytes, bytes]:
    family, colon, qualifier = column.partition(b":")
    if not colon:
        raise ValueError("a column has no colon")
    return family, qualifier


def _bytes(notation: object) -> bytes:
    return notation.encode() if type(notation) is str else from_notation(notation)


def _unreadable(key: FeedKey, reason: str) -> IntegrityError:
    return IntegrityError(
        f"the feed row of shard {key.shard} with sequence {key.sequence.to_text()} cannot be read: {reason}",
        hint="use the version that wrote it, or a later one",
    )
