"""
Stores bodies.

A writer writes STORING, then the blocks, then STORED. It may be killed at any point, and several may store the same
body at once: as the id is the hash of the content, all of them write the same blocks of the same generation, and the
first one that has written all of them writes STORED.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from typing import NamedTuple

from ingest.api import NotFoundError
from ingest.api.bodies import BodyCounts
from sinks.bodies.errors import HashMismatchError
from sinks.bodies.open_tables import OpenTables
from sinks.bodies.options import HEARTBEAT_MS, BodyOptions
from sinks.bodies.spool import ReadableBytes, SpooledBody, spooled
from sinks.bodies.status import BodyState, BodyStatus


class StoredBody(NamedTuple):
    """
    The result of storing a body.

    Attributes:
        id: SHA-256 of its bytes.
        length: number of its bytes.
        is_new: whether blocks were written; False if the store had the body.
    """

    id: bytes
    length: int
    is_new: bool

    @property
    def counts(self) -> BodyCounts:
        """As one value of a record or a cell."""
        return BodyCounts(1, self.length) if self.is_new else BodyCounts(deduplicated=1)


class BodyWriter:
    """
    Stores bodies; called by one thread.

    Args:
        tables: of the body store, open for writing.
        options: for bodies that the store does not have.
        on_piece: called after each piece of a source that is read, and before each block is written; may raise an
            error, as to end the call.
    """

    def __init__(self, tables: OpenTables, options: BodyOptions, on_piece: Callable[[], None] = lambda: None) -> None:
        self._statuses = tables.statuses
        self._blocks = tables.blocks
        self._references = tables.references
        self._options = options
        self._on_piece = on_piece

    def put(
        self, source: ReadableBytes, *, expected: bytes | None = None, references: Iterable[bytes] = ()
    ) -> StoredBody:
        """
        Store a body and mark it; durable when it returns. A repeated call changes nothing.

        Without a reference, the sweep may delete the body `sweep_after` later.

        Args:
            source: is read to its end before anything is stored.
            expected: its SHA-256, if the caller knows it.
            references: that are added.

        Raises:
            HashMismatchError: the bytes have another hash; nothing is stored.
            StoreError: the store is unavailable; a repeated call resumes.
        """
        with spooled(source, memory_bytes=self._options.read_ahead_bytes, on_piece=self._on_piece) as body:
            if expected is not None and body.id != expected:
                raise HashMismatchError(
                    f"the SHA-256 of the {body.length:,} bytes is {body.id.hex()}, not {expected.hex()}",
                    hint="nothing is stored; check the source",
                )
            return self._put(body, list(references))

    def put_bytes(self, content: bytes, references: Sequence[bytes]) -> StoredBody:
        """The same for a body that is in memory."""
        return self._put(SpooledBody(sha256(content).digest(), len(content), BytesIO(content)), references)

    def _put(self, body: SpooledBody, references: Sequence[bytes]) -> StoredBody:
        is_new = self._store(body)
        while not self._marked(body.id, references):
            is_new |= self._store(body)
        return StoredBody(body.id, body.length, is_new)

    def _marked(self, body: bytes, references: Sequence[bytes]) -> bool:
        """Mark a body; returns False if a sweep has deleted it since it was stored."""
        try:
            for reference in references:
                self._references.mark(body, reference)
        except NotFoundError:
            return False
        return True

    def _store(self, body: SpooledBody) -> bool:
        """Store a body if the store does not have it; returns whether blocks were written."""
        wrote = False
        while True:
            status = self._statuses.read(body.id)
            if status is not None and status.is_readable:
                if self._keep(body.id, status):
                    return wrote
                continue
            started = self._started(body, status)
            if started is not None:
                wrote = True
                if self._written(body, started):
                    return True

    def _keep(self, body: bytes, status: BodyStatus) -> bool:
        """
        Start the time until a sweep deletes a stored body again, unless it is referenced.

        Returns False if another process has changed the status.
        """
        if status.state is BodyState.STORED and status.unreferenced_since_ms is None:
            return True
        stored = status.stored(self._statuses.clock_ms())
        return self._statuses.replace(body, status, stored) is not None

    def _started(self, body: SpooledBody, status: BodyStatus | None) -> BodyStatus | None:
        """The status STORING as written; None if another process has written one meanwhile."""
        if status is not None and status.state is BodyState.STORING:
            # the writer may have been killed: both write the same blocks
            return self._statuses.replace(body.id, status, status)
        now_ms = self._statuses.clock_ms()
        storing = BodyStatus(
            state=BodyState.STORING,
            generation=now_ms if status is None else max(now_ms, status.generation + 1),
            length=body.length,
            block_bytes=self._options.block_bytes,
            compression=self._options.compression,
            changed_ms=now_ms,
            created_ms=now_ms,
            has_leftovers=status is not None and (status.has_leftovers or status.state is BodyState.PURGING),
        )
        return self._statuses.replace(body.id, status, storing)

    def _written(self, body: SpooledBody, status: BodyStatus) -> bool:
        """Write all blocks, then STORED; returns False if a sweep has begun to delete them."""
        stored_length = 0
        current = status
        for block in range(status.blocks):
            self._on_piece()
            if self._statuses.clock_ms() - current.changed_ms >= HEARTBEAT_MS:
                renewed = self._advanced(body.id, current, BodyState.STORING)
                if renewed is None or renewed.is_readable:
                    return renewed is not None
                current = renewed
            data = body.block(block * status.block_bytes, status.block_bytes)
            stored_length += self._blocks.write(body.id, status, block, data)
        return self._advanced(body.id, current, BodyState.STORED, stored_length) is not None

    def _advanced(
        self, body: bytes, current: BodyStatus, state: BodyState, stored_length: int = 0
    ) -> BodyStatus | None:
        """
        Write STORING once more, as a heartbeat, or STORED.

        Returns:
            The status as written by this writer, or by another one of the same generation; None if a sweep has begun to
            delete the generation.
        """
        seen: BodyStatus | None = current
        while seen is not None and seen.generation == current.generation:
            if seen.is_readable:
                return seen  # another writer has stored it
            if seen.state is not BodyState.STORING:
                return None
            since_ms = self._statuses.clock_ms() if state is BodyState.STORED else None
            after = replace(seen, state=state, stored_length=stored_length, unreferenced_since_ms=since_ms)
            written = self._statuses.replace(body, seen, after)
            if written is not None:
                return written
            seen = self._statuses.read(body)
        return None
