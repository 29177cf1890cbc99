"""Partitions without rows: a re-run that finds no event of a new partition leaves none."""

from sinks.archive.layout import CURRENT, KEEP, STARTED, SUCCESS, SUPERSEDED, EntryKind, kind_in_version
from sinks.archive.partition import Partition
from sinks.archive.rewrites import announcements, of_partition


def is_empty(partition: Partition) -> bool:
    """
    Whether a partition has nothing but markers of versions, none of them kept; files of other programs may have rows.

    Raises:
        OSError: of the file system.
    """
    return not partition.foreign() and all(
        kind_in_version(entry.name, is_folder=entry.is_folder) is EntryKind.MARKER and entry.name != KEEP
        for each in partition.version_ids()
        for entry in partition.root.entries(partition.path(each))
    )


def remove_if_empty(partition: Partition, own_id: int, now_ms: int) -> None:
    """
    Remove the markers of an empty partition, unless another process writes a version of it; no writer may run.

    Args:
        partition: that may be empty.
        own_id: the version that this process writes.
        now_ms: ms since the epoch.

    Raises:
        OSError: of the file system.
    """
    root = partition.root
    writes = of_partition(announcements(root, now_ms), partition.folder)
    if any(each.version_id != own_id for each in writes) or not is_empty(partition):
        return
    root.remove_file(f"{partition.folder}/{CURRENT}")
    folders = [partition.path(each) for each in partition.version_ids()]
    for folder in folders:
        for name in (SUCCESS, SUPERSEDED, STARTED):
            root.remove_file(f"{folder}/{name}")
    for folder in (*folders, partition.folder):
        root.remove_empty_folder(folder)
