"""Rows of a version copied into few files of another."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import ConflictError, Event
from sinks.archive.copying import Copied, copy_parts, copy_rows
from sinks.archive.errors import ArchiveCorruptError
from sinks.archive.layout import ArchiveFormat, PartName
from sinks.archive.partition import Partition
from sinks.archive.reading import origins_in
from sinks.archive.sink import ArchiveSettings
from sinks.files.local_root import LocalRoot
from tests.support.archives import DAY_MS, SETTINGS, START_S, Writer, event, offsets_in, rows_in
from tests.support.memory_root import MemoryRoot

JSON = ArchiveSettings.model_validate({"root": "r", "table": "customer", "format": "json"})


@pytest.fixture(params=[SETTINGS, JSON], ids=["parquet", "json"])
def settings(request: pytest.FixtureRequest) -> ArchiveSettings:
    found: ArchiveSettings = request.param
    return found


@pytest.fixture
def partition(tmp_path: Path) -> Partition:
    return Partition(LocalRoot(tmp_path), "dt=20151210")


def written(partition: Partition, settings: ArchiveSettings, *batches: list[Event]) -> int:
    """A version that a writer has written, with a file for each micro-batch."""
    writer = Writer(partition.root, settings=settings)
    for number, events in enumerate(batches):
        writer.run(DAY_MS + number, events)
    return START_S


def version_of(partition: Partition, *contents: bytes) -> int:
    version_id = partition.create(START_S, "test")
    for number, content in enumerate(contents):
        name = PartName(DAY_MS + number, 0, "5f0c9a31", "parquet")
        partition.root.write(partition.path(version_id, str(name)), content)
    return version_id


def parquet_of(**columns: list[object]) -> bytes:
    file = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), file)
    return file.getvalue().to_pybytes()


class TestParts:
    def test_small_files_become_one_with_all_rows_in_order(
        self, partition: Partition, settings: ArchiveSettings
    ) -> None:
        source = written(partition, settings, [event(2), event(1)], [event(3)], [event(4)])
        target = partition.create(START_S, "test")
        steps = list(copy_parts(partition, source, target, partition.parts(source).items()))
        assert steps == [Copied(), Copied(files=3, rows=4, written=1)]
        assert rows_in(partition.root, partition, target) == rows_in(partition.root, partition, source)
        ((name, _),) = partition.parts(target).items()
        assert (name.time_ms, name.suffix) == (DAY_MS + 2, settings.format.suffix)

    def test_files_of_the_target_size_stay_files(self, partition: Partition, settings: ArchiveSettings) -> None:
        source = written(partition, settings, [event(1)], [event(2)])
        target = partition.create(START_S, "test")
        *_, copied = copy_parts(partition, source, target, partition.parts(source).items(), target_bytes=1)
        assert (copied.written, offsets_in(partition.root, partition, target)) == (2, [1, 2])

    def test_rows_are_selected_by_their_origins(self, partition: Partition, settings: ArchiveSettings) -> None:
        source = written(partition, settings, [event(number) for number in range(10)], [event(10)])
        target = partition.create(START_S, "test")
        parts = partition.parts(source).items()
        *_, copied = copy_parts(partition, source, target, parts, lambda origin: origin.offset % 3 == 0)
        assert (copied.rows, offsets_in(partition.root, partition, target)) == (4, [0, 3, 6, 9])

    def test_no_row_leaves_no_file(self, partition: Partition, settings: ArchiveSettings) -> None:
        source = written(partition, settings, [event(1)])
        target = partition.create(START_S, "test")
        *_, copied = copy_parts(partition, source, target, partition.parts(source).items(), lambda _origin: False)
        assert (copied.rows, copied.written, partition.parts(target)) == (0, 0, {})

    def test_column_that_a_file_lacks_is_null(self, partition: Partition, tmp_path: Path) -> None:
        source = version_of(partition, parquet_of(a=[1, 2]), parquet_of(a=[3], b=["x"]), parquet_of(a=[4]))
        target = partition.create(START_S, "test")
        list(copy_parts(partition, source, target, partition.parts(source).items()))
        (name,) = partition.parts(target)
        table = pq.ParquetFile(tmp_path / partition.path(target, str(name))).read()
        assert table.to_pydict() == {"a": [1, 2, 3, 4], "b": [None, None, "x", None]}

    def test_column_with_two_types_is_refused(self, partition: Partition) -> None:
        source = version_of(partition, parquet_of(a=[1]), parquet_of(a=["x"]))
        target = partition.create(START_S, "test")
        with pytest.raises(ConflictError) as caught:
            list(copy_parts(partition, source, target, partition.parts(source).items()))
        assert (caught.value.code, partition.parts(target)) == ("archive_columns_differ", {})

    @pytest.mark.parametrize("damaged", [0, 1])
    def test_damaged_file_is_named(self, partition: Partition, settings: ArchiveSettings, damaged: int) -> None:
        source = written(partition, settings, [event(1)], [event(2)])
        target = partition.create(START_S, "test")
        parts = partition.parts(source)
        path = partition.path(source, str(list(parts)[damaged]))
        partition.root.write(path, partition.root.read(path)[:-9])
        with pytest.raises(ArchiveCorruptError, match="is damaged") as caught:
            list(copy_parts(partition, source, target, parts.items()))
        assert path in caught.value.message


@given(st.lists(st.integers(0, 50)), st.frozensets(st.integers(0, 50)), st.sampled_from(ArchiveFormat))
def test_copy_in_place_keeps_the_selected_rows(offsets: list[int], kept: frozenset[int], kind: ArchiveFormat) -> None:
    root = MemoryRoot()
    path = f"part.{kind.suffix}"
    settings = SETTINGS if kind is ArchiveFormat.PARQUET else JSON
    writer = Writer(root, settings=settings)
    writer.run(DAY_MS, [event(offset) for offset in offsets])
    expected = [offset for offset in offsets if offset in kept]
    if not offsets:
        return
    partition = Partition(root, "dt=20151210")
    ((name, _),) = partition.parts(START_S).items()
    root.write(path, root.read(partition.path(START_S, str(name))))
    assert copy_rows(root, [path], path, lambda origin: origin.offset in kept) == len(expected)
    assert root.exists(path) == bool(expected)
    if expected:
        assert [origin.offset for origin in origins_in(root, path)] == expected


def test_lines_are_compressed_once(partition: Partition) -> None:
    source = written(partition, JSON, [event(1)], [event(2)])
    target = partition.create(START_S, "test")
    list(copy_parts(partition, source, target, partition.parts(source).items()))
    ((name, _),) = partition.parts(target).items()
    content = partition.root.read(partition.path(target, str(name)))
    assert gzip.decompress(content).count(b"\n") == 2
    assert content.count(b"\x1f\x8b\x08") == 1
