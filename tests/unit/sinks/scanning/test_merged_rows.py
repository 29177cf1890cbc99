"""Merged reads of tables with deferred updates, while compactions change them."""

from collections.abc import Iterator
from itertools import islice
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import (
    ConfigError,
    FuzzyPattern,
    IntegrityError,
    Put,
    Scan,
    ScanCounts,
    TableSpec,
    TimeRange,
)
from sinks.memory import MemoryStore
from sinks.rewriting.incomplete_updates import apply_to_updates
from sinks.rewriting.update_readers import MergedReader
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.merged_rows import MergeCounts, MergedRows, row_of
from sinks.scanning.update_rows import update_rows
from sinks.updates.compaction import CompactionRules
from sinks.updates.groups import UpdateRow
from sinks.updates.keys import UpdateKey, last_update_id_of, update_id_of
from sinks.updates.merging import Merging
from sinks.updates.processors.last_n import LastN
from tests.support.stored_updates import BetweenPages, add, compact, create
from tests.support.update_rows import SUM

TABLE = "t"
LAST = Merging(LastN(LastN.settings_class()(n=3)))
KEYS = [b"a", b"a\x00", b"a\x00b", b"ab", b"b\xff", b"c"]


def made(buckets: int | None = None) -> MemoryStore:
    store = MemoryStore()
    store.open()
    create(store, TABLE, buckets=buckets)
    return store


def values(store: MemoryStore, scan: Scan | None = None) -> dict[bytes, bytes]:
    return {row.key: row.cells[0].value for row in MergedReader.of(store, TABLE, SUM).scan(scan or Scan())}


@pytest.fixture(params=[None, 3], ids=["plain", "salted"])
def store(request) -> MemoryStore:
    store = made(request.param)
    for time_ms in range(1, 6):
        for row in KEYS:
            add(store, TABLE, row, time_ms, {b"f:v": b"1", b"g:w": b"2"})
    return store


@pytest.mark.parametrize("page_rows", [1, 2, 3, 5, 7, 500])
@pytest.mark.parametrize("reverse", [False, True])
def test_rows_are_merged_in_the_order_of_logical_keys(store, page_rows: int, reverse: bool):
    found = list(MergedReader.of(store, TABLE, SUM).scan(Scan(page_rows=page_rows, reverse=reverse)))
    assert [row.key for row in found] == (KEYS[::-1] if reverse else KEYS)
    assert {row.cells for row in found} == {((b"f", b"v", 5, b"5"), (b"g", b"w", 5, b"10"))}


@pytest.mark.parametrize(
    ("scan", "expected"),
    [
        (Scan(limit=2), KEYS[:2]),
        (Scan(limit=2, reverse=True), KEYS[::-1][:2]),
        (Scan(prefix=b"a\x00"), KEYS[1:3]),
        (Scan(start=b"a\x00", stop=b"b\xff"), KEYS[1:4]),
        (Scan(start=b"a\x00b", stop=b"a\x00c", reverse=True), [b"a\x00b"]),
        (Scan().after(b"a"), KEYS[1:]),
        (Scan(fuzzy=(FuzzyPattern.parse("?b"), FuzzyPattern.parse("c"))), [b"ab", b"c"]),
        (Scan(start=b"b", stop=b"a"), []),
        (Scan(stop=b""), []),
        (Scan(start=b"d"), []),
    ],
)
@pytest.mark.parametrize("page_rows", [1, 4, 500])
def test_ranges_and_patterns_are_of_logical_keys(store, scan: Scan, expected: list[bytes], page_rows: int):
    assert list(values(store, Scan(**{**_fields(scan), "page_rows": page_rows}))) == expected


def _fields(scan: Scan) -> dict:
    return {name: getattr(scan, name) for name in Scan.__slots__}


def test_columns_are_selected(store):
    reader = MergedReader.of(store, TABLE, SUM)
    found = reader.get(b"ab", columns=[b"g"])
    assert found is not None
    assert found.cells == ((b"g", b"w", 5, b"10"),)
    assert next(iter(reader.scan(Scan(columns=(b"g:w",))))).cells == found.cells
    assert reader.get(b"ab", columns=[b"g:x"]) is None
    assert reader.get(b"abc") is None


@pytest.mark.parametrize("page_rows", [1, 2, 3, 4, 500])
@pytest.mark.parametrize("reverse", [False, True])
def test_compaction_between_two_pages_of_one_row(store, page_rows: int, reverse: bool):
    pages = BetweenPages(store, lambda: compact(store, TABLE))
    assert values(store, Scan(page_rows=page_rows, reverse=reverse)) == dict.fromkeys(KEYS, b"5")
    assert (pages.pages > 0) is (page_rows < 500)


@pytest.mark.parametrize("reverse", [False, True])
def test_row_of_more_update_rows_than_a_page(reverse: bool, monkeypatch):
    monkeypatch.setattr("sinks.scanning.merged_rows._PAGE_ROWS", 2)
    monkeypatch.setattr("sinks.scanning.merged_rows._MAX_REVERSED", 3)
    store, compactions = made(), iter(range(4))

    def between() -> None:
        for bound in compactions:
            compact(store, TABLE, rules=CompactionRules(update_id_of(2 * bound, 0)))
            return

    for time_ms in range(1, 10):
        add(store, TABLE, b"k", time_ms, {b"f:v": b"1"})
    BetweenPages(store, between)
    assert values(store, Scan(page_rows=2, reverse=reverse)) == {b"k": b"9"}
    assert next(compactions, None) is None or reverse


def test_limit_bounds_the_update_rows_read_of_each_bucket():
    store, counts = made(4), ScanCounts()
    for number in range(400):
        add(store, TABLE, b"k%03d" % number, 1, {b"f:v": b"1"})
    assert len(list(MergedReader.of(store, TABLE, SUM).scan(Scan(limit=1), counts))) == 1
    assert counts.rows_touched <= 4 * 50


def test_rows_of_one_view_are_read_once(store):
    counts = ScanCounts()
    assert len(list(MergedReader.of(store, TABLE, SUM).scan(Scan(), counts))) == len(KEYS)
    assert counts.rows_touched == 5 * len(KEYS)


def test_rows_of_a_store_without_views_are_read_again(store, monkeypatch):
    scan = MemoryStore.scan

    def uncounted(self, table, wanted, counts=None):
        return scan(self, table, wanted)

    monkeypatch.setattr(MemoryStore, "scan", uncounted)
    assert values(store) == dict.fromkeys(KEYS, b"5")


def test_row_in_two_regions_is_read_until_its_keys_are_the_same(monkeypatch):
    store = made()
    for time_ms in range(1, 4):
        add(store, TABLE, b"k", time_ms, {b"f:v": b"1"})
    split = UpdateKey(b"k", update_id_of(2, 0)).encoded()
    described = store.describe_table
    monkeypatch.setattr(store, "describe_table", lambda name: TableSpec(name, described(name).families, (b"b", split)))
    scans, scan = [], store.scan
    monkeypatch.setattr(store, "scan", lambda *given: scans.append(given) or scan(*given))
    assert values(store) == {b"k": b"3"}
    assert len(scans) == 3


def test_column_that_cannot_be_merged_has_its_newest_update():
    store = made()
    rows = RowFormat.recorded(store, TABLE)
    for time_ms, value in enumerate([b"1", b"x", b"3"], 1):
        put = Put(UpdateKey(b"k", update_id_of(time_ms, 0)).encoded(), {b"f:v": value, b"f:w": b"1"}, time_ms)
        apply_to_updates(store, TABLE, rows, [put])
    reader = MergedReader.of(store, TABLE, SUM)
    found = reader.rows.get(b"k")
    assert found is not None
    assert found.columns == {b"f:v": b"3", b"f:w": b"3"}
    assert [each.column for each in found.unmerged] == [b"f:v"]


def test_row_that_is_always_written_is_read_in_the_end(monkeypatch):
    monkeypatch.setattr("sinks.scanning.merged_rows._PAGE_ROWS", 2)
    store, times = made(), iter(range(10, 1_000))
    for time_ms in range(1, 6):
        add(store, TABLE, b"k", time_ms, {b"f:v": b"1"})
    pages = BetweenPages(store, lambda: add(store, TABLE, b"k", next(times), {b"f:v": b"1"}))
    found = values(store, Scan(page_rows=2))
    assert 5 <= int(found[b"k"]) <= 5 + pages.pages


@pytest.mark.parametrize("wanted", [{"versions": 2}, {"times": TimeRange(1, 5)}])
def test_versions_and_times_are_refused(store, wanted: dict):
    reader = MergedReader.of(store, TABLE, SUM)
    with pytest.raises(ConfigError, match="cannot be read with"):
        reader.scan(Scan(**wanted))
    with pytest.raises(ConfigError, match="cannot be read with"):
        reader.get(b"a", **wanted)


def test_row_that_is_no_update_row_is_reported():
    store = made()
    store.apply(TABLE, [Put(b"plain", {b"f:v": b"1"}, 1)])
    with pytest.raises(IntegrityError, match='table "t" has the row key "plain"'):
        values(store)


def test_logical_key_of_a_physical_key(store):
    reader = MergedReader.of(store, TABLE, SUM)
    keys = [row.key for row in store.scan(TABLE, Scan())]
    found = [reader.stored_key(key) for key in keys]
    assert {stored.logical for stored in found if stored is not None} == set(KEYS)
    assert None not in found
    assert reader.stored_key(b"ab") is None


Compaction = tuple[CompactionRules, int | None]
compactions = st.tuples(
    st.builds(
        CompactionRules,
        bound=st.integers(1, 40).map(lambda time_ms: update_id_of(time_ms, 0)),
        window=st.sampled_from([0, update_id_of(4, 0)]),
        max_rows=st.sampled_from([1, 3, 1_000]),
    ),
    st.none() | st.integers(0, 8),
)
updates = st.tuples(st.sampled_from(KEYS), st.sampled_from([b"f:v", b"g:w"]), st.binary(max_size=2))


@given(
    history=st.lists(updates | updates | compactions, max_size=30),
    during=st.lists(compactions, max_size=4),
    scan=st.builds(Scan, page_rows=st.integers(1, 12), reverse=st.booleans()),
    buckets=st.sampled_from([None, 1, 3]),
    held=st.sampled_from([1, 2, 3, 1_000]),
)
def test_reads_between_compactions_return_what_all_updates_merged_at_once_would(
    history: list, during: list[Compaction], scan: Scan, buckets: int | None, held: int
) -> None:
    store = made(buckets)
    model: dict[bytes, dict[bytes, list[bytes]]] = {}
    for time_ms, action in enumerate(history, 1):
        match action:
            case row, column, value:
                add(store, TABLE, row, time_ms, {column: value}, LAST)
                model.setdefault(row, {}).setdefault(column, []).append(value)
            case rules, calls:
                compact(store, TABLE, LAST, rules, calls=calls)
    waiting = iter(during)

    def between() -> None:
        for rules, calls in islice(waiting, 1):
            compact(store, TABLE, LAST, rules, calls=calls)

    with (
        patch("sinks.scanning.merged_rows._PAGE_ROWS", held),
        patch("sinks.scanning.merged_rows._MAX_REVERSED", held),
        BetweenPages(store, between),
    ):
        found = list(MergedReader.of(store, TABLE, LAST).scan(scan))
    assert [row.key for row in found] == sorted(model, reverse=scan.reverse)
    for row in found:
        cells = {cell.family + b":" + cell.qualifier: cell.value for cell in row.cells}
        assert cells == {column: _newest(written) for column, written in model[row.key].items()}
    merged = MergedReader.of(store, TABLE, LAST).rows
    again = {row.key: row for row in map(row_of, merged.scan(scan))}
    assert again.keys() == model.keys()
    assert {row.key: row for row in merged.rows(scan)} == again


def _newest(written: list[bytes]) -> bytes:
    return LAST.merged([LAST.updates({b"f:v": value}) for value in written]).columns[b"f:v"]


def test_update_rows_are_read_as_stored(store) -> None:
    rows: Iterator[UpdateRow] = update_rows(store, TABLE, RowFormat.recorded(store, TABLE))
    assert len(list(rows)) == 5 * len(KEYS)


@pytest.mark.parametrize("page_rows", [1, 3, 500])
@pytest.mark.parametrize(("last_ms", "expected"), [(5, 5), (3, 3), (1, 1), (0, None)])
def test_updates_above_a_committed_position_are_ignored(store, page_rows: int, last_ms: int, expected: int | None):
    rows = MergedRows(store, TABLE, RowFormat.recorded(store, TABLE), SUM, last=last_update_id_of(last_ms))
    found = {row.key: row.cells for row in rows.rows(Scan(page_rows=page_rows))}
    cells = ((b"f", b"v", expected, b"%d" % (expected or 0)), (b"g", b"w", expected, b"%d" % (2 * (expected or 0))))
    assert found == ({} if expected is None else dict.fromkeys(KEYS, cells))
    one = rows.get(b"a")
    assert (None if one is None else row_of(one).cells) == (None if expected is None else cells)


def test_merged_row_that_a_later_compaction_wrote_counts(store):
    compact(store, TABLE, rules=CompactionRules(update_id_of(5, 0)))
    rows = MergedRows(store, TABLE, RowFormat.recorded(store, TABLE), SUM, last=last_update_id_of(2))
    assert {row.cells[0].value for row in rows.rows(Scan())} == {b"4"}  # of the times 1 to 4


@pytest.mark.parametrize("reverse", [False, True])
def test_merged_rows_and_their_update_rows_are_counted(store, reverse: bool):
    add(store, TABLE, b"z", 1, {b"f:v": b"1"})
    reader = MergedReader.of(store, TABLE, SUM).rows
    rows = list(reader.rows(Scan(reverse=reverse)))  # z has one update row, which is not merged
    assert (len(rows), reader.merge_counts) == (7, MergeCounts(7, 31))
    assert len(list(reader.scan(Scan(reverse=reverse)))) == 7
    assert reader.merge_counts == MergeCounts(14, 62)
    counts = ScanCounts()
    assert reader.get(b"a", counts=counts) is not None
    assert reader.get(b"absent") is None
    assert (reader.merge_counts, counts.seeks > 0) == (MergeCounts(15, 67), True)


def test_update_rows_that_are_read_again_count_again():
    store = made()
    for time_ms in range(1, 6):
        add(store, TABLE, b"a", time_ms, {b"f:v": b"1"})
    reader = MergedReader.of(store, TABLE, SUM).rows
    with patch("sinks.scanning.merged_rows._MAX_REVERSED", 2):
        assert len(list(reader.scan(Scan(reverse=True)))) == 1
    assert reader.merge_counts == MergeCounts(1, 3 + 5)
