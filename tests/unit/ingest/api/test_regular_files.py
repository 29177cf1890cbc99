"""Files that are opened without waiting."""

import os
from pathlib import Path

import pytest

from ingest.api.files import open_regular


def test_regular_file_is_read(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "link").symlink_to("a")
    for name in ("a", "link"):
        with open_regular(tmp_path / name) as file:
            assert file.read() == b"abc"


def test_named_pipe_is_refused_at_once(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="it is no regular file"):
        open_regular(tmp_path / "pipe")


def test_device_is_refused():
    with pytest.raises(OSError, match="it is no regular file"):
        open_regular("/dev/zero")


def test_folder_and_missing_file_keep_their_errors(tmp_path: Path):
    with pytest.raises(IsADirectoryError, match="Is a directory"):
        open_regular(tmp_path)
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "absent")
