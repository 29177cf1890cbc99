"""A feature that only the registry knows has a half on the driver, which the owner of the tables calls."""

from collections.abc import Callable, Mapping
from typing import Any

from ingest.api import FamilySpec, Model, Store, TableSpec
from ingest.api.declared_table import DeclaredTable, Locator
from ingest.api.driver_feature import DriverFeature, DriverTables, PreparedFeatures, Released
from ingest.api.table_feature import TableFeature
from sinks.feed.feature import Feed
from sinks.memory import MemorySettings, MemoryStore
from sinks.owning.committed_position import CommittedPosition
from sinks.owning.owned_tables import OwnedTables
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

    def withdraw(
        self,
        store: Store[Any],
        spec: TableSpec,
        first_ms: int,
        last_ms: int | None = None,
        on_found: Callable[[int], None] = lambda _newest_ms: None,
    ) -> None:
        self.calls.append(("withdraw", spec.name, first_ms, last_ms))

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
    tables.remove_uncommitted(lambda _: None)
    assert half.calls[2:] == [("withdraw", "t", 6, None)]
    assert tables.visible_to_readers(5) == ["t"]
    assert tables.visible_to_readers(6) == []


def test_messages_of_all_features_reach_the_tasks() -> None:
    store = MemoryStore(MemorySettings())
    features = (Counted(), replaced())
    tables = OwnedTables("p", {"s": DriverStore(store)}, TABLES, {"s": {"t"}}, features=features)
    prepared = tables.of_store("s").prepare(3)
    assert prepared.messages == {"t": {"counted": b"s 3", "other": b"o"}}
    assert sorted(prepared.times_ms) == [4]


def replaced() -> TableFeature[Model]:
    class Half(DriverFeature):
        def prepare(self, store: str, batch_time_ms: int) -> PreparedFeatures:
            return PreparedFeatures({"t": {"other": b"o"}}, (batch_time_ms + 1,))

    class Other(Counted):
        def on_driver(self, tables: DriverTables) -> Any:
            return Half()

    return Other()
