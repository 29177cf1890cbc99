"""A checkpoint in a file system of a cluster."""

import errno
import json
from functools import partialmethod

import pytest

from ingest.api import CheckpointError, ConflictError, StoreUnavailableError
from ingest.durable import RemotePath, create_durably, write_durably
from ingest.durable.files import StateUnavailableError
from ingest.durable.lease import Grant, Lease, Timing
from ingest.service.startup import lock_all
from ingest.spark.streaming.batch_log import BatchLog, LoggedBatch
from ingest.spark.streaming.checkpoint import Checkpoint
from tests.support.remote_files import MemoryFiles
from tests.support.waiting import reached


@pytest.fixture
def files() -> MemoryFiles:
    return MemoryFiles()


@pytest.fixture
def folder(files: MemoryFiles) -> RemotePath:
    """Batches 0 and 1 committed, batch 2 started; HDFS has checksums of its own, so there are no files of them."""
    root = files.root()
    write_durably(root / "metadata", b'{"id":"8ecc2806"}')
    for number in range(3):
        offsets = json.dumps({"ticks": {"0": number * 10}})
        write_durably(root / "offsets" / str(number), f'v1\n{{"batchTimestampMs":1}}\n{offsets}'.encode())
        write_durably(root / "times" / str(number), b"1700000000000")
        if number < 2:
            write_durably(root / "commits" / str(number), b'v1\n{"nextBatchWatermarkMs":0}')
    return root


def test_started_batch_runs_again(folder: RemotePath):
    checkpoint = Checkpoint(folder)
    checkpoint.verify()
    assert (checkpoint.exists, checkpoint.newest_commit(), checkpoint.uncommitted()) == (True, 1, 2)
    assert checkpoint.end_offsets(1) == {"ticks": {"0": 10}}


def test_damaged_file_is_named(folder: RemotePath):
    write_durably(folder / "offsets" / "2", b"")
    with pytest.raises(CheckpointError, match='damaged: "hdfs://memory/state/offsets/2" is empty; the last good'):
        Checkpoint(folder).verify()


def test_identity_and_configuration_are_stored(folder: RemotePath):
    checkpoint = Checkpoint(folder)
    checkpoint.claim({"source": "kafka", "topics": "ticks"})
    checkpoint.claim({"source": "kafka", "topics": "ticks"})
    with pytest.raises(ConflictError, match='was made for topics "ticks"'):
        checkpoint.claim({"source": "kafka", "topics": "others"})
    checkpoint.note_configuration("one")
    assert [checkpoint.is_changed(fingerprint) for fingerprint in ("one", "two")] == [False, True]


def test_lock_is_a_lease_in_files_with_rising_numbers(folder: RemotePath):
    first, second = Checkpoint(folder), Checkpoint(folder)
    for checkpoint in (first, second):
        checkpoint.lock()
        checkpoint.check_locked()
        assert checkpoint.lost() is None
        checkpoint.unlock()
    assert [path.name for path in (folder / "lock").iterdir()] == ["4"]


def test_lease_that_another_process_has_taken_is_lost(folder: RemotePath, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        "ingest.durable.lease.Lease.__init__", partialmethod(Lease.__init__, timing=Timing(valid_s=0.06))
    )
    checkpoint = Checkpoint(folder)
    checkpoint.lock()
    taken = Grant("7", "second", 0).to_text()
    create_durably(folder / "lock" / "1000", taken.encode())
    assert reached(lambda: checkpoint.lost() is not None, 10)
    lost = checkpoint.lost()
    assert (lost.code, "second has taken it" in lost.message) == ("lease_lost", True)
    checkpoint.unlock()


def test_file_system_that_is_away_refuses_the_lock(files: MemoryFiles, folder: RemotePath):
    files.is_away = True
    checkpoints = {name: Checkpoint(folder / name) for name in ("one", "two")}
    refused = lock_all(checkpoints)
    assert set(refused) == {"one", "two"}
    assert {(type(error), error.code) for error in refused.values()} == {(StateUnavailableError, "state_unavailable")}


def test_batch_log_is_read_and_old_days_are_removed(files: MemoryFiles):
    folder = files.root() / "batches"
    day_ms = 86_400_000
    log = BatchLog(folder, keep_ms=day_ms)
    for day in range(4):
        log.append(LoggedBatch(day, day * day_ms, {("ticks", 0): (day, day + 1)}))
    log.close()
    again = BatchLog(folder)
    assert [batch.number for batch in again.batches()] == [2, 3]
    assert again.newest() == LoggedBatch(3, 3 * day_ms, {("ticks", 0): (3, 4)})


def test_file_system_that_is_away_does_not_look_like_damage(files: MemoryFiles, folder: RemotePath):
    checkpoint = Checkpoint(folder)
    files.is_away = True
    for call in (checkpoint.newest_commit, checkpoint.verify, lambda: checkpoint.end_offsets(1)):
        with pytest.raises(StoreUnavailableError) as away:
            call()
        assert away.value.code == "state_unavailable"


@pytest.mark.parametrize("call", ["kind", "read"])
def test_identity_that_cannot_be_read_now_is_read_later(folder: RemotePath, monkeypatch, call: str):
    checkpoint = Checkpoint(folder)
    checkpoint.claim({"source": "kafka"})
    inner = getattr(MemoryFiles, call)

    def away(self, path):
        if path.endswith("identity.json"):
            raise OSError(errno.EHOSTUNREACH, "No route to host")
        return inner(self, path)

    with monkeypatch.context() as patched:
        patched.setattr(MemoryFiles, call, away)
        with pytest.raises(StoreUnavailableError, match="No route to host"):
            checkpoint.claim({"source": "kafka"})
    checkpoint.claim({"source": "kafka"})
