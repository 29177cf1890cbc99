"""
The references to blobs: what must not be deleted.

To pin a blob is to write a reference to it. A reference is a row; each call of `pin` writes a cell with a column of
its own, of which the value is empty. So a call that removes its cell, and the deletes of `unpin`, hide no cell that
another call writes later, whatever its time.
"""

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any, NamedTuple

from ingest import failpoint
from ingest.api import MAX_ROW_KEY_BYTES, ConfigError, Delete, NotFoundError, Put, Row, Scan, Store
from ingest.api.notation import shown
from sinks.blobs.errors import BlobGoneError, BlobNotStoredError
from sinks.blobs.pages import paged
from sinks.blobs.status import BlobState, BlobStatus, StatusCells
from sinks.blobs.tables import ID_BYTES, REFERENCE

MAX_REFERENCE_BYTES = MAX_ROW_KEY_BYTES - ID_BYTES
CELL_REFERENCE = b"\x00"
"""First byte of the references of cells, see `sinks.blobs.pointers`."""


class ReferenceRow(NamedTuple):
    """
    A reference as it is stored.

    Attributes:
        reference: to the blob.
        row: as read, with a cell for each call of `pin`.
    """

    reference: bytes
    row: Row

    @property
    def is_of_cell(self) -> bool:
        """Whether a cell refers to the blob."""
        return self.reference.startswith(CELL_REFERENCE)

    @property
    def newest_ms(self) -> int:
        """Time of its newest cell, in ms since the epoch."""
        return max(cell.timestamp_ms for cell in self.row.cells)


def check_references(references: Iterable[bytes]) -> None:
    """
    Check the references of a user.

    Raises:
        ConfigError: one is empty, too long, or begins as those of cells.
    """
    for reference in references:
        if not 0 < len(reference) <= MAX_REFERENCE_BYTES:
            raise ConfigError(f"a reference has 1 to {MAX_REFERENCE_BYTES:,} bytes, this one has {len(reference):,}")
        if reference.startswith(CELL_REFERENCE):
            raise ConfigError("a reference cannot begin with a zero byte, as references of cells do")


class References:
    """
    The references of a blob store.

    A sweep runs at the same time: it writes DELETING, then reads the references. Here it is the other way round: the
    reference is written, then the status is read. So one of the two sees the other.

    Args:
        store: open; to pin and unpin, open for writing.
        table: of references.
        statuses: of the blobs.
    """

    def __init__(self, store: Store[Any], table: str, statuses: StatusCells) -> None:
        self._store = store
        self._table = table
        self._statuses = statuses
        self._pin_written = failpoint.point("pin_written")
        self._unpin_begun = failpoint.point("unpin_begun")

    def pin(self, blob: bytes, reference: bytes) -> None:
        """
        Write a reference to a stored blob, which no sweep deletes from now on.

        A repeated call adds a cell to the reference; a sweep removes all but the newest one.

        Args:
            blob: its id.
            reference: 1 to 32,735 bytes.

        Raises:
            NotFoundError: there is no such blob.
            BlobNotStoredError: it is being stored.
            BlobGoneError: it was swept; store it again.
        """
        qualifier, at_ms = self._statuses.nonce().encode(), self._statuses.clock_ms()
        row = blob + reference
        self._store.apply(self._table, [Put(row, {REFERENCE + b":" + qualifier: b""}, at_ms)])
        self._pin_written()
        while True:
            status = self._statuses.read(blob)
            if status is not None and status.state is BlobState.STORED:
                return
            if status is None or not status.is_readable:
                self._store.apply(self._table, [Delete(row, at_ms, REFERENCE, qualifier)])
                raise unreadable(blob, status)
            # a sweep that has read the references already does not delete the blob after this
            if self._statuses.replace(blob, status, status.stored(None)) is not None:
                return

    def unpin(self, blob: bytes, reference: bytes) -> None:
        """
        Remove a reference. The time after which the sweep may delete the blob starts now.

        Raises:
            NotFoundError: there is no such reference.
        """
        row = self._store.get(self._table, blob + reference)
        if row is None:
            raise NotFoundError(f"there is no reference {shown(reference)} to blob {blob.hex()}")
        # before the reference is removed: else a sweep in between could count from an earlier time
        while (status := self._statuses.read(blob)) is not None and status.is_readable:
            since_now = replace(status, unreferenced_since_ms=self._statuses.clock_ms())
            if self._statuses.replace(blob, status, since_now) is not None:
                break
        self._unpin_begun()
        self._remove(row)

    def remove(self, found: ReferenceRow) -> None:
        """Remove a reference as it was read; what another call has written since stays."""
        self._remove(found.row)

    def remove_older_cells(self, found: ReferenceRow) -> None:
        """Remove the cells of a reference that are older than its newest one, as they were read."""
        newest_ms = found.newest_ms  # once: it looks at all of them
        older = tuple(cell for cell in found.row.cells if cell.timestamp_ms < newest_ms)
        if older:
            self._remove(found.row._replace(cells=older))

    def rows(self, blob: bytes) -> Iterator[ReferenceRow]:
        """The references to a blob as they are stored; a value may be in any number of cells."""
        for row in paged(self._store, self._table, Scan(prefix=blob)):
            yield ReferenceRow(row.key[ID_BYTES:], row)

    def of(self, blob: bytes, limit: int | None = None) -> list[bytes]:
        """The references to a blob, in byte order."""
        with closing(self._store.scan(self._table, Scan(prefix=blob, limit=limit))) as rows:
            return [row.key[ID_BYTES:] for row in rows]

    def all(self) -> Iterator[tuple[bytes, ReferenceRow]]:
        """All references with the ids of their blobs, by id."""
        for row in paged(self._store, self._table, Scan()):
            yield row.key[:ID_BYTES], ReferenceRow(row.key[ID_BYTES:], row)

    def _remove(self, row: Row) -> None:
        deletes = [Delete(row.key, cell.timestamp_ms, cell.family, cell.qualifier) for cell in row.cells]
        self._store.apply(self._table, deletes)


def unreadable(blob: bytes, status: BlobStatus | None, block: int | None = None) -> NotFoundError:
    """The error for a blob that cannot be read, or not any more from one of its blocks on."""
    if status is None:
        return NotFoundError(f"there is no blob {blob.hex()}", hint="'attr2hbase blob put' stores one")
    if status.state is BlobState.STORING:
        return BlobNotStoredError(f"blob {blob.hex()} is being stored")
    before = "" if block is None else f" before its block {block} was read"
    return BlobGoneError(
        f"blob {blob.hex()} was swept{before}, because nothing referred to it", hint="store it again, then pin it"
    )
