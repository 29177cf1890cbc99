"""
The contract of every store, as tests.

A store is checked with a subclass and a fixture that creates it::

    class TestMyStore(StoreContract):
        @pytest.fixture
        def kit(self, tmp_path):
            return MyFixture(tmp_path)

Tests are skipped by `capabilities`, never by the name of a store. Every test creates a table of its own with a name
from the fixture, so all may use one server.
"""
# this module is tests: asserts, names that say what they check, and numbers written a few lines above
# ruff: noqa: S101, D102, PLR2004

import itertools
from contextlib import closing
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis.strategies import lists

from ingest.api import (
    Cell,
    Delete,
    Durability,
    FamilySpec,
    Mutation,
    Put,
    Row,
    Scan,
    ScanCounts,
    TableSpec,
    TimeRange,
    WriteRejectedError,
)
from ingest.clock import now_ms
from ingest.testing.cells import EXAMPLES, MUTATIONS, SCANS, put, scan_with_prefix, with_prefix
from ingest.testing.fuzzy import FuzzyContract
from ingest.testing.replacement import ReplacementContract
from ingest.testing.tables import AnyStore, StoreFixture, needs, scanned
from ingest.testing.times import LAST_MS, TimeRangeContract
from ingest.testing.views import FrozenViewContract
from sinks.folding.fold import Fold
from sinks.memory import MemoryStore
from sinks.rowkeys.mutations import with_physical_keys
from sinks.scanning.plain_reader import PlainReader

__all__ = ["AnyStore", "StoreContract", "StoreFixture", "scanned"]

MS_NOW = now_ms()
SKIP = Durability.SKIP
_numbers = itertools.count()


class StoreContract(FuzzyContract, ReplacementContract, TimeRangeContract, FrozenViewContract):
    """Subclass it, name the subclass `Test…`, and define a fixture `kit` that returns a `StoreFixture`."""

    # versions, time, deletes

    def test_newest_timestamp_wins_over_last_call(self, store: AnyStore, table: str) -> None:
        store.apply(table, [put(b"r", 5, f_q=b"new")])
        store.apply(table, [put(b"r", 4, f_q=b"old")])
        assert store.get(table, b"r") == Row(b"r", (Cell(b"f", b"q", 5, b"new"),))

    def test_last_call_wins_for_equal_timestamps(self, store: AnyStore, table: str) -> None:
        store.apply(table, [put(b"r", 5, f_q=b"first")])
        store.apply(table, [put(b"r", 5, f_q=b"second")])
        assert store.get(table, b"r", versions=3) == Row(b"r", (Cell(b"f", b"q", 5, b"second"),))

    def test_versions_are_newest_first_and_limited(self, store: AnyStore, table: str) -> None:
        for at in (3, 1, 4, 2, 5):
            store.apply(table, [put(b"r", at, f_q=b"%d" % at, g_q=b"%d" % at)])
        row = store.get(table, b"r", versions=10)
        assert row is not None
        assert [(cell.family, cell.timestamp_ms, cell.value) for cell in row.cells] == [
            (b"f", 5, b"5"),
            (b"g", 5, b"5"),
            (b"g", 4, b"4"),
            (b"g", 3, b"3"),
        ]
        assert [cell.timestamp_ms for cell in (store.get(table, b"r", versions=2) or row).cells] == [5, 5, 4]

    def test_cells_expire_after_their_time_to_live(self, kit: StoreFixture, store: AnyStore) -> None:
        table = self.make(kit, store, FamilySpec(b"f", ttl_s=3600), FamilySpec(b"g"))
        now = now_ms()
        old = now - 2 * 3600 * 1000
        store.apply(table, [put(b"r", old, f_q=b"old", g_q=b"old"), put(b"s", now, f_q=b"new")])
        store.apply(table, [put(b"t", old, f_q=b"old")])
        assert scanned(store, table) == [
            Row(b"r", (Cell(b"g", b"q", old, b"old"),)),
            Row(b"s", (Cell(b"f", b"q", now, b"new"),)),
        ]
        assert store.get(table, b"t") is None

    def test_row_delete_hides_cells_up_to_its_timestamp(self, store: AnyStore, table: str) -> None:
        store.apply(table, [put(b"r", 5, f_q=b"1", g_q=b"1"), put(b"r", 7, g_q=b"2"), put(b"s", 5, f_q=b"1")])
        store.apply(table, [Delete(b"r", 6)])
        assert scanned(store, table, Scan(versions=3)) == [
            Row(b"r", (Cell(b"g", b"q", 7, b"2"),)),
            Row(b"s", (Cell(b"f", b"q", 5, b"1"),)),
        ]

    def test_family_delete_hides_only_its_family(self, store: AnyStore, table: str) -> None:
        store.apply(table, [put(b"r", 5, f_q=b"1", f_p=b"1", g_q=b"1")])
        store.apply(table, [Delete(b"r", 5, b"f")])
        assert store.get(table, b"r") == Row(b"r", (Cell(b"g", b"q", 5, b"1"),))

    def test_column_delete_hides_all_its_versions(self, store: AnyStore, table: str) -> None:
        for at in (1, 2, 3):
            store.apply(table, [put(b"r", at, g_p=b"%d" % at, g_q=b"%d" % at)])
        store.apply(table, [Delete(b"r", 2, b"g", b"q")])
        row = store.get(table, b"r", versions=3)
        assert row is not None
        assert [(cell.qualifier, cell.timestamp_ms) for cell in row.cells] == [
            (b"p", 3), (b"p", 2), (b"p", 1), (b"q", 3),
        ]  # fmt: skip

    def test_removed_rows_are_gone(self, kit: StoreFixture, store: AnyStore, table: str) -> None:
        keys = [b"%02d" % number for number in range(20)]
        store.apply(table, [put(key, 5, f_q=b"1", g_q=b"1") for key in keys])
        store.apply(table, [put(b"03", 6, f_q=b"2"), Delete(b"04", 4)])
        removed = [Delete(key, 6) for key in (*keys[3:9], b"1", b"15", b"absent")]
        for _ in range(2):
            store.remove_rows(table, removed)
            store.flush_removed(table)
        remaining = [key for key in keys if key not in {delete.row for delete in removed}]
        assert [row.key for row in scanned(store, table)] == remaining
        assert [row.key for row in scanned(kit.reopened(store), table)] == remaining

    def test_exact_delete_hides_only_its_version(self, store: AnyStore, table: str) -> None:
        needs(store, deletes_versions=True)
        for at in (1, 2, 3):
            store.apply(table, [put(b"r", at, g_p=b"%d" % at, g_q=b"%d" % at), put(b"s", at, g_q=b"%d" % at)])
        store.apply(
            table, [exact_delete(b"r", 2), exact_delete(b"s", 3), exact_delete(b"s", 0), exact_delete(b"absent", 3)]
        )

        def found(row: bytes, **options: Any) -> list[tuple[bytes, int]]:
            cells = (store.get(table, row, **options) or Row(row, ())).cells
            return [(cell.qualifier, cell.timestamp_ms) for cell in cells]

        assert found(b"r", versions=3) == [(b"p", 3), (b"p", 2), (b"p", 1), (b"q", 3), (b"q", 1)]
        assert found(b"s", versions=3) == [(b"q", 2), (b"q", 1)]
        assert found(b"s") == [(b"q", 2)]
        assert found(b"s", columns=[b"g:q"], versions=2, times=TimeRange(2, 4)) == [(b"q", 2)]
        assert found(b"r", columns=[b"g:q"], times=TimeRange(1, 3)) == [(b"q", 1)]
        assert found(b"r", columns=[b"g:q"], times=TimeRange(2, 3)) == []
        assert [row.key for row in scanned(store, table, Scan(times=TimeRange(3)))] == [b"r"]

    def test_exact_delete_hides_its_version_written_later(self, store: AnyStore, table: str) -> None:
        needs(store, deletes_versions=True)
        store.apply(table, [exact_delete(b"r", 5)])
        store.apply(table, [put(b"r", 5, g_q=b"hidden")])
        assert scanned(store, table) == []
        store.apply(table, [put(b"r", 4, g_q=b"4"), put(b"r", 6, g_q=b"6")])
        row = store.get(table, b"r", versions=3)
        assert row is not None
        assert [cell.value for cell in row.cells] == [b"6", b"4"]

    def test_exact_deletes_of_all_versions(self, store: AnyStore, table: str) -> None:
        needs(store, deletes_versions=True)
        times = (0, 1, 2, LAST_MS - 1, LAST_MS)
        for delete_first in (True, False):
            row = b"%d" % delete_first
            puts, deletes = [put(row, at, g_q=b"1") for at in times], [exact_delete(row, at) for at in times]
            store.apply(table, [*deletes, *puts] if delete_first else [*puts, *deletes])
            assert store.get(table, row, versions=3) is None
        assert scanned(store, table, Scan(times=TimeRange(0, 2))) == []

    def test_exact_delete_is_rejected_without_the_capability(self, store: AnyStore, table: str) -> None:
        needs(store, deletes_versions=False)
        store.apply(table, [put(b"r", 1, g_q=b"1")])
        with pytest.raises(WriteRejectedError, match="cannot delete one version") as caught:
            store.apply(table, [put(b"s", 1, g_q=b"1"), exact_delete(b"r", 1)])
        assert caught.value.indexes == [1]
        assert store.get(table, b"r") is not None

    def test_delete_hides_older_cells_written_later(self, store: AnyStore, table: str) -> None:
        store.apply(table, [Delete(b"r", 5), Delete(b"s", 5, b"f"), Delete(b"t", 5, b"f", b"q")])
        for row in (b"r", b"s", b"t"):
            store.apply(table, [put(row, 5, f_q=b"hidden")])
            store.apply(table, [put(row, 4, f_q=b"hidden")])
        assert scanned(store, table) == []
        store.apply(table, [put(b"r", 6, f_q=b"seen")])
        assert [row.key for row in scanned(store, table)] == [b"r"]

    def test_put_delete_put_in_one_batch_and_replayed(self, store: AnyStore, table: str) -> None:
        store.apply(table, [put(b"r", 98, f_old=b"0", f_q=b"0")])
        fold = Fold()
        fold.add(table, put(b"r", 100, f_q=b"1", g_q=b"1"))
        fold.add(table, Delete(b"r", 100))
        fold.add(table, put(b"r", 100, f_q=b"2"))
        deletes, puts = [one for _, one in fold.deletes()], [one for _, one in fold.puts()]
        for _ in range(2):
            store.apply(table, deletes)
            store.apply(table, puts)
            assert store.get(table, b"r") == Row(b"r", (Cell(b"f", b"q", 100, b"2"),))

    # bytes

    def test_rows_come_in_byte_order(self, store: AnyStore, table: str) -> None:
        keys = [b"a", b"B", b"\x00", b"\xff", b"a\x00", b"a\x00\x01", b"a\x01", b"\x00\xff", b"\x00\x00", "ä".encode()]
        store.apply(table, [put(key, 1, f_q=key) for key in keys])
        assert [row.key for row in scanned(store, table)] == sorted(keys)
        assert [row.key for row in scanned(store, table, Scan(reverse=True))] == sorted(keys, reverse=True)

    def test_all_bytes_in_keys_qualifiers_and_values(self, store: AnyStore, table: str) -> None:
        every = [bytes([number]) for number in range(256)]
        store.apply(table, [put(b"k" + byte, 1, f_q=byte * 3) for byte in every])
        store.apply(table, [Put(b"wide", {b"f:" + byte: byte for byte in every} | {b"g:" + bytes(range(256)): b""}, 1)])
        rows = scanned(store, table, Scan(prefix=b"k"))
        assert [(row.key, row.cells[0].value) for row in rows] == [(b"k" + byte, byte * 3) for byte in every]
        wide = store.get(table, b"wide")
        assert wide is not None
        assert [(cell.qualifier, cell.value) for cell in wide.cells] == [
            *((byte, byte) for byte in every),
            (bytes(range(256)), b""),
        ]
        assert all(store.get(table, b"k" + byte, columns=[b"f:q"]) is not None for byte in every[::17])

    def test_empty_values_and_qualifiers(self, store: AnyStore, table: str) -> None:
        store.apply(table, [Put(b"r", {b"f:": b"", b"f:q": b""}, 1)])
        assert store.get(table, b"r") == Row(b"r", (Cell(b"f", b"", 1, b""), Cell(b"f", b"q", 1, b"")))
        assert store.get(table, b"r", columns=[b"f:"]) == Row(b"r", (Cell(b"f", b"", 1, b""),))

    def test_large_values(self, store: AnyStore, table: str) -> None:
        for number in range(3):
            store.apply(table, [put(b"r%d" % number, 1, f_q=bytes([number]) * (9 * (1 << 20)))])
        sizes = [(row.key, len(row.cells[0].value)) for row in store.scan(table, Scan(page_rows=1))]
        assert sizes == [(b"r0", 9 * (1 << 20)), (b"r1", 9 * (1 << 20)), (b"r2", 9 * (1 << 20))]
        row = store.get(table, b"r2")
        assert row is not None
        assert row.cells[0].value == b"\x02" * (9 * (1 << 20))

    def test_longest_row_key(self, store: AnyStore, table: str) -> None:
        key = b"k" * 32_767
        store.apply(table, [put(key, 1, f_q=b"1")])
        assert [row.key for row in scanned(store, table)] == [key]

    # reads

    def test_get_of_missing_rows_and_columns(self, store: AnyStore, table: str) -> None:
        store.apply(table, [put(b"r", 1, f_q=b"1")])
        assert store.get(table, b"absent") is None
        assert store.get(table, b"r", columns=[b"f:absent"]) is None
        assert store.get(table, b"r", columns=[b"g"]) is None

    def test_scan_of_an_empty_table(self, store: AnyStore, table: str) -> None:
        assert scanned(store, table) == []
        assert scanned(store, table, Scan(reverse=True)) == []

    def test_scan_range_prefix_and_limit(self, store: AnyStore, table: str) -> None:
        store.apply(table, [put(key, 1, f_q=b"1") for key in (b"a1", b"a2", b"b1", b"b2", b"c1")])

        def keys(scan: Scan) -> list[bytes]:
            return [row.key for row in store.scan(table, scan)]

        assert keys(Scan(start=b"a2", stop=b"b2")) == [b"a2", b"b1"]
        assert keys(Scan(start=b"a2", stop=b"b2", reverse=True)) == [b"b1", b"a2"]
        assert keys(Scan(prefix=b"b")) == [b"b1", b"b2"]
        assert keys(Scan(prefix=b"b", start=b"b2")) == [b"b2"]
        assert keys(Scan(limit=0)) == []
        assert keys(Scan(limit=2)) == [b"a1", b"a2"]
        assert keys(Scan(limit=2, reverse=True)) == [b"c1", b"b2"]
        assert keys(Scan(start=b"x")) == []

    def test_scan_continues_over_pages(self, store: AnyStore, table: str) -> None:
        keys = [b"%04d" % number for number in range(100)]
        store.apply(table, [put(key, 1, f_q=key) for key in keys])
        assert [row.key for row in store.scan(table, Scan(page_rows=7))] == keys
        assert [row.key for row in store.scan(table, Scan(page_rows=7, reverse=True))] == keys[::-1]
        assert [row.key for row in store.scan(table, Scan(page_rows=7, limit=20))] == keys[:20]

    @pytest.mark.parametrize("reverse", [False, True])
    def test_rows_of_a_view_are_those_of_one_moment(self, store: AnyStore, table: str, *, reverse: bool) -> None:
        keys = [b"%02d" % number for number in range(20)]
        store.apply(table, [put(key, 5, f_q=b"1") for key in keys])
        counts = ScanCounts()
        found: list[tuple[int, bytes]] = []
        with closing(store.scan(table, Scan(page_rows=3, reverse=reverse), counts)) as rows:
            for row in rows:
                if not found:
                    store.apply(table, [put(key + b"x", 6, f_q=b"1") for key in keys])
                    store.apply(table, [Delete(key, 6) for key in keys])
                found.append((counts.views, row.key))
        views = [view for view, _ in found]
        if any(views):
            of_first = [key for view, key in found if view == views[0]]
            assert of_first == (keys[::-1] if reverse else keys)[: len(of_first)]
            assert len(of_first) == len(keys) or counts.views > views[0]

    def test_unfinished_scan_blocks_no_write_or_other_scan(self, store: AnyStore, table: str) -> None:
        store.apply(table, [put(b"%02d" % number, 1, f_q=b"1") for number in range(10)])
        scan = iter(store.scan(table, Scan(page_rows=2)))
        assert next(scan).key == b"00"
        store.apply(table, [put(b"z", 1, f_q=b"1")])
        assert len(scanned(store, table)) == 11

    @EXAMPLES
    @example(calls=[[Put(b"a", {b"f:y": b""}, 1)]], scans=[Scan(columns=(b"f", b"f:x"))])
    @given(calls=lists(lists(MUTATIONS, min_size=1, max_size=4), max_size=6), scans=lists(SCANS, max_size=6))
    def test_reads_agree_with_the_memory_store(
        self, store: AnyStore, table: str, calls: list[list[Mutation]], scans: list[Scan]
    ) -> None:
        _compare(store, table, calls, scans)

    @EXAMPLES
    @given(calls=lists(lists(MUTATIONS, min_size=1, max_size=4), max_size=6), scans=lists(SCANS, max_size=6))
    def test_table_with_buckets_reads_as_a_plain_one(
        self, store: AnyStore, distributed: str, calls: list[list[Mutation]], scans: list[Scan]
    ) -> None:
        _compare(store, distributed, calls, scans)

    # durability, readers

    def test_reopened_store_has_all_writes(self, kit: StoreFixture, store: AnyStore, table: str) -> None:
        store.apply(table, [put(b"r", 1, f_q=b"1", g_q=b"1"), put(b"s", 1, f_q=b"1")])
        store.apply(table, [Delete(b"s", 1)])
        again = kit.reopened(store)
        assert [row.key for row in scanned(again, table)] == [b"r"]
        assert again.families(table) == frozenset([b"f", b"g"])
        again.apply(table, [put(b"s", 1, f_q=b"hidden")])
        assert [row.key for row in scanned(again, table)] == [b"r"]

    def test_writes_without_wal_survive_reopening(self, kit: StoreFixture, store: AnyStore, table: str) -> None:
        store.apply(table, [put(b"r", 1, durability=SKIP, f_q=b"1"), put(b"s", 1, durability=SKIP, g_q=b"1")])
        store.apply(
            table,
            [put(b"t", 1, durability=SKIP, f_q=b"1"), put(b"u", 1, f_q=b"1"), Delete(b"s", 1, durability=SKIP)],
        )
        assert [row.key for row in scanned(store, table)] == [b"r", b"t", b"u"]
        assert [row.key for row in scanned(kit.reopened(store), table)] == [b"r", b"t", b"u"]

    def test_every_durability_of_the_store_is_written(self, store: AnyStore, table: str) -> None:
        had = [one for one in Durability if store.settings.durability_refusal(one) is None]
        assert {Durability.SKIP, Durability.SYNC} <= set(had)
        for durability in had:
            row = durability.encode()
            store.apply(table, [put(row, 1, durability=durability, f_q=b"1"), put(b"s" + row, 1, f_q=b"1")])
            store.apply(table, [Delete(b"s" + row, 1, durability=durability)])
        assert [row.key for row in scanned(store, table)] == sorted(durability.encode() for durability in had)

    def test_readers_see_acknowledged_writes(self, kit: StoreFixture, store: AnyStore, table: str) -> None:
        reader = kit.reader(store)
        try:
            for number in range(10):
                key = b"%02d" % number
                store.apply(table, [put(key, 1, durability=SKIP if number % 2 else Durability.SYNC, f_q=key)])
                assert reader.get(table, key) == Row(key, (Cell(b"f", b"q", 1, key),))
            assert len(scanned(reader, table, Scan(page_rows=3))) == 10
            other = self.make(kit, store, FamilySpec(b"n"))
            store.apply(other, [put(b"r", 1, n_q=b"1")])
            assert [row.key for row in scanned(reader, other)] == [b"r"]
            assert other in reader.tables()
        finally:
            if reader is not store:
                reader.close()


def exact_delete(row: bytes, at: int) -> Delete:
    """An exact delete of a version of the column g:q."""
    return Delete(row, at, b"g", b"q", exact=True)


def _is_supported(store: AnyStore, mutation: Mutation) -> bool:
    return store.capabilities.deletes_versions or isinstance(mutation, Put) or not mutation.exact


def _compare(store: AnyStore, table: str, calls: list[list[Mutation]], scans: list[Scan]) -> None:
    """Write to the store and to a memory store, and compare their reads; each example has its own row prefix."""
    prefix = b"%08d/" % next(_numbers)
    reference = MemoryStore()
    reference.open()
    reference.ensure_table(TableSpec(table, (FamilySpec(b"f"), FamilySpec(b"g", versions=3))))
    reader = PlainReader.of(store, table)
    for call in calls:
        mutations = [with_prefix(prefix, mutation) for mutation in call if _is_supported(store, mutation)]
        reference.apply(table, mutations)
        store.apply(
            table,
            mutations if reader.distribution is None else with_physical_keys(mutations, reader.distribution.physical),
        )
    for scan in [Scan(), *scans]:
        prefixed = scan_with_prefix(prefix, scan)
        assert list(reader.scan(prefixed)) == scanned(reference, table, prefixed)
    for key in (prefix + b"a", prefix + b"b"):
        assert reader.get(key, versions=3) == reference.get(table, key, versions=3)
        only = [b"f:x", b"g"]
        assert reader.get(key, columns=only) == reference.get(table, key, columns=only)
        for times in {scan.times for scan in scans}:
            expected = reference.get(table, key, columns=only, versions=2, times=times)
            assert reader.get(key, columns=only, versions=2, times=times) == expected
