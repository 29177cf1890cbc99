"""A scan with a pattern in RocksDB: one action of one user in a hundred, beside a scan of the whole table."""

import time
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path

from ingest.api import FamilySpec, FuzzyPattern, Put, Scan, ScanCounts, TableSpec
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rowkeys.fuzzy import RemainingRange

ROWS = 10_000_000
USERS, ACTIONS = 1_000, (b"login", b"search", b"view", b"write")
PATTERN = FuzzyPattern.parse("0?42_login_")
FILE_ROWS = 500_000


def share_of_a_full_scan(folder: Path, rows: int = ROWS) -> float:
    """
    The time of the scan, as a share of that of the whole table.

    Raises:
        RuntimeError: it returned other rows, or sought more often than the algorithm does with the same keys in memory.
    """
    store = RocksDBStore(RocksDBSettings(path=str(folder / "store")))
    store.open()
    try:
        keys = list(_keys(rows))
        store.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
        for start in range(0, rows, FILE_ROWS):
            file = str(folder / "rows.sst")
            puts = [Put(key, {b"f:q": b"v"}, 1) for key in keys[start : start + FILE_ROWS]]
            store.ingest_file("t", file, store.write_file(file, puts))
            Path(file).unlink()
        counts = ScanCounts()
        started = time.perf_counter()
        found = sum(1 for _ in store.scan("t", Scan(fuzzy=(PATTERN,)), counts))
        took_s = time.perf_counter() - started
        wanted = sum(map(PATTERN.matches, keys))
        if (found, counts.seeks) != (wanted, _seeks_in_memory(keys)):
            raise RuntimeError(f"the scan returned {found} of {wanted} rows in {counts.seeks} seeks")
        started = time.perf_counter()
        if sum(1 for _ in store.scan("t", Scan())) != rows:
            raise RuntimeError("the scan of the whole table returned other rows")
        return took_s / (time.perf_counter() - started)
    finally:
        store.close()


def _keys(rows: int) -> Iterator[bytes]:
    """Row keys in byte order."""
    for user in range(USERS):
        for action in ACTIONS:
            for number in range(rows // USERS // len(ACTIONS)):
                yield b"%04d_%s_%06d" % (user, action, number)


def _seeks_in_memory(keys: list[bytes]) -> int:
    remaining = RemainingRange(Scan(fuzzy=(PATTERN,)))
    seeks = 1
    while not remaining.is_empty:
        at = bisect_left(keys, remaining.start)
        if at == len(keys):
            break
        if not remaining.take(keys[at]):
            seeks += not remaining.is_empty
    return seeks
