"""
Stores blobs.

A writer writes STORING, then the blocks, then STORED. It may be killed at any point, and several may store the same
blob at once: as the id is the hash of the content, all of them write the same blocks of the same generation, and the
first one that has written all of them writes STORED.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from typing import NamedTuple

from ingest import failpoint
from ingest.api import NotFoundError
from sinks.blobs.blob_options import HEARTBEAT_MS, BlobOptions
from sinks.blobs.errors import HashMismatchError
from sinks.blobs.open_tables import OpenTables
from sinks.blobs.spool import ReadableBytes, SpooledBlob, spooled
from sinks.blobs.status import BlobState, BlobStatus


class StoredBlob(NamedTuple):
    """
    The result of storing a blob.

    Attributes:
        id: SHA-256 of its bytes.
        length: number of its bytes.
        is_new: whether blocks were written; False if the store had the blob.
    """

    id: bytes
    length: int
    is_new: bool

    def counted(self, table: str) -> Counter[tuple[str, str]]:
        """As one value of a record or a cell of a table, for `WriteCounts.counted`."""
        if self.is_new:
            return Counter({("blobs_stored", table): 1, ("blobs_stored_bytes", table): self.length})
        return Counter({("blobs_deduplicated", table): 1})


class BlobWriter:
    """
    Stores blobs; called by one thread.

    Args:
        tables: of the blob store, open for writing.
        options: for blobs that the store does not have.
        on_piece: called after each piece of a source that is read, and before each block is written; may raise an
            error, as to end the call.
    """

    def __init__(self, tables: OpenTables, options: BlobOptions, on_piece: Callable[[], None] = lambda: None) -> None:
        self._statuses = tables.statuses
        self._blocks = tables.blocks
        self._references = tables.references
        self._options = options
        self._on_piece = on_piece
        self._begun = failpoint.point("put_begun")
        self._block_written = failpoint.point("put_block_written")
        self._unpinned = failpoint.point("put_unpinned")

    def put(
        self, source: ReadableBytes, *, expected: bytes | None = None, references: Iterable[bytes] = ()
    ) -> StoredBlob:
        """
        Store a blob and pin it; durable when it returns. A repeated call changes nothing.

        Without a reference, the sweep may delete the blob `sweep_after` later.

        Args:
            source: is read to its end before anything is stored.
            expected: its SHA-256, if the caller knows it.
            references: that are added.

        Raises:
            HashMismatchError: the bytes have another hash; nothing is stored.
            StoreError: the store is unavailable; a repeated call resumes.
        """
        with spooled(source, memory_bytes=self._options.read_ahead_bytes, on_piece=self._on_piece) as blob:
            if expected is not None and blob.id != expected:
                raise HashMismatchError(
                    f"the SHA-256 of the {blob.length:,} bytes is {blob.id.hex()}, not {expected.hex()}"
                )
            return self._put(blob, list(references))

    def put_bytes(self, content: bytes, references: Sequence[bytes]) -> StoredBlob:
        """The same for a blob that is in memory."""
        return self._put(SpooledBlob(sha256(content).digest(), len(content), BytesIO(content)), references)

    def _put(self, blob: SpooledBlob, references: Sequence[bytes]) -> StoredBlob:
        is_new = self._store(blob)
        self._unpinned()
        while not self._pinned(blob.id, references):
            is_new |= self._store(blob)
        return StoredBlob(blob.id, blob.length, is_new)

    def _pinned(self, blob: bytes, references: Sequence[bytes]) -> bool:
        """Pin a blob; returns False if a sweep has deleted it since it was stored."""
        try:
            for reference in references:
                self._references.pin(blob, reference)
        except NotFoundError:
            return False
        return True

    def _store(self, blob: SpooledBlob) -> bool:
        """Store a blob if the store does not have it; returns whether blocks were written."""
        wrote = False
        while True:
            status = self._statuses.read(blob.id)
            if status is not None and status.is_readable:
                if self._keep(blob.id, status):
                    return wrote
                continue
            started = self._started(blob, status)
            if started is not None:
                wrote = True
                self._begun()
                if self._written(blob, started):
                    return True

    def _keep(self, blob: bytes, status: BlobStatus) -> bool:
        """
        Start the time until a sweep deletes a stored blob again, unless it is referenced.

        Returns False if another process has changed the status.
        """
        if status.state is BlobState.STORED and status.unreferenced_since_ms is None:
            return True
        stored = status.stored(self._statuses.clock_ms())
        return self._statuses.replace(blob, status, stored) is not None

    def _started(self, blob: SpooledBlob, status: BlobStatus | None) -> BlobStatus | None:
        """The status STORING as written; None if another process has written one meanwhile."""
        if status is not None and status.state is BlobState.STORING:
            # the writer may have been killed: both write the same blocks
            return self._statuses.replace(blob.id, status, status)
        now_ms = self._statuses.clock_ms()
        storing = BlobStatus(
            state=BlobState.STORING,
            generation=now_ms if status is None else max(now_ms, status.generation + 1),
            length=blob.length,
            block_bytes=self._options.block_bytes,
            compression=self._options.compression,
            changed_ms=now_ms,
            created_ms=now_ms,
            has_leftovers=status is not None and (status.has_leftovers or status.state is BlobState.PURGING),
        )
        return self._statuses.replace(blob.id, status, storing)

    def _written(self, blob: SpooledBlob, status: BlobStatus) -> bool:
        """Write all blocks, then STORED; returns False if a sweep has begun to delete them."""
        stored_length = 0
        current = status
        for block in range(status.blocks):
            self._on_piece()
            if self._statuses.clock_ms() - current.changed_ms >= HEARTBEAT_MS:
                renewed = self._advanced(blob.id, current, BlobState.STORING)
                if renewed is None or renewed.is_readable:
                    return renewed is not None
                current = renewed
            data = blob.block(block * status.block_bytes, status.block_bytes)
            stored_length += self._blocks.write(blob.id, status, block, data)
            self._block_written()
        return self._advanced(blob.id, current, BlobState.STORED, stored_length) is not None

    def _advanced(
        self, blob: bytes, current: BlobStatus, state: BlobState, stored_length: int = 0
    ) -> BlobStatus | None:
        """
        Write STORING once more, as a heartbeat, or STORED.

        Returns:
            The status as written by this writer, or by another one of the same generation; None if a sweep has begun to
            delete the generation.
        """
        seen: BlobStatus | None = current
        while seen is not None and seen.generation == current.generation:
            if seen.is_readable:
                return seen  # another writer has stored it
            if seen.state is not BlobState.STORING:
                return None
            since_ms = self._statuses.clock_ms() if state is BlobState.STORED else None
            after = replace(seen, state=state, stored_length=stored_length, unreferenced_since_ms=since_ms)
            written = self._statuses.replace(blob, seen, after)
            if written is not None:
                return written
            seen = self._statuses.read(blob)
        return None
