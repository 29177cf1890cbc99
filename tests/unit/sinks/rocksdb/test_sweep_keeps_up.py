"""The sweep keeps up with files of any size: what nobody can read stays a part of what is readable."""

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
from sinks.rocksdb.sweep import place_in_hundred
from tests.support.clock import Clock
from tests.support.rocksdb_files import keys, read_beside

ROWS = 1_000
"""Of a file."""
HOUR_MS = 3600 * 1000


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """A hundredth of what is usual, for files that are as small."""
    monkeypatch.setattr(sweep, "MIN_SUPERSEDED", 300)
    monkeypatch.setattr(sweep, "SLICE_KEYS", 300)
    monkeypatch.setattr(expiry, "STRETCH_CELLS", 300)


def shares(
    folder: Path, family: FamilySpec, files: int, step_ms: int, row: Callable[[int], bytes], readable: int
) -> Iterator[float]:
    """Cells in the store for each that is readable, after each file."""
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
def test_rows_that_are_written_over(tmp_path, order):
    draw = random.Random(7)
    rows = 10 * ROWS

    def row(number: int) -> bytes:
        return b"%06d" % (number % rows if order == "in turn" or number < rows else draw.randrange(rows))

    found = list(shares(tmp_path, FamilySpec(b"f"), 70, 1_000, row, rows))
    assert max(found[10:]) < 1.4


@pytest.mark.parametrize("way", ["calls", "files"])
def test_calls_of_one_shape_are_looked_at_in_all_their_places(tmp_path, way):
    """A new row at first and 99 that are written over: the first alone would tell of nothing that goes."""
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


def test_each_place_of_a_hundred_is_looked_at_as_often():
    for start in (0, 77):
        often = Counter(place_in_hundred(number, start) for number in range(100_000))
        assert (len(often), min(often.values()) > 800, max(often.values()) < 1_200) == (100, True, True)


@pytest.mark.parametrize(("keys", "most"), [("rise", 1.3), ("of any age", 1.7)])
def test_cells_that_expire(tmp_path, keys, most):
    draw = random.Random(7)
    life = FamilySpec(b"f", ttl_s=20 * 3600)

    def row(number: int) -> bytes:
        return b"%09d" % number if keys == "rise" else draw.randbytes(9)

    found = list(shares(tmp_path, life, 90, HOUR_MS, row, 21 * ROWS))[20:]
    assert max(found) < most
    assert max(found[35:]) < 1.33


class TestAges:
    """Stretches of keys, by what has expired in them."""

    def test_rows_added_at_the_end_make_stretches(self):
        known = ExpiryIndex()
        for number in range(5):
            known.wrote(300, [(b"%d" % number, 10 * number)])
        assert known.earliest_ms == 0
        assert known.expired(b"", 0) is None
        assert known.expired(b"", 1) == (b"", b"1")
        assert known.expired(b"", 21) == (b"", b"3")
        assert known.expired(b"2x", 21) == (b"2x", b"3")
        assert known.expired(b"3", 21) is None
        assert known.expired(b"", 99) == (b"", None)

    def test_rows_in_any_order_make_none_also_after_a_restart(self):
        known = ExpiryIndex(5, top=b"x")
        for _ in range(3):
            known.wrote(300, [(b"m", 100), (b"c", 100), (b"w", 100)])
        assert known.expired(b"", 6) == (b"", None)
        known.wrote(300, [(b"y", 200), (b"z", 200)])
        assert known.expired(b"", 6) == (b"", b"y")

    def test_row_that_is_written_late_counts_where_it_lies(self):
        known = ExpiryIndex()
        for number in range(5):
            known.wrote(300, [(b"%d" % number, 100)])
        known.wrote(1, [(b"2y", 7)])
        assert known.expired(b"", 8) == (b"2", b"3")

    def test_what_a_walk_leaves_is_known(self):
        known = ExpiryIndex(5)
        known.walked(b"", b"d", NEVER)
        known.walked(b"d", b"m", 50)
        assert known.expired(b"", 6) == (b"m", None)
        known.walked(b"m", None, 70)
        assert (known.expired(b"", 6), known.earliest_ms) == (None, 50)
        assert known.expired(b"", 51) == (b"d", b"m")

    def test_empty_stretches_are_one(self):
        known = ExpiryIndex()
        for number in range(100):
            known.wrote(300, [(b"%03d" % number, number)])
            known.walked(b"%03d" % number, None, NEVER)
        assert len(known._starts) <= 2
