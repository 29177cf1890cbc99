"""Processes that store and sweep blobs are killed with kill -9."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import ingest
from ingest.api import Scan
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.options import BlobOptions
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.support.blob_findings import findings

DAY_MS = 24 * 3_600_000
BLOBS = 40
KILLS = 5
OPTIONS = BlobOptions(block_bytes=10_000)
PROGRAM = """
import random, sys
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.options import BlobOptions
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore

path, at_ms = sys.argv[1], int(sys.argv[2])
store = RocksDBStore(RocksDBSettings(path=path))
store.open()
clock = [at_ms]
blobs = BlobStore(store, "b", BlobOptions(block_bytes=10_000), clock_ms=lambda: clock[0])
blobs.prepare()
print("ready", flush=True)
while True:
    for number in range(40):
        reference = [] if number % 4 else [b"%d" % number]
        blobs.put_bytes(random.Random(number).randbytes(5_000 * number), references=reference)
    clock[0] += 24 * 3_600_000
    blobs.sweep()
"""


def content(number: int) -> bytes:
    return random.Random(number).randbytes(5_000 * number)


def test_2c7_2c10_killed_processes_leave_no_block_behind(tmp_path: Path) -> None:
    """Every referenced blob stays whole, and after the sweeps no block of another one is left."""
    chosen = random.Random(1)
    path = tmp_path / "store"
    environment = os.environ | {"PYTHONPATH": str(Path(ingest.__file__).parents[1])}
    at_ms = 1_700_000_000_000
    for _ in range(KILLS):
        command = [sys.executable, "-c", PROGRAM, str(path), str(at_ms)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            time.sleep(chosen.uniform(0.0, 0.4))
            process.send_signal(signal.SIGKILL)
        at_ms += 100 * DAY_MS
    store = RocksDBStore(RocksDBSettings(path=str(path)))
    store.open()
    try:
        blobs = BlobStore(store, "b", OPTIONS, clock_ms=lambda: at_ms)
        assert [finding for finding in findings(blobs) if finding.kind.is_damage] == []
        for _ in range(3):
            blobs.sweep()
            at_ms += DAY_MS
        referenced = {number: hashlib.sha256(content(number)).digest() for number in range(0, BLOBS, 4)}
        stored = {number: blob for number, blob in referenced.items() if blobs.references(blob)}
        for number, blob in stored.items():
            assert blobs.open(blob).read() == content(number)
        assert len(stored) > 1
        blocks = sum(-(-5_000 * number // OPTIONS.block_bytes) for number in stored)
        assert len(list(store.scan("b_value", Scan()))) == blocks
        assert findings(blobs) == []
        assert {row.key for row in store.scan("b_meta", Scan())} == set(stored.values())
    finally:
        store.close()
