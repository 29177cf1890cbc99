"""The sweep keeps up with ingested files: garbage stays a bounded fraction of the readable cells."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ingest.api import FamilySpec, Put, TableSpec
from sinks.rocksdb import expiry, sweep
from sinks.rocksdb.expiry import NEVER, ExpiryIndex
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rocksdb.sweep import sample_offset
from tests.support.clock import Clock
from tests.support.rocksdb_files import keys, read_beside

ROWS = 1_000
"""Of a file."""
HOUR_MS = 3600 * 1000


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """A hundredth of the real limits, for small files."""
    monkeypatch.setattr(sweep, "MIN_SUPERSEDED", 300)
    monkeypatch.setattr(sweep, "SLICE_KEYS", 300)
    monkeypatch.setattr(expiry, "RANGE_CELLS", 300)


def cells_per_readable_cell(
    folder: Path, family: FamilySpec, files: int, step_ms: int, row: Callable[[int], bytes], readable: int
) -> Iterator[float]:
    """Number of cells in the store divided by that of readable cells, after each file."""
    clock = Clock(1_700_000_000_000)
    store = RocksDBStore(RocksDBSettings(path=str(folder / "store"), sync=False), clock_ms=clock)
    store.open()
    store.ensure_table(TableSpec("t", (family,)))
    try:
        with read_beside(folder / "store") as reader:
            for number in range(files):
                clock.now += step_ms
                path = folder / "file"
                rows = [Put(row(number * ROWS + each), {b"f:q": b"v"}, clock.now) for each in range(ROWS)]
                store.ingest_file("t", str(path), store.write_file(str(path), rows))
                path.unlink()
                yield len(keys(reader.current())) / readable
    finally:
        store.close()


@pytest.mark.parametrize("order", ["in turn", "any"])
def test_sweep_keeps_up_with_overwritten_rows(tmp_path, order):
    draw = random.Random(7)
    rows = 10 * ROWS

    def row(number: int) -> bytes:
        return b"%06d" % (number % rows if order == "in turn" or number < rows else draw.randrange(rows))

    found = list(cells_per_readable_cell(tmp_path, FamilySpec(b"f"), 70, 1_000, row, rows))
    assert max(found[10:]) < 1.4


@pytest.mark.parametrize("way", ["calls", "files"])
def test_all_rows_of_equal_calls_are_sampled(tmp_path, way):
    """One new row and 99 overwritten ones: samples of the first row alone would find no garbage."""
    store = RocksDBStore(RocksDBSettings(path=str(tmp_path / "store"), sync=False))
    store.open()
    store.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
    path = tmp_path / "file"
    try:
        for at in range(300):
            rows = [b"log-%06d" % at, *(b"device-%02d" % number for number in range(99))]
            puts = [Put(row, {b"f:q": b"v"}, 1_700_000_000_000 + at) for row in rows]
            if way == "calls":
                store.apply("t", puts)
            else:
                store.ingest_file("t", str(path), store.write_file(str(path), puts))
                path.unlink()
        with read_beside(tmp_path / "store") as reader:
            assert len(keys(reader.current())) < 3_000
    finally:
        store.close()


def test_sampled_offsets_are_uniform():
    for start in (0, 77):
        counts = Counter(sample_offset(number, start) for number in range(100_000))
        assert (len(counts), min(counts.values()) > 800, max(counts.values()) < 1_200) == (100, True, True)


@pytest.mark.parametrize(("keys", "limit"), [("rise", 1.3), ("of any age", 1.7)])
def test_sweep_keeps_up_with_expired_cells(tmp_path, keys, limit):
    draw = random.Random(7)
    family = FamilySpec(b"f", ttl_s=20 * 3600)

    def row(number: int) -> bytes:
        return b"%09d" % number if keys == "rise" else draw.randbytes(9)

    found = list(cells_per_readable_cell(tmp_path, family, 90, HOUR_MS, row, 21 * ROWS))[20:]
    assert max(found) < limit
    assert max(found[35:]) < 1.33


class TestExpiryIndex:
    """Key ranges with their first expiry."""

    def test_appended_rows_create_ranges(self):
        index = ExpiryIndex()
        for number in range(5):
            index.add_written(300, [(b"%d" % number, 10 * number)])
        assert index.earliest_ms == 0
        assert index.expired(b"", 0) is None
        assert index.expired(b"", 1) == (b"", b"1")
        assert index.expired(b"", 21) == (b"", b"3")
        assert index.expired(b"2x", 21) == (b"2x", b"3")
        assert index.expired(b"3", 21) is None
        assert index.expired(b"", 99) == (b"", None)

    def test_rows_in_any_order_create_no_ranges(self):
        index = ExpiryIndex(5, last_row=b"x")
        for _ in range(3):
            index.add_written(300, [(b"m", 100), (b"c", 100), (b"w", 100)])
        assert index.expired(b"", 6) == (b"", None)
        index.add_written(300, [(b"y", 200), (b"z", 200)])
        assert index.expired(b"", 6) == (b"", b"y")

    def test_late_row_counts_in_its_range(self):
        index = ExpiryIndex()
        for number in range(5):
            index.add_written(300, [(b"%d" % number, 100)])
        index.add_written(1, [(b"2y", 7)])
        assert index.expired(b"", 8) == (b"2", b"3")

    def test_sweep_updates_the_ranges(self):
        index = ExpiryIndex(5)
        index.add_swept(b"", b"d", NEVER)
        index.add_swept(b"d", b"m", 50)
        assert index.expired(b"", 6) == (b"m", None)
        index.add_swept(b"m", None, 70)
        assert (index.expired(b"", 6), index.earliest_ms) == (None, 50)
        assert index.expired(b"", 51) == (b"d", b"m")

    def test_empty_ranges_are_merged(self):
        index = ExpiryIndex()
        for number in range(100):
            index.add_written(300, [(b"%03d" % number, number)])
            index.add_swept(b"%03d" % number, None, NEVER)
        assert index.range_count <= 2
