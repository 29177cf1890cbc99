"""Pointers that a bootstrap writes: their bodies are marked with the cells of the target."""

import pytest

from ingest.api import Cell, FamilySpec, Put, Row, TableSpec
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


def target(store, name: str | None) -> TargetTable:
    found = TargetTable(store, "t", before_write=CopiedPointers("t", name, OPTIONS))
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


@pytest.mark.parametrize("name", [None, "t_bodies"])
def test_pointer_without_its_body_is_refused(store, bodies, name):
    gone = Row(b"r", (Cell(b"f", b"q", 5, Pointer(b"\x01" * 32, 5).to_value()),))
    found = target(store, name)
    with pytest.raises(BodyMissingError, match="01" * 32):
        found.add(puts_of(gone))
    assert list(found.store.rows("t")) == []


def test_body_store_of_another_table_is_refused(store, bodies):
    found = TargetTable(store, "copy", before_write=CopiedPointers("copy", "t_bodies", OPTIONS))
    found.create(TableSpec("copy", (FamilySpec(b"f"),)))
    with pytest.raises(BodiesOfOtherTableError, match='belongs to table "t"'):
        found.add(puts_of(row(bodies)))


def test_block_that_looks_like_a_pointer_is_copied(store, bodies):
    """A value that begins as a pointer is itself a body."""
    pointer = Pointer(b"\x01" * 32, 5).to_value()
    found = target(store, None)
    block = {DATA: pointer, CHECKSUM: b"1234"}
    key = block_key(b"\1" * 32, 0, 7)
    assert CopiedPointers("t", None, OPTIONS)(Put(key, block, 5)) is None
    # a row of a user that has only the columns of a block
    assert CopiedPointers("t", None, OPTIONS)(Put(b"r", block, 5)) is not None
    assert CopiedPointers("t", "bodies", OPTIONS)(Put(key, block, 5)) is not None
    found.add([Put(b"r", {b"f:q": b"small"}, 5)])
    found.flush()
    assert [cell.value for each in found.store.rows("t") for cell in each.cells] == [b"small"]
