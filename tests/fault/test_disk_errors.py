"""
F40: fsync fails with EIO. Nothing is reported as durable without a sync, and a failed sync is not repeated.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.disk_faults import DiskFaults
from tests.support.ledger.run import LedgerRun
from tests.support.service import START_S, environment_without_spark

HEAD = """
import sys
from pathlib import Path
from ingest.api import FamilySpec, IngestError, Put, TableSpec
folder, switch = Path(sys.argv[1]), Path(sys.argv[2])
def code_of(call):
    try:
        return call()
    except IngestError as error:
        return f"{error.code} {error.disposition.value}"
"""
WRITERS = {
    "times": """
from ingest.spark.streaming.batch_time import BatchTimes
times = BatchTimes(folder / "times", lambda: 5)
switch.touch()
print(code_of(lambda: times.of(0)))
switch.unlink()
print(sorted(path.name for path in (folder / "times").iterdir()))
""",
    "identity": """
from ingest.spark.streaming.checkpoint import Checkpoint
checkpoint = Checkpoint(folder)
switch.touch()
print(code_of(lambda: checkpoint.claim({"source": "kafka"})))
switch.unlink()
print(sorted(path.name for path in folder.iterdir()))
""",
    "dead letters": """
from ingest.dead_letters.files import FileDeadLetters
queue = FileDeadLetters(folder, "p")
queue.publish([b"{}"], 1, 1)
switch.touch()
print(code_of(lambda: queue.publish([b"{}"], 2, 2)))
switch.unlink()
print(sorted(path.name[-7:-6] for path in (folder / "dead-letters" / "p").iterdir()))
""",
    "batch log": """
from ingest.spark.streaming.batch_log import BatchLog, LoggedBatch
log = BatchLog(folder / "batches")
log.append(LoggedBatch(1, 1_000, {}))
switch.touch()
print(code_of(lambda: log.append(LoggedBatch(2, 1_002, {}))))
switch.unlink()
print(sorted(path.name for path in (folder / "batches").iterdir()))
""",
    "rocksdb": """
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
store = RocksDBStore(RocksDBSettings(path=str(folder)))
store.open()
store.ensure_table(TableSpec("t", (FamilySpec(b"a"),)))
store.apply("t", [Put(b"1", {b"a:b": b"c"}, 1)])
switch.touch()
print(code_of(lambda: store.apply("t", [Put(b"2", {b"a:b": b"c"}, 1)])))
switch.unlink()
store.close()
store.open()
print([b"1"] if store.get("t", b"1") is not None else [])
""",
}
EXPECTED = {
    "times": "[]",
    "identity": "[]",
    "dead letters": "['1']",
    "batch log": "['1970-01-01.batches']",
    "rocksdb": "[b'1']",
}


@pytest.mark.parametrize("what", WRITERS)
def test_f40_failed_sync_is_final(tmp_path: Path, disk_faults: DiskFaults, what: str) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    faults = disk_faults.environment(fail_sync=f"{folder}*")
    done = subprocess.run(
        [sys.executable, "-c", HEAD + WRITERS[what], str(folder), faults["SHIM_WHEN"]],
        env={**environment_without_spark(), **faults},
        capture_output=True,
        text=True,
        timeout=START_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    code = "integrity" if what == "rocksdb" else "disk_failed"
    assert done.stdout.splitlines() == [f"{code} stop", EXPECTED[what]]
    assert len(disk_faults.acts("fail_sync")) == 1, "the sync was repeated"


@pytest.mark.slow
@pytest.mark.seeds(1)
@pytest.mark.parametrize("place", ["store", "times", "dead-letters"])
def test_f40_failed_sync_stops_the_service(ledger_run, disk_faults: DiskFaults, place: str) -> None:
    run: LedgerRun = ledger_run(f"F40 failed sync: {place}", batch_size=1_000)
    env = disk_faults.environment(fail_sync=f"{run.service.folder}/*{place}*")
    run.produce(2_000)
    run.start(env=env)
    run.wait_acknowledged()
    acknowledged = run.service.checkpoint(run.pipeline).acknowledged(run.topic)
    disk_faults.on()
    run.produce(2_000)
    assert run.service.wait_for_exit(120) == 5, run.service.last_lines()
    failed = disk_faults.acts("fail_sync")
    run.proven(f"fsync of {failed[0].path.rpartition('/')[2]} returned EIO: exit 5")
    assert run.service.checkpoint(run.pipeline).acknowledged(run.topic) == acknowledged
    run.service.wait_until_gone()
    run.check_while_dead()
    disk_faults.off()
    run.start(env=env)
    run.finish()
