"""Sources on the driver."""

from pathlib import Path

import pytest

from ingest.api import ConflictError, NotFoundError
from ingest.service.sources import LiveFiles, start_places
from ingest.sources.files import FilesSource
from ingest.spark.checkpoint import Checkpoint


class Reader:
    """Stands for Spark's session: says what it was asked for."""

    def __init__(self) -> None:
        self.readStream = self
        self.asked: dict[str, str] = {}

    def format(self, name: str) -> "Reader":
        return self

    def options(self, **options: str) -> "Reader":
        self.asked = options
        return self

    def load(self) -> "Reader":
        return self


def live(path: Path, state: Path) -> LiveFiles:
    return LiveFiles(FilesSource(path=str(path)), Checkpoint(state))


def test_path_that_names_nothing_is_told_before_anything_runs(tmp_path: Path):
    with pytest.raises(NotFoundError, match="paths are seen from the folder you start in"):
        live(tmp_path / "logs", tmp_path / "state").frame(Reader())


@pytest.mark.parametrize("name", ["", "*.log"], ids=["empty-folder", "glob"])
def test_files_may_come_later(tmp_path: Path, name: str):
    (tmp_path / "state").mkdir()
    reader = Reader()
    live(tmp_path / name, tmp_path / "state").frame(reader)
    assert reader.asked["path"] == str(tmp_path / name)


def test_checkpoint_of_other_files_is_refused(tmp_path: Path):
    (tmp_path / "state").mkdir()
    (tmp_path / "other").mkdir()
    live(tmp_path, tmp_path / "state").frame(Reader())
    with pytest.raises(ConflictError, match="was made for path"):
        live(tmp_path / "other", tmp_path / "state").frame(Reader())


@pytest.mark.parametrize(
    ("begun", "places"),
    [
        ([], {"a": "group", "b": "group"}),
        (["a"], {"a": None, "b": "group"}),
        (["a", "b"], {"a": "group", "b": "group"}),  # each says that it has a checkpoint
    ],
)
def test_a_place_to_start_from_is_for_pipelines_without_a_checkpoint(
    tmp_path: Path, begun: list[str], places: dict[str, str | None]
):
    for name in begun:
        (tmp_path / name / "offsets").mkdir(parents=True)
        (tmp_path / name / "offsets" / "0").touch()
    checkpoints = {name: Checkpoint(tmp_path / name) for name in ("a", "b")}
    assert start_places(checkpoints, "group") == places
    assert start_places(checkpoints, None) == {"a": None, "b": None}
