"""
The status of a blob: one cell, which is replaced by compare-and-set only.

::

    (none) ──► STORING ──► STORED ◄──► DELETING ──► PURGING ──► PURGED ──► (none)
                  │ ▲                                  ▲ │          │
                  └─┼──────────────────────────────────┘ └──────────┤
                    └───────────────────────────────────────────────┘

A blob is readable in STORED and DELETING. Only the sweep writes DELETING, PURGING and PURGED. In DELETING it reads the
references once more; in PURGING it deletes blocks, and no status after it has the same generation. Every write has a
nonce, so a process that compares with what it has read notices every other write.

A status also has the id of the blob store that it was written in. In a restored or copied store, statuses say for how
long nothing had referred to a blob where they were written. The references to it may come later here.
"""

import dataclasses
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from ingest.api import Delete, Scan, Store
from ingest.durable.record import Record
from sinks.blobs.blob_options import BlobCompression
from sinks.blobs.pages import paged
from sinks.blobs.tables import STATUS

STORE_ID = "blobs_id"
"""Property of the table of metadata: a random text. A copy of the rows is not a copy of the properties."""


class BlobState(StrEnum):
    """What a blob store has of a blob."""

    STORING = "storing"
    """Blocks are being written."""
    STORED = "stored"
    """All blocks are durable."""
    DELETING = "deleting"
    """The sweep found no reference and reads the references again; still readable."""
    PURGING = "purging"
    """The blocks of this generation are being deleted."""
    PURGED = "purged"
    """The blocks of this generation are deleted."""


@dataclass(frozen=True, slots=True)
class BlobStatus(Record, kind="status of blob"):
    """
    The status of a blob.

    Attributes:
        state: what the store has of it.
        generation: of its blocks; rises with each storing after a sweep, and is the timestamp of their cells, in ms.
        length: bytes of the blob.
        block_bytes: size of a block before its compression; the last one may be shorter.
        compression: of each block.
        changed_ms: time of this write, in ms since the epoch. In STORING, the newest heartbeat of a writer.
        created_ms: time at which the blob was stored first in this generation.
        unreferenced_since_ms: start of the time after which the sweep may delete the blob; None while it is referenced.
        stored_length: bytes of all blocks as stored; 0 until it is STORED.
        has_leftovers: blocks of earlier generations may remain.
        store_id: of the blob store that it was written in.
        nonce: differs in every write.
        raw: the cell as read or written.
    """

    state: BlobState
    generation: int
    length: int
    block_bytes: int
    compression: BlobCompression
    changed_ms: int
    created_ms: int
    unreferenced_since_ms: int | None = None
    stored_length: int = 0
    has_leftovers: bool = False
    store_id: str = ""
    nonce: str = ""
    raw: Annotated[bytes, Field(exclude=True)] = field(default=b"", compare=False, repr=False)

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return -(-self.length // self.block_bytes)

    @property
    def is_readable(self) -> bool:
        """Whether all blocks are there."""
        return self.state in {BlobState.STORED, BlobState.DELETING}

    def block_length(self, block: int) -> int:
        """Bytes of a block before its compression."""
        return min(self.block_bytes, self.length - block * self.block_bytes)

    def stored(self, unreferenced_since_ms: int | None) -> "BlobStatus":
        """The status STORED; `unreferenced_since_ms` is None for a blob that is referenced."""
        return dataclasses.replace(self, state=BlobState.STORED, unreferenced_since_ms=unreferenced_since_ms)

    @classmethod
    def of_cell(cls, blob: bytes, raw: bytes) -> "BlobStatus":
        """
        The status in a cell.

        Raises:
            IntegrityError: it cannot be read: another version wrote it, or it is damaged.
        """
        return dataclasses.replace(cls.of(raw, blob.hex()), raw=raw)


def new_nonce() -> str:
    """A text that no other call returns."""
    return secrets.token_hex(8)


class StatusCells:
    """
    The statuses of the blobs of a store.

    Args:
        store: open; for `replace` open for writing.
        table: of metadata.
        clock_ms: milliseconds since the epoch.
        nonce: returns a text that no other call returns.
    """

    def __init__(self, store: Store[Any], table: str, *, clock_ms: Callable[[], int], nonce: Callable[[], str]) -> None:
        self._store = store
        self._table = table
        self.clock_ms = clock_ms
        self.nonce = nonce
        self._own_id: str | None = None

    def store_id(self) -> str | None:
        """The id of this blob store as it is recorded now; None if nothing was written since it was loaded."""
        return self._store.properties(self._table).get(STORE_ID)

    def record_store_id(self) -> str:
        """Give this blob store an id, unless it has one; returns its id."""
        while (found := self.store_id()) is None:
            self._store.set_property(self._table, STORE_ID, None, self.nonce())
        self._own_id = found
        return found

    def read(self, blob: bytes) -> BlobStatus | None:
        """The status of a blob; None if the store has never had it, or has forgotten it after a sweep."""
        row = self._store.get(self._table, blob, columns=[STATUS])
        return None if row is None else BlobStatus.of_cell(blob, row.cells[0].value)

    def all(self, start: bytes = b"", limit: int | None = None) -> Iterator[tuple[bytes, BlobStatus, int]]:
        """
        Ids, statuses, and the timestamps of their cells, by id.

        Args:
            start: first id.
            limit: maximum number of them; None for all.

        Raises:
            IntegrityError: a status cannot be read.
        """
        for row in paged(self._store, self._table, Scan(start, columns=(STATUS,), limit=limit)):
            cell = row.cells[0]
            yield row.key, BlobStatus.of_cell(row.key, cell.value), cell.timestamp_ms

    def forget(self, blob: bytes, at_ms: int) -> None:
        """Delete the status that has this timestamp; one that another process writes later stays."""
        self._store.apply(self._table, [Delete(blob, at_ms)])

    def replace(self, blob: bytes, before: BlobStatus | None, after: BlobStatus) -> BlobStatus | None:
        """
        Write a status if the present one is the one before.

        Args:
            blob: its id.
            before: as read; None for a blob without a status.
            after: the new status; this method sets `changed_ms`, `store_id`, `nonce` and `raw`.

        Returns:
            The status as written; None if another process has written one meanwhile, so the caller reads it again.
        """
        own_id = self._own_id or self.record_store_id()
        new = dataclasses.replace(after, changed_ms=self.clock_ms(), store_id=own_id, nonce=self.nonce(), raw=b"")
        raw = new.to_bytes()
        if not self._store.replace_cell(self._table, blob, STATUS, None if before is None else before.raw, raw):
            return None
        return dataclasses.replace(new, raw=raw)


def forget_store_id(store: Store[Any], table: str) -> None:
    """
    Remove the id of a blob store before rows are loaded into it; do nothing with a table that has no such id.

    Its next write gives it another one, so a sweep does not believe the times of the statuses that it has by then.

    Args:
        store: open for writing.
        table: that is loaded.

    Raises:
        StoreError: the store is unavailable.
    """
    while (known := store.properties(table).get(STORE_ID)) is not None:
        store.set_property(table, STORE_ID, known, None)
