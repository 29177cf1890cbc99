"""Tests start Spark without the archive of its classes while another worker writes it."""

import fcntl
from pathlib import Path

import pytest

from tests.support import short_lived


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "spark-classes" / "classes.jsa"
    path.parent.mkdir()
    monkeypatch.setattr(short_lived, "_path_of_archive", lambda: path)
    return path


def test_no_process_waits_for_an_archive_that_another_one_writes(archive: Path) -> None:
    with archive.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert short_lived.java_options() == short_lived.COMPILE_LITTLE
        archive.touch()
        assert short_lived.java_options() == f"{short_lived.COMPILE_LITTLE} -XX:SharedArchiveFile={archive}"
