"""The Kafka source at the start of a query: topics of the checkpoint that a real broker no longer has."""

from pathlib import Path
from typing import Any

import pytest

from ingest.api import PositionLostError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.observe.metrics import Metrics
from ingest.service.sources import open_source
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import Checkpoint
from tests.support.checkpoint import acknowledge
from tests.support.names import unique
from tests.support.servers import Kafka
from tests.support.sources import pipeline

NO_SESSION: Any = None
"""Spark's session is used only after the checks."""


@pytest.mark.parametrize(
    ("topics", "advice"),
    [
        ("topics: [{gone}]", "--start-from earliest"),
        ("topics: [{gone}, {beside}]", "--start-from group"),
        ("topics_pattern: '{gone}|{beside}'", "--start-from group"),
    ],
)
def test_deleted_topic_of_a_checkpoint_is_named(kafka: Kafka, tmp_path: Path, topics: str, advice: str) -> None:
    gone, beside, group = kafka.create_topic("gone"), kafka.create_topic("beside"), unique("group")
    kafka.produce(gone, ["a", "b"])
    kafka.produce(beside, ["a"])
    written = topics.format(gone=gone, beside=beside)
    (tmp_path / "p.yaml").write_text(pipeline(f"kafka: {{brokers: '{kafka.brokers}', group: {group}, {written}}}"))
    configuration = load(tmp_path / "p.yaml", env={}, lookup=Catalog())
    acknowledge(tmp_path / "state", 0, {gone: {0: 1}} | ({beside: {0: 1}} if beside in written else {}))
    checkpoint, times = Checkpoint(tmp_path / "state"), BatchTimes(tmp_path / "times", lambda: 1)
    source = open_source(Catalog(), configuration.pipelines["p"], checkpoint, times, None, Metrics(["p"]))
    kafka.delete_topic(gone)

    with pytest.raises(PositionLostError) as lost:
        source.frame(NO_SESSION)

    assert lost.value.code == "topic_deleted"
    assert lost.value.message.startswith(f'topic "{gone}" was deleted: the checkpoint has offsets')
    assert advice in (lost.value.hint or "")
    assert kafka.committed(group, beside) == ({0: 1} if beside in written else {})
