"""A feature that only the registry knows has a half on the driver, which the owner of the tables calls."""

from collections.abc import Mapping
from typing import Any

import pytest

from ingest.api import FamilySpec, Model, Store, StoreUnavailableError, TableSpec
from ingest.api.declared_table import DeclaredTable, Locator
from ingest.api.driver_feature import DriverFeature, DriverTables, PreparedFeatures, Released, StartAfter
from ingest.api.table_feature import TableFeature
from sinks.feed.feature import Feed
from sinks.memory import MemorySettings, MemoryStore
from sinks.owning.committed_position import COMMITTED, CommittedPosition
from sinks.owning.owned_tables import OwnedTables
from sinks.owning.owner import CommittedPositionsDifferError
from sinks.updates.feature import Updates
from sinks.writing.driver_store import DriverStore

COUNTED = FamilySpec(b"counts")
TABLES = {"s": [TableSpec("t", (COUNTED,)), TableSpec("plain")]}


class CountedHalf(DriverFeature):
    def __init__(self, tables: DriverTables) -> None:
        self.tables = tables
        self.calls: list[object] = []

    def check_others(self) -> None:
        self.calls.append("check_others")

    def release_others(self) -> list[Released]:
        return [Released(table, "ended") for table in sorted(self.tables.others["s"])]

    def claim(self) -> None:
        self.calls.append("claim")

    def withdraw(self, store: Store[Any], spec: TableSpec, first_ms: int, last_ms: int) -> None:
        self.calls.append(("withdraw", spec.name, first_ms, last_ms))

    def withdraw_after(self, store: Store[Any], spec: TableSpec, committed_ms: int, start_after: StartAfter) -> None:
        self.calls.append(("withdraw_after", spec.name, committed_ms, start_after(0)))

    def runs_again(self, first_ms: Mapping[str, int], last_ms: int) -> None:
        self.calls.append((first_ms, last_ms))

    def newest_edge_ms(self) -> int:
        return 7

    def prepare(self, store: str, batch_time_ms: int) -> PreparedFeatures:
        return PreparedFeatures({"t": {"counted": f"{store} {batch_time_ms}".encode()}}, (batch_time_ms + 1,))


class Counted(TableFeature[Model]):
    name = "counted"
    adds_to_rows = True
    has_owner = True
    is_followed = True
    words = "count"

    def is_in(self, spec: TableSpec) -> bool:
        return COUNTED in spec.families

    def on_driver(self, tables: DriverTables) -> CountedHalf:
        return CountedHalf(tables)

    def planned(self, table: DeclaredTable, locator: Locator) -> Any:
        return None


def owned(store: MemoryStore) -> tuple[OwnedTables, CountedHalf]:
    features = (Updates(), Counted(), Feed())
    tables = OwnedTables("p", {"s": DriverStore(store)}, TABLES, {"s": {"t", "other"}}, features=features)
    return tables, tables.half(CountedHalf)


def test_half_of_a_feature_is_called_at_a_start_and_for_its_tables() -> None:
    tables, half = owned(MemoryStore(MemorySettings()))
    assert half.tables.owning == {"updates", "counted", "feed"}
    assert tables.release_undeclared() == [("other", "ended")]
    tables.claim()
    assert half.calls == ["check_others", "claim"]
    assert tables.add_to_rows
    assert tables.newest_edge_ms() == 7

    half.calls.clear()
    tables.move(CommittedPosition(5, {"topic": 1}))
    tables.remove_batch(6, 8)
    assert half.calls == [("withdraw", "t", 6, 8), ({"t": 6}, 8)]
    tables.remove_uncommitted(lambda newest_ms: newest_ms + 9)
    assert half.calls[2:] == [("withdraw_after", "t", 5, 9)]
    assert tables.visible_to_readers(5) == ["t"]
    assert tables.visible_to_readers(6) == []


def test_messages_of_all_features_reach_the_tasks() -> None:
    store = MemoryStore(MemorySettings())
    features = (Counted(), replaced())
    tables = OwnedTables("p", {"s": DriverStore(store)}, TABLES, {"s": {"t"}}, features=features)
    prepared = tables.of_store("s").prepare(3)
    assert prepared.messages == {"t": {"counted": b"s 3", "other": b"o"}}
    assert sorted(prepared.times_ms) == [4]


class Torn(MemoryStore):
    """A store whose process is killed before it moves the position of table u to the time 5."""

    def set_property(self, table: str, name: str, before: str | None, after: str | None) -> bool:
        if table == "u" and name == COMMITTED and after is not None and CommittedPosition.of(after, table).time_ms == 5:
            raise StoreUnavailableError("killed")
        return super().set_property(table, name, before, after)


def of_two_tables(store: MemoryStore) -> OwnedTables:
    two = {"s": [TableSpec("t", (COUNTED,)), TableSpec("u", (COUNTED,))]}
    tables = OwnedTables("p", {"s": DriverStore(store)}, two, {"s": {"t", "u"}}, features=(Counted(),))
    tables.claim()
    return tables


def test_a_move_that_was_killed_between_two_tables_is_ended_at_the_next_start() -> None:
    """The micro-batch was durable in both before: a new checkpoint goes on after it, and nothing is withdrawn."""
    store = Torn(MemorySettings())
    tables = of_two_tables(store)
    tables.move(CommittedPosition(3, {"topic": 1}))
    with pytest.raises(StoreUnavailableError):
        tables.move(CommittedPosition(5, {"topic": 2}))
    store.__class__ = MemoryStore
    tables = of_two_tables(store)
    assert tables.resume_at() == {"topic": 2}
    assert tables.is_complete(5, {"topic": 2})
    tables.remove_uncommitted(lambda newest_ms: newest_ms)
    assert tables.half(CountedHalf).calls[-2:] == [("withdraw_after", "t", 5, 0), ("withdraw_after", "u", 5, 0)]


def test_a_position_that_was_left_behind_for_longer_is_not_moved() -> None:
    store = Torn(MemorySettings())
    tables = of_two_tables(store)
    tables.move(CommittedPosition(2, {"topic": 1}))
    with pytest.raises(StoreUnavailableError):
        tables.move(CommittedPosition(5, {"topic": 2}))
    alone = OwnedTables("p", {"s": DriverStore(store)}, TABLES, {"s": {"t"}}, features=(Counted(),))
    alone.claim()
    alone.move(CommittedPosition(7, {"topic": 3}))
    with pytest.raises(CommittedPositionsDifferError):
        of_two_tables(store).resume_at()


def test_the_first_start_of_a_table_withdraws_no_time_and_the_second_does() -> None:
    """The first micro-batch may have been killed, and its state removed: its calls may be executed later."""
    store = MemoryStore(MemorySettings())
    found = []
    for _ in range(2):
        tables = of_two_tables(store)
        tables.remove_uncommitted(lambda newest_ms: newest_ms + 9)
        found.append(tables.half(CountedHalf).calls[-1])
    assert found == [("withdraw_after", "u", -1, -1), ("withdraw_after", "u", -1, 9)]


def replaced() -> TableFeature[Model]:
    class Half(DriverFeature):
        def prepare(self, store: str, batch_time_ms: int) -> PreparedFeatures:
            return PreparedFeatures({"t": {"other": b"o"}}, (batch_time_ms + 1,))

    class Other(Counted):
        def on_driver(self, tables: DriverTables) -> Any:
            return Half()

    return Other()
