"""A writer killed with -9 leaves no torn row, and all that it acknowledged."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ingest.api import Scan
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore

ROWS = 20
WRITER = f"""
import itertools, sys
from ingest.api import FamilySpec, Put, TableSpec
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore

folder, first, wal = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "wal"
store = RocksDBStore(RocksDBSettings(path=folder))
store.open()
store.ensure_table(TableSpec("t", tuple(FamilySpec(name) for name in (b"a", b"b", b"c"))))
filler = b"x" * 20_000
for number in itertools.count(first):
    value = b"%d" % number
    columns = {{b"a:n": value, b"b:n": value, b"b:filler": filler, b"c:n": value}}
    store.apply("t", [Put(b"%02d" % row, dict(columns), number, wal) for row in range({ROWS})])
    print(number, flush=True)
"""


def killed_writer(folder: Path, first: int, wal: str, chance: random.Random) -> int:
    """Write until the kill comes; the last number that was acknowledged."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), str(first), wal], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        last = first - 1
        for _ in range(chance.randint(1, 15)):
            last = int(process.stdout.readline())
        # a moment anywhere in the call that runs now
        time.sleep(chance.uniform(0, 0.01))
        process.kill()
        for line in process.stdout:
            last = int(line)
    assert process.returncode == -9
    return last


@pytest.mark.parametrize("wal", ["wal", "no-wal"])
def test_rocksdb_killed_while_writing(tmp_path, wal):
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    folder = tmp_path / "store"
    acknowledged = 0
    for _ in range(10):
        acknowledged = killed_writer(folder, acknowledged + 1, wal, chance)
        store = RocksDBStore(RocksDBSettings(path=str(folder)))
        store.open()
        rows = list(store.scan("t", Scan()))
        store.close()
        assert [row.key for row in rows] == [b"%02d" % number for number in range(ROWS)], f"seed {seed}"
        for row in rows:
            numbers = {int(cell.value) for cell in row.cells if cell.qualifier == b"n"}
            assert len(row.cells) == 4, f"seed {seed}"
            assert len(numbers) == 1, f"torn row, seed {seed}"
            assert min(numbers) >= acknowledged, f"seed {seed}"
            acknowledged = max(acknowledged, *numbers)
