"""
Mutations as calls of the Thrift interface.

One call, `mutateRowsTs`, carries puts of many rows, or deletes of many rows, all of one time: the server does the puts
of a call before its deletes whatever their order, so the two never share one. The WAL flag goes with every cell, and
the server takes that of a row's last one, so it never differs within a call either.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ingest.api import MAX_ROW_KEY_BYTES, Delete, Mutation, Put, WriteRejectedError
from sinks.hbase.settings import Transport
from sinks.hbase.thrift1 import BatchMutation, ThriftMutation

MAX_CALL_BYTES = {Transport.BUFFERED: 16 * 1024 * 1024, Transport.FRAMED: 1_500_000}
"""A framed server closes the connection at 2 MB by default; a buffered one has no limit, only memory."""

LATEST_TIMESTAMP = 2**63 - 1
"""HBase puts its own clock in the place of this one, so it is no time a cell can have."""

_MAX_CELL_BYTES = 10 * 1024 * 1024  # hbase.client.keyvalue.maxsize and hbase.server.keyvalue.maxsize by default
_CELL_OVERHEAD_BYTES = 20  # lengths, time and type beside row, column and value
_ROW_OVERHEAD_BYTES = 15  # in the Thrift message
_COLUMN_OVERHEAD_BYTES = 23  # in the Thrift message
_TOO_LARGE = "row key, column and value of a cell are larger than HBase takes"


class Call(NamedTuple):
    """
    The rows of one `mutateRowsTs`.

    Attributes:
        indexes: which of the mutations these rows are.
    """

    timestamp_ms: int
    rows: list[Any]
    indexes: range


def calls(mutations: Sequence[Mutation], families: Sequence[bytes], max_bytes: int) -> Iterator[Call]:
    """
    Mutations as calls, in order.

    Args:
        mutations: none that `check` refuses.
        families: of the table, which a delete of a whole row names one by one.
        max_bytes: of one call; a row that is larger goes alone.
    """
    begin = size = 0
    rows: list[Any] = []
    kind: tuple[type, int, bool] = (Put, 0, True)  # what all rows of a call have in common
    for index, mutation in enumerate(mutations):
        own_kind = (type(mutation), mutation.timestamp_ms, mutation.wal)
        own_size = size_of(mutation)
        if rows and (own_kind != kind or size + own_size > max_bytes):
            yield Call(kind[1], rows, range(begin, index))
            begin, size, rows = index, 0, []
        kind = own_kind
        size += own_size
        rows.append(_row(mutation, families))
    if rows:
        yield Call(kind[1], rows, range(begin, begin + len(rows)))


def check(mutations: Sequence[Mutation], max_bytes: int | None = None) -> None:
    """
    Find rows the server would refuse without saying which.

    Args:
        mutations: of one table.
        max_bytes: of one row in a message; None when only the server's limits of a cell count.

    Raises:
        WriteRejectedError: with their indexes.
    """
    refused = [(index, fault) for index, mutation in enumerate(mutations) if (fault := _fault(mutation, max_bytes))]
    if refused:
        raise WriteRejectedError(refused[0][1], indexes=[index for index, _ in refused])


def size_of(mutation: Mutation) -> int:
    """About how many bytes of a message a mutation takes."""
    size = _ROW_OVERHEAD_BYTES + len(mutation.row)
    if isinstance(mutation, Put):
        for column, value in mutation.columns.items():
            size += _COLUMN_OVERHEAD_BYTES + len(column) + len(value)
    return size


def too_large(mutations: Sequence[Mutation]) -> list[int]:
    """Which mutations have a cell above the default limit of HBase."""
    return [
        index
        for index, mutation in enumerate(mutations)
        if isinstance(mutation, Put)
        and any(
            _CELL_OVERHEAD_BYTES + len(mutation.row) + len(column) + len(value) > _MAX_CELL_BYTES
            for column, value in mutation.columns.items()
        )
    ]


def _row(mutation: Mutation, families: Sequence[bytes]) -> Any:
    if isinstance(mutation, Put):
        wal = mutation.wal
        changes = [
            ThriftMutation(isDelete=False, column=column, value=value, writeToWAL=wal)
            for column, value in mutation.columns.items()
        ]
    else:
        changes = [
            ThriftMutation(isDelete=True, column=column, value=b"", writeToWAL=mutation.wal)
            for column in _deleted(mutation, families)
        ]
    return BatchMutation(row=mutation.row, mutations=changes)


def _deleted(delete: Delete, families: Sequence[bytes]) -> Sequence[bytes]:
    # a column without a colon stands for the whole family
    if delete.family is None:
        return families
    if delete.qualifier is None:
        return (delete.family,)
    return (delete.family + b":" + delete.qualifier,)


def _fault(mutation: Mutation, max_bytes: int | None) -> str | None:
    row = mutation.row
    if not 0 < len(row) <= MAX_ROW_KEY_BYTES:
        return f"row key of {len(row)} bytes; HBase takes 1 to {MAX_ROW_KEY_BYTES}"
    if not 0 <= mutation.timestamp_ms < LATEST_TIMESTAMP:
        return f"{mutation.timestamp_ms} is no time a cell can have"
    if max_bytes is not None and size_of(mutation) > max_bytes:
        return f"row of {size_of(mutation)} bytes; a message to a framed Thrift server may have {max_bytes}"
    return _column_fault(mutation)


def _column_fault(mutation: Mutation) -> str | None:
    if isinstance(mutation, Delete):
        family = mutation.family
        return f"{_shown(family)} is no family" if family is not None and (not family or b":" in family) else None
    if not mutation.columns:
        return "put without a cell"
    for column in mutation.columns:
        if column.find(b":") < 1:  # -1: no colon; 0: no family
            return f"{_shown(column)} is no column; write family:qualifier"
    return None


def _shown(name: bytes) -> str:
    return f'"{name.decode("utf-8", "backslashreplace")}"'
