"""Files are written completely or not at all."""

import errno
import os
import stat
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.api import Disposition
from ingest.durable import (
    create_durably,
    file_errors,
    make_folder,
    open_private,
    private_files,
    unusable,
    write_durably,
)


@pytest.mark.parametrize(
    ("number", "code", "disposition"),
    [
        (errno.ENOSPC, "disk_full", Disposition.RETRY),
        (errno.EROFS, "disk_denied", Disposition.RETRY),
        (errno.EEXIST, "disk_denied", Disposition.RETRY),
        (errno.ENOMEM, "disk_busy", Disposition.RETRY),
        (errno.EHOSTUNREACH, "state_unavailable", Disposition.RETRY),
        (errno.EMFILE, "too_many_open_files", Disposition.RETRY),
        (errno.ENFILE, "too_many_open_files", Disposition.RETRY),
        (errno.EIO, "disk_failed", Disposition.STOP),
        (errno.ENODEV, "disk_failed", Disposition.STOP),
    ],
)
def test_disk_error_is_retried_or_final(number: int, code: str, disposition: Disposition) -> None:
    error = unusable("the file", number, os.strerror(number))
    assert (error.code, error.disposition) == (code, disposition)


def test_error_names_the_path() -> None:
    with pytest.raises(Exception, match='"/state" cannot be used: No space left'), file_errors(Path("/state")):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_failed_write_changes_nothing_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    write_durably(tmp_path / "file", b"before")
    (tmp_path / "folder" / "in the way").mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        write_durably(tmp_path / "folder", b"after")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
    assert (tmp_path / "file").read_bytes() == b"before"


def test_created_file_is_never_replaced(tmp_path: Path) -> None:
    create_durably(tmp_path / "file", b"first")
    with pytest.raises(FileExistsError):
        create_durably(tmp_path / "file", b"second")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"first")]


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP])
def test_file_is_created_also_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(_one: Path, _other: Path) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", refuse)
    test_created_file_is_never_replaced(tmp_path)


@pytest.mark.parametrize("write", [write_durably, create_durably])
def test_leftover_hard_link_of_a_killed_process_is_not_written_through(tmp_path: Path, write) -> None:
    create_durably(tmp_path / "done", b"first")
    # a process with the same thread id was killed between the link and the removal of the temporary name
    (tmp_path / f".file.{threading.get_native_id()}.tmp").hardlink_to(tmp_path / "done")
    write(tmp_path / "file", b"second")
    assert sorted((path.name, path.read_bytes()) for path in tmp_path.iterdir()) == [
        ("done", b"first"),
        ("file", b"second"),
    ]


@pytest.fixture
def _umask_zero() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("_umask_zero")
class TestPermissions:
    def mode(self, path: Path) -> int:
        return stat.S_IMODE(path.stat().st_mode)

    def test_written_files_and_folders_are_private_whatever_the_umask(self, tmp_path: Path) -> None:
        make_folder(tmp_path / "a" / "b")
        write_durably(tmp_path / "replaced", b"")
        create_durably(tmp_path / "created", b"")
        with open_private(tmp_path / "opened", "ab") as file:
            file.write(b"more")
        folders, files = ("a", "a/b"), ("replaced", "created", "opened")
        assert {self.mode(tmp_path / each) for each in folders} == {0o700}
        assert {self.mode(tmp_path / each) for each in files} == {0o600}

    def test_block_makes_all_new_files_private(self, tmp_path: Path) -> None:
        with private_files():
            (tmp_path / "inside").touch()
            subprocess.run(["mkdir", str(tmp_path / "of a child")], check=True)
        (tmp_path / "after").touch()
        assert [self.mode(tmp_path / each) for each in ("inside", "of a child", "after")] == [0o600, 0o700, 0o666]


def test_folder_above_a_mount_point_is_not_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no name that a power cut can remove; and that of an automounter cannot be synced."""
    synced: list[object] = []
    monkeypatch.setattr("ingest.durable.files.sync_folder", synced.append)
    monkeypatch.setattr(os, "access", lambda _path, _mode: True)
    make_folder(tmp_path)
    assert synced == [tmp_path.parent]
    monkeypatch.setattr(Path, "is_mount", lambda path: path == tmp_path)
    make_folder(tmp_path)
    make_folder(tmp_path / "a")
    assert synced[1:] == [tmp_path]
