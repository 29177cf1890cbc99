"""A sink whose columns have other types than the files of its table."""

from pathlib import Path
from typing import Any

import pytest

from ingest.api import ConflictError, SinkContext
from sinks.archive.column_types import current_versions, refuse_other_types
from sinks.archive.errors import ArchiveCorruptError
from sinks.archive.layout import NO_TIME
from sinks.archive.partition import Partition, partitions
from sinks.archive.sink import Archive, ArchiveSettings, OnNoTime
from sinks.archive.switching import switch
from sinks.files.local_root import LocalRoot
from tests.support.archives import DAY_MS, START_S, Writer, event

DAY = 24 * 3_600_000


def settings(folder: Path, amount: str, **options: Any) -> ArchiveSettings:
    columns = {"amount": {"value": "%{body}", "type": amount}}
    return ArchiveSettings.model_validate({"root": str(folder), "table": "customer", "columns": columns} | options)


def written(folder: Path, amount: str, time_ms: int, **options: Any) -> None:
    """A row at a time, in the micro-batch of that time; for one before 1970 in another micro-batch."""
    writer = Writer(LocalRoot(folder / "customer"), settings=settings(folder, amount, **options))
    writer.run(DAY_MS if time_ms < 0 else time_ms, [event(1, time_ms=time_ms)])


def start(folder: Path, declared: ArchiveSettings) -> None:
    """What a start of the pipeline does."""
    committer = Archive(declared).committer(SinkContext("p", "archive", folder))
    try:
        committer.recover()
    finally:
        committer.close()


@pytest.mark.parametrize(("before", "after"), [("float64", "int64"), ("int64", "int32"), ("utf8", "binary")])
def test_column_of_another_type_is_refused_by_start_and_check(tmp_path: Path, before: str, after: str) -> None:
    written(tmp_path, before, DAY_MS)
    with pytest.raises(ConflictError) as caught:
        start(tmp_path, settings(tmp_path, after))
    assert caught.value.code == "archive_columns_differ"
    assert f'column "amount" is {after} in the file, and {before} in "dt=20151210/version=' in caught.value.message
    assert "archive into another table" in str(caught.value.hint)
    with pytest.raises(ConflictError, match=caught.value.message.partition(" in ")[0]):
        Archive(settings(tmp_path, after)).check(SinkContext("p", "archive", tmp_path))


@pytest.mark.parametrize("kind", ["utf8", "binary", "int32", "int64", "float64", "time"])
def test_same_type_and_other_columns_are_accepted(tmp_path: Path, kind: str) -> None:
    start(tmp_path, settings(tmp_path, kind))
    written(tmp_path, kind, DAY_MS)
    start(tmp_path, settings(tmp_path, kind))
    start(tmp_path, settings(tmp_path, kind, columns={"other": "%{body}"}))


def test_lines_of_json_have_no_types(tmp_path: Path) -> None:
    written(tmp_path, "float64", DAY_MS, format="json")
    start(tmp_path, settings(tmp_path, "int64", format="json"))
    start(tmp_path, settings(tmp_path, "int64"))


def test_newest_file_of_the_newest_current_version_decides(tmp_path: Path) -> None:
    written(tmp_path, "float64", DAY_MS - DAY)
    written(tmp_path, "float64", DAY_MS)
    written(tmp_path, "float64", -1, on_no_time=OnNoTime.DEFAULT_PARTITION)
    written(tmp_path, "int64", DAY_MS + 1)
    assert NO_TIME in str(list((tmp_path / "customer").iterdir()))
    start(tmp_path, settings(tmp_path, "int64"))
    partition = Partition(LocalRoot(tmp_path / "customer"), "dt=20151210")
    empty = partition.create(START_S + 1, "test")
    partition.complete(empty)
    switch(partition, empty, DAY_MS)
    with pytest.raises(ConflictError, match="dt=20151209"):
        start(tmp_path, settings(tmp_path, "int64"))


def test_each_partition_is_looked_at_if_wanted(tmp_path: Path) -> None:
    written(tmp_path, "float64", DAY_MS - DAY)
    written(tmp_path, "int64", DAY_MS)
    declared, root = settings(tmp_path, "int64"), LocalRoot(tmp_path / "customer")
    declared.refuse_other_types(root)
    versions = list(current_versions(partitions(root, declared.rule)))
    assert [each.value for each in versions] == ["20151210", "20151209"]
    with pytest.raises(ConflictError, match="dt=20151209"):
        refuse_other_types(versions, declared.typed_columns, every=True)


def test_damaged_file_is_named(tmp_path: Path) -> None:
    written(tmp_path, "int64", DAY_MS)
    (part,) = tmp_path.glob("customer/dt=*/version=*/part-*")
    part.write_bytes(b"damaged")
    with pytest.raises(ArchiveCorruptError, match=part.name):
        start(tmp_path, settings(tmp_path, "int64"))
