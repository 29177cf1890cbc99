"""Damaged files are reported by name, and never ignored."""

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
from ingest.api import Durability, FamilySpec, Put, TableSpec
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore

folder, wal = sys.argv[1], sys.argv[2] == "wal"
store = RocksDBStore(RocksDBSettings(path=folder))
store.open()
store.ensure_table(TableSpec("t", (FamilySpec(b"a"),)))
if not wal:
    store.apply("t", [Put(b"%05d" % row, {{b"a:n": b"x" * 1000}}, 1, Durability.SKIP) for row in range({ROWS})])
else:
    for row in range({ROWS}):
        store.apply("t", [Put(b"%05d" % row, {{b"a:n": b"x" * 1000}}, 1)])
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


def flip(path: Path, position: float) -> None:
    """Flip bits of one byte, at a relative position."""
    data = bytearray(path.read_bytes())
    data[int((len(data) - 1) * position)] ^= 0x55
    path.write_bytes(data)


def rows(folder: Path) -> int:
    store = RocksDBStore(RocksDBSettings(path=str(folder)))
    store.open()
    try:
        return len(list(store.scan("t", Scan())))
    finally:
        store.close()


@pytest.mark.parametrize("wal", ["wal", "no-wal"])
def test_acknowledged_rows_survive_a_killed_writer(written, wal):
    assert rows(written(wal)) == ROWS


@pytest.mark.parametrize("position", [0.001, 0.5, 0.999], ids=["start", "middle", "end"])
@pytest.mark.parametrize(("wal", "pattern"), [("wal", "*.log"), ("no-wal", "*.sst"), ("wal", "MANIFEST-*")])
def test_damaged_file_is_reported_by_name(written, wal, pattern, position):
    folder = written(wal)
    damaged = largest(folder, pattern)
    flip(damaged, position)
    with pytest.raises(IntegrityError) as raised:
        rows(folder)
    assert damaged.name in str(raised.value)
    assert "restore a copy" in str(raised.value)
    assert raised.value.exit_code == 5


def test_missing_file_is_reported_by_name(written):
    folder = written("no-wal")
    gone = largest(folder, "*.sst")
    gone.unlink()
    with pytest.raises(IntegrityError, match=gone.name):
        rows(folder)


@pytest.mark.parametrize(
    ("tail", "expected"), [(b"\0" * 3_000, ROWS), (b"\x17" * 3_000, ROWS), (None, ROWS - 1)], ids=["0", "x", "torn"]
)
def test_torn_end_of_a_log_is_ignored(written, tail, expected):
    """A crash leaves a torn record only if the write was not acknowledged; here the test cuts it off."""
    folder = written("wal")
    log = largest(folder, "*.log")
    if tail is None:
        os.truncate(log, log.stat().st_size - 500)
    else:
        with log.open("ab") as end:
            end.write(tail)
    assert rows(folder) == expected


def test_error_of_a_second_writer_names_the_first(tmp_path):
    first, second = (RocksDBStore(RocksDBSettings(path=str(tmp_path / "store"))) for _ in range(2))
    first.open()
    try:
        with pytest.raises(ConflictError, match=f"held by process {os.getpid()} on .*: stop that process") as raised:
            second.open()
        assert raised.value.exit_code == 4
    finally:
        first.close()
        second.close()
