"""The files source on the driver."""

from pathlib import Path

import pytest

from ingest.api import NotFoundError
from ingest.service.files_source import FilesSource
from tests.support.sources import driver_context


def files(path: Path, state: Path) -> FilesSource:
    return FilesSource(FilesSource.settings_class()(path=str(path)), driver_context(state))


def test_missing_path_is_refused(tmp_path: Path):
    with pytest.raises(NotFoundError, match="relative paths start at the current folder"):
        files(tmp_path / "logs", tmp_path / "state").identity()


@pytest.mark.parametrize("name", ["", "*.log"], ids=["empty-folder", "glob"])
def test_path_without_files_yet_is_accepted(tmp_path: Path, name: str):
    assert files(tmp_path / name, tmp_path / "state").identity() == {"path": str(tmp_path / name)}


def test_check_counts_the_files_that_a_run_reads(tmp_path: Path):
    logs = tmp_path / "logs [1]"
    logs.mkdir()
    for name in ("a.log", "b.log", ".hidden", "_SUCCESS"):
        (logs / name).touch()
    (logs / "same.log").symlink_to("a.log")
    assert FilesSource.check(FilesSource.settings_class()(path=str(logs))) == "2 files"
    with pytest.raises(NotFoundError, match="there is no file at"):
        FilesSource.check(FilesSource.settings_class()(path=str(tmp_path / "none")))
