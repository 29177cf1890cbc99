"""Mutations as one batch of RocksDB; the hot side of the store."""

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from rocksdict import ColumnFamily, Rdict, WriteBatch

from ingest.api import (
    MAX_ROW_KEY_BYTES,
    MAX_TIME_MS,
    Delete,
    FamilySpec,
    LifecycleError,
    Mutation,
    Put,
    WriteRejectedError,
    why_never,
)
from sinks.rocksdb.keys import (
    cell_column,
    column_delete_suffix,
    encode_text,
    encode_time,
    family_delete_suffix,
)
from sinks.rocksdb.reading import Cursor, at_key
from sinks.rocksdb.sweep import SAMPLE_EVERY, pushed_out

MAX_PREPARED = 50_000
"""Columns whose key parts are kept; data that makes more columns of its own pays for encoding them again."""


class Families:
    """
    The families of one table, ready to be written to.

    Attributes:
        specs: family -> what it should be.
        shortest_ttl_s: the shortest time to live of a family, None when all live for ever.
    """

    def __init__(self, specs: Mapping[bytes, FamilySpec], handle: ColumnFamily, reader: Rdict) -> None:
        self.specs = specs
        self.shortest_ttl_s = min((spec.ttl_s for spec in specs.values() if spec.ttl_s is not None), default=None)
        self._prepared: dict[bytes, bytes] = {}
        self._opened: tuple[ColumnFamily, Rdict] | None = handle, reader
        self.sampled = 0

    @property
    def handle(self) -> ColumnFamily:
        """Where RocksDB keeps the table."""
        return self._held()[0]

    def let_go(self) -> None:
        """Forget all handles: the folder stays locked as long as one lives, if only in a traceback."""
        self._opened = None

    def cursor(self) -> Cursor:
        """An iterator over the table; it keeps the database open while it lives."""
        return cast("Cursor", self._held()[1].iter())

    def prepared(self) -> dict[bytes, bytes]:
        """Column -> what stands between row and time in its key; filled by `prepare`."""
        if len(self._prepared) > MAX_PREPARED:
            self._prepared = {}
        return self._prepared

    def prepare(self, column: bytes) -> bytes:
        """
        The same for a column that was not seen before.

        Raises:
            KeyError: there is no such family, or no colon.
        """
        family, colon, _ = column.partition(b":")
        if not colon or family not in self.specs:
            raise KeyError(column)
        found = self._prepared[column] = cell_column(column)
        return found

    def _held(self) -> tuple[ColumnFamily, Rdict]:
        if self._opened is None:
            raise LifecycleError("a table of the rocksdb store is used after it was closed")
        return self._opened


def batch_of(mutations: Sequence[Mutation], families: Families) -> tuple[WriteBatch, bool, int]:
    """
    All mutations as one batch, whether it needs the log, and how many cells it has.

    Raises:
        WriteRejectedError: some can never be written; nothing was.
    """
    batch = WriteBatch(raw_mode=True)
    write = batch.put
    logged = False
    cells = 0
    at: int | None = None
    time = b""
    handle = families.handle
    prepared = families.prepared()
    try:
        for mutation in mutations:
            row = mutation.row
            if not 0 < len(row) <= MAX_ROW_KEY_BYTES:
                raise _rejection(mutations, families)
            if mutation.timestamp_ms != at:
                at = mutation.timestamp_ms
                if not 0 <= at <= MAX_TIME_MS:
                    raise _rejection(mutations, families)
                time = encode_time(at)
            head = encode_text(row)
            logged = logged or mutation.wal
            if isinstance(mutation, Delete):
                _delete(batch, head, mutation, families)
                continue
            columns = mutation.columns
            if not columns:
                raise _rejection(mutations, families)
            cells += len(columns)
            for column, value in columns.items():
                found = prepared.get(column)
                if found is None:
                    found = families.prepare(column)
                write(head + found + time, value, handle)
    except KeyError:
        raise _rejection(mutations, families) from None
    return batch, logged, cells


def sampled(mutations: Sequence[Mutation], families: Families) -> Sequence[Mutation]:
    """Every hundredth mutation, also over many short calls."""
    first = -families.sampled % SAMPLE_EVERY
    families.sampled += len(mutations)
    return mutations[first::SAMPLE_EVERY]


def count_superseded(samples: Iterable[Mutation], families: Families) -> int:
    """About how many cells nobody can read once all that the samples were taken of is written; looks at these."""
    found = 0
    cursor = families.cursor()
    for mutation in samples:
        row = encode_text(mutation.row)
        if isinstance(mutation, Put):
            for column in mutation.columns:
                versions = families.specs[column.partition(b":")[0]].versions
                found += pushed_out(cursor, row + cell_column(column), mutation.timestamp_ms, versions)
        else:
            # a delete stays behind itself, with what it hides
            for family in families.specs if mutation.family is None else (mutation.family,):
                head = row + encode_text(family)
                found += 1
                cursor.seek(head)
                while at_key(cursor) and cursor.key().startswith(head) and found < SAMPLE_EVERY:
                    found += 1
                    cursor.next()
    return found * SAMPLE_EVERY


def _delete(batch: WriteBatch, head: bytes, delete: Delete, families: Families) -> None:
    at = delete.timestamp_ms
    if delete.family is None:
        # as in HBase, a row delete is one for each family the table has now
        suffixes = [family_delete_suffix(family, at) for family in families.specs]
    elif delete.family not in families.specs:
        raise KeyError(delete.family)
    elif delete.qualifier is None:
        suffixes = [family_delete_suffix(delete.family, at)]
    else:
        suffixes = [column_delete_suffix(delete.family, delete.qualifier, at)]
    for suffix in suffixes:
        batch.put(head + suffix, b"", families.handle)


def _rejection(mutations: Sequence[Mutation], families: Families) -> WriteRejectedError:
    """What is wrong, with every mutation that is."""
    reasons = {index: reason for index, one in enumerate(mutations) if (reason := why_never(one, families.specs))}
    return WriteRejectedError(next(iter(reasons.values()), "a mutation was refused"), indexes=sorted(reasons))
