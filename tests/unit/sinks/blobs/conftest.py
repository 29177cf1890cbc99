"""A blob store in memory and in a folder, with a clock that the tests set."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ingest.api import Store
from sinks.blobs.blob_options import BlobOptions
from sinks.blobs.blob_store import BlobStore
from sinks.memory import MemoryStore
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore

NAME = "events_blobs"


class Clock:
    def __init__(self) -> None:
        self.now_ms = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now_ms

    def advance(self, seconds: float) -> None:
        self.now_ms += int(seconds * 1000)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "rocksdb"])
def store(request, tmp_path, clock) -> Iterator[Store[Any]]:
    if request.param == "memory":
        store: Store[Any] = MemoryStore(clock_ms=clock)
    else:
        store = RocksDBStore(RocksDBSettings(path=str(tmp_path / "store")), clock_ms=clock)
    store.open()
    yield store
    store.close()


@pytest.fixture
def open_blobs(store, clock) -> Callable[..., BlobStore]:
    """Opens the blob store with other options, or in another store."""
    numbers = itertools.count()

    def opened(inner: Store[Any] | None = None, **options: Any) -> BlobStore:
        found = BlobStore(
            inner or store, NAME, BlobOptions(**options), clock_ms=clock, nonce=lambda: f"{next(numbers):08x}"
        )
        found.prepare()
        return found

    return opened


@pytest.fixture
def blobs(open_blobs) -> BlobStore:
    return open_blobs()
