"""The metrics of blob stores."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ingest.api.metric import Change, Kind, Metric, Scope

BLOBS_STORED = Metric(
    "attr2hbase_blobs_stored_total",
    Kind.COUNTER,
    "blobs",
    "Large values of events that were stored as new blobs, by all attempts.",
    scope=Scope.TABLE,
)
BLOBS_STORED_BYTES = Metric(
    "attr2hbase_blobs_stored_bytes_total",
    Kind.COUNTER,
    "bytes",
    "Size of these blobs before their compression.",
    scope=Scope.TABLE,
)
BLOBS_DEDUPLICATED = Metric(
    "attr2hbase_blobs_deduplicated_total",
    Kind.COUNTER,
    "blobs",
    "Large values of events that were stored already, by an earlier event or an earlier attempt.",
    scope=Scope.TABLE,
)
BLOBS = Metric(
    "attr2hbase_blobs",
    Kind.GAUGE,
    "blobs",
    "Blobs that the last sweep by the service has kept: referenced, named by a dump or a change of the feed, "
    "unreferenced for less than `sweep_after`, storing.",
    ("state",),
    scope=Scope.TABLE,
)
BLOBS_SWEPT = Metric(
    "attr2hbase_blobs_swept_total", Kind.COUNTER, "blobs", "Blobs that sweeps have deleted.", scope=Scope.TABLE
)
BLOBS_SWEPT_BYTES = Metric(
    "attr2hbase_blobs_swept_bytes_total",
    Kind.COUNTER,
    "bytes",
    "Size of the blocks that sweeps have deleted, as stored.",
    scope=Scope.TABLE,
)
BLOB_SWEEP_LAST = Metric(
    "attr2hbase_blob_sweep_last_success_timestamp_seconds",
    Kind.GAUGE,
    "seconds",
    "When a sweep of the blobs of the table last ended without an error, or the service began to repeat it (epoch).",
    scope=Scope.TABLE,
    is_moment=True,
)
BLOB_SWEEP_INTERVAL = Metric(
    "attr2hbase_blob_sweep_interval_seconds",
    Kind.GAUGE,
    "seconds",
    "How often the service sweeps the blobs of the table: once a day with `blobs: {sweep_at: …}`.",
    scope=Scope.TABLE,
)
METRICS = (
    BLOBS_STORED,
    BLOBS_STORED_BYTES,
    BLOBS_DEDUPLICATED,
    BLOBS,
    BLOBS_SWEPT,
    BLOBS_SWEPT_BYTES,
    BLOB_SWEEP_LAST,
    BLOB_SWEEP_INTERVAL,
)
"""All of them."""


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


def swept(table: str, result: Swept) -> Iterator[Change]:
    """What a sweep of a table that has ended without an error changes."""
    yield BLOBS_SWEPT, (table,), result.purged
    yield BLOBS_SWEPT_BYTES, (table,), result.purged_bytes
    for state, number in result.kept.items():
        yield BLOBS, (table, state), number
    yield BLOB_SWEEP_LAST, (table,), result.end_s
