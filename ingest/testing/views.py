"""The part of the contract of stores about frozen views."""
# this module is tests, see `ingest.testing.stores`
# ruff: noqa: S101, D102

import pytest

from ingest.api import Cell, Delete, FamilySpec, LifecycleError, Row, TableSpec
from ingest.testing.cells import put
from ingest.testing.tables import AnyStore, StoreFixture, TableContract, needs, scanned


class FrozenViewContract(TableContract):
    """The part of `StoreContract` about frozen views."""

    def test_view_does_not_change(self, kit: StoreFixture, store: AnyStore, table: str) -> None:
        needs(store, freezes=True)
        store.apply(table, [put(b"a", 1, f_q=b"1"), put(b"b", 1, f_q=b"1")])
        store.set_property(table, "committed", None, "1")
        view = store.freeze()
        store.apply(table, [put(b"a", 2, f_q=b"2"), Delete(b"b", 2), put(b"c", 2, f_q=b"2")])
        store.set_property(table, "committed", "1", "2")
        store.ensure_table(TableSpec(name := kit.table(), (FamilySpec(b"f"),)))
        reader = type(store).reader(view.settings)
        reader.open()
        try:
            expected = [Row(key, (Cell(b"f", b"q", 1, b"1"),)) for key in (b"a", b"b")]
            assert scanned(reader, table) == expected
            assert reader.get(table, b"c") is None
            assert reader.properties(table) == {"committed": "1"}
            assert name not in reader.tables()
            store.apply(table, [put(b"d", 3, f_q=b"3")])
            assert scanned(reader, table) == expected
        finally:
            reader.close()
        view.remove()
        view.remove()
        assert [row.key for row in scanned(store, table)] == [b"a", b"c", b"d"]

    def test_two_views(self, store: AnyStore, table: str) -> None:
        needs(store, freezes=True)
        found = []
        for at in (1, 2):
            store.apply(table, [put(b"a", at, f_q=b"%d" % at)])
            found.append(store.freeze())
        for at, view in enumerate(found, start=1):
            reader = type(store).reader(view.settings)
            reader.open()
            assert scanned(reader, table) == [Row(b"a", (Cell(b"f", b"q", at, b"%d" % at),))]
            reader.close()
            view.remove()

    def test_view_without_the_capability(self, store: AnyStore) -> None:
        needs(store, freezes=False)
        with pytest.raises(LifecycleError):
            store.freeze()
