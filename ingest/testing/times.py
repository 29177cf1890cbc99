"""The part of the store contract about ranges of timestamps, as tests; see `ingest.testing.stores`."""
# this module is tests: asserts, names that say what they check, and numbers written a few lines above
# ruff: noqa: S101, D102

import pytest

from ingest.api import (
    ALL_TIMES,
    MAX_TIME_MS,
    Cell,
    Delete,
    FamilySpec,
    FuzzyPattern,
    Put,
    Row,
    Scan,
    TimeRange,
    WriteRejectedError,
)
from ingest.clock import now_ms
from ingest.testing.cells import put
from ingest.testing.tables import AnyStore, StoreFixture, TableContract, scanned
from sinks.rowkeys.mutations import with_physical_keys
from sinks.scanning.plain_reader import PlainReader

LAST_MS = ALL_TIMES.to_ms - 1


class TimeRangeContract(TableContract):
    """The part of `StoreContract` about ranges of timestamps."""

    @pytest.mark.parametrize(
        ("times", "versions", "expected"),
        [
            (TimeRange(20, 40), 9, [30, 20]),
            (TimeRange(20, 40), 1, [30]),
            (TimeRange(0, 31), 2, [30, 20]),
            (TimeRange(30), 9, [LAST_MS, 40, 30]),
            (TimeRange(30), 2, [LAST_MS, 40]),
            (TimeRange(21, 30), 9, []),
            (TimeRange(0, 10), 9, []),
            (TimeRange(10, 11), 1, [10]),
            (TimeRange(41, LAST_MS), 1, []),
            (TimeRange(LAST_MS), 1, [LAST_MS]),
            (ALL_TIMES, 9, [LAST_MS, 40, 30, 20, 10]),
        ],
    )
    def test_newest_versions_in_a_time_range(
        self, kit: StoreFixture, store: AnyStore, times: TimeRange, versions: int, expected: list[int]
    ) -> None:
        table = self.make(kit, store, FamilySpec(b"g", versions=9))
        store.apply(table, [put(b"r", at, g_p=b"p", g_q=b"q") for at in (10, 20, 30, 40, LAST_MS)])
        for columns in (None, (b"g:q",), (b"g",)):
            names = [b"q"] if columns == (b"g:q",) else [b"p", b"q"]
            rows = [
                store.get(table, b"r", columns=columns, versions=versions, times=times),
                next(store.scan(table, Scan(columns=columns, versions=versions, times=times)), None),
            ]
            for row in rows:
                found = [(cell.qualifier, cell.timestamp_ms, cell.value) for cell in row.cells] if row else []
                assert found == [(name, at, name) for name in names for at in expected]

    def test_many_versions_after_a_time_range(self, kit: StoreFixture, store: AnyStore) -> None:
        table = self.make(kit, store, FamilySpec(b"g", versions=100))
        for at in range(1, 81):
            store.apply(table, [put(b"r", at, g_q=b"%d" % at), put(b"s", at, g_q=b"%d" % at)])
        for row in store.scan(table, Scan(versions=3, times=TimeRange(2, 11))):
            assert [cell.value for cell in row.cells] == [b"10", b"9", b"8"]
        assert [row.key for row in store.scan(table, Scan(times=TimeRange(2, 11), reverse=True))] == [b"s", b"r"]
        store.apply(table, [Delete(b"s", at, b"g", b"q") for at in (4, 8)] + [Delete(b"r", 9, b"g")])
        found = [
            (row.key, cell.timestamp_ms)
            for row in store.scan(table, Scan(versions=9, times=TimeRange(2, 11)))
            for cell in row.cells
        ]
        assert found == [(b"r", 10), (b"s", 10), (b"s", 9)]
        assert scanned(store, table, Scan(times=TimeRange(2, 8))) == []

    def test_rows_without_a_cell_in_the_time_range_are_not_returned(self, store: AnyStore, table: str) -> None:
        keys = [b"%02d" % number for number in range(40)]
        store.apply(table, [put(key, number, f_q=b"1") for number, key in enumerate(keys)])
        store.apply(table, [put(key, 100, g_q=b"1") for key in keys[::2]])

        def found(times: TimeRange, **options: object) -> list[bytes]:
            return [row.key for row in store.scan(table, Scan(times=times, page_rows=3, **options))]  # type: ignore[arg-type]

        assert found(TimeRange(10, 20)) == keys[10:20]
        assert found(TimeRange(10, 20), reverse=True) == keys[10:20][::-1]
        assert found(TimeRange(30), limit=2) == [b"00", b"02"]
        assert found(TimeRange(30), limit=2, columns=(b"f",)) == [b"30", b"31"]
        assert found(TimeRange(30), limit=2, columns=(b"f",), reverse=True) == [b"39", b"38"]
        assert found(TimeRange(35, 101), start=b"05", stop=b"37") == [*keys[6:36:2], b"35", b"36"]
        assert found(TimeRange(35, 101), versions=2, prefix=b"3") == [b"30", b"32", b"34", *keys[35:]]
        assert found(TimeRange(200)) == []
        assert store.get(table, b"05", times=TimeRange(6)) is None
        assert store.get(table, b"05", columns=[b"g"], times=TimeRange(1, 200)) is None
        assert store.get(table, b"absent", times=TimeRange(1, 200)) is None

    def test_deletes_apply_whatever_the_time_range(self, kit: StoreFixture, store: AnyStore) -> None:
        table = self.make(kit, store, FamilySpec(b"f", versions=9), FamilySpec(b"g", versions=9))
        for key in (b"column", b"family", b"row"):
            store.apply(table, [put(key, at, f_p=b"1", f_q=b"1", g_q=b"1") for at in (10, 20, 30)])
        deletes = [Delete(b"column", 20, b"f", b"q"), Delete(b"family", 20, b"f"), Delete(b"row", 20)]
        store.apply(table, deletes)

        def found(times: TimeRange) -> list[tuple[bytes, bytes, int]]:
            return [
                (row.key, cell.family + b":" + cell.qualifier, cell.timestamp_ms)
                for row in store.scan(table, Scan(versions=9, times=times))
                for cell in row.cells
            ]

        # the deletes are later than the range, in it, and earlier
        assert found(TimeRange(10, 15)) == [
            (b"column", b"f:p", 10), (b"column", b"g:q", 10), (b"family", b"g:q", 10),
        ]  # fmt: skip
        assert found(TimeRange(15, 30)) == [
            (b"column", b"f:p", 20), (b"column", b"g:q", 20), (b"family", b"g:q", 20),
        ]  # fmt: skip
        assert found(TimeRange(25, 35)) == [
            (key, column, 30) for key in (b"column", b"family", b"row") for column in (b"f:p", b"f:q", b"g:q")
        ]
        for key in (b"family", b"row"):
            assert store.get(table, key, columns=[b"f"], times=TimeRange(0, 25)) is None

    def test_cells_expire_after_their_own_time_to_live(self, store: AnyStore, table: str) -> None:
        hour_ms, now = 3_600_000, now_ms()
        at = now - 2 * hour_ms
        ttls_ms = {b"gone": hour_ms, b"here": 3 * hour_ms, b"long": MAX_TIME_MS - at, b"none": None}
        puts = [Put(row, {b"f:q": b"1", b"g:q": b"1"}, at, ttl_ms=ttl_ms) for row, ttl_ms in ttls_ms.items()]
        if store.settings.cell_ttl_refusal is not None:
            with pytest.raises(WriteRejectedError) as caught:
                store.apply(table, puts)
            assert caught.value.indexes == [0, 1, 2]
            return
        store.apply(table, puts)
        assert [row.key for row in scanned(store, table)] == [b"here", b"long", b"none"]
        # a later put of the same version has its own; of one that has expired HBase may show the earlier value
        store.apply(table, [put(b"gone", at, f_q=b"2")])
        assert scanned(store, table)[0] == Row(b"gone", (Cell(b"f", b"q", at, b"2"),))

    def test_time_range_of_a_distributed_table_with_patterns(self, store: AnyStore, distributed: str) -> None:
        reader = PlainReader.of(store, distributed)
        assert reader.distribution is not None
        keys = [b"u%02d_%s" % (user, name) for user in range(12) for name in (b"in", b"out")]
        puts = [Put(key, {b"g:q": b"%d" % at}, at) for key in keys for at in (10, 20, 30)]
        store.apply(distributed, with_physical_keys(puts, reader.distribution.physical))
        store.apply(distributed, with_physical_keys([Delete(keys[0], 20)], reader.distribution.physical))
        fuzzy = (FuzzyPattern.parse("u??_in"),)
        for reverse in (False, True):
            scan = Scan(fuzzy=fuzzy, versions=2, times=TimeRange(10, 30), limit=5, reverse=reverse)
            expected = sorted(keys[2::2], reverse=reverse)[:5]
            rows = list(reader.scan(scan))
            assert [row.key for row in rows] == expected
            assert {tuple(cell.timestamp_ms for cell in row.cells) for row in rows} == {(20, 10)}
        for key, expected_ms in ((keys[0], 30), (keys[1], 20)):
            found = reader.get(key, times=TimeRange(10, 31 if key == keys[0] else 30))
            assert found is not None
            assert [cell.timestamp_ms for cell in found.cells] == [expected_ms]
        assert reader.get(keys[0], times=TimeRange(10, 30)) is None
