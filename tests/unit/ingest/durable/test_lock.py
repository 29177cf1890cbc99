"""Exclusive locks of folders."""

from pathlib import Path

import pytest

from ingest.api import ConflictError
from ingest.durable.lock import FolderLock
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
