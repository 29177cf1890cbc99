"""The store of the driver."""

import threading

import pytest

from ingest.api import LifecycleError, StoreUnavailableError, TableSpec
from sinks.memory import MemoryStore
from sinks.writing.driver_store import DriverStore


class Unavailable(MemoryStore):
    """A store that is unavailable for some attempts."""

    def __init__(self, attempts: int = 0) -> None:
        super().__init__()
        self.attempts = attempts
        self.opened = 0

    def open(self) -> None:
        if self.attempts:
            self.attempts -= 1
            raise StoreUnavailableError("no server")
        self.opened += 1
        super().open()


def test_first_use_opens_and_prepares_once():
    store, prepared = Unavailable(), []
    driver_store = DriverStore(store, prepared.append)
    assert store.opened == 0
    for _ in range(2):
        with driver_store.held() as found:
            assert found is store
    driver_store.open()
    assert (store.opened, prepared) == (1, [store])


def test_unavailable_store_is_opened_by_the_next_use():
    store = Unavailable(attempts=2)
    driver_store = DriverStore(store)
    with pytest.raises(StoreUnavailableError):
        driver_store.open()
    with pytest.raises(StoreUnavailableError), driver_store.held():
        raise AssertionError("the store is unavailable")
    with driver_store.held() as found:
        assert found.tables() == ()


def test_failed_preparation_is_repeated():
    store, attempts = Unavailable(), []

    def prepare(found: MemoryStore) -> None:
        attempts.append(found)
        if len(attempts) == 1:
            raise StoreUnavailableError("no space left")
        found.ensure_table(TableSpec("t"))

    driver_store = DriverStore(store, prepare)
    with pytest.raises(StoreUnavailableError):
        driver_store.open()
    with driver_store.held() as found:
        assert found.tables() == ("t",)


def test_unavailable_store_is_reopened():
    store, prepared = Unavailable(), []
    driver_store = DriverStore(store, prepared.append)
    with pytest.raises(StoreUnavailableError), driver_store.held():
        raise StoreUnavailableError("connection lost")
    driver_store.open()
    assert (store.opened, len(prepared)) == (2, 1)


def test_one_thread_uses_the_store_and_open_does_not_wait():
    driver_store = DriverStore(Unavailable())
    is_held = threading.Event()

    def use() -> None:
        with driver_store.held():
            is_held.set()

    with driver_store.held():
        other = threading.Thread(target=use, daemon=True)
        other.start()
        driver_store.open()  # returns although the store is in use
        assert not is_held.wait(0.05)
    assert is_held.wait(10)


def test_use_after_close_is_a_bug():
    driver_store = DriverStore(Unavailable())
    driver_store.close()
    driver_store.close()
    with pytest.raises(LifecycleError), driver_store.held():
        pass
