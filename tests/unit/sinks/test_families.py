"""Families that events ask for."""

import pytest

from ingest.api import FamilySpec, TableSpec
from sinks.driver_store import DriverStore
from sinks.families import FamilyRegistry
from sinks.memory import MemorySettings, MemoryStore

PLACE = ("logs", "t")
DECLARED = {PLACE: TableSpec("t", (FamilySpec(b"web", versions=3),))}


@pytest.fixture
def store() -> MemoryStore:
    made = MemoryStore(MemorySettings())
    made.open()
    return made


def registry(store: MemoryStore, limit: int = 2) -> FamilyRegistry:
    return FamilyRegistry({"logs": DriverStore(store)}, DECLARED, {PLACE: limit}, {PLACE: frozenset({b"sys"})})


def test_declared_family_is_made_as_declared_and_does_not_count(store: MemoryStore):
    families = registry(store)
    families.create("logs", "t", {b"web", b"a", b"b"})
    assert families.known() == {PLACE: frozenset({b"web", b"a", b"b"})}
    assert families.closed() == frozenset()


def test_limit_is_filled_in_byte_order_and_closes_the_table(store: MemoryStore):
    families = registry(store)
    families.create("logs", "t", [b"c", b"b", b"a"])
    assert families.known()[PLACE] == frozenset({b"web", b"a", b"b"})
    assert families.closed() == frozenset({PLACE})


def test_limit_holds_over_a_restart(store: MemoryStore):
    registry(store).create("logs", "t", [b"a", b"b"])
    again = registry(store)
    again.create("logs", "t", [b"c"])
    assert again.known()[PLACE] == frozenset({b"web", b"a", b"b"})
    assert again.closed() == frozenset({PLACE})


def test_table_alone_is_made_with_its_declared_families(store: MemoryStore):
    families = registry(store)
    families.create("logs", "t", ())
    assert families.known() == {PLACE: frozenset({b"web"})}


def test_family_a_sink_names_is_made_although_the_limit_is_reached(store: MemoryStore):
    families = registry(store, limit=1)
    families.create("logs", "t", [b"a", b"b", b"sys"])
    assert families.known()[PLACE] == frozenset({b"web", b"a", b"sys"})
    families.create("logs", "t", [b"c"])
    assert families.known()[PLACE] == frozenset({b"web", b"a", b"sys"})


def test_limits_are_those_of_the_table(store: MemoryStore):
    """A sink that names its table sets its limit alone; what events name has that of the sink that lets them."""
    limits = {PLACE: 1, ("logs", None): 2, ("other", None): 9}
    own = {PLACE: frozenset({b"sys"}), ("logs", None): frozenset({b"raw"})}
    families = FamilyRegistry({"logs": DriverStore(store)}, {}, limits, own)
    for table in ("t", "u", "v"):
        families.create("logs", table, [b"a", b"b", b"c", b"raw", b"sys"])
    assert families.known() == {
        PLACE: frozenset({b"a", b"raw", b"sys"}),
        ("logs", "u"): frozenset({b"a", b"b", b"raw"}),
        ("logs", "v"): frozenset({b"a", b"b", b"raw"}),
    }
    assert families.closed() == frozenset({PLACE, ("logs", "u"), ("logs", "v")})
