"""Pointers that a bootstrap writes: their blobs are pinned with the cells of the target."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from ingest.api import Cell, FamilySpec, Mutation, Put, Row, TableSpec
from ingest.api.blobs import MIN_SWEEP_AFTER_S
from sinks.blobs.blob_options import BlobOptions
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.copying import CopiedPointers
from sinks.blobs.errors import BlobMissingError, BlobsOfOtherTableError
from sinks.blobs.pointers import Pointer
from sinks.blobs.resolving import resolved
from sinks.blobs.tables import CHECKSUM, DATA, block_key
from sinks.bootstrap.puts import puts_of
from sinks.bootstrap.target import TargetTable
from sinks.memory import MemoryStore

OPTIONS = BlobOptions(block_bytes=1000)
LARGE = b"v" * 2_500
DAY_S = 24 * 3600


@pytest.fixture
def store(clock) -> MemoryStore:
    made = MemoryStore(clock_ms=clock)
    made.open()
    return made


@pytest.fixture
def blobs(store, clock) -> BlobStore:
    made = BlobStore(store, "t_blobs", OPTIONS, owner="t", clock_ms=clock)
    made.prepare()
    return made


def target(store, name: str | None, **options: Any) -> TargetTable:
    found = TargetTable(store, "t", around_write=CopiedPointers("t", name, OPTIONS, **options).pinned)
    found.create(TableSpec("t", (FamilySpec(b"f"),), buckets=4))
    return found


def row(blobs: BlobStore) -> Row:
    stored = blobs.put_bytes(LARGE)
    return Row(b"r", (Cell(b"f", b"q", 5, Pointer(stored.id, stored.length).to_value()),))


def test_copied_pointers_keep_their_blobs(store, blobs, clock):
    """The target has buckets, so the references of the source would name other rows."""
    copied = row(blobs)
    found = target(store, "t_blobs")
    found.add(puts_of(copied))
    found.flush()
    for _ in range(3):
        clock.advance(25 * 3600)
        assert blobs.sweep().referenced == 1
    (read,) = found.store.rows("t")
    assert resolved(blobs, read).cells[0].value == LARGE


class Slow:
    """A store whose write of a row lasts long, with a sweep every now and then."""

    def __init__(self, store: MemoryStore, blobs: BlobStore, clock: Any, pauses_s: Sequence[float]) -> None:
        self._store, self._blobs, self._clock, self._pauses_s = store, blobs, clock, pauses_s

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        if table == "t":
            for pause_s in self._pauses_s:
                self._clock.advance(pause_s)
                self._blobs.sweep()
        self._store.apply(table, mutations)


@pytest.mark.parametrize("pauses_s", [[0.4 * DAY_S], [DAY_S], [DAY_S, DAY_S - 1]], ids=["shorter", "dropped", "late"])
def test_blob_is_pinned_again_after_a_long_write(store, blobs, clock, pauses_s):
    """Sweeps between the pin and the pointer, and after it, leave a blob that can be read."""
    found = target(Slow(store, blobs, clock, pauses_s), "t_blobs", clock_ms=clock)
    found.add(puts_of(row(blobs)))
    clock.advance(DAY_S // 2)  # the blob was stored without a reference
    found.flush()
    for _ in range(3):
        clock.advance(DAY_S)
        assert blobs.sweep().referenced == 1
    (read,) = found.store.rows("t")
    assert resolved(blobs, read).cells[0].value == LARGE


def test_sweep_after_is_lowered_while_a_copy_has_the_old_one(store, blobs, clock):
    options = replace(OPTIONS, sweep_after_s=MIN_SWEEP_AFTER_S)
    sweeper = BlobStore(store, "t_blobs", options, owner="t", clock_ms=clock)
    found = target(Slow(store, sweeper, clock, [MIN_SWEEP_AFTER_S + 1]), "t_blobs", clock_ms=clock)
    found.add(puts_of(row(blobs)))
    found.flush()
    for _ in range(3):
        clock.advance(MIN_SWEEP_AFTER_S + 1)
        assert sweeper.sweep().referenced == 1
    (read,) = found.store.rows("t")
    assert resolved(blobs, read).cells[0].value == LARGE


def test_blob_that_was_swept_during_the_write_ends_the_copy(store, blobs, clock):
    found = target(Slow(store, blobs, clock, [DAY_S, DAY_S]), "t_blobs", clock_ms=clock)
    found.add(puts_of(row(blobs)))
    with pytest.raises(BlobMissingError, match='load "t_blobs_meta"'):
        found.flush()


@pytest.mark.parametrize("name", [None, "t_blobs"])
def test_pointer_without_its_blob_is_refused(store, blobs, name):
    gone = Row(b"r", (Cell(b"f", b"q", 5, Pointer(b"\x01" * 32, 5).to_value()),))
    found = target(store, name)
    found.add(puts_of(gone))
    with pytest.raises(BlobMissingError, match="01" * 32):
        found.flush()
    assert list(found.store.rows("t")) == []


def test_blob_store_of_another_table_is_refused(store, blobs):
    found = TargetTable(store, "copy", around_write=CopiedPointers("copy", "t_blobs", OPTIONS).pinned)
    found.create(TableSpec("copy", (FamilySpec(b"f"),)))
    found.add(puts_of(row(blobs)))
    with pytest.raises(BlobsOfOtherTableError, match='belongs to table "t"'):
        found.flush()


def test_block_that_looks_like_a_pointer_is_copied(store, blobs):
    """A value that begins as a pointer is itself a blob."""
    pointer = Pointer(b"\x01" * 32, 5).to_value()
    found = target(store, None)
    block = {DATA: pointer, CHECKSUM: b"1234"}
    key = block_key(b"\1" * 32, 0, 7)

    def is_pinned(name: str | None, put: Put) -> bool:
        calls: list[object] = []
        with CopiedPointers("t", name, OPTIONS).pinned([put], calls.append):
            return calls != []

    assert not is_pinned(None, Put(key, block, 5))
    # a row of a user that has only the columns of a block
    assert is_pinned(None, Put(b"r", block, 5))
    assert is_pinned("blobs", Put(key, block, 5))
    found.add([Put(b"r", {b"f:q": b"small"}, 5)])
    found.flush()
    assert [cell.value for each in found.store.rows("t") for cell in each.cells] == [b"small"]
