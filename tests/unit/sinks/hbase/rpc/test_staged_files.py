"""Files in the folder from which HBase loads."""

import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.api import ConfigError, StoreUnavailableError
from sinks.files.local_root import LocalRoot
from sinks.hbase.rpc.staged_files import StagedFileDamagedError, StagedFiles

DAY_MS = 24 * 3600 * 1000


def staged(folder: Path | str, now_ms: int = 0) -> StagedFiles:
    return StagedFiles(str(folder), "c1", lambda: now_ms)


def test_files_are_written_under_new_names_and_removed(tmp_path: Path):
    folder = tmp_path / "staging"
    made = staged(folder)
    first, second = made.write([[b"o", b"ne"], [b"two"]])
    (third,) = made.write([[b"three"]])
    assert [(folder / name).read_bytes() for name in (first, second, third)] == [b"one", b"two", b"three"]
    assert made.url_of(first) == f"file://{folder}/{first}"
    made.remove([first, second, third, first])
    made.close()
    made.close()
    assert list(folder.iterdir()) == []


def test_no_two_connections_give_a_file_the_same_name(tmp_path: Path):
    """HBase may load a file under its name in the folder of the family, over one that is there."""
    names = [Path(name).name for number in "12" for name in StagedFiles(str(tmp_path), number, int).write([[b""]] * 2)]
    assert len(set(names)) == 4
    assert all(len(name) == 32 for name in names)


def test_url_of_a_file_has_its_name_as_it_is(tmp_path: Path):
    """Hadoop decodes nothing."""
    folder = tmp_path / "a b%41\u00e4"
    made = staged(folder)
    (name,) = made.write([[b"one"]])
    assert made.url_of(name) == f"file://{folder}/{name}"


def test_progress_is_reported_for_each_file_and_may_end_the_writing(tmp_path: Path):
    made = staged(tmp_path)
    steps: list[int] = []
    made.write([[b"o", b"ne"], [b"two"]], lambda: steps.append(1))
    assert steps == [1, 1]

    def end() -> None:
        raise StoreUnavailableError("abandoned")

    before = sorted((tmp_path / "loading-c1").iterdir())
    with pytest.raises(StoreUnavailableError, match="abandoned"):
        made.write([[b"three"]] * 20, end)
    assert sorted((tmp_path / "loading-c1").iterdir()) == before


@pytest.mark.parametrize("place", ["open", "make_folder", "new_file"])
def test_whatever_a_file_system_raises_is_an_error_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
):
    """A package may be missing, and fsspec's file systems have exceptions of their own."""

    def fails(*_args: object) -> Callable[..., object]:
        raise ConfigError("no package")

    if place == "open":
        monkeypatch.setattr("sinks.hbase.rpc.staged_files.open_root", fails)
    else:
        monkeypatch.setattr(LocalRoot, place, fails)
    with pytest.raises(OSError, match="ConfigError: no package"):
        staged(tmp_path).write([[b"one"]])


def test_url_of_a_file_in_hdfs():
    assert staged("hdfs://nn:8020/staging/").url_of("loading-c1/0") == "hdfs://nn:8020/staging/loading-c1/0"


def test_file_that_is_not_as_it_was_written_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As by a disk or a network that changes a bit: HBase would load it, and every scan of it would fail."""
    monkeypatch.setattr(LocalRoot, "open", lambda self, path: io.BytesIO(self._path(path).read_bytes() + b"!"))
    made = staged(tmp_path)
    with pytest.raises(StagedFileDamagedError):
        made.write([[b"o", b"ne"], [b"two"]])
    made.close()
    assert list(tmp_path.iterdir()) == []


def test_folders_of_killed_processes_are_removed_after_a_day(tmp_path: Path):
    for name in ("loading-old", "loading-new", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_bytes(b"")
        os.utime(tmp_path / name, (1000, 1000))
    os.utime(tmp_path / "loading-new", (2000, 2000))
    made = staged(tmp_path, DAY_MS + 1_500_000)
    made.write([[b"one"]])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["loading-c1", "loading-new", "other"]


def test_folder_that_another_process_has_removed_is_made_again(tmp_path: Path):
    made = staged(tmp_path)
    made.write([[b"one"]])
    LocalRoot(tmp_path).remove_tree("loading-c1")
    (name,) = made.write([[b"two"]])
    assert (tmp_path / name).read_bytes() == b"two"


def test_folder_that_cannot_be_used_is_an_error(tmp_path: Path):
    (tmp_path / "loading-c1").write_bytes(b"")
    with pytest.raises(OSError, match="loading-c1"):
        staged(tmp_path).write([[b"one"]])
