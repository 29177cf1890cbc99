"""The blocks of a blob: rows of one table, each with a checksum."""

import zlib
from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from ingest.api import Delete, Put, Row, Scan, Store
from sinks.blobs.compression import compressed, decompressed
from sinks.blobs.pages import paged
from sinks.blobs.status import BlobStatus
from sinks.blobs.tables import BLOCK_KEY_BYTES, CHECKSUM, DATA, block_key, parts_of_block_key

DELETED_TOGETHER = 500
"""Rows of one call that deletes blocks."""


class BlockKey(NamedTuple):
    """Which block a row is."""

    blob: bytes
    generation: int
    block: int


class Blocks:
    """
    The blocks in one table.

    Args:
        store: open; for writes and removals open for writing.
        table: of blocks.
    """

    def __init__(self, store: Store[Any], table: str) -> None:
        self._store = store
        self._table = table

    def write(self, blob: bytes, status: BlobStatus, block: int, data: bytes) -> int:
        """
        Write a block; durable when it returns. A repeated call writes the same cells.

        Returns:
            The bytes that are stored.
        """
        stored = compressed(data, status.compression)
        columns = {DATA: stored, CHECKSUM: _checksum(stored)}
        self._store.apply(self._table, [Put(block_key(blob, status.generation, block), columns, status.generation)])
        return len(stored)

    def read(self, blob: bytes, status: BlobStatus, first: int, count: int) -> dict[int, Row]:
        """The rows of some blocks, by their number; missing ones are left out."""
        key = block_key(blob, status.generation, first)
        stop = block_key(blob, status.generation, first + count)
        with closing(self._store.scan(self._table, Scan(key, stop, limit=count, page_rows=count))) as rows:
            return {parts_of_block_key(row.key)[2]: row for row in rows}

    def remove(self, blob: bytes, status: BlobStatus) -> None:
        """Delete all blocks of a generation; idempotent. Their row keys are never written again."""
        numbers = range(status.blocks)
        for start in range(0, len(numbers), DELETED_TOGETHER):
            together = numbers[start : start + DELETED_TOGETHER]
            self._remove([(block_key(blob, status.generation, block), status.generation) for block in together])

    def remove_before(self, blob: bytes, generation: int) -> None:
        """Delete all blocks of earlier generations."""
        self._remove_range(block_key(blob, 0, 0), block_key(blob, generation, 0))

    def remove_generation(self, blob: bytes, generation: int) -> None:
        """Delete the blocks of a generation, of which the number is unknown."""
        self._remove_range(block_key(blob, generation, 0), block_key(blob, generation + 1, 0))

    def _remove_range(self, start: bytes, stop: bytes) -> None:
        found: list[tuple[bytes, int]] = []
        for key in self.present(start, stop):
            found.append((block_key(*key), key.generation))
            if len(found) == DELETED_TOGETHER:
                self._remove(found)
                found.clear()
        if found:
            self._remove(found)

    def flush_removed(self) -> None:
        """Let the store free the space of deleted blocks soon."""
        self._store.flush_removed(self._table)

    def present(self, start: bytes = b"", stop: bytes | None = None) -> Generator[BlockKey]:
        """Which blocks there are, in the order of their row keys; reads no data."""
        for row in paged(self._store, self._table, Scan(start, stop, columns=(CHECKSUM,))):
            if len(row.key) == BLOCK_KEY_BYTES:  # any other row is not ours
                yield BlockKey(*parts_of_block_key(row.key))

    def has_generation(self, blob: bytes, generation: int) -> bool:
        """Whether there is a block of a generation."""
        found = self.present(block_key(blob, generation, 0), block_key(blob, generation + 1, 0))
        with closing(found):
            return next(found, None) is not None

    def _remove(self, keys: Sequence[tuple[bytes, int]]) -> None:
        self._store.remove_rows(self._table, [Delete(key, generation) for key, generation in keys])


def content_of(row: Row, status: BlobStatus, block: int) -> bytes:
    """
    The bytes of a block.

    Raises:
        ValueError: it is damaged; the text says how.
    """
    cells = {cell.family + b":" + cell.qualifier: cell.value for cell in row.cells}
    stored, checksum = cells.get(DATA), cells.get(CHECKSUM)
    if stored is None or checksum is None:
        raise ValueError("a cell is missing")
    if _checksum(stored) != checksum:
        raise ValueError("its checksum differs")
    return decompressed(stored, status.compression, status.block_length(block))


def _checksum(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(4, "big")
