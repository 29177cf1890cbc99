"""Processes that store, pin, sweep and check blobs are killed with kill -9."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import ingest
from ingest.api import Scan
from sinks.blobs.blob_options import BlobOptions
from sinks.blobs.blob_store import BlobStore
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.support.blob_findings import findings
from tests.support.counters import opened
from tests.support.killed_commands import run
from tests.support.stored_blobs import COMMANDS, NEW, STEPS, BlobsToWorkOn, damage

DAY_MS = 24 * 3_600_000
BLOBS = 40
KILLS = 5
OPTIONS = BlobOptions(block_bytes=10_000)
PROGRAM = """
import random, sys
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.blob_options import BlobOptions
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


FILE = """
version: 1
service: {http: {listen: "127.0.0.1:1"}}  # no service answers there
stores: {local: {rocksdb: {path: ./data}}}
tables: {documents: {families: {d: {}}, blobs: {block_size: 10KB, sweep_after: 1m}}}
pipelines: {p: {source: {files: {path: "*.jsonl"}}, sinks: [attr2hbase: {table: documents}]}}
"""
IN_MAKE_TEST = {("pin", "pin_written"), ("sweep", "sweep_deleting"), ("check", "check_repaired")}
"""Of the others, those of `make test-slow`, `put` is killed at any moment by the first test."""


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


@pytest.mark.parametrize(
    ("command", "point"),
    [
        pytest.param(command, point, marks=() if (command, point) in IN_MAKE_TEST else pytest.mark.slow)
        for command, points in STEPS.items()
        for point in points
    ],
)
def test_killed_command_does_the_rest_when_it_runs_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, point: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.yaml").write_text(FILE)
    Path("new.bin").write_bytes(NEW)
    with opened() as store:
        found = BlobsToWorkOn.stored(store, "documents")
    words = (*COMMANDS[command].split(), "-f", "p.yaml", "documents", *found.arguments(command, "new.bin"))
    run(*words, kill_at=point)
    with opened() as store:
        assert damage(store, "documents") == []
    run(*words)
    with opened() as store:
        found.check(store, command)
