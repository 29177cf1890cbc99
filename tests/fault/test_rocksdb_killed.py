"""
F38: a writer killed with SIGKILL leaves no torn row, and all acknowledged rows. A second writer and damage are refused.

A killed process loses nothing that it wrote to the kernel, even without sync. Without the WAL, and for staged files, an
acknowledged write is in an SST file.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ingest.api import Scan
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.support.ledger.fixture import LedgerRuns
from tests.support.service import Service

ROWS = 20
WRITER = f"""
import itertools, os, sys
from ingest.api import Durability, FamilySpec, Put, TableSpec
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore

folder, path = sys.argv[1:]
filler = b"x" * 20_000
durability = Durability.SYNC if path == "wal" else Durability.SKIP

def write(first):
    store = RocksDBStore(RocksDBSettings(path=folder))
    store.open()
    store.ensure_table(TableSpec("t", tuple(FamilySpec(name) for name in (b"a", b"b", b"c"))))
    for number in itertools.count(first):
        value = b"%d" % number
        columns = {{b"a:n": value, b"b:n": value, b"b:filler": filler, b"c:n": value}}
        puts = [Put(b"%02d" % row, dict(columns), number, durability) for row in range({ROWS})]
        if path == "file":
            file = f"{{folder}}.{{number}}"
            store.ingest_file("t", file, store.write_file(file, puts))
        else:
            store.apply("t", puts)
        os.write(1, b"%d\\n" % number)  # one call: a kill leaves a whole line or none

# each writer is a fork, which has nothing to import
for first in sys.stdin:
    child = os.fork()
    if child == 0:
        print(os.getpid(), flush=True)
        write(int(first))
    print("end", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@contextmanager
def writers(folder: Path, path: str) -> Iterator[subprocess.Popen[str]]:
    """A process that forks a writer for each number on its standard input, from which the writer counts."""
    command = [sys.executable, "-c", WRITER, str(folder), path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process


def killed_writer(process: subprocess.Popen[str], first: int, chance: random.Random) -> int:
    """Let a writer start and kill it at a random time; returns the last acknowledged number."""
    assert process.stdin is not None
    assert process.stdout is not None
    print(first, file=process.stdin, flush=True)
    pid = int(process.stdout.readline())
    last = first - 1
    for _ in range(chance.randint(1, 15)):
        last = int(process.stdout.readline())
    # a random time in the running call
    time.sleep(chance.uniform(0, 0.01))
    os.kill(pid, signal.SIGKILL)
    while (line := process.stdout.readline()) != "end -9\n":
        last = int(line)
    return last


@pytest.mark.parametrize("path", ["wal", "no-wal", "file"])
def test_rocksdb_killed_while_writing(tmp_path, path):
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    folder = tmp_path / "store"
    acknowledged = 0
    with writers(folder, path) as process:
        for _ in range(10):
            acknowledged = killed_writer(process, acknowledged + 1, chance)
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


@pytest.mark.slow
@pytest.mark.parametrize("wal", [True, False], ids=["wal", "no-wal"])
@pytest.mark.parametrize("sync", [True, False], ids=["sync", "no-sync"])
def test_f38_killed_with_and_without_log_and_sync(ledger_run: LedgerRuns, sync: bool, wal: bool) -> None:
    run = ledger_run(
        f"F38 kill -9, sync {sync}, WAL {wal}",
        batch_size=500,
        store_options={"sync": sync},
        sink={"write_to_wal": wal},
    )
    chance = random.Random(run.seed)
    for fraction in (0.2, 0.4, 0.6):
        run.produce(4_000)
        run.start()
        run.wait_acknowledged(fraction)
        time.sleep(chance.uniform(0, 0.3))  # a random time in the running batch
        run.kill()
        run.check_while_dead()
    run.start()
    run.finish()


@pytest.mark.slow
@pytest.mark.seeds(1)
def test_f38_second_writer_and_damage_are_refused(ledger_run: LedgerRuns) -> None:
    run = ledger_run("F38 second writer, damaged log", batch_size=500)
    run.produce(4_000)
    run.start()
    run.wait_acknowledged(0.3)
    content = run.content()
    content["stores"]["store"]["rocksdb"]["path"] = str(run.store_folder)
    content["pipelines"][run.pipeline]["source"]["kafka"]["group"] = "another"
    with Service(run.service.folder / "second", content) as second:
        second.start()
        assert second.wait_for_exit(120) == 4, second.last_lines()
        assert f"is held by process {run.service.pid} on" in second.last_lines()
        assert second.checkpoint(run.pipeline).commits() == []
    run.proven("second writer: exit 4")
    run.kill()
    log = max(run.store_folder.glob("*.log"), key=lambda path: path.stat().st_size)
    good = log.read_bytes()
    log.write_bytes(good[: len(good) // 2] + bytes([good[len(good) // 2] ^ 0x55]) + good[len(good) // 2 + 1 :])
    run.begin()
    assert run.service.wait_for_exit(120) == 5, run.service.last_lines()
    assert log.name in run.service.last_lines()
    run.proven(f"one byte of {log.name} changed: exit 5")
    log.write_bytes(good)
    run.check_while_dead()
    run.start()
    run.finish()
