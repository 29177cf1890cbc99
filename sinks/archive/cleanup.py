"""
Which versions of an archived table are removed, and their removal.

A version is removed if it is complete, no pointer and no SQL location names it, it has no `_KEEP`, no process writes
it, and it stopped being current long enough ago. Only files of this product are removed; others are reported as
foreign, and stay with their folders.

`_SUCCESS` is removed first: no pointer can be moved to the version after that. Then pointer, `_KEEP` and the
announcements of rewrites are read again; a version that is in use now gets its `_SUCCESS` back.

SQL locations are not read again: it takes a session of Spark. No command moves one to a version that a plan removes,
only to one that is current at that moment, and this is read again.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from ingest import failpoint
from sinks.archive.layout import KEEP, STARTED, SUCCESS, SUPERSEDED, EntryKind, kind_in_version
from sinks.archive.partition import Partition
from sinks.archive.rewrites import Announcement, announcements, of_partition
from sinks.archive.switching import superseded_ms

MIN_AGE_MS = 24 * 3_600_000
"""Queries that read a version may run for long after it was superseded; a shorter age needs a confirmation."""


class VersionState(StrEnum):
    """How far a version has come."""

    CURRENT = "current"
    """Readers read it."""
    COMPLETE = "complete"
    """Readers may be pointed at it."""
    WRITING = "writing"
    """A rewrite writes it."""
    INCOMPLETE = "incomplete"
    """Its process has ended before it was complete; readers are never pointed at it."""


class FoundVersion(NamedTuple):
    """
    A version in the folder of its partition.

    Attributes:
        id: of the version.
        state: of it.
        is_kept: whether it has `_KEEP`.
        superseded_ms: since when it is not current, ms since the epoch; None for the current one, or if unknown.
        size_bytes: of the files of rows.
        files: their number.
        foreign: names of files in it that this product has not written.
    """

    id: int
    state: VersionState
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
        versions: of which partition, oldest first.
        kept: path -> why it stays although it is old enough.
        foreign: paths that this product has not written.
    """

    versions: tuple[tuple[Partition, FoundVersion], ...]
    kept: dict[str, str]
    foreign: tuple[str, ...]


def versions_of(partition: Partition, rewrites: Iterable[Announcement]) -> list[FoundVersion]:
    """
    The versions of a partition, oldest first; a damaged pointer makes no version current.

    Args:
        partition: of the table.
        rewrites: the announcements of the table that have an effect.

    Raises:
        OSError: of the file system.
    """
    current = partition.readable_current()
    written = {announcement.version_id for announcement in of_partition(rewrites, partition.folder)}
    found = []
    for version_id in partition.version_ids():
        try:
            entries = partition.root.entries(partition.path(version_id))
        except FileNotFoundError:
            continue  # removed since it was listed
        markers = {entry.name for entry in entries if not entry.is_folder}
        is_current = version_id == current
        state = (
            VersionState.CURRENT
            if is_current
            else VersionState.WRITING
            if version_id in written
            else VersionState.COMPLETE
            if SUCCESS in markers
            else VersionState.INCOMPLETE
        )
        kinds = [(kind_in_version(entry.name, is_folder=entry.is_folder), entry) for entry in entries]
        parts = [entry for kind, entry in kinds if kind is EntryKind.PART]
        foreign = tuple(entry.name for kind, entry in kinds if kind is EntryKind.FOREIGN)
        since_ms = None if is_current else superseded_ms(partition, version_id, entries)
        size_bytes = sum(part.size for part in parts)
        found.append(FoundVersion(version_id, state, KEEP in markers, since_ms, size_bytes, len(parts), foreign))
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
        age_ms: how long a version must have been superseded.
        located: paths of versions, below the root, that SQL locations name.
        incomplete: also remove versions whose rewrite has failed, if nothing in them has changed for that time.

    Raises:
        OSError: of the file system.
    """
    removed: list[tuple[Partition, FoundVersion]] = []
    kept: dict[str, str] = {}
    foreign: list[str] = []
    rewrites = [
        announcement for root in {each.root for each in partitions} for announcement in announcements(root, now_ms)
    ]
    for partition in partitions:
        versions = versions_of(partition, rewrites)
        has_current = any(version.state is VersionState.CURRENT for version in versions)
        for version in versions:
            if not _may_be_removed(partition, version, incomplete=incomplete):
                continue
            path = partition.path(version.id)
            foreign += [f"{path}/{name}" for name in version.foreign]
            if version.superseded_ms is None or now_ms - version.superseded_ms < age_ms:
                continue
            if reason := _why_kept(version, has_current=has_current, is_located=path in located):
                kept[path] = reason
            else:
                removed.append((partition, version))
        foreign += [f"{partition.folder}/{name}" for name in partition.foreign()]
    return CleanupPlan(tuple(removed), kept, tuple(sorted(foreign)))


def clean_up(
    plan: CleanupPlan, now_ms: int, on_removed: Callable[[str], object] = lambda _path: None
) -> Iterator[FoundVersion]:
    """
    Remove what a plan says; yields each version once it is removed. One that is in use since the plan was made stays.

    Args:
        plan: of `plan_cleanup`.
        now_ms: ms since the epoch.
        on_removed: called with the path of each file that was removed.

    Raises:
        OSError: of the file system; the next cleanup removes the rest.
    """
    for partition, version in plan.versions:
        folder, root = partition.path(version.id), partition.root
        was_complete = root.exists(f"{folder}/{SUCCESS}")
        root.remove_file(f"{folder}/{SUCCESS}")
        failpoint.point("archive_hidden")()
        is_kept = root.exists(f"{folder}/{KEEP}")
        if is_kept or partition.pointed() == version.id or _is_written(partition, version.id, now_ms):
            if was_complete:
                root.write(f"{folder}/{SUCCESS}", b"")
            continue
        if was_complete:
            on_removed(f"{folder}/{SUCCESS}")
        for path in _files(partition, version.id):
            root.remove_file(path)
            on_removed(path)
        root.remove_empty_folder(folder)
        yield version


def files_to_remove(plan: CleanupPlan) -> Iterator[str]:
    """The paths of the files that `clean_up` removes, in its order."""
    for partition, version in plan.versions:
        yield from _files(partition, version.id)


def _may_be_removed(partition: Partition, version: FoundVersion, *, incomplete: bool) -> bool:
    """Whether the kind of a version is removed; one without `_SUCCESS` was hidden by a cleanup that was then killed."""
    if version.state is not VersionState.INCOMPLETE:
        return version.state is VersionState.COMPLETE
    is_hidden = partition.root.exists(partition.path(version.id, SUPERSEDED))
    return (incomplete or is_hidden) and partition.pointed() != version.id


def _why_kept(version: FoundVersion, *, has_current: bool, is_located: bool) -> str:
    if not has_current:
        return "the partition has no current version"
    if version.is_kept:
        return f"it has {KEEP}"
    return "an SQL location names it" if is_located else ""


def _files(partition: Partition, version_id: int) -> list[str]:
    """The files of this product in a version; `_SUCCESS` is first, and `_STARTED`, which shows whose it is, last."""
    folder = partition.path(version_id)
    names = [
        entry.name
        for entry in partition.root.entries(folder)
        if kind_in_version(entry.name, is_folder=entry.is_folder) is not EntryKind.FOREIGN
    ]
    return [f"{folder}/{name}" for name in sorted(names, key=lambda name: (name != SUCCESS, name == STARTED, name))]


def _is_written(partition: Partition, version_id: int, now_ms: int) -> bool:
    """Whether a rewrite writes a version now."""
    return any(
        each.version_id == version_id for each in of_partition(announcements(partition.root, now_ms), partition.folder)
    )
