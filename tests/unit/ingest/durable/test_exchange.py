"""Two folders exchanged in one act."""

import errno
from pathlib import Path

import pytest

from ingest.api import ConflictError, StoreUnavailableError
from ingest.durable import exchange as module
from ingest.durable.exchange import exchange


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    one, other = tmp_path / "a" / "one", tmp_path / "b" / "other"
    for folder in (one, other):
        folder.mkdir(parents=True)
        (folder / "name").write_text(folder.name)
    return one, other


def test_each_folder_has_the_content_of_the_other(folders: tuple[Path, Path]):
    one, other = folders
    exchange(one, other)
    assert ((one / "name").read_text(), (other / "name").read_text()) == ("other", "one")
    exchange(one, other)
    assert ((one / "name").read_text(), (other / "name").read_text()) == ("one", "other")


def test_missing_folder_changes_nothing(folders: tuple[Path, Path]):
    one, other = folders
    with pytest.raises(StoreUnavailableError):
        exchange(one, other.with_name("missing"))
    assert (one / "name").read_text() == "one"


def test_file_system_without_it_is_reported(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_renameat2", lambda _one, _other: errno.EINVAL)
    with pytest.raises(ConflictError, match="cannot exchange"):
        exchange(*folders)
