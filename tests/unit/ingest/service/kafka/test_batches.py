"""The entry of a micro-batch in the batch log."""

import json
from pathlib import Path

import pytest

from ingest.api import CheckpointError
from ingest.service.kafka.batches import BatchRecorder
from ingest.service.kafka.topics import TopicIds
from ingest.spark.streaming.batch_log import BatchLog, LoggedBatch
from ingest.spark.streaming.checkpoint import Checkpoint
from tests.support.checkpoint import acknowledge


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkpoint that starts at offset 3 of partition 0."""
    folder = tmp_path / "checkpoint"
    (folder / "sources" / "0").mkdir(parents=True)
    (folder / "sources" / "0" / "0").write_text(f"v1\n{json.dumps({'t': {'0': 3, '1': 0}})}")
    return folder


def test_ranges_start_where_the_batch_before_ended(folder: Path, tmp_path: Path):
    acknowledge(folder, 0, {"t": {0: 5, 1: 0}})
    acknowledge(folder, 1, {"t": {0: 5, 1: 7}, "new": {0: 2}})
    ids = TopicIds(folder)
    ids.check({"t": "id-1"})
    log = BatchLog(tmp_path / "log")
    record = BatchRecorder(log, Checkpoint(folder), ids)
    record(0, 1_000)
    ids.check({"t": "id-1", "new": "id-2"})
    record(1, 1_002)
    log.close()
    assert list(log.batches()) == [
        LoggedBatch(0, 1_000, {("t", 0): (3, 5)}, {"t": "id-1"}),
        LoggedBatch(1, 1_002, {("t", 1): (0, 7), ("new", 0): (0, 2)}, {"t": "id-1", "new": "id-2"}),
    ]


def test_batch_whose_predecessor_is_missing_is_refused(folder: Path, tmp_path: Path):
    acknowledge(folder, 4, {"t": {0: 5}})
    with pytest.raises(CheckpointError):
        BatchRecorder(BatchLog(tmp_path / "log"), Checkpoint(folder), TopicIds(folder))(4, 1_000)
