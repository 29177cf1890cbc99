"""A store in the hands of the driver."""

import threading

import pytest

from ingest.api import LifecycleError, StoreUnavailableError, TableSpec
from sinks.memory import MemoryStore
from sinks.writing.driver_store import DriverStore


class Away(MemoryStore):
    """A store that cannot be reached for some tries."""

    def __init__(self, tries: int = 0) -> None:
        super().__init__()
        self.tries = tries
        self.opened = 0

    def open(self) -> None:
        if self.tries:
            self.tries -= 1
            raise StoreUnavailableError("nobody is there")
        self.opened += 1
        super().open()


def test_is_opened_and_prepared_once_by_its_first_use():
    store, prepared = Away(), []
    held = DriverStore(store, prepared.append)
    assert store.opened == 0
    for _ in range(2):
        with held.held() as found:
            assert found is store
    held.open()
    assert (store.opened, prepared) == (1, [store])


def test_store_that_is_away_is_tried_again_by_the_next_use():
    store = Away(tries=2)
    held = DriverStore(store)
    with pytest.raises(StoreUnavailableError):
        held.open()
    with pytest.raises(StoreUnavailableError), held.held():
        raise AssertionError("it is not there")
    with held.held() as found:
        assert found.tables() == ()


def test_store_that_could_not_be_prepared_is_prepared_later():
    store, tries = Away(), []

    def prepare(found: MemoryStore) -> None:
        tries.append(found)
        if len(tries) == 1:
            raise StoreUnavailableError("no space left")
        found.ensure_table(TableSpec("t"))

    held = DriverStore(store, prepare)
    with pytest.raises(StoreUnavailableError):
        held.open()
    with held.held() as found:
        assert found.tables() == ("t",)


def test_is_opened_again_after_it_was_not_reached():
    store, prepared = Away(), []
    held = DriverStore(store, prepared.append)
    with pytest.raises(StoreUnavailableError), held.held():
        raise StoreUnavailableError("connection lost")
    held.open()
    assert (store.opened, len(prepared)) == (2, 1)


def test_one_thread_has_it_at_a_time_and_nobody_waits_to_open_it():
    held = DriverStore(Away())
    has_it = threading.Event()

    def use() -> None:
        with held.held():
            has_it.set()

    with held.held():
        other = threading.Thread(target=use, daemon=True)
        other.start()
        held.open()  # comes back although somebody has the store
        assert not has_it.wait(0.05)
    assert has_it.wait(10)


def test_use_after_the_end_is_a_bug():
    held = DriverStore(Away())
    held.close()
    held.close()
    with pytest.raises(LifecycleError), held.held():
        pass
