"""Mutations as one write batch of RocksDB."""

from collections.abc import Iterable, Sequence

from rocksdict import WriteBatch

from ingest.api import (
    MAX_ROW_KEY_BYTES,
    MAX_TIME_MS,
    Delete,
    Durability,
    Mutation,
    WriteRejectedError,
    rejection_reason,
)
from sinks.rocksdb.keys import (
    column_delete_suffix,
    encode_text,
    encode_time,
    family_delete_suffix,
    version_delete_suffix,
)
from sinks.rocksdb.open_table import OpenTable
from sinks.rocksdb.reading import at_key
from sinks.rocksdb.tables import EXTENDED_FORMAT, FORMAT_KEY

_SKIP = Durability.SKIP  # a look-up in the enum for each row would take longer


_NO_TTL = "a rocksdb store keeps no time to live of single cells"


def batch_of(mutations: Sequence[Mutation], table: OpenTable, now_ms: int) -> tuple[WriteBatch, bool, int]:
    """
    All mutations as one batch, whether it needs the write-ahead log, and its number of cells.

    Args:
        mutations: of one table.
        table: of the mutations.
        now_ms: the write time of deletes.

    Raises:
        WriteRejectedError: some can never be written; none was written.
    """
    batch = WriteBatch(raw_mode=True)
    write = batch.put
    logged = False
    has_exact = False
    cells = 0
    at: int | None = None
    time = b""
    written = encode_time(now_ms)
    handle = table.handle
    prepared = table.prepared()
    try:
        for mutation in mutations:
            row = mutation.row
            if not 0 < len(row) <= MAX_ROW_KEY_BYTES:
                raise _rejection(mutations, table)
            if mutation.timestamp_ms != at:
                at = mutation.timestamp_ms
                if not 0 <= at <= MAX_TIME_MS:
                    raise _rejection(mutations, table)
                time = encode_time(at)
            head = encode_text(row)
            logged = logged or mutation.durability is not _SKIP
            if isinstance(mutation, Delete):
                _delete(batch, head, mutation, table, written)
                has_exact = has_exact or mutation.exact
                continue
            columns = mutation.columns
            if not columns or mutation.ttl_ms is not None:
                raise _rejection(mutations, table)
            cells += len(columns)
            for column, value in columns.items():
                found = prepared.get(column)
                if found is None:
                    found = table.prepare(column)
                write(head + found + time, value, handle)
    except KeyError:
        raise _rejection(mutations, table) from None
    if has_exact:
        write(FORMAT_KEY, EXTENDED_FORMAT)
        logged = True  # the format is in another column family than the table
    return batch, logged, cells


def remove_rows(batch: WriteBatch, table: OpenTable, rows: Iterable[bytes]) -> int:
    """
    Add the removal of all keys of rows to a batch; returns their number.

    Args:
        batch: of the table.
        table: of the rows.
        rows: their row keys; the reads are cheapest in byte order.
    """
    cursor, handle = table.cursor(), table.handle
    removed = 0
    is_positioned = False
    for row in rows:
        head = encode_text(row)
        if not (is_positioned and at_key(cursor) and cursor.key().startswith(head)):
            cursor.seek(head)
        is_positioned = True
        while at_key(cursor) and (key := cursor.key()).startswith(head):
            batch.delete(key, handle)
            removed += 1
            cursor.next()
    return removed


def _delete(batch: WriteBatch, head: bytes, delete: Delete, table: OpenTable, written: bytes) -> None:
    at = delete.timestamp_ms
    if delete.family is None:
        # as in HBase, a row delete is a delete of each current family of the table
        suffixes = [family_delete_suffix(family, at) for family in table.specs]
    elif delete.family not in table.specs:
        raise KeyError(delete.family)
    elif delete.qualifier is None:
        suffixes = [family_delete_suffix(delete.family, at)]
    else:
        suffix_of = version_delete_suffix if delete.exact else column_delete_suffix
        suffixes = [suffix_of(delete.family, delete.qualifier, at)]
    for suffix in suffixes:
        batch.put(head + suffix, written, table.handle)


def _rejection(mutations: Sequence[Mutation], table: OpenTable) -> WriteRejectedError:
    """The error with the indexes of all rejected mutations."""
    reasons = {
        index: reason
        for index, one in enumerate(mutations)
        if (reason := rejection_reason(one, table.specs) or (_NO_TTL if one.ttl_ms is not None else None))
    }
    return WriteRejectedError(next(iter(reasons.values()), "a mutation was rejected"), indexes=sorted(reasons))
