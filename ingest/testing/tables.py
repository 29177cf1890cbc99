"""The part of the store contract about tables and families, as tests; see `ingest.testing.stores`."""
# this module is tests: asserts, names that say what they check, and numbers written a few lines above
# ruff: noqa: S101, D102

import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import pytest

from ingest.api import (
    MAX_FAMILY_BYTES,
    MAX_ROW_KEY_BYTES,
    MAX_TIME_MS,
    BucketsDifferError,
    Cell,
    Delete,
    FamilySpec,
    Mutation,
    NoTableError,
    NotFoundError,
    Put,
    Row,
    Scan,
    SchemaError,
    Store,
    TableSpec,
    WriteRejectedError,
)
from ingest.clock import now_ms
from ingest.testing.cells import put

AnyStore = Store[Any]
MISSING_CAPABILITY = "capability: "
"""Start of the reason why a test of a store is skipped."""
_numbers = itertools.count()


class StoreFixture(ABC):
    """Creates, reopens and cleans up one store for the contract."""

    @abstractmethod
    def store(self) -> AnyStore:
        """The store, not open; all stores of a fixture have the same data."""

    def reader(self, store: AnyStore) -> AnyStore:
        """An open store for reads while `store` is open for writes; `store` itself if it needs no second one."""
        return store

    def reopened(self, store: AnyStore) -> AnyStore:
        """The store after it was closed and opened."""
        store.close()
        store.open()
        return store

    def table(self) -> str:
        """A name that no table has."""
        return f"contract_{time.time_ns()}_{next(_numbers)}"

    def clean(self) -> None:  # noqa: B027 - most need no clean-up
        """Remove what the fixture created; called after the store was closed."""


def needs(store: AnyStore, **capabilities: bool) -> None:
    """Skip the test unless the store has these capabilities, as in `needs(store, creates_families=True)`."""
    for name, needed in capabilities.items():
        if getattr(store.capabilities, name) is not needed:
            pytest.skip(f"{MISSING_CAPABILITY}{name} is {not needed}")


def scanned(store: AnyStore, table: str, scan: Scan | None = None) -> list[Row]:
    """All rows of a scan."""
    return list(store.scan(table, scan or Scan()))


class TableContract:
    """The part of `StoreContract` about tables and families, and the fixtures of both."""

    @pytest.fixture
    def kit(self) -> StoreFixture:
        """The fixture of the store; a subclass defines it."""
        raise NotImplementedError

    @pytest.fixture
    def store(self, kit: StoreFixture) -> Iterator[AnyStore]:
        """The store, open."""
        store = kit.store()
        store.open()
        yield store
        store.close()
        kit.clean()

    @pytest.fixture
    def table(self, kit: StoreFixture, store: AnyStore) -> str:
        """A table with families f (one version) and g (three)."""
        return self.make(kit, store, FamilySpec(b"f"), FamilySpec(b"g", versions=3))

    @pytest.fixture
    def distributed(self, kit: StoreFixture, store: AnyStore) -> str:
        """The same table with its row keys distributed over buckets."""
        name = kit.table()
        store.ensure_table(TableSpec(name, (FamilySpec(b"f"), FamilySpec(b"g", versions=3)), buckets=5))
        return name

    def make(self, kit: StoreFixture, store: AnyStore, *families: FamilySpec) -> str:
        """A new table."""
        name = kit.table()
        store.ensure_table(TableSpec(name, families))
        return name

    def test_close_without_open_and_twice(self, kit: StoreFixture) -> None:
        store = kit.store()
        store.close()
        store.close()
        kit.clean()

    def test_missing_table(self, kit: StoreFixture, store: AnyStore) -> None:
        name = kit.table()
        with pytest.raises(NotFoundError):
            store.get(name, b"r")
        with pytest.raises(NotFoundError):
            scanned(store, name)
        with pytest.raises(NoTableError):
            store.apply(name, [put(b"r", 1, f_q=b"1")])
        assert store.families(name) is None
        assert name not in store.tables()

    def test_ensure_table_twice_changes_nothing(self, store: AnyStore, table: str) -> None:
        store.apply(table, [put(b"r", 1, f_q=b"1")])
        store.ensure_table(TableSpec(table, (FamilySpec(b"f", versions=5),)))
        assert store.families(table) == frozenset([b"f", b"g"])
        assert table in store.tables()
        store.apply(table, [put(b"r", 2, f_q=b"2")])
        row = store.get(table, b"r", versions=5)
        assert row is not None
        assert [cell.value for cell in row.cells] == [b"2"]

    def test_family_is_added_to_a_live_table(self, store: AnyStore, table: str) -> None:
        needs(store, creates_families=True)
        store.apply(table, [put(b"r", 1, f_q=b"1")])
        store.ensure_table(TableSpec(table, (FamilySpec(b"h"),)))
        store.apply(table, [put(b"r", 2, h_q=b"2")])
        assert store.families(table) == frozenset([b"f", b"g", b"h"])
        assert store.get(table, b"r") == Row(b"r", (Cell(b"f", b"q", 1, b"1"), Cell(b"h", b"q", 2, b"2")))

    def test_table_is_described_as_it_was_requested(self, kit: StoreFixture, store: AnyStore) -> None:
        plain, special = FamilySpec(b"b"), FamilySpec(b"a", versions=3, ttl_s=60, compression="gz", bloom="rowcol")
        table = self.make(kit, store, plain, special)
        assert store.describe_table(table) == TableSpec(table, (special, plain))
        assert store.describe_table(kit.table()) is None

    def test_regions_start_at_the_split_points(self, store: AnyStore, table: str) -> None:
        described, regions = store.describe_table(table), store.regions(table)
        assert described is not None
        if regions is not None:
            assert tuple(region.start for region in regions) == (b"", *described.splits)

    def test_family_of_a_live_table_is_changed(self, kit: StoreFixture, store: AnyStore, table: str) -> None:
        needs(store, creates_families=True)
        changed = FamilySpec(b"g", versions=2, ttl_s=86_400, compression="gz", bloom="none")
        for at in (1, 2, 3):
            store.apply(table, [put(b"r", now_ms() + at, f_q=b"%d" % at, g_q=b"%d" % at)])
        store.change_family(table, changed)
        assert store.describe_table(table) == TableSpec(table, (FamilySpec(b"f"), changed))
        row = store.get(table, b"r", versions=5)
        assert row is not None
        assert [(cell.family, cell.value) for cell in row.cells] == [(b"f", b"3"), (b"g", b"3"), (b"g", b"2")]
        assert kit.reopened(store).describe_table(table) == TableSpec(table, (FamilySpec(b"f"), changed))
        for name, family in ((table, FamilySpec(b"absent")), (kit.table(), changed)):
            with pytest.raises(SchemaError):
                store.change_family(name, family)

    def test_number_of_buckets_is_recorded(self, kit: StoreFixture, store: AnyStore, table: str) -> None:
        assert store.buckets(table) is None
        spec = TableSpec(kit.table(), (FamilySpec(b"f"),), buckets=16)
        assert store.buckets(spec.name) is None
        store.ensure_table(spec)
        store = kit.reopened(store)
        described = store.describe_table(spec.name)
        assert described is not None
        assert (described.buckets, store.buckets(spec.name)) == (16, 16)
        assert spec.name in store.tables()

    def test_number_of_buckets_changes_only_without_rows(self, kit: StoreFixture, store: AnyStore) -> None:
        name = kit.table()
        for buckets in (16, None, 8):
            store.ensure_table(TableSpec(name, (FamilySpec(b"f"),), buckets=buckets))
            assert store.buckets(name) == buckets
        store.apply(name, [put(b"\x00r", 1, f_q=b"1")])
        for buckets in (16, None):
            with pytest.raises(BucketsDifferError):
                store.ensure_table(TableSpec(name, (FamilySpec(b"f"),), buckets=buckets))
            assert store.buckets(name) == 8  # noqa: PLR2004

    def test_number_of_buckets_is_recorded_for_rows_that_exist(
        self, kit: StoreFixture, store: AnyStore, table: str
    ) -> None:
        store.apply(table, [put(b"\x00r", 1, f_q=b"1")])
        rows = scanned(store, table)
        for _ in range(2):
            store.record_buckets(table, 16)
            store = kit.reopened(store)
            assert (store.buckets(table), scanned(store, table)) == (16, rows)
        with pytest.raises(BucketsDifferError):
            store.record_buckets(table, 8)
        with pytest.raises(NotFoundError):
            store.record_buckets(kit.table(), 8)
        assert store.buckets(table) == 16  # noqa: PLR2004
        store.record_buckets(table, None)
        assert (store.buckets(table), scanned(store, table)) == (None, rows)

    def test_property_is_replaced_if_it_has_the_expected_value(self, kit: StoreFixture, store: AnyStore) -> None:
        table = kit.table()
        assert store.properties(table) == {}
        changes: list[tuple[str | None, str | None, bool]] = [
            ("1", "2", False),
            (None, "1", True),
            (None, "2", False),
            ("1", "2", True),
            ("1", "3", False),
            ("2", None, True),
            ("2", "4", False),
            (None, '{"a": "é\\u0001\\n"}', True),
        ]
        present: str | None = None
        for before, value, has_value in changes:
            assert store.set_property(table, "committed", before, value) is has_value
            present = value if has_value else present
            assert store.properties(table) == ({} if present is None else {"committed": present})
        assert store.set_property(table, "owner_of-it.2", None, "logs")
        store = kit.reopened(store)
        assert store.properties(table) == {"committed": present, "owner_of-it.2": "logs"}
        assert store.properties(kit.table()) == {}

    def test_call_that_has_set_a_property_can_be_repeated(self, kit: StoreFixture, store: AnyStore) -> None:
        table = kit.table()
        for before, value in ((None, "1"), ("1", "2"), ("2", None)):
            for _ in range(2):
                assert store.set_property(table, "committed", before, value)
            assert store.properties(table).get("committed") == value

    @pytest.mark.parametrize(
        ("name", "before", "value"),
        [
            ("buckets", None, "16"),
            ("", None, "1"),
            ("Committed", None, "1"),
            ("committed 1", None, "1"),
            ("a:b", None, "1"),
            ("committed\n", None, "1"),
            ("committed", None, ""),
            ("committed", "", "1"),
        ],
    )
    def test_invalid_property_is_an_error(
        self, store: AnyStore, table: str, name: str, before: str | None, value: str
    ) -> None:
        with pytest.raises(ValueError, match="propert"):
            store.set_property(table, name, before, value)
        assert store.properties(table) == {}

    def test_properties_stay_when_the_table_is_created_and_changed(self, kit: StoreFixture, store: AnyStore) -> None:
        name = kit.table()
        assert store.set_property(name, "owner", None, "logs")
        assert (store.families(name), store.describe_table(name), store.buckets(name)) == (None, None, None)
        assert name not in store.tables()
        for buckets in (16, None, 8):
            store.ensure_table(TableSpec(name, (FamilySpec(b"f"),), buckets=buckets))
            assert (store.properties(name), store.buckets(name)) == ({"owner": "logs"}, buckets)
        if store.capabilities.creates_families:
            store.ensure_table(TableSpec(name, (FamilySpec(b"g"),), buckets=8))
            store.change_family(name, FamilySpec(b"f", versions=3))
        store.record_buckets(name, None)
        store = kit.reopened(store)
        assert (store.properties(name), store.buckets(name)) == ({"owner": "logs"}, None)
        assert store.set_property(name, "owner", "logs", None)
        assert store.properties(name) == {}

    def test_readers_see_properties(self, kit: StoreFixture, store: AnyStore, table: str) -> None:
        reader = kit.reader(store)
        try:
            for name in (table, kit.table()):
                assert reader.properties(name) == {}
                for before, value in ((None, "1"), ("1", "2"), ("2", "3")):
                    assert store.set_property(name, "committed", before, value)
                    assert reader.properties(name) == {"committed": value}
        finally:
            if reader is not store:
                reader.close()

    @pytest.mark.parametrize(
        "never",
        [
            pytest.param(put(b"", 1, f_q=b"1"), id="no row key"),
            pytest.param(put(b"r" * (MAX_ROW_KEY_BYTES + 1), 1, f_q=b"1"), id="long row key"),
            pytest.param(put(b"r", -1, f_q=b"1"), id="negative time"),
            pytest.param(put(b"r", MAX_TIME_MS + 1, f_q=b"1"), id="late time"),
            pytest.param(Put(b"r", {b"f:q": b"1"}, 1, ttl_ms=0), id="no time to live"),
            pytest.param(Put(b"r", {b"f:q": b"1"}, 1, ttl_ms=MAX_TIME_MS), id="long time to live"),
            pytest.param(Put(b"r", {}, 1), id="no cells"),
            pytest.param(Put(b"r", {b"f:q": b"1", b"f": b"1"}, 1), id="no colon"),
            pytest.param(Put(b"r", {b"f:q": b"1", b":q": b"1"}, 1), id="no family"),
            pytest.param(Put(b"r", {b"f" * (MAX_FAMILY_BYTES + 1) + b":q": b"1"}, 1), id="long family"),
            pytest.param(Put(b"r", {b"f:q": b"1", b"unknown:q": b"1"}, 1), id="unknown family"),
            pytest.param(Delete(b"", 1), id="delete, no row key"),
            pytest.param(Delete(b"r", -1), id="delete, negative time"),
            pytest.param(Delete(b"r", MAX_TIME_MS + 1), id="delete, late time"),
            pytest.param(Delete(b"r", 1, b""), id="delete, no family"),
            pytest.param(Delete(b"r", 1, b"unknown"), id="delete, unknown family"),
            pytest.param(Delete(b"r", 1, b"unknown", b"q"), id="delete, column of an unknown family"),
        ],
    )
    def test_invalid_mutation_is_rejected(self, store: AnyStore, table: str, never: Mutation) -> None:
        with pytest.raises(WriteRejectedError):
            store.apply(table, [never])
        assert scanned(store, table) == []
        store.apply(table, [put(b"r", MAX_TIME_MS, f_q=b"1"), put(b"s", 0, f_q=b"1")])
        assert scanned(store, table) == [
            Row(b"r", (Cell(b"f", b"q", MAX_TIME_MS, b"1"),)),
            Row(b"s", (Cell(b"f", b"q", 0, b"1"),)),
        ]
