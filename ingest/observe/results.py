"""What metrics record of tables, and of Spark's JVM."""

from collections.abc import Mapping
from typing import NamedTuple


class Compacted(NamedTuple):
    """
    The result of a compaction of a table.

    Attributes:
        rows_per_key_p50: median of the number of update rows of a row before it.
        rows_per_key_p99: 99th percentile.
        logical_rows: those that it has read.
        update_rows: those that it has read.
        replaced: update rows that merged rows have replaced.
        unmerged: windows of rows that could not be merged.
        seconds: duration.
        end_s: seconds since the epoch.
    """

    rows_per_key_p50: int
    rows_per_key_p99: int
    logical_rows: int
    update_rows: int
    replaced: int
    unmerged: int
    seconds: float
    end_s: float


class Dumped(NamedTuple):
    """
    What a dump has of a table.

    Attributes:
        rows: number of rows.
        size_bytes: of its files.
        seconds: duration of the whole dump.
        end_s: seconds since the epoch.
    """

    rows: int
    size_bytes: int
    seconds: float
    end_s: float


class GroupLag(NamedTuple):
    """
    How far a consumer group of a feed has come.

    Attributes:
        behind_s: of the shard that is furthest behind.
        used: fraction of the expiration that its oldest unread change has used.
        gaps: number of gaps that it has skipped.
        lost: number of shards whose leases are missing.
    """

    behind_s: float
    used: float
    gaps: int
    lost: int = 0


class ArchiveSize(NamedTuple):
    """
    The files of an archived table.

    Attributes:
        files: number of files of rows in the current versions.
        superseded_bytes: of the files of rows in complete versions that are not current.
        incomplete: number of versions whose re-run has ended before they were complete.
    """

    files: int = 0
    superseded_bytes: int = 0
    incomplete: int = 0


class Swept(NamedTuple):
    """
    The result of a sweep of the blobs of a table.

    Attributes:
        purged: blobs that were deleted.
        purged_bytes: of their blocks as stored.
        kept: a state -> number of blobs that were kept.
        end_s: seconds since the epoch.
    """

    purged: int
    purged_bytes: int
    kept: Mapping[str, int]
    end_s: float


class JvmMemory(NamedTuple):
    """
    The memory of Spark's driver JVM.

    Attributes:
        heap_used_bytes: of the heap.
        heap_max_bytes: that the heap may have.
        gc_seconds: time of garbage collections since the JVM started.
    """

    heap_used_bytes: int
    heap_max_bytes: int
    gc_seconds: float
