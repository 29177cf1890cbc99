"""
Mutations as calls of the Thrift interface.

One call, `mutateRowsTs`, has either puts or deletes of many rows, all with one timestamp and one time to live: the
server executes the puts of a call before its deletes, whatever their order. Every cell has a WAL flag, and the server
applies the flag of a row's last cell, so all cells of a call have one flag.

The server does not say which row it rejects, so rows that it would reject are found before anything is sent.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ingest.api import (
    MAX_ROW_KEY_BYTES,
    MAX_TIME_MS,
    Delete,
    Durability,
    Mutation,
    Put,
    WriteRejectedError,
)
from sinks.hbase import refusals
from sinks.hbase.settings import HBaseSettings, ThriftProtocol, Transport
from sinks.hbase.thrift.message import Binary, Compact, Messages

MAX_CALL_BYTES = {Transport.BUFFERED: 16 * 1024 * 1024, Transport.FRAMED: 1_500_000}
"""Maximum size of a call with several rows; only its memory limits a buffered server."""

MAX_FRAME_BYTES = 2 * 1024 * 1024
"""A framed server closes the connection at a larger message, by default. A row above `MAX_CALL_BYTES` is sent alone."""

CELL_OVERHEAD_BYTES = 23
"""Bytes that HBase counts besides row key, column and value: 24 of lengths, time and type, minus the colon."""

TTL_BYTES = 20
"""Of the attribute with the time to live in a message, at most: two lengths of four bytes, its name and its value."""

_NO_EXACT_DELETE = (
    "a Thrift server cannot delete one version of a cell; give the store `bootstrap_servers` in place of `host` and "
    "`port`"
)

_SKIP = Durability.SKIP  # a look-up in the enum for each row would take longer
_WIRES = {ThriftProtocol.BINARY: Binary, ThriftProtocol.COMPACT: Compact}


class Call(NamedTuple):
    """
    One `mutateRowsTs`.

    Attributes:
        indexes: of its mutations.
    """

    message: bytes
    indexes: range


class Encoder:
    """Encodes the calls of one connection; called by one thread."""

    def __init__(self, settings: HBaseSettings) -> None:
        self._messages = Messages(_WIRES[settings.protocol](), refusals.family_bytes)
        self._max_call_bytes = MAX_CALL_BYTES[settings.transport]
        self._max_frame_bytes = MAX_FRAME_BYTES if settings.transport is Transport.FRAMED else None
        self._max_cell_bytes = settings.max_cell_bytes

    def calls(
        self, table: str, mutations: Sequence[Mutation], families: Callable[[], Sequence[bytes]]
    ) -> Iterator[Call]:
        """
        Mutations as calls, in order, no larger than the server accepts.

        Args:
            table: of the mutations.
            mutations: of any types, timestamps and durabilities.
            families: returns those of the table, which a row delete names one by one.

        Raises:
            WriteRejectedError: some mutations can never be written; raised before the first call, with their indexes.
        """
        name = table.encode()
        envelope = sum(map(len, self._messages.envelope(name, len(mutations), MAX_TIME_MS, None)))
        rows = self._rows(mutations, families, envelope)
        return self._divided(name, mutations, rows, self._max_call_bytes - envelope - TTL_BYTES)

    def _divided(
        self, table: bytes, mutations: Sequence[Mutation], rows: Sequence[bytes], max_bytes: int
    ) -> Iterator[Call]:
        begin = size = 0
        kind: tuple[type, int, int | None, Durability] = (Put, 0, None, Durability.SYNC)  # of all rows of a call
        for index, mutation in enumerate(mutations):
            own_kind = (type(mutation), mutation.timestamp_ms, mutation.ttl_ms, mutation.durability)
            own_size = len(rows[index])
            if index > begin and (own_kind != kind or size + own_size > max_bytes):
                message = self._messages.message(table, rows[begin:index], kind[1], kind[2])
                yield Call(message, range(begin, index))
                begin, size = index, 0
            kind = own_kind
            size += own_size
        if rows:
            yield Call(self._messages.message(table, rows[begin:], kind[1], kind[2]), range(begin, len(rows)))

    def _rows(
        self, mutations: Sequence[Mutation], families: Callable[[], Sequence[bytes]], envelope: int
    ) -> list[bytes]:
        rows: list[bytes] = []
        refused: dict[int, str] = {}
        every: Sequence[bytes] = ()
        for index, mutation in enumerate(mutations):
            if not every and isinstance(mutation, Delete) and mutation.family is None:
                every = families()
            try:
                rows.append(self._row(mutation, every, envelope))
            except refusals.RefusalError as refusal:
                refused[index] = str(refusal)
        if refused:
            raise WriteRejectedError(next(iter(refused.values())), indexes=list(refused))
        return rows

    def _row(self, mutation: Mutation, families: Sequence[bytes], envelope: int) -> bytes:
        if not 0 < len(mutation.row) <= MAX_ROW_KEY_BYTES:
            refusals.check_row(mutation.row)
        if not 0 <= mutation.timestamp_ms <= MAX_TIME_MS:
            refusals.check_time(mutation.timestamp_ms)
        if mutation.ttl_ms is not None:
            refusals.check_ttl(mutation.ttl_ms, mutation.timestamp_ms)
        to_wal = mutation.durability is not _SKIP
        if isinstance(mutation, Delete):
            if mutation.exact:
                raise refusals.RefusalError(_NO_EXACT_DELETE)
            row = self._messages.delete(mutation.row, _deleted(mutation, families), wal=to_wal)
        elif mutation.columns:
            row = self._messages.put(mutation.row, mutation.columns, wal=to_wal)
        else:
            raise refusals.RefusalError(refusals.NO_CELLS)
        if len(row) + CELL_OVERHEAD_BYTES > self._max_cell_bytes:
            self._check_cells(mutation)
        if mutation.ttl_ms is not None:
            envelope += TTL_BYTES
        if self._max_frame_bytes is not None and len(row) + envelope > self._max_frame_bytes:
            raise refusals.RefusalError(
                f"row of {len(row)} bytes; a framed Thrift server accepts messages of {self._max_frame_bytes}"
            )
        return row

    def _check_cells(self, mutation: Mutation) -> None:
        if isinstance(mutation, Delete):
            return
        for column, value in mutation.columns.items():
            refusals.check_cell_bytes(
                CELL_OVERHEAD_BYTES + len(mutation.row) + len(column) + len(value), self._max_cell_bytes
            )


def _deleted(delete: Delete, families: Sequence[bytes]) -> Sequence[bytes]:
    # a column without a colon is the whole family
    family = delete.family
    if family is None:
        return families
    refusals.check_family(family)
    return (family if delete.qualifier is None else family + b":" + delete.qualifier,)
