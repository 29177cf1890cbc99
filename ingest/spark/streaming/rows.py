"""Arrow batches to records, and receipts to Arrow batches."""

from collections.abc import Iterable, Iterator
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from ingest.api import Record
from ingest.receipt import Receipt

COLUMNS = Record._fields
"""Columns of a source's frame, in order."""
ARROW_ROWS, ARROW_BYTES = 10_000, 8 << 20
"""Maximum rows and bytes of one Arrow batch, which a worker holds in memory as a whole."""
RECEIPT_SCHEMA = "kind string, payload binary"

_TYPES = (
    pa.string(),
    pa.int32(),
    pa.int64(),
    pa.binary(),
    pa.binary(),
    pa.int64(),
    pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])),
)
"""Of the columns, as Arrow has those of RECORD_SCHEMA."""

_record = partial(tuple.__new__, Record)
"""`Record._make` without its call of Python code."""
_ROWS_PER_BATCH = 1_000  # dead letters of 1 MiB, the default limit of an event, stay far below Arrow's 2 GiB


def records_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Record]:
    """
    The records of batches with the columns of a record.

    Converts whole columns at once, which is several times faster than row by row.
    """
    for batch in batches:
        *columns, headers = map(batch.column, COLUMNS)
        plain = len(headers.flatten()) == 0
        yield from map(
            _record,
            zip(
                *(column.to_pylist() for column in columns),
                ((),) * len(headers) if plain else _headers(headers),
                strict=True,
            ),
        )


def arrow_of(records: Iterable[Record]) -> Iterator[pa.RecordBatch]:
    """Records as batches with the columns of a record, bounded by rows and bytes."""
    rows: list[Record] = []
    size = 0
    for record in records:
        rows.append(record)
        size += len(record.key or b"") + len(record.value or b"")
        if len(rows) == ARROW_ROWS or size >= ARROW_BYTES:
            yield _of_records(rows)
            rows, size = [], 0
    if rows:
        yield _of_records(rows)


def _of_records(rows: list[Record]) -> pa.RecordBatch:
    columns = zip(zip(*rows, strict=True), _TYPES, strict=True)
    return pa.RecordBatch.from_arrays([pa.array(column, type_) for column, type_ in columns], names=COLUMNS)


def rows_of(receipt: Receipt) -> Iterator[pa.RecordBatch]:
    """A receipt as batches of (kind, payload)."""
    kinds: list[str] = []
    payloads: list[bytes] = []
    for kind, payload in receipt.rows():
        kinds.append(kind)
        payloads.append(payload)
        if len(kinds) == _ROWS_PER_BATCH:
            yield _batch(kinds, payloads)
            kinds, payloads = [], []
    if kinds:
        yield _batch(kinds, payloads)


def _headers(column: pa.ListArray) -> Iterator[tuple[tuple[str, bytes | None], ...]]:
    pairs = column.flatten()
    names = pc.struct_field(pairs, "key").to_pylist()
    values = pc.struct_field(pairs, "value").to_pylist()
    flat = list(zip(names, values, strict=True))
    start = 0
    for length in pc.list_value_length(column).to_pylist():
        stop = start + (length or 0)
        yield tuple(flat[start:stop])
        start = stop


def _batch(kinds: list[str], payloads: list[bytes]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array(kinds, pa.string()), pa.array(payloads, pa.binary())], names=["kind", "payload"]
    )
