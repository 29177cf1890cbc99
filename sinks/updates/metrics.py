"""The metrics of deferred updates."""

from collections.abc import Iterator
from typing import NamedTuple

from ingest.api.metric import Change, Kind, Metric, Scope

UPDATE_ROWS_PER_KEY = Metric(
    "attr2hbase_update_rows_per_key",
    Kind.GAUGE,
    "rows",
    "Update rows of a row of the table, as the last compaction found them: the median and the 99th percentile.",
    ("quantile",),
    scope=Scope.TABLE,
)
COMPACTION_BACKLOG_ROWS = Metric(
    "attr2hbase_compaction_backlog_rows",
    Kind.GAUGE,
    "rows",
    "Update rows that the last compaction found and replaced by merged rows.",
    scope=Scope.TABLE,
)
COMPACTION_UNMERGED = Metric(
    "attr2hbase_compaction_unmerged",
    Kind.GAUGE,
    "windows",
    "Windows of rows that the last compaction could not merge; its report names them.",
    scope=Scope.TABLE,
)
COMPACTION_READ_ROWS = Metric(
    "attr2hbase_compaction_read_rows_total",
    Kind.COUNTER,
    "rows",
    "Logical rows that compactions have read.",
    scope=Scope.TABLE,
)
COMPACTION_READ_UPDATE_ROWS = Metric(
    "attr2hbase_compaction_read_update_rows_total",
    Kind.COUNTER,
    "rows",
    "Update rows that compactions have read; divided by the logical rows, the mean number that a read merges.",
    scope=Scope.TABLE,
)
COMPACTION_ROWS = Metric(
    "attr2hbase_compaction_rows_total",
    Kind.COUNTER,
    "rows",
    "Update rows that compactions have replaced by merged rows.",
    scope=Scope.TABLE,
)
COMPACTION_SECONDS = Metric(
    "attr2hbase_compaction_seconds", Kind.GAUGE, "seconds", "Duration of the last compaction.", scope=Scope.TABLE
)
COMPACTION_LAST = Metric(
    "attr2hbase_compaction_last_end_timestamp_seconds",
    Kind.GAUGE,
    "seconds",
    "When a compaction of the table last ended without an error, or the service began to repeat it (epoch).",
    scope=Scope.TABLE,
    is_moment=True,
)
COMPACTION_INTERVAL = Metric(
    "attr2hbase_compaction_interval_seconds",
    Kind.GAUGE,
    "seconds",
    "How often the service compacts the table, as `compact: {every: …}` of the table.",
    scope=Scope.TABLE,
)
METRICS = (
    UPDATE_ROWS_PER_KEY,
    COMPACTION_BACKLOG_ROWS,
    COMPACTION_UNMERGED,
    COMPACTION_READ_ROWS,
    COMPACTION_READ_UPDATE_ROWS,
    COMPACTION_ROWS,
    COMPACTION_SECONDS,
    COMPACTION_LAST,
    COMPACTION_INTERVAL,
)
"""All of them."""


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


def compacted(table: str, result: Compacted) -> Iterator[Change]:
    """What a compaction of a table that has ended without an error changes."""
    of_table = (table,)
    yield UPDATE_ROWS_PER_KEY, (table, "0.5"), result.rows_per_key_p50
    yield UPDATE_ROWS_PER_KEY, (table, "0.99"), result.rows_per_key_p99
    yield COMPACTION_BACKLOG_ROWS, of_table, result.replaced
    yield COMPACTION_UNMERGED, of_table, result.unmerged
    yield COMPACTION_READ_ROWS, of_table, result.logical_rows
    yield COMPACTION_READ_UPDATE_ROWS, of_table, result.update_rows
    yield COMPACTION_ROWS, of_table, result.replaced
    yield COMPACTION_SECONDS, of_table, result.seconds
    yield COMPACTION_LAST, of_table, result.end_s
