"""Buffers mutations until they fill a chunk: the rows of one call to the store."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from ingest.api import Mutation, Put
from sinks.folding.sizes import size_of

MAX_ROWS = 10_000
"""Bounds the bisection for a rejected row, and the objects of a call in the Thrift server: with tiny rows the limit of
bytes alone would allow a hundred thousand rows."""


@dataclass(slots=True)
class Chunk:
    """
    The rows of one call: one table, time, durability and time to live, puts or deletes; puts of any of these, or any
    mutations of a table, for stores that allow it.

    Attributes:
        size_bytes: estimate of the size of the call on the wire and in memory.
        is_refused: its row was refused before, in an attempt that has written other rows of its region.
    """

    table: str
    mutations: list[Mutation] = field(default_factory=list)
    cells: int = 0
    size_bytes: int = 0
    is_refused: bool = False


class WriteBuffer:
    """
    Buffers mutations in chunks, and returns those that are full by bytes or rows, never by time.

    Chunks of several tables, timestamps and durabilities are buffered at the same time, with one bound on all their
    bytes. They are sent in any order: mutations were folded before (`sinks.folding.fold`). A store that accepts any
    mutations in one call (`mixed`) gets those of a table in their original order.

    Args:
        limit_bytes: bound on the whole buffer, and so on a chunk, except for a single larger row.
        max_rows: of a chunk.
        mixed: whether a chunk may have puts and deletes.
        mixes_puts: whether a chunk of puts, or one of deletes, may have several timestamps, durabilities and times to
            live.
    """

    def __init__(
        self, limit_bytes: int, *, max_rows: int = MAX_ROWS, mixed: bool = False, mixes_puts: bool = False
    ) -> None:
        self._limit = limit_bytes
        self._max_rows = max_rows
        self._mixed = mixed
        self._mixes_puts = mixes_puts
        self._chunks: dict[Hashable, Chunk] = {}
        self._buffered_bytes = 0

    @property
    def buffered_bytes(self) -> int:
        """Number of buffered bytes."""
        return self._buffered_bytes

    def add(self, table: str, mutation: Mutation) -> Sequence[Chunk]:
        """Buffer a mutation; returns the chunks to be sent now, mostly none."""
        size = size_of(mutation)
        full: Sequence[Chunk] = ()
        if self._buffered_bytes + size > self._limit and self._buffered_bytes:
            full = self._freed_half(size)
        cells = len(mutation.columns) if isinstance(mutation, Put) else 0
        if self._mixed:
            key: Hashable = table
        elif self._mixes_puts:
            key = (table, cells > 0)
        else:
            key = (table, mutation.timestamp_ms, mutation.durability, cells > 0, mutation.ttl_ms)
        chunk = self._chunks.get(key)
        if chunk is None:
            chunk = self._chunks[key] = Chunk(table)
        chunk.mutations.append(mutation)
        chunk.cells += cells
        chunk.size_bytes += size
        self._buffered_bytes += size
        if len(chunk.mutations) >= self._max_rows or self._buffered_bytes >= self._limit:
            return (*full, self._taken(key))
        return full

    def take(self) -> Iterator[Chunk]:
        """All chunks; each leaves the buffer as it is returned."""
        for key in list(self._chunks):
            yield self._taken(key)

    def clear(self) -> None:
        """Empty the buffer."""
        self._chunks.clear()
        self._buffered_bytes = 0

    def _freed_half(self, size: int) -> list[Chunk]:
        """
        The largest chunks, so that half of the buffer is free.

        With event times there may be thousands of small chunks. Freeing half of the buffer, not just enough, makes the
        sorting rare and lets small chunks grow.
        """
        goal = max(0, min(self._limit // 2, self._limit - size))
        freed = []
        for key in sorted(self._chunks, key=lambda key: self._chunks[key].size_bytes, reverse=True):
            if self._buffered_bytes <= goal:
                break
            freed.append(self._taken(key))
        return freed

    def _taken(self, key: Hashable) -> Chunk:
        chunk = self._chunks.pop(key)
        self._buffered_bytes -= chunk.size_bytes
        return chunk
