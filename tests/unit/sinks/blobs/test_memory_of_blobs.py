"""A large blob takes little memory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ingest

PROGRAM = """
import random, sys
from pathlib import Path
from ingest.api import Cell, Row
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.blob_options import BlobOptions
from sinks.memory import MemoryStore

class Files:
    # a store whose blocks are in files: the buffers of a store are not the memory of its blobs
    def __init__(self, store, folder):
        self._store, self._folder = store, folder

    def __getattr__(self, name):
        return getattr(self._store, name)

    def apply(self, table, mutations):
        if table != "b_value":
            return self._store.apply(table, mutations)
        for put in mutations:
            (self._folder / put.row.hex()).write_bytes(put.columns[b"b:c"] + put.columns[b"b:d"])

    def scan(self, table, scan, counts=None):
        if table != "b_value":
            yield from self._store.scan(table, scan)
            return
        for path in sorted(self._folder.iterdir()):
            key = bytes.fromhex(path.name)
            if scan.start <= key < scan.stop:
                content = path.read_bytes()
                yield Row(key, (Cell(b"b", b"c", 1, content[:4]), Cell(b"b", b"d", 1, content[4:])))

class Source:
    def __init__(self, size, seed):
        self.left, self.piece = size, random.Random(seed).randbytes(1 << 18)

    def read(self, size):
        piece = self.piece[: min(size, self.left)]
        self.left -= len(piece)
        return piece

def most_resident():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024

def copied(size, seed):
    stored = blobs.put(Source(size, seed))
    with blobs.open(stored.id) as reader:
        assert size == sum(map(len, iter(lambda: reader.read(1 << 18), b"")))

folder = Path(sys.argv[1])
folder.mkdir()
store = Files(MemoryStore(), folder)
store.open()
blobs = BlobStore(store, "b", BlobOptions())
blobs.prepare()
copied(1_000, 1)
before = most_resident()
copied(200_000_000, 2)
print(most_resident() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_2c15_blob_of_200_mb_takes_less_than_32_mib(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(Path(ingest.__file__).parents[1]), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "blocks")],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert float(done.stdout) < 32
