"""The part of `StoreContract` about the replacement of a cell."""
# this module is tests: asserts, and names that say what they check
# ruff: noqa: S101, D102

import pytest

from ingest.api import NoTableError, WriteRejectedError
from ingest.clock import now_ms
from ingest.testing.cells import put
from ingest.testing.tables import AnyStore, StoreFixture, TableContract, scanned


class ReplacementContract(TableContract):
    """A cell is replaced only if it has the expected value."""

    def test_cell_is_replaced_if_it_has_the_expected_value(
        self, kit: StoreFixture, store: AnyStore, table: str
    ) -> None:
        changes: list[tuple[bytes | None, bytes, bool]] = [
            (b"1", b"2", False),
            (None, b"1", True),
            (None, b"2", False),
            (b"1", b"\x00\xff", True),
            (b"1", b"3", False),
            (b"\x00\xff", b"4", True),
        ]
        present: bytes | None = None
        for before, value, is_replaced in changes:
            assert store.replace_cell(table, b"\x00r", b"f:q", before, value) is is_replaced
            present = value if is_replaced else present
            row = store.get(table, b"\x00r")
            assert present == (None if row is None else row.cells[0].value)
        row = kit.reopened(store).get(table, b"\x00r", versions=3)
        assert row is not None
        assert [(cell.family, cell.qualifier, cell.value) for cell in row.cells] == [(b"f", b"q", b"4")]

    def test_call_that_has_replaced_a_cell_can_be_repeated(self, store: AnyStore, table: str) -> None:
        for before, value in ((None, b"1"), (b"1", b"2")):
            for _ in range(2):
                assert store.replace_cell(table, b"r", b"g:q", before, value)

    def test_replaced_cell_is_visible_above_a_later_time(self, store: AnyStore, table: str) -> None:
        later = now_ms() + 3_600_000
        store.apply(table, [put(b"r", later, g_q=b"1")])
        assert store.replace_cell(table, b"r", b"g:q", b"1", b"2")
        row = store.get(table, b"r")
        assert row is not None
        assert [cell.value for cell in row.cells] == [b"2"]
        assert row.cells[0].timestamp_ms >= later

    def test_replacement_that_is_never_possible(self, kit: StoreFixture, store: AnyStore, table: str) -> None:
        for before, value in ((None, b""), (b"", b"1")):
            with pytest.raises(ValueError, match="empty"):
                store.replace_cell(table, b"r", b"f:q", before, value)
        with pytest.raises(WriteRejectedError):
            store.replace_cell(table, b"r", b"unknown:q", None, b"1")
        with pytest.raises(NoTableError):
            store.replace_cell(kit.table(), b"r", b"f:q", None, b"1")
        assert scanned(store, table) == []
