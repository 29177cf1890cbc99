"""
Deletes the blobs that nothing refers to, and what killed writers and sweeps have left.

A sweep may be killed at any point, and several may run at once: each change of a status is a compare-and-set, and each
delete may be repeated.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from ingest import failpoint
from ingest.api import next_key
from sinks.blobs.open_tables import OpenTables
from sinks.blobs.pointers import CellReferences
from sinks.blobs.references import ReferenceRow
from sinks.blobs.retention_horizon import Copy, RetentionHorizon
from sinks.blobs.status import BlobState, BlobStatus


@dataclass(slots=True)
class SweepCounts:
    """
    What a sweep found and did, in numbers of blobs but for `dropped` and `purged_bytes`.

    Attributes:
        blobs: with a status.
        referenced: that have references.
        unreferenced: without references for a shorter time than `sweep_after`, or loaded into this blob store since.
        named: without references for longer, that a dump or a change of the feed may name.
        storing: that a writer stores.
        dropped: references of cells, not blobs, that were removed: no version of the cell has the pointer any more.
        purged: whose blocks were deleted; with a dry run, whose blocks would be deleted.
        purged_bytes: of their blocks as stored; 0 of blobs whose writer was killed.
        forgotten: purged earlier, whose status was deleted now.
        changed: that another process changed meanwhile; the next sweep looks at them again.
    """

    blobs: int = 0
    referenced: int = 0
    unreferenced: int = 0
    named: int = 0
    storing: int = 0
    dropped: int = 0
    purged: int = 0
    purged_bytes: int = 0
    forgotten: int = 0
    changed: int = 0

    def add(self, other: "SweepCounts") -> None:
        """Add what another sweep found and did."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class _Next(Enum):
    """What the sweep does with a blob."""

    KEEP = auto()
    PURGE = auto()
    PURGE_UNREFERENCED = auto()
    FORGET = auto()


class Sweep:
    """
    One sweep of a blob store; called by one thread.

    Args:
        tables: of the blob store, open for writing; with a dry run, for reading.
        cells: says whether a cell has a pointer; None to keep all references of cells.
        sweep_after_ms: how long a blob without references, a writer without a heartbeat, and the status of a purged
            blob remain.
        horizon: what else may name blobs.
        is_dry_run: write nothing.
        on_purge: called with the id of each blob whose blocks are, or would be, deleted.
        on_named: called with the id of each blob that stays because something else may name it, and with this.

    Attributes:
        counts: what it has found and done so far.
    """

    def __init__(
        self,
        tables: OpenTables,
        cells: CellReferences | None = None,
        *,
        sweep_after_ms: int,
        horizon: RetentionHorizon,
        is_dry_run: bool = False,
        on_purge: Callable[[bytes], None] = lambda _blob: None,
        on_named: Callable[[bytes, Copy], None] = lambda _blob, _copy: None,
    ) -> None:
        self._cells = cells
        self._statuses = tables.statuses
        self._blocks = tables.blocks
        self._references = tables.references
        self._sweep_after_ms = sweep_after_ms
        self._is_dry_run = is_dry_run
        self._horizon = horizon
        self._store_id = tables.statuses.store_id()
        self._on_purge = on_purge
        self._on_named = on_named
        self.counts = SweepCounts()

    def run(self, start: bytes = b"", limit: int | None = None) -> bytes | None:
        """
        Look at some blobs, in the order of their ids.

        Args:
            start: first id.
            limit: maximum number of blobs; None for all.

        Returns:
            The first id of the rest; None if there may be no more.

        Raises:
            IntegrityError: a status cannot be read.
            StoreError: the store is unavailable; what is deleted is complete, and another sweep does the rest.
        """
        last, count = b"", 0
        for last, status, at_ms in self._statuses.all(start, limit):
            count += 1
            self.counts.blobs += 1
            self._blob(last, status, at_ms)
        return next_key(last) if count == limit else None

    def _blob(self, blob: bytes, status: BlobStatus, at_ms: int) -> None:
        what = self._decision(blob, status)
        if self._is_dry_run:
            self.counts.forgotten += what is _Next.FORGET
            if what in {_Next.PURGE, _Next.PURGE_UNREFERENCED}:
                self._count_purged(blob, status)
            return
        if what is _Next.PURGE_UNREFERENCED:
            self._purge_unreferenced(blob, status)
        elif what is _Next.PURGE:
            self._purge(blob, status)
        elif what is _Next.FORGET:
            self._forget(blob, status, at_ms)
        elif status.has_leftovers:
            self._blocks.remove_before(blob, status.generation)
            # if another process has changed the status, the next sweep does this again
            self._statuses.replace(blob, status, replace(status, has_leftovers=False))

    def _decision(self, blob: bytes, status: BlobStatus) -> _Next:
        """Count a blob, update the references of one that can be read, and return what is left to do."""
        age_ms = self._statuses.clock_ms() - status.changed_ms
        if status.is_readable:
            return self._of_stored(blob, status)
        if status.state is BlobState.STORING:
            if age_ms >= self._sweep_after_ms:
                return _Next.PURGE
            self.counts.storing += 1
            return _Next.KEEP
        if status.state is BlobState.PURGING:
            return _Next.PURGE
        return _Next.FORGET if age_ms >= self._sweep_after_ms else _Next.KEEP

    def _of_stored(self, blob: bytes, status: BlobStatus) -> _Next:
        """As `_decision`, for a blob that can be read; a dry run updates nothing."""
        living, dead = self._references_of(blob)
        since_ms, after_ms = status.unreferenced_since_ms, self._sweep_after_ms
        if living:
            self.counts.referenced += 1
            self._drop(blob, status, status.stored(None), dead)
            if not self._is_dry_run:
                for found in living:  # a cell that gets the same value again pins the blob each time
                    self._references.remove_older_cells(found)
        elif dead or since_ms is None or status.store_id != self._store_id:
            self.counts.unreferenced += 1
            # a reader may just have read the pointer, or its cell is loaded later; so the time starts now
            self._drop(blob, status, status.stored(self._statuses.clock_ms()), dead)
        elif since_ms + after_ms > self._horizon.at_ms:
            self.counts.unreferenced += 1
        elif (copy := self._horizon.keeping(since_ms, after_ms)) is not None:
            self.counts.named += 1
            self._on_named(blob, copy)
        else:
            return _Next.PURGE_UNREFERENCED
        return _Next.KEEP

    def _references_of(self, blob: bytes) -> tuple[list[ReferenceRow], list[ReferenceRow]]:
        """The references to a blob that stay, and those of cells without the pointer."""
        living: list[ReferenceRow] = []
        dead: list[ReferenceRow] = []
        for found in self._references.rows(blob):
            (dead if self._is_dead(blob, found) else living).append(found)
        return living, dead

    def _drop(self, blob: bytes, status: BlobStatus, after: BlobStatus, dead: Sequence[ReferenceRow]) -> None:
        """
        Write the status of a blob, then remove references.

        The status comes first: a sweep that is killed in between, or another one that reads no reference, must not
        count from an earlier time. If another process has changed the status, the next sweep does this.
        """
        if self._is_dry_run:
            self.counts.dropped += len(dead)
        elif status == after or self._statuses.replace(blob, status, after) is not None:
            failpoint.point("sweep_dropping")()
            self._remove(dead)

    def _remove(self, dead: Iterable[ReferenceRow]) -> None:
        for found in dead:
            self._references.remove(found)
            self.counts.dropped += 1

    def _is_dead(self, blob: bytes, found: ReferenceRow) -> bool:
        """
        Whether a reference is that of a cell which has no pointer to the blob.

        A task pins the blob, then writes the pointer: for the time `sweep_after` the pointer may still be on its way.
        A call that lasts for half of the least `sweep_after`, or longer, pins the blob again at its end, and a batch
        that is blocked for longer when it runs again.
        """
        if self._cells is None or not found.is_of_cell:
            return False
        age_ms = self._statuses.clock_ms() - found.newest_ms
        return age_ms >= self._sweep_after_ms and not self._cells.holds(found.reference, blob)

    def _purge_unreferenced(self, blob: bytes, status: BlobStatus) -> None:
        """
        Delete a blob after the references were read once more, in DELETING.

        So is the id of the blob store: a table that was loaded since the sweep began brings its references later.
        """
        deleting = self._statuses.replace(blob, status, replace(status, state=BlobState.DELETING))
        if deleting is None:
            self.counts.changed += 1
            return
        failpoint.point("sweep_deleting")()
        if self._references.of(blob, limit=1) or self._statuses.store_id() != deleting.store_id:
            self.counts.changed += 1
            self._statuses.replace(blob, deleting, deleting.stored(None))
        else:
            self._purge(blob, deleting)

    def _purge(self, blob: bytes, status: BlobStatus) -> None:
        """Delete the blocks of a blob that is not readable any more once PURGING is written."""
        purging = self._statuses.replace(blob, status, replace(status, state=BlobState.PURGING))
        if purging is None:
            self.counts.changed += 1
            return
        failpoint.point("sweep_purging")()
        self._remove_blocks(blob, purging)
        failpoint.point("sweep_emptied")()
        self._count_purged(blob, purging)
        # if another process has begun to store the blob again, its status says that there are leftovers
        self._statuses.replace(blob, purging, replace(purging, state=BlobState.PURGED, has_leftovers=False))

    def _forget(self, blob: bytes, status: BlobStatus, at_ms: int) -> None:
        """
        Delete the status of a blob that was purged `sweep_after` ago.

        Its blocks are deleted once more: a writer that was stopped for so long may have written one after the sweep.
        The delete has the time of the status, so it does not hide one that another process writes now.
        """
        self._remove_blocks(blob, status)
        self._remove(self._references_of(blob)[1])  # what a task that was killed has left
        self._statuses.forget(blob, at_ms)
        self.counts.forgotten += 1

    def _remove_blocks(self, blob: bytes, status: BlobStatus) -> None:
        self._blocks.remove(blob, status)
        if status.has_leftovers:
            self._blocks.remove_before(blob, status.generation)

    def _count_purged(self, blob: bytes, status: BlobStatus) -> None:
        self.counts.purged += 1
        self.counts.purged_bytes += status.stored_length
        self._on_purge(blob)
