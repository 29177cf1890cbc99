"""Files that are not what was written: refused with the file's name, never passed over."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.api import ConflictError, IntegrityError, Scan
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore

ROWS = 200
WRITER = f"""
import os, sys
from ingest.api import FamilySpec, Put, TableSpec
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore

folder, wal = sys.argv[1], sys.argv[2] == "wal"
store = RocksDBStore(RocksDBSettings(path=folder))
store.open()
store.ensure_table(TableSpec("t", (FamilySpec(b"a"),)))
if not wal:
    store.apply("t", [Put(b"%05d" % row, {{b"a:n": b"x" * 1000}}, 1, False) for row in range({ROWS})])
else:
    for row in range({ROWS}):
        store.apply("t", [Put(b"%05d" % row, {{b"a:n": b"x" * 1000}}, 1, True)])
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    """A store whose writer was killed after its last write was acknowledged."""

    def write(wal: str) -> Path:
        folder = tmp_path / "store"
        done = subprocess.run([sys.executable, "-c", WRITER, str(folder), wal], check=False)
        assert done.returncode == -9
        return folder

    return write


def largest(folder: Path, pattern: str) -> Path:
    return max(folder.glob(pattern), key=lambda path: path.stat().st_size)


def flip(path: Path, share: float) -> None:
    """Turn over one byte."""
    data = bytearray(path.read_bytes())
    data[int((len(data) - 1) * share)] ^= 0x55
    path.write_bytes(data)


def rows(folder: Path) -> int:
    store = RocksDBStore(RocksDBSettings(path=str(folder)))
    store.open()
    try:
        return len(list(store.scan("t", Scan())))
    finally:
        store.close()


@pytest.mark.parametrize("wal", ["wal", "no-wal"])
def test_killed_writer_leaves_what_it_acknowledged(written, wal):
    assert rows(written(wal)) == ROWS


@pytest.mark.parametrize("share", [0.001, 0.5, 0.999], ids=["start", "middle", "end"])
@pytest.mark.parametrize(("wal", "pattern"), [("wal", "*.log"), ("no-wal", "*.sst"), ("wal", "MANIFEST-*")])
def test_damaged_file_is_refused_by_its_name(written, wal, pattern, share):
    folder = written(wal)
    damaged = largest(folder, pattern)
    flip(damaged, share)
    with pytest.raises(IntegrityError) as raised:
        rows(folder)
    assert damaged.name in str(raised.value)
    assert "restore a copy" in str(raised.value)
    assert raised.value.exit_code == 5


def test_missing_file_is_refused_by_its_name(written):
    folder = written("no-wal")
    gone = largest(folder, "*.sst")
    gone.unlink()
    with pytest.raises(IntegrityError, match=gone.name):
        rows(folder)


@pytest.mark.parametrize(
    ("tail", "expected"), [(b"\0" * 3_000, ROWS), (b"\x17" * 3_000, ROWS), (None, ROWS - 1)], ids=["0", "x", "torn"]
)
def test_torn_end_of_a_log_is_what_a_crash_leaves(written, tail, expected):
    """The last record was never acknowledged, or the test would be a lie: here it is cut off by hand."""
    folder = written("wal")
    log = largest(folder, "*.log")
    if tail is None:
        os.truncate(log, log.stat().st_size - 500)
    else:
        with log.open("ab") as end:
            end.write(tail)
    assert rows(folder) == expected


def test_second_writer_is_told_who_has_it(tmp_path):
    first, second = (RocksDBStore(RocksDBSettings(path=str(tmp_path / "store"))) for _ in range(2))
    first.open()
    try:
        with pytest.raises(ConflictError, match=f"held by process {os.getpid()} on .*; stop that process") as raised:
            second.open()
        assert raised.value.exit_code == 4
    finally:
        first.close()
        second.close()
