"""State in a folder of this machine and in a file system of a cluster."""

from pathlib import Path

import pytest

from ingest.api import Disposition, StoreUnavailableError
from ingest.durable import RemotePath, on_disk, write_durably
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
        on_disk(path),
    ):
        write_durably(path, b"")
    assert (away.value.code, away.value.disposition) == ("state_unavailable", Disposition.RETRY)


def test_log_is_checked_again_after_an_error():
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
