"""The Kafka source at the start of a query: topics of the checkpoint that a real broker no longer has."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from kafka import TopicPartition
from structlog.testing import capture_logs

from ingest.api import ConfigError, NotFoundError, PositionLostError, Source
from ingest.catalog import Catalog
from ingest.config import load
from ingest.kafka.offsets import GroupOffsets
from ingest.observe.metrics import Metrics
from ingest.service.sources import open_source
from ingest.sources.kafka import Start
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import Checkpoint
from tests.support.checkpoint import acknowledge
from tests.support.names import unique
from tests.support.servers import Given, Kafka
from tests.support.sources import pipeline

NO_SESSION: Any = None
"""Spark's session is used only after the checks."""


FUTURE = "2100-01-01T00:00:00Z"


def source_of(kafka: Kafka, folder: Path, options: str, start_from: str | None = None) -> Source[Any]:
    """The source of a pipeline with these options and its checkpoint in `folder`/state."""
    (folder / "p.yaml").write_text(pipeline(f"kafka: {{brokers: '{kafka.brokers}', {options}}}"))
    configuration = load(folder / "p.yaml", env={}, lookup=Catalog())
    checkpoint, times = Checkpoint(folder / "state"), BatchTimes(folder / "times", lambda: 1)
    return open_source(Catalog(), configuration.pipelines["p"], checkpoint, times, start_from, Metrics(["p"]))


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
    acknowledge(tmp_path / "state", 0, {gone: {0: 1}} | ({beside: {0: 1}} if beside in written else {}))
    source = source_of(kafka, tmp_path, f"group: {group}, {written}")
    kafka.delete_topic(gone)

    with pytest.raises(PositionLostError) as lost:
        source.frame(NO_SESSION)

    assert lost.value.code == "topic_deleted"
    assert lost.value.message.startswith(f'topic "{gone}" was deleted: the checkpoint has offsets')
    assert advice in (lost.value.hint or "")
    assert kafka.committed(group, beside) == ({0: 1} if beside in written else {})


def test_start_at_the_offsets_of_another_group(kafka: Kafka, tmp_path: Path) -> None:
    topic, group, other = kafka.create_topic("taken", partitions=2), unique("group"), unique("connect-taken")
    kafka.produce(topic, [Given(body, partition=partition) for partition, body in enumerate("ab")])
    source = source_of(kafka, tmp_path, f"group: {group}, topics: [{topic}]", start_from=f"group:{other}")
    with pytest.raises(NotFoundError, match=f'group "{other}" has no offsets of {topic}'):
        source.identity()
    with closing(GroupOffsets(source.settings, other)) as offsets:
        offsets.commit({(topic, 1): 1})
    with capture_logs() as logs:
        source.identity()
    assert source._start == Start("offsets", offsets={topic: {1: 1}}, text=f"group:{other}")
    assert [each["partitions"] for each in logs if "without an offset of the group" in each["event"]] == [f"{topic}/0"]
    nameless = source_of(kafka, tmp_path, f"group: {group}, topics: [{topic}]", start_from="group:")
    with pytest.raises(ConfigError, match="names no consumer group"):
        nameless.identity()


@pytest.mark.parametrize("is_own", [True, False])
def test_start_at_a_group_whose_records_are_deleted_is_refused(kafka: Kafka, tmp_path: Path, *, is_own: bool) -> None:
    topic, group = kafka.create_topic("behind"), unique("group")
    kafka.produce(topic, ["a", "b", "c", "d"])
    name, start_from = (group, "group") if is_own else (other := unique("connect"), f"group:{other}")
    source = source_of(kafka, tmp_path, f"group: {group}, topics: [{topic}]", start_from=start_from)
    with closing(GroupOffsets(source.settings, name)) as offsets:
        offsets.commit({(topic, 0): 1})
        source.identity()
        with kafka.admin() as admin:
            admin.delete_records({TopicPartition(topic, 0): 3})
        with pytest.raises(ConfigError, match=rf'group "{name}" .*: {topic}/0 1 \(it begins at 3\)') as behind:
            source.identity()
        assert "'--start-from earliest' reads all that are left" in (behind.value.hint or "")
        offsets.commit({(topic, 0): 3})
        source.identity()
        offsets.commit({(topic, 0): 5})
        with pytest.raises(ConfigError, match=r"0 5 \(it ends at 4\)"):
            source.identity()


def test_start_in_the_future_is_refused_because_all_records_would_be_skipped(kafka: Kafka, tmp_path: Path) -> None:
    topic, group = kafka.create_topic("future"), unique("group")
    kafka.produce(topic, ["a"])
    options = f"group: {group}, topics: [{topic}]"
    for source in (
        source_of(kafka, tmp_path, options, start_from=FUTURE),
        source_of(kafka, tmp_path, f"{options}, start: '{FUTURE}'"),
    ):
        with pytest.raises(ConfigError, match=f'starts in the future, at "{FUTURE}"'):
            source.identity()
    assert not (tmp_path / "state").exists()
    # with a checkpoint the option is not used
    acknowledge(tmp_path / "state", 0, {topic: {0: 1}})
    assert source_of(kafka, tmp_path, f"{options}, start: '{FUTURE}'").identity()["topics"] == topic
