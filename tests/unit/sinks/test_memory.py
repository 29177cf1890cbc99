"""The memory store, besides the contract: clock, rejections, time ranges as a filter of all versions."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis.strategies import lists

from ingest.api import ALL_TIMES, FamilySpec, LifecycleError, Mutation, Put, Row, Scan, TableSpec, WriteRejectedError
from ingest.testing.cells import MUTATIONS, SCANS
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


@given(mutations=lists(MUTATIONS, max_size=20), scan=SCANS)
def test_time_range_is_a_filter_of_all_versions(mutations: list[Mutation], scan: Scan) -> None:
    store = MemoryStore()
    store.open()
    store.ensure_table(TableSpec("t", (FamilySpec(b"f", versions=100), FamilySpec(b"g", versions=100))))
    store.apply("t", mutations)
    expected = []
    for row in store.scan("t", replace(scan, versions=100, limit=None, times=ALL_TIMES)):
        in_range = [cell for cell in row.cells if scan.times.from_ms <= cell.timestamp_ms < scan.times.to_ms]
        columns = itertools.groupby(in_range, lambda cell: (cell.family, cell.qualifier))
        cells = [cell for _, versions in columns for cell in itertools.islice(versions, scan.versions)]
        if cells:
            expected.append(Row(row.key, tuple(cells)))
    assert list(store.scan("t", scan)) == expected[: scan.limit]
    for row in expected:
        assert store.get("t", row.key, columns=scan.columns, versions=scan.versions, times=scan.times) == row
