"""A body store in memory and in a folder, with a clock that the tests set."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ingest.api import Store
from sinks.bodies.body_store import BodyStore
from sinks.bodies.options import BodyOptions
from sinks.memory import MemoryStore
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore

NAME = "events_bodies"


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
def open_bodies(store, clock) -> Callable[..., BodyStore]:
    """Opens the body store with other options, or in another store."""
    numbers = itertools.count()

    def opened(inner: Store[Any] | None = None, **options: Any) -> BodyStore:
        found = BodyStore(
            inner or store, NAME, BodyOptions(**options), clock_ms=clock, nonce=lambda: f"{next(numbers):08x}"
        )
        found.prepare()
        return found

    return opened


@pytest.fixture
def bodies(open_bodies) -> BodyStore:
    return open_bodies()
