"""Rows of a replay that an archive has already: dead letters whose partition was written again, or another replay."""

from collections.abc import Collection

from sinks.archive.copying import copy_rows
from sinks.archive.layout import PartName
from sinks.archive.partition import Partition
from sinks.archive.reading import origins_in
from sinks.archive.staging import copy


def own_parts(partition: Partition, version_id: int, time_ms: int, digits: str) -> set[PartName]:
    """
    The files that a micro-batch has in a version.

    Args:
        partition: that has the version.
        version_id: of the version.
        time_ms: batch time of the micro-batch.
        digits: of the micro-batch, in the names of its files.
    """
    return {part for part in partition.parts(version_id) if part.time_ms == time_ms and part.writer == digits}


def copy_new_rows(partition: Partition, version_id: int, own: Collection[PartName], path: str, target: str) -> bool:
    """
    Write the rows of a file to a target without those whose events a version has in files of other micro-batches.

    Args:
        partition: that has the version.
        version_id: of the version.
        own: the files of this micro-batch in it.
        path: of the file.
        target: of the rows; may be `path`.

    Returns:
        Whether there are any; else there is no target.

    Raises:
        ArchiveCorruptError: a file is damaged.
        OSError: of the file system.
    """
    root = partition.root
    staged = set(origins_in(root, path))
    records = {origin[:3] for origin in staged}
    others = [partition.path(version_id, str(name)) for name in partition.parts(version_id) if name not in own]
    known = {origin for each in others for origin in origins_in(root, each, records)} & staged
    if known:
        return copy_rows(root, [path], target, lambda origin: origin not in known) > 0
    if target != path:
        copy(root, path, target)
    return True
