"""A RocksDB store of many small files, and what is in the files of any."""

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
    """Take files of two rows, each after the last one."""
    for number in range(count):
        path = Path(folder) / f"{table}{number}"
        rows = [Put(b"r%09d" % (2 * number + row), {b"f:q": b"v"}, 1) for row in range(2)]
        store.ingest_file(table, str(path), store.write_file(str(path), rows))
        path.unlink()


@contextmanager
def read_beside(folder: Path | str) -> Iterator[Database]:
    """A reader of a store's files, while the store is open or after that; `current` gives all that was written."""
    database = Database(Path(folder), sync=False, read_only=True)
    database.open()
    try:
        yield database
    finally:
        database.close()


def keys(opened: Opened, table: str = "t") -> list[bytes]:
    """All keys of a table, those of deletes and of what nobody can read as well."""
    cursor = opened.column_families[column_family(table)].iter()
    cursor.seek_to_first()
    found = []
    while cursor.valid():
        found.append(cursor.key())
        cursor.next()
    return found


def estimate(folder: Path | str, table: str = "t") -> GarbageEstimate:
    """What a store has recorded of a table's garbage; a store that is opened begins with that."""
    with read_beside(folder) as database:
        return GarbageEstimate.of(database.current().root.get(estimate_key(table)), 0)
