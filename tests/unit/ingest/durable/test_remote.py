"""State in a folder of this machine and in a file system of a cluster."""

import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.api import Disposition, IntegrityError, StoreUnavailableError
from ingest.durable import RemotePath, append_durably, file_errors, write_durably
from ingest.durable.append_log import AppendLog, lines_of
from tests.support.remote_files import MemoryFiles
from tests.support.state_contract import StateContract


class TestLocalState(StateContract):
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        return tmp_path / "state"


class TestRemoteState(StateContract):
    @pytest.fixture
    def root(self) -> RemotePath:
        return MemoryFiles().root()


def test_file_system_that_does_not_answer_is_retried():
    files = MemoryFiles()
    path = files.root() / "x"
    files.is_away = True
    with (
        pytest.raises(StoreUnavailableError, match='"hdfs://memory/state/x" cannot be used: No route') as away,
        file_errors(path),
    ):
        write_durably(path, b"")
    assert (away.value.code, away.value.disposition) == ("state_unavailable", Disposition.RETRY)


@pytest.mark.parametrize("torn", [b"", b"0", b"%08x " % zlib.crc32(b"two"), b"%08x two" % zlib.crc32(b"two"), b"\x18"])
def test_torn_line_of_a_remote_log_is_cancelled_by_the_next_process(torn: bytes):
    files = MemoryFiles()
    path = files.root() / "log"
    AppendLog(path).append(b"one")
    append_durably(path, torn)
    before = path.read_bytes()
    second = AppendLog(path)
    second.append(b"three")
    second.append(b"four")
    assert list(lines_of(path)) == [b"one", b"three", b"four"]
    assert path.read_bytes().startswith(before)
    append_durably(path, b"torn")
    assert list(lines_of(path)) == [b"one", b"three", b"four"]


class SuspendedFiles(MemoryFiles):
    """Runs `meanwhile` once, before a process changes a file."""

    meanwhile: Callable[[], None] | None = None

    def write(self, path: str, content: bytes) -> None:
        self._suspend()
        super().write(path, content)

    def append(self, path: str, content: bytes) -> None:
        self._suspend()
        super().append(path, content)

    def _suspend(self) -> None:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()


def test_process_that_was_suspended_removes_no_lines_of_a_remote_log():
    files = SuspendedFiles()
    path = files.root() / "log"
    AppendLog(path).append(b"one")
    append_durably(path, b"0000")
    files.meanwhile = lambda: AppendLog(path).append(b"two")
    AppendLog(path).append(b"three")
    assert list(lines_of(path)) == [b"one", b"two", b"three"]


def test_damaged_line_of_a_remote_log_remains_an_error():
    path = MemoryFiles().root() / "log"
    AppendLog(path).append(b"one", b"two")
    write_durably(path, path.read_bytes().replace(b"one", b"0ne"))
    AppendLog(path).append(b"three")
    with pytest.raises(IntegrityError, match="line 1 of"):
        list(lines_of(path))


def test_cancelled_line_in_a_local_copy_of_a_remote_log(tmp_path: Path):
    remote, path = MemoryFiles().root() / "log", tmp_path / "log"
    for content in (b"one", b"two"):
        AppendLog(remote).append(content)
        append_durably(remote, b"torn")
    path.write_bytes(remote.read_bytes())
    local = AppendLog(path)
    local.append(b"three")
    local.close()
    assert list(lines_of(path)) == [b"one", b"two", b"three"]


def test_torn_line_is_cancelled_after_an_error():
    files = MemoryFiles()
    path = files.root() / "log"
    log = AppendLog(path)
    log.append(b"one")
    files.is_away = True
    with pytest.raises(StoreUnavailableError):
        log.append(b"two")
    files.is_away = False
    files.append(str(path.path), b"0000")  # a part of it was written
    log.append(b"two")
    assert list(lines_of(path)) == [b"one", b"two"]
