"""Exclusive locks of folders."""

import fcntl
import threading
from pathlib import Path
from typing import IO

import pytest

from ingest.api import ConflictError, LifecycleError
from ingest.durable.lock import FolderLock, is_held
from tests.support.held import held_by_another


def lock_of(folder: Path) -> FolderLock:
    return FolderLock(folder, kind="archive", hint="wait")


def test_lock_of_a_killed_process_is_free(tmp_path: Path):
    folder = tmp_path / "new" / "archive"
    code = "from ingest.durable.lock import FolderLock\n"
    code += f"lock = FolderLock(Path({str(folder)!r}), kind='', hint='')\nlock.acquire()"
    with held_by_another(code) as other:
        with pytest.raises(ConflictError, match=rf'archive "{folder}" is in use by pid {other.pid} on .+; wait'):
            lock_of(folder).acquire()
        other.kill()
        other.wait()
        with lock_of(folder):
            assert str(other.pid) not in (folder / "lock").read_text()


def test_lock_is_free_after_release(tmp_path: Path):
    first, second = lock_of(tmp_path), lock_of(tmp_path)
    with first, pytest.raises(ConflictError):
        second.acquire()
    second.acquire()
    second.release()
    second.release()


def test_lock_is_lost_if_its_file_is_removed_or_replaced(tmp_path: Path):
    first, second = lock_of(tmp_path), lock_of(tmp_path)
    for _ in range(2):
        with pytest.raises(LifecycleError, match="is not locked by this process"):
            first.check()
        with first:
            first.check()
    with first:
        (tmp_path / "lock").unlink()
        with pytest.raises(ConflictError, match='lock" was removed or replaced') as lost:
            first.check()
        assert lost.value.code == "lease_lost"
        with second:
            second.check()
            with pytest.raises(ConflictError, match="no longer locked"):
                first.check()


def test_file_that_is_replaced_before_it_is_locked_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def replace(file: IO[bytes], operation: int) -> None:
        (tmp_path / "lock").unlink()
        (tmp_path / "lock").touch()
        flock(file, operation)

    flock = fcntl.flock
    monkeypatch.setattr(fcntl, "flock", replace)
    with pytest.raises(ConflictError, match="was replaced while it was locked"):
        lock_of(tmp_path).acquire()
    monkeypatch.undo()
    with lock_of(tmp_path) as lock:
        lock.check()


def test_command_that_asks_whether_a_folder_is_held_does_not_hold_it(tmp_path: Path):
    assert not is_held(tmp_path / "missing")
    lock = lock_of(tmp_path)
    with lock:
        assert is_held(tmp_path)
        assert lock_of(tmp_path).is_held()
    assert not is_held(tmp_path)
    with (tmp_path / "lock").open("rb") as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        released = threading.Timer(0.05, fcntl.flock, [asking, fcntl.LOCK_UN])
        released.start()
        with lock:  # waits for the end of the question
            assert is_held(tmp_path)
        released.join()
