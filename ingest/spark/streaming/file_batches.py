"""Lines of files as Arrow batches with the columns of a record."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ingest.api import UnreadError
from ingest.sources.lines import PARTITION
from ingest.sources.unread import unread_record
from ingest.spark.streaming.rows import COLUMNS

_HEADERS = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))


def line_batch(path: str, offsets: Sequence[int], lines: Sequence[bytes | None], mtime_ms: int) -> pa.RecordBatch:
    """The records of lines of a file; headers are empty, not null, which Spark reads slowly."""
    return _batch(path, offsets, lines, mtime_ms, [()] * len(lines))


def unread_batch(path: str, offset: int, mtime_ms: int, error: UnreadError) -> pa.RecordBatch:
    """The record in place of the lines of a file that were not read."""
    record = unread_record((path, PARTITION, offset), mtime_ms, error)
    headers = [{"key": name, "value": value} for name, value in record.headers]
    return _batch(path, [offset], [record.value], mtime_ms, [headers])


def _batch(
    path: str, offsets: Sequence[int], lines: Sequence[bytes | None], mtime_ms: int, headers: Sequence[Any]
) -> pa.RecordBatch:
    count = len(lines)
    columns: list[Any] = [
        pa.array([path] * count, pa.string()),
        pa.array([PARTITION] * count, pa.int32()),
        pa.array(offsets, pa.int64()),
        pa.array([b""] * count, pa.binary()),
        pa.array(lines, pa.binary()),
        pa.array([mtime_ms] * count, pa.int64()),
        pa.array(headers, _HEADERS),
    ]
    return pa.RecordBatch.from_arrays(columns, names=COLUMNS)
