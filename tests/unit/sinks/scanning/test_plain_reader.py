"""Reads of a table with and without buckets by logical row keys."""

import contextlib

import pytest

from ingest.api import FamilySpec, FuzzyPattern, Put, Row, Scan, ScanCounts, StoreUnavailableError, TableSpec
from ingest.api.table_reader import ShownRow, StoredKey
from sinks.memory import MemoryStore
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.mutations import with_physical_keys
from sinks.scanning.partitions import point
from sinks.scanning.plain_reader import PlainReader

KEYS = [b"row-%04d" % number for number in range(500)]


class Watched(MemoryStore):
    """A memory store that counts its open scans and the rows they returned; one scan fails if so set."""

    def __init__(self) -> None:
        super().__init__()
        self.opened, self.closed, self.rows = 0, 0, 0
        self.fails_at = -1

    def scan(self, table, scan, counts=None):
        self.opened += 1
        try:
            for row in super().scan(table, scan, counts):
                self.rows += 1
                if self.rows == self.fails_at:
                    raise StoreUnavailableError("the server is gone")
                yield row
        finally:
            self.closed += 1


@pytest.fixture
def store():
    made = Watched()
    made.open()
    made.ensure_table(TableSpec("t", (FamilySpec(b"f"),), buckets=8))
    made.apply("t", with_physical_keys([Put(key, {b"f:q": key}, 1) for key in KEYS], Distribution(8).physical))
    return made


@pytest.fixture
def reader(store):
    return PlainReader.of(store, "t")


@pytest.mark.parametrize(
    ("scan", "expected"),
    [
        (Scan(), KEYS),
        (Scan(page_rows=7), KEYS),
        (Scan(page_rows=7, reverse=True), KEYS[::-1]),
        (Scan(page_rows=7, limit=50), KEYS[:50]),
        (Scan(start=b"row-0100", stop=b"row-0110"), KEYS[100:110]),
        (Scan(start=b"row-0100", stop=b"row-0110", reverse=True), KEYS[100:110][::-1]),
        (Scan(prefix=b"row-04", limit=3), KEYS[400:403]),
        (Scan(prefix=b"row-04", limit=3, reverse=True), KEYS[497:500][::-1]),
        (Scan(fuzzy=(FuzzyPattern.parse("row-??42"),), page_rows=2), [KEYS[42 + 100 * number] for number in range(5)]),
        (Scan(start=b"x"), []),
        (Scan(start=b"b", stop=b"a"), []),
    ],
)
def test_rows_come_in_the_order_of_logical_keys(reader, store: Watched, scan: Scan, expected: list[bytes]):
    counts = ScanCounts()
    rows = list(reader.scan(scan, counts))
    assert [row.key for row in rows] == expected
    assert [row.cells[0].value for row in rows] == expected
    assert store.opened == store.closed
    assert counts.rows_touched >= len(expected)


def test_limit_bounds_the_rows_read_of_each_bucket(store: Watched):
    assert len(list(PlainReader.of(store, "t").scan(Scan(limit=2)))) == 2
    assert store.rows <= 8 * 2


def test_all_scans_are_closed_after_an_error(reader, store: Watched):
    store.fails_at = 20
    with pytest.raises(StoreUnavailableError), contextlib.closing(reader.scan(Scan(page_rows=5))) as rows:
        list(rows)
    assert store.opened == store.closed > 0


def test_all_scans_are_closed_with_the_merged_one(reader, store: Watched):
    rows = reader.scan(Scan(page_rows=5))
    assert next(rows).key == KEYS[0]
    rows.close()
    assert store.opened == store.closed == 8


def test_row_is_found_by_its_logical_key(store: Watched):
    reader = PlainReader.of(store, "t")
    found = reader.get(KEYS[7])
    assert isinstance(found, Row)
    assert (found.key, found.cells[0].value) == (KEYS[7], KEYS[7])
    assert reader.get(b"row-") is None


def test_table_without_buckets_is_read_as_it_is(store: Watched):
    store.ensure_table(TableSpec("plain", (FamilySpec(b"f"),)))
    store.apply("plain", [Put(b"a", {b"f:q": b"1"}, 1)])
    reader = PlainReader.of(store, "plain")
    assert [row.key for row in reader.scan(Scan())] == [b"a"]
    assert reader.get(b"a") is not None


@pytest.mark.parametrize(("start", "stop", "rows"), [(100, 900, 400), (100, None, 450), (None, None, 500)])
def test_rows_of_hbasewds_own_tests(start: int | None, stop: int | None, rows: int):
    origin = 1_700_000_000_000
    values = [500 + number if number % 2 == 0 else 500 - number for number in range(500)]
    store = MemoryStore()
    store.open()
    store.ensure_table(TableSpec("t", (FamilySpec(b"f"),), buckets=15))
    puts = [Put((origin + value).to_bytes(8, "big"), {b"f:q": b"v"}, 1) for value in values]
    store.apply("t", with_physical_keys(puts, Distribution(15).physical))

    def bound(value: int | None) -> bytes | None:
        return None if value is None else (origin + value).to_bytes(8, "big")

    scan = Scan(start=bound(start) or b"", stop=bound(stop))
    wanted = [value for value in values if (start or 0) <= value < (stop or 1_000)]
    expected = sorted((origin + value).to_bytes(8, "big") for value in wanted)
    assert [row.key for row in PlainReader.of(store, "t").scan(scan)] == expected
    assert len(expected) == rows


def test_a_range_of_physical_keys_has_rows_with_logical_keys(reader, store: Watched):
    found = [row for start, stop in Distribution(8).intervals() for row, _ in reader.in_range(Scan(start, stop))]
    assert sorted(row.key for row in found) == KEYS
    assert store.opened == store.closed == 8


def test_one_row_of_a_range_of_physical_keys_is_read_by_a_get(reader, store: Watched):
    start, stop = point(Distribution(8).physical(KEYS[7]))
    assert [(row.key, more) for row, more in reader.in_range(Scan(start, stop))] == [(KEYS[7], ())]
    assert list(reader.in_range(Scan(start, stop, fuzzy=(FuzzyPattern.parse("other"),)))) == []
    assert list(reader.in_range(Scan(start, stop, columns=(b"f:other",)))) == []
    assert store.opened == 0


def test_a_physical_key_is_told_from_a_logical_one(reader, store: Watched):
    what = "a physical key of a salted table; write the row key without the bucket"
    assert reader.stored_key(Distribution(8).physical(KEYS[7])) == StoredKey(KEYS[7], what)
    assert reader.stored_key(KEYS[7]) is None
    store.ensure_table(TableSpec("plain", (FamilySpec(b"f"),)))
    assert PlainReader.of(store, "plain").stored_key(b"a") is None


def test_commands_show_rows_as_they_are(reader):
    row = reader.get(KEYS[7])
    assert list(reader.shown_one(KEYS[7], Scan(), ScanCounts())) == [ShownRow(row)]
    assert list(reader.shown_one(b"absent", Scan(), ScanCounts())) == []
    assert list(reader.shown(Scan(KEYS[7], KEYS[8]), ScanCounts())) == [ShownRow(row)]
    assert reader.stats() is None
    assert list(reader.next_command("row-0007")) == ["scan", "t", "--prefix", "KEY"]
