"""Compares what a blob store has with what its statuses say."""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum
from itertools import groupby
from typing import NamedTuple, Protocol

from ingest import failpoint
from ingest.api import NotFoundError
from ingest.api.notation import shown
from sinks.blobs.blocks import content_of
from sinks.blobs.open_tables import OpenTables
from sinks.blobs.pointers import CellReferences
from sinks.blobs.status import BlobState, BlobStatus


class FindingKind(StrEnum):
    """What is wrong."""

    MISSING_BLOCK = "missing_block"
    """A readable blob lacks a block."""
    DAMAGED_BLOCK = "damaged_block"
    """A block differs from its checksum."""
    WRONG_HASH = "wrong_hash"
    """All blocks are correct, but the blob has another hash than its id."""
    ORPHANED_BLOCKS = "orphaned_blocks"
    """Blocks of a generation that no status names: a writer was stopped for longer than `sweep_after`."""
    DANGLING_REFERENCE = "dangling_reference"
    """A reference to a blob that cannot be read."""
    UNNEEDED_REFERENCE = "unneeded_reference"
    """A reference of a dead letter that was replayed, deleted or never published."""
    UNKNOWN_REFERENCE = "unknown_reference"
    """A reference of a dead letter that may wait elsewhere."""

    @property
    def is_damage(self) -> bool:
        """Whether a blob cannot be read; what is orphaned or dangling only takes space."""
        return self in {FindingKind.MISSING_BLOCK, FindingKind.DAMAGED_BLOCK, FindingKind.WRONG_HASH}


class Finding(NamedTuple):
    """
    One thing that is wrong.

    Attributes:
        kind: what it is.
        blob: the id.
        block: number of the block; None if it is not about one.
        detail: for people.
    """

    kind: FindingKind
    blob: bytes
    block: int | None
    detail: str


class DeadLetters(Protocol):
    """The dead letters that may refer to blobs."""

    def is_unneeded(self, reference: bytes) -> bool:
        """Whether a reference is of a dead letter that does not need its blob any more."""

    def is_unknown(self, reference: bytes) -> bool:
        """Whether a reference is of a dead letter that is not known here, but may be elsewhere."""

    def may_remove(self, reference: bytes) -> bool:
        """Whether such a dead letter cannot be published any more, so that a repair may remove its reference."""


def checked(
    tables: OpenTables,
    cells: CellReferences | None = None,
    dead_letters: DeadLetters | None = None,
    *,
    sweep_after_ms: int = 0,
    is_repair: bool = False,
) -> Iterator[Finding | int | None]:
    """
    Read every blob, and compare blocks and references with the statuses; yields what is wrong, the number of blocks of
    each blob that was read, and None after each block and each other row.

    Other processes may store and sweep meanwhile: what is not found is looked for again under the newest status.

    Args:
        tables: of the blob store; for a repair, open for writing.
        cells: says whether a cell has a pointer; None to keep all references of cells.
        dead_letters: says whether a dead letter needs its blob; None to keep all references of dead letters.
        sweep_after_ms: references of dead letters that are younger are not reported, as some may be published now.
        is_repair: after they are reported, delete orphaned blocks, dangling references of cells without a pointer, and
            unneeded references.

    Raises:
        IntegrityError: a status cannot be read.
        StoreError: the store is unavailable.
    """
    repaired = failpoint.point("check_repaired")
    for blob, status, _ in tables.statuses.all():
        if status.is_readable:
            yield from _of_blob(tables, blob, status)
    yield from _orphans(tables, is_repair=is_repair)
    for blob, found in tables.references.all():
        yield None
        present = tables.statuses.read(blob)
        if present is None or not present.is_readable:
            yield Finding(FindingKind.DANGLING_REFERENCE, blob, None, f"reference {shown(found.reference)}")
            if is_repair and cells is not None and found.is_of_cell and not cells.holds(found.reference, blob):
                tables.references.remove(found)
                repaired()
            continue
        is_old = tables.statuses.clock_ms() - found.newest_ms >= sweep_after_ms
        if dead_letters is None or not is_old:
            continue
        if dead_letters.is_unneeded(found.reference):
            yield Finding(FindingKind.UNNEEDED_REFERENCE, blob, None, f"reference {shown(found.reference)}")
            if is_repair and dead_letters.may_remove(found.reference):
                with suppress(NotFoundError):  # a purge or a replay has removed it meanwhile
                    tables.references.unpin(blob, found.reference)
                repaired()
        elif dead_letters.is_unknown(found.reference):
            yield Finding(FindingKind.UNKNOWN_REFERENCE, blob, None, f"reference {shown(found.reference)}")


def _of_blob(tables: OpenTables, blob: bytes, status: BlobStatus) -> Iterator[Finding | int | None]:
    digest = hashlib.sha256()
    is_whole = True
    present_blocks = 0
    for block in range(status.blocks):
        yield None
        row = tables.blocks.read(blob, status, block, 1).get(block)
        if row is None:
            present = tables.statuses.read(blob)
            if present is None or not present.is_readable or present.generation != status.generation:
                return  # a sweep deletes it
            is_whole = False
            yield Finding(FindingKind.MISSING_BLOCK, blob, block, "the block is missing")
            continue
        present_blocks += 1
        try:
            digest.update(content_of(row, status, block))
        except ValueError as error:
            is_whole = False
            yield Finding(FindingKind.DAMAGED_BLOCK, blob, block, str(error))
    yield present_blocks
    if is_whole and digest.digest() != blob:
        yield Finding(FindingKind.WRONG_HASH, blob, None, f"the SHA-256 is {digest.hexdigest()}")


def _orphans(tables: OpenTables, *, is_repair: bool) -> Iterator[Finding | None]:
    """Blocks of generations that no status names; a sweep deletes those that a status says are left over."""
    for (blob, generation), keys in groupby(tables.blocks.present(), key=lambda key: (key.blob, key.generation)):
        blocks = 0
        for _ in keys:
            blocks += 1
            yield None
        status = tables.statuses.read(blob)
        is_pending = status is not None and (
            generation == status.generation or status.has_leftovers or status.state is BlobState.PURGING
        )
        if is_pending or (status is not None and generation > status.generation):
            continue
        if tables.blocks.has_generation(blob, generation):  # else a sweep has deleted them meanwhile
            yield Finding(FindingKind.ORPHANED_BLOCKS, blob, None, f"{blocks} blocks of generation {generation}")
            if is_repair:
                tables.blocks.remove_generation(blob, generation)
                failpoint.point("check_repaired")()
