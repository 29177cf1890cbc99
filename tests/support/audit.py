"""Reads tables and compares them cell by cell."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from ingest.api import Cell, Scan, Store
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.support.servers import HBase

SHOWN = 5  # rows of each kind in a message
Table = dict[bytes, tuple[Cell, ...]]


def table_of(store: Store[Any], table: str, *, versions: int = 1) -> Table:
    """Row key -> cells of a whole table; {} if the table does not exist."""
    if table not in store.tables():
        return {}
    return {row.key: row.cells for row in store.scan(table, Scan(versions=versions, page_rows=2_000))}


@contextmanager
def rocksdb_reader(folder: Path) -> Iterator[RocksDBStore]:
    """A RocksDB store opened read-only, also while the service runs."""
    store = RocksDBStore(RocksDBSettings(path=str(folder)), read_only=True)
    store.open()
    try:
        yield store
    finally:
        store.close()


def rocksdb_table(folder: Path, table: str, *, versions: int = 10) -> Table:
    """All versions of a table of a RocksDB store."""
    with rocksdb_reader(folder) as store:
        return table_of(store, table, versions=versions)


def hbase_table(hbase: HBase, table: str) -> Table:
    """The newest version of each cell, read with happybase instead of the product."""
    found: Table = {}
    with hbase.connection() as connection:
        for key, columns in connection.table(table).scan(include_timestamp=True, batch_size=2_000):
            cells = []
            for column, (value, timestamp_ms) in columns.items():
                family, _, qualifier = column.partition(b":")
                cells.append(Cell(family, qualifier, timestamp_ms, value))
            found[key] = tuple(sorted(cells))
    return found


def hbase_older_versions(hbase: HBase, table: str, times_ms: Iterable[int], newest: Table) -> dict[bytes, object]:
    """
    Rows of which HBase also has an older version.

    Every cell of the table was written at one of the times. A scan before time T returns older cells, so it must not
    return a row whose newest cells have time T. Rows are read in ranges, because rows of a batch are adjacent.
    """
    older: dict[bytes, object] = {}
    with hbase.connection() as connection:
        for time_ms in times_ms:
            keys = sorted(key for key, cells in newest.items() if cells[0].timestamp_ms == time_ms)
            if not keys:
                continue
            rows = connection.table(table).scan(
                row_start=keys[0],
                row_stop=keys[-1] + b"\0",
                timestamp=time_ms,
                include_timestamp=True,
                batch_size=2_000,
            )
            wanted = set(keys)
            older.update((key, columns) for key, columns in rows if key in wanted)
    return older


def assert_same_table(expected: Table, actual: Table) -> None:
    """Fail with the first differences only; an assertion on the dictionaries would print both."""
    if expected == actual:
        return
    missing = sorted(expected.keys() - actual.keys())
    more = sorted(actual.keys() - expected.keys())
    different = sorted(key for key in expected.keys() & actual.keys() if expected[key] != actual[key])
    lines = [f"expected {len(expected)} rows, found {len(actual)}"]
    for name, keys in (("missing", missing), ("unexpected", more), ("different", different)):
        lines += [f"{len(keys)} {name}: {keys[:SHOWN]}"] if keys else []
    lines += [f"  {key!r}: expected {expected[key]}, found {actual[key]}" for key in islice(different, SHOWN)]
    raise AssertionError("\n".join(lines))


def assert_holds(expected: Table, actual: Table) -> None:
    """Fail unless all expected rows are present; others are allowed."""
    assert_same_table(expected, {key: actual[key] for key in expected.keys() & actual.keys()})
