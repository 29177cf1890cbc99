"""Creation of families that events name."""

import pytest

from ingest.api import FamilySpec, TableSpec
from sinks.memory import MemorySettings, MemoryStore
from sinks.writing.driver_store import DriverStore
from sinks.writing.families import FamilyRegistry

DECLARED = {"t": TableSpec("t", (FamilySpec(b"web", versions=3),))}


@pytest.fixture
def store() -> MemoryStore:
    made = MemoryStore(MemorySettings())
    made.open()
    return made


def registry(store: MemoryStore, limit: int = 2) -> FamilyRegistry:
    return FamilyRegistry(DriverStore(store), DECLARED, {"t": limit}, {"t": frozenset({b"sys"})})


def test_declared_family_is_created_and_does_not_count(store: MemoryStore):
    families = registry(store)
    families.create("t", {b"web", b"a", b"b"})
    assert families.known() == {"t": frozenset({b"web", b"a", b"b"})}
    assert families.at_limit() == frozenset()


def test_families_are_created_in_byte_order_up_to_the_limit(store: MemoryStore):
    families = registry(store)
    families.create("t", [b"c", b"b", b"a"])
    assert families.known()["t"] == frozenset({b"web", b"a", b"b"})
    assert families.at_limit() == frozenset({"t"})


def test_limit_applies_after_a_restart(store: MemoryStore):
    registry(store).create("t", [b"a", b"b"])
    again = registry(store)
    again.create("t", [b"c"])
    assert again.known()["t"] == frozenset({b"web", b"a", b"b"})
    assert again.at_limit() == frozenset({"t"})


def test_table_is_created_with_its_declared_families(store: MemoryStore):
    families = registry(store)
    families.create("t", ())
    assert families.known() == {"t": frozenset({b"web"})}


@pytest.mark.parametrize("declared", [None, 16])
def test_new_family_never_changes_the_number_of_buckets(store: MemoryStore, declared: int | None):
    store.ensure_table(TableSpec("t", (FamilySpec(b"web"),), buckets=8))
    families = FamilyRegistry(DriverStore(store), {"t": TableSpec("t", buckets=declared)}, {None: 2}, {})
    families.create("t", [b"a"])
    assert (store.families("t"), store.buckets("t")) == (frozenset({b"web", b"a"}), 8)


def test_family_of_the_options_is_created_at_the_limit(store: MemoryStore):
    families = registry(store, limit=1)
    families.create("t", [b"a", b"b", b"sys"])
    assert families.known()["t"] == frozenset({b"web", b"a", b"sys"})
    families.create("t", [b"c"])
    assert families.known()["t"] == frozenset({b"web", b"a", b"sys"})


def test_each_table_has_its_limit(store: MemoryStore):
    """The limit of a sink with a constant table applies to that table, that of a template to all others."""
    limits = {"t": 1, None: 2}
    own = {"t": frozenset({b"sys"}), None: frozenset({b"raw"})}
    families = FamilyRegistry(DriverStore(store), {}, limits, own)
    for table in ("t", "u", "v"):
        families.create(table, [b"a", b"b", b"c", b"raw", b"sys"])
    assert families.known() == {
        "t": frozenset({b"a", b"raw", b"sys"}),
        "u": frozenset({b"a", b"b", b"raw"}),
        "v": frozenset({b"a", b"b", b"raw"}),
    }
    assert families.at_limit() == frozenset({"t", "u", "v"})
