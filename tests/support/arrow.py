"""Records as the Arrow batches that Spark passes to a task."""

from collections.abc import Sequence

import pyarrow as pa

from ingest.api import Record
from ingest.spark.streaming.rows import COLUMNS

HEADERS = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))


def as_batch(rows: Sequence[Record]) -> pa.RecordBatch:
    """One Arrow batch of records."""
    columns = [
        pa.array([row.topic for row in rows], pa.string()),
        pa.array([row.partition for row in rows], pa.int32()),
        pa.array([row.offset for row in rows], pa.int64()),
        pa.array([row.key for row in rows], pa.binary()),
        pa.array([row.value for row in rows], pa.binary()),
        pa.array([row.timestamp_ms for row in rows], pa.int64()),
        pa.array([[{"key": k, "value": v} for k, v in row.headers] or None for row in rows], HEADERS),
    ]
    return pa.RecordBatch.from_arrays(columns, names=COLUMNS)
