"""How many rows and seeks a scan with patterns takes, in the stores that need no server."""

import pytest

from ingest.api import FamilySpec, FuzzyPattern, Put, Scan, ScanCounts, TableSpec
from sinks.memory import MemoryStore
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.support.fuzzy_rows import COUNTS, REVERSE_COUNTS, ROWS


@pytest.fixture(scope="module", params=["memory", "rocksdb"])
def store(request, tmp_path_factory):
    """100 users, 4 actions of each, 25 rows of each action."""
    if request.param == "memory":
        made = MemoryStore()
    else:
        made = RocksDBStore(RocksDBSettings(path=str(tmp_path_factory.mktemp("store"))))
    made.open()
    made.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
    made.apply("t", [Put(row, {b"f:q": b"1234"}, 1) for row in ROWS])
    yield made
    made.close()


@pytest.mark.parametrize(("patterns", "rows", "seeks", "touched"), COUNTS)
@pytest.mark.parametrize("page_rows", [500, 7])
def test_rows_and_seeks(store, patterns, rows, seeks, touched, page_rows):
    counts = ScanCounts()
    scan = Scan(fuzzy=tuple(map(FuzzyPattern.parse, patterns)), page_rows=page_rows)
    found = [row.key for row in store.scan("t", scan, counts)]
    assert found == [row for row in ROWS if any(pattern.matches(row) for pattern in scan.fuzzy)]
    assert (len(found), counts.seeks, counts.rows_touched) == (rows, seeks, touched)
    assert (counts.rows_read_ahead, counts.rows_in_fallback) == (0, 0)


@pytest.mark.parametrize(("patterns", "size"), [(("????_login_",), 54_132), ((), 205_000)])
def test_bytes_read(store, patterns, size):
    counts = ScanCounts()
    list(store.scan("t", Scan(fuzzy=tuple(map(FuzzyPattern.parse, patterns))), counts))
    assert counts.bytes_read == size


def test_cells_of_rows_that_do_not_match_are_not_read(store):
    counts = ScanCounts()
    assert len(list(store.scan("t", Scan(fuzzy=(FuzzyPattern.parse("0050_login_"),)), counts))) == 25
    assert counts.bytes_read == 25 * len("0050_login_000f:q1234") + len("0050_logout_000")


@pytest.mark.parametrize(("patterns", "rows"), REVERSE_COUNTS)
def test_rows_and_seeks_in_reverse(store, patterns, rows):
    counts = ScanCounts()
    scan = Scan(fuzzy=tuple(map(FuzzyPattern.parse, patterns)), reverse=True)
    found = [row.key for row in store.scan("t", scan, counts)]
    assert found == [row for row in reversed(ROWS) if any(pattern.matches(row) for pattern in scan.fuzzy)]
    assert len(found) == rows
    assert counts.rows_touched <= rows + counts.seeks
    assert counts.seeks <= 202


def test_limit_ends_the_scan(store):
    counts = ScanCounts()
    scan = Scan(fuzzy=(FuzzyPattern.parse("????_login_"),), limit=30)
    assert len(list(store.scan("t", scan, counts))) == 30
    assert (counts.seeks, counts.rows_touched) == (3, 32)


def test_counts_of_several_scans_add_up(store):
    counts = ScanCounts()
    for _ in range(2):
        assert len(list(store.scan("t", Scan(fuzzy=(FuzzyPattern.parse("0050_login_"),)), counts))) == 25
    assert (counts.seeks, counts.rows_touched) == (2, 52)


@pytest.mark.parametrize("reverse", [False, True])
def test_page_is_a_view(store, reverse):
    counts = ScanCounts()
    views = [counts.views for _ in store.scan("t", Scan(limit=20, page_rows=7, reverse=reverse), counts)]
    assert views == [1] * 7 + [2] * 7 + [3] * 6


def test_empty_range_takes_no_seek(store):
    counts = ScanCounts()
    for scan in (Scan(start=b"2", stop=b"1"), Scan(fuzzy=(FuzzyPattern.parse("0"),), start=b"1")):
        assert list(store.scan("t", scan, counts)) == []
    assert counts == ScanCounts(views=counts.views)
