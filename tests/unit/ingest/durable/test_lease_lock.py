"""Locks of folders on a cluster."""

import threading
import time
from pathlib import Path

import pytest

from ingest.api import ConflictError, StoreUnavailableError
from ingest.durable.lease import Lease
from ingest.durable.lease_lock import LeaseLock, folder_lock
from ingest.durable.lock import FolderLock
from tests.support.waiting import reached


def lock_of(folder: Path, owner: str = "ours", *, valid_s: float = 20.0, on_wait=lambda _message: None) -> LeaseLock:
    lease = Lease(folder / "lock", owner=owner, valid_s=valid_s)
    return LeaseLock(
        folder, kind="checkpoint", hint="stop it first", on_wait=on_wait, lease=lease, beat_s=0.01, release_s=0.5
    )


def test_owner_sends_heartbeats_until_it_releases(tmp_path: Path):
    messages: list[str] = []
    with lock_of(tmp_path, "first"):
        refused = lock_of(tmp_path, "second", on_wait=messages.append)
        with pytest.raises(
            ConflictError, match=r'checkpoint ".+/lock" is in use by first since .+; stop it first; if'
        ) as error:
            refused.acquire()
        assert refused.is_held()
    assert error.value.hint is not None
    assert error.value.hint.endswith("start again: a start takes over 20 s after the last heartbeat")
    assert len(messages) == 1
    assert messages[0].startswith(f'checkpoint "{tmp_path}" is held by first since ')
    assert messages[0].endswith("waiting up to 20 s for a heartbeat, then taking over")
    with lock_of(tmp_path, "third", on_wait=messages.append):
        assert len(messages) == 1


def test_owner_that_lost_the_lock_detects_it_and_ends_its_heartbeats(tmp_path: Path):
    with lock_of(tmp_path, "first") as first:
        # as a process that took over after the first one was suspended
        (tmp_path / "lock" / "7").write_text('{"owner": "second", "since_ms": 0, "beat": 0}')
        with pytest.raises(ConflictError, match="second has taken it") as lost:
            first.check()
        assert lost.value.code == "lease_lost"
        assert reached(lambda: first.lost is not None, 5.0)
        assert reached(lambda: not any(thread.name == "lease" for thread in threading.enumerate()), 5.0)


def test_release_without_acquire_does_nothing(tmp_path: Path):
    lock = lock_of(tmp_path)
    lock.release()
    lock.release()
    assert not (tmp_path / "lock").exists()


def test_release_does_not_wait_for_a_file_system_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lease, hangs, answers = Lease(tmp_path / "lock", owner="ours"), threading.Event(), threading.Event()

    def renew() -> None:
        hangs.set()
        answers.wait()

    monkeypatch.setattr(lease, "renew", renew)
    lock = LeaseLock(tmp_path, kind="checkpoint", hint="", lease=lease, beat_s=0.01, release_s=0.1)
    lock.acquire()
    try:
        assert hangs.wait(5.0)
        started = time.monotonic()
        lock.release()
        assert time.monotonic() - started < 2.0
        with pytest.raises(StoreUnavailableError, match="is still being released"):
            lock.acquire()
        newest = lease.newest()
        assert newest is not None
        assert newest.beat == 0
    finally:
        answers.set()
    lock.release()
    with lock:
        lock.check()


def test_local_folder_is_locked_by_the_kernel(tmp_path: Path):
    lock = folder_lock(tmp_path, kind="checkpoint", hint="")
    assert isinstance(lock, FolderLock)
    with lock:
        lock.check()
