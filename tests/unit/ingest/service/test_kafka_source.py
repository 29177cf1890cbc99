"""The Kafka source on the driver."""

from pathlib import Path

import pytest

from ingest.api import CheckpointError
from ingest.service.kafka_source import first_offsets
from ingest.spark.streaming.checkpoint import Checkpoint


def test_start_of_the_first_batch_is_known_before_its_commit(tmp_path: Path):
    assert first_offsets(Checkpoint(tmp_path)) == {}
    path = tmp_path / "sources" / "0" / "0"
    path.parent.mkdir(parents=True)
    # Spark's Kafka source begins the file with a zero byte, for readers of Spark 2.1
    path.write_text('\0v1\n{"ticks":{"0":3,"1":0}}')
    assert first_offsets(Checkpoint(tmp_path)) == {"ticks": {"0": 3, "1": 0}}
    path.write_text('\0v1\n{"ticks":{"0"')
    with pytest.raises(CheckpointError, match="sources/0/0"):
        first_offsets(Checkpoint(tmp_path))
