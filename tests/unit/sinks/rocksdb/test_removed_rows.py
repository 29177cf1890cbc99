"""Rows that are removed for good: RocksDB keeps no key of them, and reads do not pass their removals."""

import time

from ingest.api import Delete, FamilySpec, Put, Scan, TableSpec
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.support.rocksdb_files import estimate, keys, opened, read_beside

FILES_S = 20.0


def rows(count: int) -> list[bytes]:
    return [b"%06d" % number for number in range(count)]


def test_no_key_of_a_removed_row_remains(tmp_path):
    store = opened(tmp_path)
    store.apply("t", [Put(row, {b"f:p": b"1", b"f:q": b"1"}, at) for row in rows(10) for at in (1, 2)])
    store.apply("t", [Delete(rows(10)[3], 1)])
    store.remove_rows("t", [Delete(row, 2) for row in rows(10)[1:]])
    with read_beside(tmp_path) as database:
        assert len(keys(database.current())) == 4
    assert estimate(tmp_path).cells == 4 - 1  # a delete is no cell, and was counted as one
    store.close()


def test_rows_of_other_keys_stay(tmp_path):
    store = opened(tmp_path)
    some = [b"a", b"a\x00", b"a\x00\xff", b"ab", b"\xff"]
    store.apply("t", [Put(row, {b"f:q": b"1"}, 1) for row in some])
    store.remove_rows("t", [Delete(b"a", 1), Delete(b"ab", 1), Delete(b"b", 1)])
    assert [row.key for row in store.scan("t", Scan())] == [b"a\x00", b"a\x00\xff", b"\xff"]
    store.close()


def test_removals_are_merged_away(tmp_path):
    """Without the collector of removals, they stay until enough is written."""
    store = RocksDBStore(RocksDBSettings(path=str(tmp_path / "store"), sync=False))
    store.open()
    store.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
    for at in range(4):
        file = tmp_path / "file"
        store.ingest_file(
            "t", str(file), store.write_file(str(file), [Put(r, {b"f:q": b"1"}, at) for r in rows(3_000)])
        )
        file.unlink()
    removed = [row for row in rows(3_000) if not row.endswith(b"0")]
    for first in range(0, len(removed), 1_000):
        store.remove_rows("t", [Delete(row, 9) for row in removed[first : first + 1_000]])
    store.flush_removed("t")
    deadline = time.monotonic() + FILES_S
    while _removals(store) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert _removals(store) == 0
    assert len(list(store.scan("t", Scan()))) == 300
    store.close()


def _removals(store: RocksDBStore) -> int:
    """The removals in the files of all tables."""
    opened = store._database.opened()
    return sum(file["num_deletions"] for file in opened.root.live_files())
