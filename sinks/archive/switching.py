"""
Moves the pointer of a partition to another complete batch, so that readers never find a batch that is being removed.

1. `_SUPERSEDED`, with the time, is written into the batch that stops being current.
2. `_CURRENT` is replaced, at once.
3. `_SUCCESS` of the new batch is looked up again. A cleanup removes it first and then looks at `_CURRENT`, so one of
   the two sees the other: the pointer returns, or the cleanup leaves the batch.
"""

import contextlib
from collections.abc import Iterable

from ingest import failpoint
from ingest.formats.times import iso_milliseconds, moment
from sinks.archive.errors import NoArchiveBatchError
from sinks.archive.layout import SUCCESS, SUPERSEDED
from sinks.archive.partition import Partition
from sinks.files.root import Entry


def switch(partition: Partition, batch_id: int, now_ms: int) -> int | None:
    """
    Make a complete batch the one that readers read; the older batch stays.

    Args:
        partition: that has it.
        batch_id: of the batch.
        now_ms: ms since the epoch; from it on, the older batch counts as superseded.

    Returns:
        The batch that was current before; None for none, or one that cannot be read.

    Raises:
        NoArchiveBatchError: the batch is not complete or not there; the pointer is unchanged.
        OSError: of the file system.
    """
    _check_complete(partition, batch_id)
    before = partition.readable_current()
    if before == batch_id:
        return before
    if before is not None:
        partition.root.write(partition.path(before, SUPERSEDED), f"{moment(now_ms)}\n".encode())
    failpoint.point("archive_superseded")()
    partition.write_pointer(batch_id)
    failpoint.point("archive_switched")()
    if not partition.root.exists(partition.path(batch_id, SUCCESS)):
        if before is not None:
            partition.write_pointer(before)
        _check_complete(partition, batch_id)
    partition.root.remove_file(partition.path(batch_id, SUPERSEDED))
    return before


def later_files(partition: Partition, before: int, current: int) -> int:
    """
    How many files only the batch before has, of micro-batches that were committed when it was current.

    These came after the `_SUCCESS` of the batch before, whose earlier files are of a re-run or a join, and are not in
    the current batch: streams wrote to both.

    Args:
        partition: that has both batches.
        before: the batch that was current; complete.
        current: the batch that readers read now.

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


def superseded_ms(partition: Partition, batch_id: int, entries: Iterable[Entry]) -> int | None:
    """
    When a batch stopped being current, ms since the epoch; of one that never was, when it was completed.

    Of one that is not complete, the newest change of a file; None if the file system has no times.

    Args:
        partition: that has the batch.
        batch_id: of the batch.
        entries: of its folder.
    """
    times = {entry.name: entry.modified_ms for entry in entries}
    if SUPERSEDED in times:
        with contextlib.suppress(FileNotFoundError):
            marker = partition.root.read(partition.path(batch_id, SUPERSEDED)).strip()
            try:
                return iso_milliseconds(marker)
            except ValueError:  # damaged; the time of `_SUCCESS` would be too early
                return times[SUPERSEDED] or None
    return times.get(SUCCESS, max(times.values(), default=0)) or None


def _check_complete(partition: Partition, batch_id: int) -> None:
    if not partition.batch(batch_id).is_complete:
        path = partition.path(batch_id)
        raise NoArchiveBatchError(f'"{path}" in "{partition.root}" is no complete batch')
