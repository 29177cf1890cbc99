"""Files that are there whole or not at all."""

import errno
import os
from pathlib import Path

import pytest

from ingest.api import Disposition
from ingest.durable import on_disk, unusable, write_durably


@pytest.mark.parametrize(
    ("number", "code", "disposition"),
    [
        (errno.ENOSPC, "disk_full", Disposition.RETRY),
        (errno.EROFS, "disk_denied", Disposition.RETRY),
        (errno.EEXIST, "disk_denied", Disposition.RETRY),
        (errno.ENOMEM, "disk_busy", Disposition.RETRY),
        (errno.EMFILE, "too_many_open_files", Disposition.RETRY),
        (errno.ENFILE, "too_many_open_files", Disposition.RETRY),
        (errno.EIO, "disk_failed", Disposition.STOP),
        (errno.ENODEV, "disk_failed", Disposition.STOP),
    ],
)
def test_what_a_disk_refuses_is_waited_for_or_final(number: int, code: str, disposition: Disposition) -> None:
    error = unusable("the file", number, os.strerror(number))
    assert (error.code, error.disposition) == (code, disposition)


def test_the_place_is_named() -> None:
    with pytest.raises(Exception, match='"/state" can not be used: No space left'), on_disk(Path("/state")):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_write_that_fails_leaves_what_was_there_and_nothing_beside_it(tmp_path: Path) -> None:
    write_durably(tmp_path / "file", b"before")
    (tmp_path / "folder" / "in the way").mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        write_durably(tmp_path / "folder", b"after")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
    assert (tmp_path / "file").read_bytes() == b"before"
