"""Files of rows that are read."""

from pathlib import Path

import pytest

from ingest.api import Origin
from sinks.archive.errors import ArchiveCorruptError
from sinks.archive.layout import ArchiveFormat
from sinks.archive.partition import Partition
from sinks.archive.reading import origins_in, types_in
from sinks.archive.sink import ArchiveSettings
from sinks.files.local_root import LocalRoot
from tests.support.archives import DAY_MS, START_S, Writer, event, files_of


@pytest.fixture(params=ArchiveFormat)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    settings = ArchiveSettings.model_validate({"root": "r", "table": "customer", "format": request.param})
    root = LocalRoot(tmp_path)
    Writer(root, settings=settings).run(DAY_MS, [event(1), event(2), event(3)])
    partition = Partition(root, "dt=20151210")
    (name,) = files_of(root, partition, START_S)
    return partition.path(START_S, name)


def test_all_origins_or_those_of_some_records(path: str, tmp_path: Path) -> None:
    root = LocalRoot(tmp_path)
    assert list(origins_in(root, path)) == [Origin("t", 0, offset) for offset in (1, 2, 3)]
    some = {("t", 0, 3), ("other", 0, 1), ("t", 1, 2)}
    assert list(origins_in(root, path, some)) == [Origin("t", 0, 3)]


def test_damaged_file_is_named(path: str, tmp_path: Path) -> None:
    root = LocalRoot(tmp_path)
    root.write(path, root.read(path)[:-9])
    with pytest.raises(ArchiveCorruptError, match="is damaged") as caught:
        list(origins_in(root, path))
    assert path in caught.value.message


@pytest.mark.parametrize("path", [ArchiveFormat.PARQUET], indirect=True)
def test_types_are_those_of_the_options(path: str, tmp_path: Path) -> None:
    assert types_in(LocalRoot(tmp_path), path) == {
        "_topic": "utf8",
        "_partition": "int32",
        "_offset": "int64",
        "_fan_out": "int64",
        "_time": "time",
        "body": "binary",
    }
