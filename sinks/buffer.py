"""Puts wait here until enough of them make a chunk: the rows of one call to the store."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ingest.api import Delete, Mutation, Put

ROW_COST_BYTES = 48
"""What a row costs beside its bytes: object headers here, the framing of a row mutation in Thrift there."""
CELL_COST_BYTES = 32
"""What a cell costs beside its bytes: HBase keeps 20 bytes of lengths, time and type with each, Thrift adds framing."""
MAX_ROWS = 10_000
"""One refused row is found by halving its chunk, and a Thrift server holds all rows of a call as objects: with tiny
rows the bytes alone would allow a hundred thousand."""


@dataclass(slots=True)
class Chunk:
    """
    The rows of one call: one table, one time (but for stores that take many), one WAL flag.

    Attributes:
        timestamp_ms: the time, or -1 for many.
        size_bytes: estimate of what the call takes on the wire and in memory.
    """

    table: str
    timestamp_ms: int
    wal: bool
    mutations: list[Mutation] = field(default_factory=list)
    cells: int = 0
    size_bytes: int = 0


def size_of(put: Put) -> int:
    """Estimate of the bytes that a put takes."""
    columns = put.columns
    names, values = sum(map(len, columns)), sum(map(len, columns.values()))
    return ROW_COST_BYTES + len(put.row) + CELL_COST_BYTES * len(columns) + names + values


class WriteBuffer:
    """
    Mutations wait in chunks and leave by bytes or rows, never by the clock.

    Chunks of several tables, times and WAL flags wait side by side under one bound on all their bytes. Two puts of one
    row, time and flag become one. A put that differs in time or flag from the pending put of the same row sends that
    one's chunk first, so the puts of a row leave in the order they came.

    A store that takes many times in one call (`many_times`) gets chunks of all times, in the order they came.

    Args:
        limit_bytes: bound on all that waits; a chunk is never larger, but for a single row that is.
        send: takes a chunk; may raise, and what waited is then only good to be cleared.
    """

    def __init__(
        self, limit_bytes: int, send: Callable[[Chunk], None], *, max_rows: int = MAX_ROWS, many_times: bool = False
    ) -> None:
        self._limit = limit_bytes
        self._send = send
        self._max_rows = max_rows
        self._many_times = many_times
        self._chunks: dict[tuple[str, int, bool, bool], Chunk] = {}
        self._pending: dict[str, dict[bytes, Put]] = {}
        self._waiting_bytes = 0

    @property
    def waiting_bytes(self) -> int:
        """How many bytes wait."""
        return self._waiting_bytes

    def put(self, table: str, put: Put) -> None:
        """Let a put wait, and send what is full."""
        columns = put.columns
        count = len(columns)
        size = size_of(put)
        pending = self._pending.get(table)
        if pending is None:
            pending = self._pending[table] = {}
        row = put.row
        at = -1 if self._many_times else put.timestamp_ms
        earlier = pending.get(row)
        if earlier is not None and (earlier.timestamp_ms != put.timestamp_ms or earlier.wal is not put.wal):
            if earlier.wal is not put.wal or not self._many_times:
                self._cut((table, -1 if self._many_times else earlier.timestamp_ms, earlier.wal, False))
            earlier = None
        if self._waiting_bytes + size > self._limit and self._waiting_bytes:
            self._make_room(size)
            if row not in pending:
                earlier = None
        key = (table, at, put.wal, False)
        chunk = self._chunks.get(key)
        if chunk is None:
            chunk = self._chunks[key] = Chunk(table, at, put.wal)
        if earlier is None:
            chunk.mutations.append(put)
            pending[row] = put
        else:
            earlier.columns.update(columns)
        chunk.cells += count
        chunk.size_bytes += size
        self._waiting_bytes += size
        if len(chunk.mutations) >= self._max_rows or self._waiting_bytes >= self._limit:
            self._cut(key)

    def delete(self, table: str, delete: Delete) -> None:
        """Let a delete wait, and send what is full."""
        size = ROW_COST_BYTES + CELL_COST_BYTES + len(delete.row)
        if self._waiting_bytes + size > self._limit and self._waiting_bytes:
            self._make_room(size)
        at = -1 if self._many_times else delete.timestamp_ms
        key = (table, at, delete.wal, True)
        chunk = self._chunks.get(key)
        if chunk is None:
            chunk = self._chunks[key] = Chunk(table, at, delete.wal)
        chunk.mutations.append(delete)
        chunk.size_bytes += size
        self._waiting_bytes += size
        if len(chunk.mutations) >= self._max_rows:
            self._cut(key)

    def flush(self) -> None:
        """Send all that waits."""
        for key in list(self._chunks):
            self._cut(key)

    def clear(self) -> None:
        """Forget all that waits."""
        self._chunks.clear()
        self._pending.clear()
        self._waiting_bytes = 0

    def _make_room(self, size: int) -> None:
        """
        Send the largest chunks until half is free.

        With the events' own times thousands of small chunks may wait: sending down to a half, not just enough, keeps
        the sorting rare, and the small ones wait on to grow.
        """
        goal = max(0, min(self._limit // 2, self._limit - size))
        for key in sorted(self._chunks, key=lambda key: self._chunks[key].size_bytes, reverse=True):
            if self._waiting_bytes <= goal:
                return
            self._cut(key)

    def _cut(self, key: tuple[str, int, bool, bool]) -> None:
        chunk = self._chunks.pop(key)
        self._waiting_bytes -= chunk.size_bytes
        if not self._chunks:
            for pending in self._pending.values():
                pending.clear()
        elif not key[3]:
            pending = self._pending[chunk.table]
            for mutation in chunk.mutations:
                pending.pop(mutation.row, None)
        self._send(chunk)
