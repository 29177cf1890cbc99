"""The files source on the driver."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadMaxBytes

from ingest.api import CheckpointError, NotFoundError, RecordPlace
from ingest.pipeline.splits import by_rank, ranked
from ingest.service.files_source import FilesSource
from ingest.spark.streaming import files_reader
from ingest.spark.streaming.files_reader import FilesReader
from ingest.spark.streaming.rows import records_of
from tests.support.checkpoint import acknowledge
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


def ranks_of_batches(
    folder: Path, state: Path, batch_bytes: int, max_records: int | None = None
) -> list[dict[int, list[RecordPlace]]]:
    """For each micro-batch, as Spark plans and stores it: rank -> the places that one reader returns."""
    source, reader = files(folder, state), FilesReader(str(folder), 1_000, max_records)
    start: dict[str, Any] = reader.initialOffset()
    batches = []
    while (end := reader.latestOffset(start, ReadMaxBytes(batch_bytes))) != start:
        acknowledge(state, len(batches), json.loads(json.dumps(end)))
        splits = ranked(source.splits(len(batches)))
        # one task for each range: the rank of a record does not depend on the other ranges of its task
        groups = [
            (rank, [record.place for record in records])
            for piece in reader.partitions(start, end)
            for rank, records in by_rank(records_of(reader.read(piece)), splits)
        ]
        batches.append({rank: places for rank, places in groups if rank is not None})
        assert len(batches[-1]) == len(groups) <= len(splits)
        start = end
    return batches


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two plain files of ten lines of five bytes, and a gzip file; a range has 20 bytes."""
    monkeypatch.setattr(files_reader, "RANGE_BYTES", 20)
    folder = tmp_path / "logs"
    folder.mkdir()
    for name in ("a", "c"):
        (folder / name).write_text("line\n" * 10)
    (folder / "b.gz").write_bytes(gzip.compress(b"line\n" * 200, mtime=0))
    return folder


def test_splits_are_the_ranges_of_each_micro_batch(logs: Path, tmp_path: Path):
    a, b, c = (str(logs / name) for name in ("a", "b.gz", "c"))
    whole = {
        0: [(a, 0, 0), (a, 0, 5), (a, 0, 10), (a, 0, 15)],
        1: [(a, 0, 20), (a, 0, 25), (a, 0, 30), (a, 0, 35)],
        2: [(a, 0, 40), (a, 0, 45)],
    }
    first, second = ranks_of_batches(logs, tmp_path / "state", batch_bytes=51)
    assert first == whole | {3: [(b, 0, offset) for offset in range(0, 1000, 5)]}
    assert second == {
        rank: [(c, partition, offset) for _, partition, offset in places] for rank, places in whole.items()
    }


def test_splits_of_a_micro_batch_that_begins_within_a_line(logs: Path, tmp_path: Path):
    a = str(logs / "a")
    batches = ranks_of_batches(logs, tmp_path / "state", batch_bytes=22)
    assert batches[:3] == [
        {0: [(a, 0, 0), (a, 0, 5), (a, 0, 10), (a, 0, 15)], 1: [(a, 0, 20)]},
        # the second range, from byte 42, has the line of byte 45 only in the next micro-batch
        {0: [(a, 0, 25), (a, 0, 30), (a, 0, 35), (a, 0, 40)]},
        {0: [(a, 0, 45)], 1: [(str(logs / "b.gz"), 0, offset) for offset in range(0, 1000, 5)]},
    ]


def test_splits_under_a_maximum_of_records(logs: Path, tmp_path: Path):
    batches = ranks_of_batches(logs, tmp_path / "state", batch_bytes=1_000, max_records=6)
    assert [{rank: len(places) for rank, places in batch.items()} for batch in batches] == [
        {0: 4, 1: 2},
        {0: 4, 1: 200},
        {0: 4, 1: 2},
        {0: 4},
    ]


def test_splits_without_the_offsets_of_the_batch_before(logs: Path, tmp_path: Path):
    acknowledge(tmp_path / "state", 4, {str(logs / "a"): {}})
    with pytest.raises(CheckpointError):
        files(logs, tmp_path / "state").splits(4)
