"""The Kafka source on the driver."""

from pathlib import Path

import pytest

from ingest.api import CheckpointError
from ingest.service.kafka.positions import first_offsets, offset_ranges, splits_of
from ingest.service.kafka.source import KafkaSource
from ingest.spark.streaming.checkpoint import Checkpoint
from tests.support.checkpoint import acknowledge
from tests.support.sources import driver_context


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


def test_splits_are_the_partitions_with_offsets_in_the_micro_batch(tmp_path: Path):
    path = tmp_path / "sources" / "0" / "0"
    path.parent.mkdir(parents=True)
    path.write_text('v1\n{"t":{"0":3,"1":0}}')
    acknowledge(tmp_path, 0, {"t": {0: 5, 1: 7}})
    acknowledge(tmp_path, 1, {"t": {0: 5, 1: 9, 2: 4}, "new": {0: 2}})
    settings = KafkaSource.settings_class()(brokers="localhost:9092", topics=["t", "new"])
    source = KafkaSource(settings, driver_context(tmp_path))
    assert source.splits(0) == [("t", 0, 3), ("t", 1, 0)]
    # a partition and a topic that appear later begin at offset 0
    assert source.splits(1) == [("t", 1, 7), ("t", 2, 0), ("new", 0, 0)]
    assert source.splits(1) == splits_of(offset_ranges(Checkpoint(tmp_path), 1))
    with pytest.raises(CheckpointError):
        source.splits(2)
