"""The memory store, besides the contract: clock, rejections."""

import pytest

from ingest.api import FamilySpec, LifecycleError, Put, Scan, TableSpec, WriteRejectedError
from sinks.memory import MemoryStore
from tests.support.clock import Clock


@pytest.fixture
def clock():
    return Clock(1_000_000)


@pytest.fixture
def store(clock):
    made = MemoryStore(clock_ms=clock)
    made.open()
    made.ensure_table(TableSpec("t", (FamilySpec(b"f", versions=2), FamilySpec(b"h", ttl_s=10))))
    return made


def put(row: bytes, at: int, column: bytes = b"f:q") -> Put:
    return Put(row, {column: b"%d" % at}, at)


def test_cell_expires_after_its_time_to_live(store, clock):
    store.apply("t", [put(b"r", clock.now, b"h:q")])
    clock.now += 10_000
    assert store.get("t", b"r") is not None
    clock.now += 1
    assert store.get("t", b"r") is None


def test_rejected_call_writes_nothing_and_has_the_indexes(store):
    with pytest.raises(WriteRejectedError) as caught:
        store.apply("t", [put(b"r", 1), put(b"r", 1, b"unknown:q"), put(b"", 1), put(b"r", -1), put(b"r", 1, b"bare")])
    assert caught.value.indexes == [1, 2, 3, 4]
    assert list(store.scan("t", Scan())) == []


def test_tables_survive_close(store):
    store.apply("t", [put(b"r", 1)])
    store.close()
    with pytest.raises(LifecycleError):
        store.get("t", b"r")
    store.open()
    assert store.get("t", b"r") is not None


def test_options_may_be_left_out():
    assert MemoryStore().settings.model_dump() == {}
