"""Lines that only grow: durable, and a torn last line is removed."""

import io
from collections import deque
from pathlib import Path
from typing import Any

import pytest

from ingest.api import IntegrityError
from ingest.durable.append_log import AppendLog, lines_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "log"


def append(path: Path, *contents: bytes) -> None:
    log = AppendLog(path)
    for content in contents:
        log.append(content)
    log.close()
    log.close()


def test_missing_file_has_no_lines(path: Path):
    assert list(lines_of(path)) == []


def test_lines_are_in_the_order_of_their_appends(path: Path):
    append(path, b"a", b"")
    append(path, b"b c")
    assert list(lines_of(path)) == [b"a", b"", b"b c"]


def test_several_lines_in_one_append(path: Path):
    log = AppendLog(path)
    log.append(b"a", b"b")
    assert list(lines_of(path)) == [b"a", b"b"]
    log.close()


class Growing(io.RawIOBase):
    """A file to which a process appends while it is read: each read ends before the next append."""

    def __init__(self, *appends: bytes) -> None:
        self._reads = deque(read for content in appends for read in (content, b""))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        read = self._reads.popleft() if self._reads else b""
        buffer[: len(read)] = read
        return len(read)


def test_line_that_is_just_being_written_is_not_damaged(path: Path, monkeypatch: pytest.MonkeyPatch):
    append(path, b"first", b"second")
    whole = path.read_bytes()
    growing = io.BufferedReader(Growing(whole[:-3], whole[-3:] + whole))
    monkeypatch.setattr(type(path), "open", lambda _path, _mode: growing)
    assert list(lines_of(path)) == [b"first"]


@pytest.mark.parametrize("length", range(1, 20))
def test_torn_last_line_is_ignored_and_removed_by_the_next_append(path: Path, length: int):
    append(path, b"first", b"second-line")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - length])
    assert list(lines_of(path)) == [b"first"]
    append(path, b"third")
    assert list(lines_of(path)) == [b"first", b"third"]


def test_last_line_of_zeros_is_ignored_and_removed(path: Path):
    append(path, b"first")
    path.write_bytes(path.read_bytes() + b"\0" * 30)
    assert list(lines_of(path)) == [b"first"]
    append(path, b"second")
    assert list(lines_of(path)) == [b"first", b"second"]


def test_torn_only_line_is_removed(path: Path):
    append(path, b"first")
    path.write_bytes(path.read_bytes()[:5])
    append(path, b"second")
    assert list(lines_of(path)) == [b"second"]


def test_damaged_line_before_the_last_one_is_an_error(path: Path):
    append(path, b"first", b"second", b"third")
    path.write_bytes(path.read_bytes().replace(b"second", b"sec0nd"))
    with pytest.raises(IntegrityError, match="line 2"):
        list(lines_of(path))


def test_only_the_owner_can_read_it(path: Path):
    append(path, b"first")
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
