"""RocksDB stores with many small files, and their content."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ingest.api import FamilySpec, Put, TableSpec
from sinks.rocksdb.database import Database, Opened
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rocksdb.sweep import GarbageEstimate
from sinks.rocksdb.tables import column_family, estimate_key


def opened(path: Path | str) -> RocksDBStore:
    """An open store with one table, t."""
    store = RocksDBStore(RocksDBSettings(path=str(path), sync=False))
    store.open()
    store.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
    return store


def as_files(store: RocksDBStore, folder: Path | str, count: int, table: str = "t") -> None:
    """Ingest files of two rows each, in ascending order."""
    for number in range(count):
        path = Path(folder) / f"{table}{number}"
        rows = [Put(b"r%09d" % (2 * number + row), {b"f:q": b"v"}, 1) for row in range(2)]
        store.ingest_file(table, str(path), store.write_file(str(path), rows))
        path.unlink()


@contextmanager
def read_beside(folder: Path | str) -> Iterator[Database]:
    """A reader of a store's files, also while the store is open."""
    database = Database(Path(folder), sync=False, read_only=True)
    database.open()
    try:
        yield database
    finally:
        database.close()


def keys(opened: Opened, table: str = "t") -> list[bytes]:
    """All keys of a table, including those of deletes and expired cells."""
    cursor = opened.column_families[column_family(table)].iter()
    cursor.seek_to_first()
    found = []
    while cursor.valid():
        found.append(cursor.key())
        cursor.next()
    return found


def estimate(folder: Path | str, table: str = "t") -> GarbageEstimate:
    """The stored estimate of a table's garbage."""
    with read_beside(folder) as database:
        return GarbageEstimate.of(database.current().root.get(estimate_key(table)), 0)
