"""Every store that needs no server meets the contract."""

from pathlib import Path

import pytest

from ingest.testing.stores import AnyStore, StoreContract, StoreFixture
from sinks.memory import MemoryStore
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore


class Memory(StoreFixture):
    def store(self) -> AnyStore:
        return MemoryStore()


class Folder(StoreFixture):
    def __init__(self, path: Path) -> None:
        self._settings = RocksDBSettings(path=str(path))

    def store(self) -> AnyStore:
        return RocksDBStore(self._settings)

    def reader(self, store: AnyStore) -> AnyStore:
        reader = RocksDBStore(self._settings, read_only=True)
        reader.open()
        return reader


class TestMemory(StoreContract):
    @pytest.fixture
    def kit(self):
        return Memory()


class TestRocksDB(StoreContract):
    @pytest.fixture
    def kit(self, tmp_path):
        return Folder(tmp_path / "store")
