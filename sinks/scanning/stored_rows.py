"""Whether the rows of a table are stored with the buckets that a file declares."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import chain
from typing import Any

from ingest.api import Scan, SchemaError, Store, TableSpec, prefix_end
from ingest.api.notation import shown, shown_start
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.row_format import RowFormat

SAMPLED_ROWS = 100
"""Number of rows checked at each end of a bucket, before its number of buckets is recorded."""
FEW_ROWS = 10
"""The same, for a table whose number of buckets is recorded."""
_BY_CHANCE = 0.75
"""
Largest fraction of the checked rows that may be in their bucket by chance. Of random binary keys in two buckets it is
0.5; text keys are in no bucket.
"""


class StoredInBucketsError(SchemaError):
    """The rows of a table declared without `distribute` are in the buckets of the table's record, which stays."""

    code = "distributed"
    hint = "declare `distribute` as it is recorded, or copy the rows into a new table"


class NotInBucketsError(SchemaError):
    """A row of a table is not stored in the bucket that the declared number of buckets gives its key."""

    code = "not_distributed"
    hint = "declare the number of buckets that the rows were written with, or copy the rows into a new table"


def has_rows(store: Store[Any], table: str) -> bool:
    """Whether an existing table has a row."""
    return any(True for _ in _keys(store, table, Scan(limit=1)))


def check_stored_rows(store: Store[Any], declared: TableSpec) -> None:
    """
    Refuse a table whose rows are not stored in the declared buckets.

    Checks the first and the last 100 rows of each bucket, and that no row is outside of all buckets. A wrong number of
    buckets, or row keys that are stored as they are, pass only if the table has a handful of rows, by chance; the rows
    that were checked are then still found.

    Args:
        store: open, for reading or writing.
        declared: the declaration of an existing table; `buckets` is set.

    Raises:
        SchemaError: a row is stored in another way; the message names it.
    """
    if declared.buckets is None:
        raise ValueError(f'table "{declared.name}" has no buckets')
    key = misplaced_row(store, declared.name, declared.buckets, SAMPLED_ROWS)
    if key is not None:
        distribution = Distribution(declared.buckets)
        bucket, expected = key[:1], distribution.physical(distribution.logical(key))[:1]
        reason = (
            f"is not {shown(expected)}, the bucket of the rest of the key"
            if bucket in distribution.prefixes
            else "is no bucket, so the rows are not salted"
        )
        raise NotInBucketsError(
            f'table "{declared.name}" has the row key {shown_start(key)}: with `distribute: {{hash: '
            f"{declared.buckets}}}`, its first byte {shown(bucket)} {reason}",
        )


def check_plain_rows(store: Store[Any], table: str, buckets: int) -> None:
    """
    Refuse a table whose rows are stored in these buckets, so that a reader without the buckets would not find them.

    Checks the first and the last 100 rows within each bucket. Rows of a plain table are there only if their keys begin
    with the byte of a bucket.

    Args:
        store: open, for reading or writing.
        table: name of an existing table.
        buckets: the number in the table's record.

    Raises:
        SchemaError: most of the checked rows are in their bucket; the message names one.
    """
    distribution = Distribution(buckets)
    keys = list(_sample(store, table, distribution, SAMPLED_ROWS))
    placed = [key for key in keys if key == distribution.physical(distribution.logical(key))]
    if placed and len(placed) > _BY_CHANCE * len(keys):
        raise StoredInBucketsError(
            f'table "{table}" has the row {shown_start(placed[0])} in a bucket of its record, '
            f"`distribute: {{hash: {buckets}}}`, as most rows that were checked",
        )


def misplaced_row(store: Store[Any], table: str, buckets: int, sampled_rows: int = FEW_ROWS) -> bytes | None:
    """
    The physical key of a row that is not in the bucket of its logical key; None if no such row was found.

    Reads of a salted table do not find such a row. A table has some if it was dropped and created again without its
    buckets, or if another program writes to it.

    Args:
        store: open, for reading or writing.
        table: name of an existing table.
        buckets: its number of buckets.
        sampled_rows: number of rows checked at each end of a bucket. A row after the last bucket is always found.

    Raises:
        StoreError: the table cannot be read.
    """
    distribution = Distribution(buckets)
    physical_key = RowFormat.recorded(store, table)._replace(buckets=buckets).physical_key() or distribution.physical
    keys = chain(row_outside(store, table, distribution), _sample(store, table, distribution, sampled_rows))
    return next((key for key in keys if not _is_stored_by(physical_key, distribution, key)), None)


def _is_stored_by(physical_key: Callable[[bytes], bytes], distribution: Distribution, key: bytes) -> bool:
    try:
        return physical_key(distribution.logical(key)) == key
    except ValueError:  # in a table with deferred updates: it is no update row
        return False


def row_outside(store: Store[Any], table: str, distribution: Distribution) -> Iterator[bytes]:
    """The key of the first row after the last bucket, if there is one."""
    end = prefix_end(distribution.prefixes[-1])
    if end is not None:
        yield from _keys(store, table, Scan(start=end, limit=1))


def _sample(store: Store[Any], table: str, distribution: Distribution, rows: int) -> Iterator[bytes]:
    for start, stop in distribution.intervals():
        scan = Scan(start=start, stop=stop, limit=rows, page_rows=rows)
        yield from _keys(store, table, scan)
        yield from _keys(store, table, replace(scan, reverse=True))


def _keys(store: Store[Any], table: str, scan: Scan) -> Iterator[bytes]:
    with closing(store.scan(table, scan)) as rows:
        yield from (row.key for row in rows)
