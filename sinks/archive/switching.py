"""
Moves the pointer of a partition to another complete version, so that readers never find a version that is being
removed.

1. `_SUPERSEDED`, with the time, is written into the version that stops being current.
2. `_CURRENT` is replaced, at once.
3. `_SUCCESS` of the new version is looked up again. A cleanup removes it first and then looks at `_CURRENT`, so one of
   the two sees the other: the pointer returns, or the cleanup leaves the version.
"""

import contextlib
from collections.abc import Iterable

from ingest import failpoint
from ingest.formats.times import iso_milliseconds, moment
from sinks.archive.errors import NoArchiveVersionError
from sinks.archive.layout import SUCCESS, SUPERSEDED
from sinks.archive.partition import Partition
from sinks.files.root import Entry


def switch(partition: Partition, version_id: int, now_ms: int) -> int | None:
    """
    Make a complete version the one that readers read; the older version stays.

    Args:
        partition: that has it.
        version_id: of the version.
        now_ms: ms since the epoch; from it on, the older version counts as superseded.

    Returns:
        The version that was current before; None for none, or one that cannot be read.

    Raises:
        NoArchiveVersionError: the version is not complete or not there; the pointer is unchanged.
        OSError: of the file system.
    """
    _check_complete(partition, version_id)
    before = partition.readable_current()
    if before == version_id:
        return before
    if before is not None:
        partition.root.write(partition.path(before, SUPERSEDED), f"{moment(now_ms)}\n".encode())
    failpoint.point("archive_superseded")()
    partition.write_pointer(version_id)
    failpoint.point("archive_switched")()
    if not partition.root.exists(partition.path(version_id, SUCCESS)):
        if before is not None:
            partition.write_pointer(before)
        _check_complete(partition, version_id)
    partition.root.remove_file(partition.path(version_id, SUPERSEDED))
    return before


def later_files(partition: Partition, before: int, current: int) -> int:
    """
    How many files only the version before has, of micro-batches that were committed when it was current.

    These came after the `_SUCCESS` of the version before, whose earlier files are of a re-run or a join, and are not in
    the current version: pipelines wrote to both.

    Args:
        partition: that has both versions.
        before: the version that was current; complete.
        current: the version that readers read now.

    Raises:
        OSError: of the file system.
    """
    parts = partition.parts(before)
    entries = partition.root.entries(partition.path(before))
    completed_ms = max((entry.modified_ms for entry in entries if entry.name == SUCCESS), default=0)
    known = partition.parts(current)
    return sum(
        max(entry.modified_ms, name.time_ms) > completed_ms for name, entry in parts.items() if name not in known
    )


def superseded_ms(partition: Partition, version_id: int, entries: Iterable[Entry]) -> int | None:
    """
    When a version stopped being current, ms since the epoch; of one that never was, when it was completed.

    Of one that is not complete, the newest change of a file; None if the file system has no times.

    Args:
        partition: that has the version.
        version_id: of the version.
        entries: of its folder.
    """
    times = {entry.name: entry.modified_ms for entry in entries}
    if SUPERSEDED in times:
        with contextlib.suppress(FileNotFoundError):
            marker = partition.root.read(partition.path(version_id, SUPERSEDED)).strip()
            try:
                return iso_milliseconds(marker)
            except ValueError:  # damaged; the time of `_SUCCESS` would be too early
                return times[SUPERSEDED] or None
    return times.get(SUCCESS, max(times.values(), default=0)) or None


def _check_complete(partition: Partition, version_id: int) -> None:
    if not partition.version(version_id).is_complete:
        path = partition.path(version_id)
        raise NoArchiveVersionError(f'"{path}" in "{partition.root}" is no complete version')
