"""Ingesting a file: what was written before it is durable first."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ingest.api import FamilySpec, Put, TableSpec
from sinks.rocksdb import table_file
from sinks.rocksdb.database import Database, Opened
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rocksdb.tables import column_family


class Recorded:
    """A reader of RocksDB that records the names of the calls."""

    def __init__(self, reader: Any, calls: list[str]) -> None:
        self._reader = reader
        self._calls = calls

    def __getattr__(self, name: str) -> Callable[..., Any]:
        self._calls.append(name)
        found: Callable[..., Any] = getattr(self._reader, name)
        return found


@pytest.mark.parametrize(
    ("sync", "calls"), [(False, ["flush_wal", "ingest_external_file"]), (True, ["ingest_external_file"])]
)
def test_earlier_writes_are_synced_before_a_file_is_ingested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, sync: bool, calls: list[str]
) -> None:
    store = RocksDBStore(RocksDBSettings(path=str(tmp_path / "store")))
    store.open()
    store.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
    store.close()
    file = tmp_path / "file"
    table_file.write(str(file), [Put(b"r", {b"f:q": b"v"}, 1)], "none")
    database = Database(tmp_path / "store", sync=sync, read_only=False)
    database.open()
    try:
        found: list[str] = []
        families: dict[str, Any]
        root: Any
        root, records, families = database.writable()
        name = column_family("t")
        families = {**families, name: Recorded(families[name], found)}
        root = Recorded(root, found)
        recorded = Opened(root, records, families)
        monkeypatch.setattr(database, "writable", lambda: recorded)
        database.ingest("t", file)
    finally:
        database.close()

    assert found == calls
