"""A blob store whose rows were copied, without the table that points to its blobs: the sweep waits for it."""

from collections.abc import Callable
from typing import Any

import pytest

from ingest.api import FamilySpec, Mutation, Put, Scan, Store, TableSpec
from sinks.blobs.blob_options import BlobOptions
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.copying import CopiedPointers
from sinks.blobs.large_values import LargeValues
from sinks.blobs.moving import BlobMovingStore
from sinks.blobs.pointers import Pointer
from sinks.blobs.status import STORE_ID, forget_store_id
from sinks.blobs.sweep import SweepCounts
from sinks.blobs.tables import BlobTables
from sinks.memory import MemoryStore

DAY_S = 24 * 3600
OPTIONS = BlobOptions(block_bytes=1000)
TABLES = BlobTables("events_blobs")
LARGE = b"v" * 2_500


@pytest.fixture
def source(clock) -> MemoryStore:
    """A cell with a large value, 20 days old; no sweep has run since."""
    store = MemoryStore(clock_ms=clock)
    store.open()
    write(store, clock)
    clock.advance(20 * DAY_S)
    return store


def write(store: Store[Any], clock: Callable[[], int]) -> None:
    store.ensure_table(TableSpec("events", (FamilySpec(b"f"),)))
    rules = {"events": LargeValues("events_blobs", OPTIONS, 100)}
    BlobMovingStore(store, rules, clock_ms=clock).apply("events", [Put(b"r", {b"f:q": LARGE}, 5)])


def copied(source: Store[Any], table: str) -> list[Put]:
    return [
        Put(row.key, {cell.family + b":" + cell.qualifier: cell.value}, cell.timestamp_ms)
        for row in source.scan(table, Scan())
        for cell in row.cells
    ]


@pytest.fixture
def blobs(source, store, clock) -> BlobStore:
    """The blob store in another store, which has statuses and blocks and no row of the table."""
    for spec in TABLES.specs():
        store.ensure_table(spec)
    copy_blobs(source, store)
    return BlobStore(store, "events_blobs", OPTIONS, owner="events", clock_ms=clock)


def copy_blobs(source: Store[Any], store: Store[Any]) -> None:
    for table in (TABLES.meta, TABLES.value):
        store.apply(table, copied(source, table))


def load_table(source: Store[Any], store: Store[Any], clock: Callable[[], int]) -> None:
    puts: list[Mutation] = list(copied(source, "events"))
    store.ensure_table(TableSpec("events", (FamilySpec(b"f"),)))
    pointers = CopiedPointers("events", "events_blobs", OPTIONS, clock_ms=clock)
    with pointers.pinned(puts, lambda call: call(store)):
        store.apply("events", puts)


def blob_of(source: Store[Any]) -> bytes:
    (row,) = source.scan("events", Scan())
    pointer = Pointer.of_value(row.cells[0].value)
    assert pointer is not None
    return pointer.blob


def test_2c9_sweep_before_the_table_is_loaded(source, store, blobs, clock):
    for is_dry_run in (True, True, False, True):
        assert blobs.sweep(is_dry_run=is_dry_run) == SweepCounts(blobs=1, unreferenced=1)
    clock.advance(DAY_S - 1)
    assert blobs.sweep() == SweepCounts(blobs=1, unreferenced=1)
    load_table(source, store, clock)
    for _ in range(3):
        clock.advance(DAY_S)
        assert blobs.sweep() == SweepCounts(blobs=1, referenced=1)
    assert blobs.open(blob_of(source)).read() == LARGE


def test_table_that_is_never_loaded(blobs, clock):
    blobs.sweep()
    clock.advance(DAY_S)
    assert blobs.sweep(is_dry_run=True).purged == 1
    assert blobs.sweep().purged == 1


def test_stat_has_the_time_of_the_first_sweep(source, blobs, clock):
    assert blobs.stat(blob_of(source)).unreferenced_since_ms is None
    blobs.sweep()
    assert blobs.stat(blob_of(source)).unreferenced_since_ms == clock()


def test_blob_store_that_was_swept_before_the_copy(source, store, clock):
    """Its own blobs keep their time."""
    blobs = BlobStore(store, "events_blobs", OPTIONS, clock_ms=clock)
    blobs.prepare()
    blobs.put_bytes(b"own")
    blobs.sweep()
    clock.advance(DAY_S)
    copy_blobs(source, store)
    assert blobs.sweep() == SweepCounts(blobs=2, unreferenced=1, purged=1, purged_bytes=3)
    clock.advance(DAY_S - 1)
    assert blobs.sweep().unreferenced == 1
    load_table(source, store, clock)
    assert blobs.sweep().referenced == 1


def test_rows_that_the_same_blob_store_has_written_before(store, clock):
    """Its properties have stayed, as in HBase when its tables were dropped; a bootstrap forgets its id."""
    blobs = BlobStore(store, "events_blobs", OPTIONS, clock_ms=clock)
    blobs.prepare()
    blobs.put_bytes(LARGE)
    clock.advance(20 * DAY_S)
    forget_store_id(store, "events")  # which has none
    forget_store_id(store, TABLES.meta)
    for _ in range(2):
        assert blobs.sweep() == SweepCounts(blobs=1, unreferenced=1)
    clock.advance(DAY_S)
    assert blobs.sweep().purged == 1


def test_bootstrap_that_begins_during_a_sweep(store, clock):
    blobs = BlobStore(store, "events_blobs", OPTIONS, clock_ms=clock)
    blobs.prepare()
    stored = blobs.put_bytes(LARGE)
    clock.advance(DAY_S)
    sweep = blobs.new_sweep()
    forget_store_id(store, TABLES.meta)
    sweep.run()
    assert sweep.counts == SweepCounts(blobs=1, changed=1)
    assert blobs.sweep() == SweepCounts(blobs=1, unreferenced=1)
    assert blobs.open(stored.id).read() == LARGE


def test_blob_store_has_one_id(store, clock):
    first = BlobStore(store, "events_blobs", OPTIONS, clock_ms=clock)
    first.prepare()
    known = store.properties(TABLES.meta)[STORE_ID]
    BlobStore(store, "events_blobs", OPTIONS, clock_ms=clock).sweep()
    first.sweep()
    assert store.properties(TABLES.meta)[STORE_ID] == known
