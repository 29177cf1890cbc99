"""
Which batches of an archived table are removed, and their removal.

A batch is removed if it is complete, no pointer and no SQL location names it, it has no `_KEEP`, no process writes it,
and it stopped being current long enough ago. Only files of this product are removed; others are reported as foreign,
and stay with their folders.

`_SUCCESS` is removed first: no pointer can be moved to the batch after that. Then pointer, `_KEEP` and the
announcements of rewrites are read again; a batch that is in use now gets its `_SUCCESS` back.

SQL locations are not read again: it takes a session of Spark. No command moves one to a batch that a plan removes, only
to one that is current at that moment, and this is read again.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from ingest import failpoint
from sinks.archive.layout import KEEP, STARTED, SUCCESS, SUPERSEDED, EntryKind, kind_in_batch
from sinks.archive.partition import Partition
from sinks.archive.rewrites import Announcement, announcements, of_partition
from sinks.archive.switching import superseded_ms

MIN_AGE_MS = 24 * 3_600_000
"""Queries that read a batch may run for long after it was superseded; a shorter age needs a confirmation."""


class BatchState(StrEnum):
    """How far a batch has come."""

    CURRENT = "current"
    """Readers read it."""
    COMPLETE = "complete"
    """Readers may be pointed at it."""
    WRITING = "writing"
    """A rewrite writes it."""
    INCOMPLETE = "incomplete"
    """Its process has ended before it was complete; readers are never pointed at it."""


class FoundBatch(NamedTuple):
    """
    A batch in the folder of its partition.

    Attributes:
        id: of the batch.
        state: of it.
        is_kept: whether it has `_KEEP`.
        superseded_ms: since when it is not current, ms since the epoch; None for the current one, or if unknown.
        size_bytes: of the files of rows.
        files: their number.
        foreign: names of files in it that this product has not written.
    """

    id: int
    state: BatchState
    is_kept: bool
    superseded_ms: int | None
    size_bytes: int
    files: int
    foreign: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CleanupPlan:
    """
    What a cleanup removes.

    Attributes:
        batches: of which partition, oldest first.
        kept: path -> why it stays although it is old enough.
        foreign: paths that this product has not written.
    """

    batches: tuple[tuple[Partition, FoundBatch], ...]
    kept: dict[str, str]
    foreign: tuple[str, ...]


def batches_of(partition: Partition, rewrites: Iterable[Announcement]) -> list[FoundBatch]:
    """
    The batches of a partition, oldest first; a damaged pointer makes no batch current.

    Args:
        partition: of the table.
        rewrites: the announcements of the table that have an effect.

    Raises:
        OSError: of the file system.
    """
    current = partition.readable_current()
    written = {announcement.batch_id for announcement in of_partition(rewrites, partition.folder)}
    found = []
    for batch_id in partition.batch_ids():
        try:
            entries = partition.root.entries(partition.path(batch_id))
        except FileNotFoundError:
            continue  # removed since it was listed
        markers = {entry.name for entry in entries if not entry.is_folder}
        is_current = batch_id == current
        state = (
            BatchState.CURRENT
            if is_current
            else BatchState.WRITING
            if batch_id in written
            else BatchState.COMPLETE
            if SUCCESS in markers
            else BatchState.INCOMPLETE
        )
        kinds = [(kind_in_batch(entry.name, is_folder=entry.is_folder), entry) for entry in entries]
        parts = [entry for kind, entry in kinds if kind is EntryKind.PART]
        foreign = tuple(entry.name for kind, entry in kinds if kind is EntryKind.FOREIGN)
        since_ms = None if is_current else superseded_ms(partition, batch_id, entries)
        size_bytes = sum(part.size for part in parts)
        found.append(FoundBatch(batch_id, state, KEEP in markers, since_ms, size_bytes, len(parts), foreign))
    return found


def plan_cleanup(
    partitions: Collection[Partition],
    now_ms: int,
    age_ms: int,
    *,
    located: Collection[str] = (),
    incomplete: bool = False,
) -> CleanupPlan:
    """
    What a cleanup removes now.

    Args:
        partitions: of the table.
        now_ms: ms since the epoch.
        age_ms: how long a batch must have been superseded.
        located: paths of batches, below the root, that SQL locations name.
        incomplete: also remove batches whose rewrite has failed, if nothing in them has changed for that time.

    Raises:
        OSError: of the file system.
    """
    removed: list[tuple[Partition, FoundBatch]] = []
    kept: dict[str, str] = {}
    foreign: list[str] = []
    rewrites = [
        announcement for root in {each.root for each in partitions} for announcement in announcements(root, now_ms)
    ]
    for partition in partitions:
        batches = batches_of(partition, rewrites)
        has_current = any(batch.state is BatchState.CURRENT for batch in batches)
        for batch in batches:
            if not _may_be_removed(partition, batch, incomplete=incomplete):
                continue
            path = partition.path(batch.id)
            foreign += [f"{path}/{name}" for name in batch.foreign]
            if batch.superseded_ms is None or now_ms - batch.superseded_ms < age_ms:
                continue
            if reason := _why_kept(batch, has_current=has_current, is_located=path in located):
                kept[path] = reason
            else:
                removed.append((partition, batch))
        foreign += [f"{partition.folder}/{name}" for name in partition.foreign()]
    return CleanupPlan(tuple(removed), kept, tuple(sorted(foreign)))


def clean_up(
    plan: CleanupPlan, now_ms: int, on_removed: Callable[[str], object] = lambda _path: None
) -> Iterator[FoundBatch]:
    """
    Remove what a plan says; yields each batch once it is removed. One that is in use since the plan was made stays.

    Args:
        plan: of `plan_cleanup`.
        now_ms: ms since the epoch.
        on_removed: called with the path of each file that was removed.

    Raises:
        OSError: of the file system; the next cleanup removes the rest.
    """
    for partition, batch in plan.batches:
        folder, root = partition.path(batch.id), partition.root
        was_complete = root.exists(f"{folder}/{SUCCESS}")
        root.remove_file(f"{folder}/{SUCCESS}")
        failpoint.point("archive_hidden")()
        is_kept = root.exists(f"{folder}/{KEEP}")
        if is_kept or partition.pointed() == batch.id or _is_written(partition, batch.id, now_ms):
            if was_complete:
                root.write(f"{folder}/{SUCCESS}", b"")
            continue
        if was_complete:
            on_removed(f"{folder}/{SUCCESS}")
        for path in _files(partition, batch.id):
            root.remove_file(path)
            on_removed(path)
        root.remove_empty_folder(folder)
        yield batch


def files_to_remove(plan: CleanupPlan) -> Iterator[str]:
    """The paths of the files that `clean_up` removes, in its order."""
    for partition, batch in plan.batches:
        yield from _files(partition, batch.id)


def _may_be_removed(partition: Partition, batch: FoundBatch, *, incomplete: bool) -> bool:
    """Whether the kind of a batch is removed; one without `_SUCCESS` was hidden by a cleanup that was then killed."""
    if batch.state is not BatchState.INCOMPLETE:
        return batch.state is BatchState.COMPLETE
    is_hidden = partition.root.exists(partition.path(batch.id, SUPERSEDED))
    return (incomplete or is_hidden) and partition.pointed() != batch.id


def _why_kept(batch: FoundBatch, *, has_current: bool, is_located: bool) -> str:
    if not has_current:
        return "the partition has no current batch"
    if batch.is_kept:
        return f"it has {KEEP}"
    return "an SQL location names it" if is_located else ""


def _files(partition: Partition, batch_id: int) -> list[str]:
    """The files of this product in a batch; `_SUCCESS` is first, and `_STARTED`, which shows whose it is, last."""
    folder = partition.path(batch_id)
    names = [
        entry.name
        for entry in partition.root.entries(folder)
        if kind_in_batch(entry.name, is_folder=entry.is_folder) is not EntryKind.FOREIGN
    ]
    return [f"{folder}/{name}" for name in sorted(names, key=lambda name: (name != SUCCESS, name == STARTED, name))]


def _is_written(partition: Partition, batch_id: int, now_ms: int) -> bool:
    """Whether a rewrite writes a batch now."""
    return any(
        each.batch_id == batch_id for each in of_partition(announcements(partition.root, now_ms), partition.folder)
    )
