"""Pointers that a bootstrap writes: their bodies are marked with the cells of the target."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from ingest.api import Cell, FamilySpec, Mutation, Put, Row, TableSpec
from ingest.api.bodies import MIN_SWEEP_AFTER_S
from sinks.bodies.body_store import BodyStore
from sinks.bodies.copying import CopiedPointers
from sinks.bodies.errors import BodiesOfOtherTableError, BodyMissingError
from sinks.bodies.options import BodyOptions
from sinks.bodies.pointers import Pointer
from sinks.bodies.resolving import resolved
from sinks.bodies.tables import CHECKSUM, DATA, block_key
from sinks.bootstrap.puts import puts_of
from sinks.bootstrap.target import TargetTable
from sinks.memory import MemoryStore

OPTIONS = BodyOptions(block_bytes=1000)
LARGE = b"v" * 2_500
DAY_S = 24 * 3600


@pytest.fixture
def store(clock) -> MemoryStore:
    made = MemoryStore(clock_ms=clock)
    made.open()
    return made


@pytest.fixture
def bodies(store, clock) -> BodyStore:
    made = BodyStore(store, "t_bodies", OPTIONS, owner="t", clock_ms=clock)
    made.prepare()
    return made


def target(store, name: str | None, **options: Any) -> TargetTable:
    found = TargetTable(store, "t", around_write=CopiedPointers("t", name, OPTIONS, **options).marked)
    found.create(TableSpec("t", (FamilySpec(b"f"),), buckets=4))
    return found


def row(bodies: BodyStore) -> Row:
    stored = bodies.put_bytes(LARGE)
    return Row(b"r", (Cell(b"f", b"q", 5, Pointer(stored.id, stored.length).to_value()),))


def test_copied_pointers_keep_their_bodies(store, bodies, clock):
    """The target has buckets, so the references of the source would name other rows."""
    copied = row(bodies)
    found = target(store, "t_bodies")
    found.add(puts_of(copied))
    found.flush()
    for _ in range(3):
        clock.advance(25 * 3600)
        assert bodies.sweep().referenced == 1
    (read,) = found.store.rows("t")
    assert resolved(bodies, read).cells[0].value == LARGE


class Slow:
    """A store whose write of a row lasts long, with a sweep every now and then."""

    def __init__(self, store: MemoryStore, bodies: BodyStore, clock: Any, pauses_s: Sequence[float]) -> None:
        self._store, self._bodies, self._clock, self._pauses_s = store, bodies, clock, pauses_s

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        if table == "t":
            for pause_s in self._pauses_s:
                self._clock.advance(pause_s)
                self._bodies.sweep()
        self._store.apply(table, mutations)


@pytest.mark.parametrize("pauses_s", [[0.4 * DAY_S], [DAY_S], [DAY_S, DAY_S - 1]], ids=["shorter", "dropped", "late"])
def test_body_is_marked_again_after_a_long_write(store, bodies, clock, pauses_s):
    """Sweeps between the mark and the pointer, and after it, leave a body that can be read."""
    found = target(Slow(store, bodies, clock, pauses_s), "t_bodies", clock_ms=clock)
    found.add(puts_of(row(bodies)))
    clock.advance(DAY_S // 2)  # the body was stored without a reference
    found.flush()
    for _ in range(3):
        clock.advance(DAY_S)
        assert bodies.sweep().referenced == 1
    (read,) = found.store.rows("t")
    assert resolved(bodies, read).cells[0].value == LARGE


def test_sweep_after_is_lowered_while_a_copy_has_the_old_one(store, bodies, clock):
    options = replace(OPTIONS, sweep_after_s=MIN_SWEEP_AFTER_S)
    sweeper = BodyStore(store, "t_bodies", options, owner="t", clock_ms=clock)
    found = target(Slow(store, sweeper, clock, [MIN_SWEEP_AFTER_S + 1]), "t_bodies", clock_ms=clock)
    found.add(puts_of(row(bodies)))
    found.flush()
    for _ in range(3):
        clock.advance(MIN_SWEEP_AFTER_S + 1)
        assert sweeper.sweep().referenced == 1
    (read,) = found.store.rows("t")
    assert resolved(bodies, read).cells[0].value == LARGE


def test_body_that_was_swept_during_the_write_ends_the_copy(store, bodies, clock):
    found = target(Slow(store, bodies, clock, [DAY_S, DAY_S]), "t_bodies", clock_ms=clock)
    found.add(puts_of(row(bodies)))
    with pytest.raises(BodyMissingError, match='load "t_bodies_meta"'):
        found.flush()


@pytest.mark.parametrize("name", [None, "t_bodies"])
def test_pointer_without_its_body_is_refused(store, bodies, name):
    gone = Row(b"r", (Cell(b"f", b"q", 5, Pointer(b"\x01" * 32, 5).to_value()),))
    found = target(store, name)
    found.add(puts_of(gone))
    with pytest.raises(BodyMissingError, match="01" * 32):
        found.flush()
    assert list(found.store.rows("t")) == []


def test_body_store_of_another_table_is_refused(store, bodies):
    found = TargetTable(store, "copy", around_write=CopiedPointers("copy", "t_bodies", OPTIONS).marked)
    found.create(TableSpec("copy", (FamilySpec(b"f"),)))
    found.add(puts_of(row(bodies)))
    with pytest.raises(BodiesOfOtherTableError, match='belongs to table "t"'):
        found.flush()


def test_block_that_looks_like_a_pointer_is_copied(store, bodies):
    """A value that begins as a pointer is itself a body."""
    pointer = Pointer(b"\x01" * 32, 5).to_value()
    found = target(store, None)
    block = {DATA: pointer, CHECKSUM: b"1234"}
    key = block_key(b"\1" * 32, 0, 7)

    def is_marked(name: str | None, put: Put) -> bool:
        calls: list[object] = []
        with CopiedPointers("t", name, OPTIONS).marked([put], calls.append):
            return calls != []

    assert not is_marked(None, Put(key, block, 5))
    # a row of a user that has only the columns of a block
    assert is_marked(None, Put(b"r", block, 5))
    assert is_marked("bodies", Put(key, block, 5))
    found.add([Put(b"r", {b"f:q": b"small"}, 5)])
    found.flush()
    assert [cell.value for each in found.store.rows("t") for cell in each.cells] == [b"small"]
