"""The watch over Kafka's retention, with a cluster of the test."""

import threading
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from kafka.admin import OffsetSpec
from kafka.errors import KafkaTimeoutError
from kafka.structs import OffsetAndTimestamp
from structlog.testing import capture_logs

from ingest.api import SourceUnavailableError, TopicPartition
from ingest.catalog import Catalog
from ingest.config import load
from ingest.kafka import admin
from ingest.kafka.retention import Backlog
from ingest.observe.activity import Activity
from ingest.observe.metrics import Metrics
from ingest.service.kafka import retention
from ingest.service.kafka.retention import RetentionWatch, RetentionWatches
from ingest.sources.kafka import KafkaSourceSettings
from ingest.spark.streaming.checkpoint import Checkpoint
from tests.support.checkpoint import acknowledge
from tests.support.sources import pipeline

HOUR_MS = 3_600_000
BEGAN_MS = 1_000_000_000
RECORDS = 100


class Client:
    """A fake of kafka-python's client: topics of two partitions, each with 100 records of one time."""

    def __init__(self) -> None:
        self.topics = {"t"}
        self.answers = True
        self.denied: set[str] = set()
        self.asked = threading.Event()

    def describe_topics(self, names: list[str]) -> list[dict[str, Any]]:
        self.asked.set()
        if not self.answers:
            raise KafkaTimeoutError("broker 1")
        partitions = [{"partition_index": number, "leader_id": 1} for number in range(2)]
        codes = {name: 0 if name in self.topics else 3 for name in names}
        return [
            {"name": name, "error_code": code, "topic_id": UUID(int=1), "partitions": partitions}
            for name, code in codes.items()
        ]

    def describe_configs(self, resources: Any, **_: object) -> dict[str, Any]:
        (name,) = [resource.name for resource in resources]
        values = {"max.message.bytes": "1000", "retention.ms": str(HOUR_MS), "cleanup.policy": "delete"}
        settings = {} if name in self.denied else {key: {"value": value} for key, value in values.items()}
        return {"topic": {name: settings}}

    def list_partition_offsets(self, specs: dict[TopicPartition, int], **_: object) -> dict[TopicPartition, Any]:
        return {part: OffsetAndTimestamp(self._offset(spec), -1, -1) for part, spec in specs.items()}

    def _offset(self, spec: int) -> int:
        if spec == OffsetSpec.LATEST:
            return RECORDS
        return 0 if spec == OffsetSpec.EARLIEST or spec <= BEGAN_MS else -1

    def close(self) -> None:
        """Nothing to close."""


class Bench:
    """A pipeline of which partition 1 has been read, and nothing of partition 0."""

    def __init__(self, folder: Path) -> None:
        self.now_ms = float(BEGAN_MS)
        self.folder = folder / "checkpoint"
        self.reports: list[Mapping[TopicPartition, Backlog]] = []
        self.settings = KafkaSourceSettings.model_validate({"brokers": "localhost:1", "topics": ["t"]})
        self.watch = RetentionWatch(
            "p", self.settings, Checkpoint(self.folder), self.reports.append, lambda: self.now_ms / 1000
        )
        acknowledge(self.folder, 0, {"t": {0: 0, 1: RECORDS}})

    def at(self, percent: float) -> dict[TopicPartition, float]:
        """The used retention at a percentage of it."""
        self.now_ms = BEGAN_MS + percent / 100 * HOUR_MS
        self.watch.check()
        return {part: backlog.used for part, backlog in self.reports[-1].items()}


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Client:
    created = Client()
    monkeypatch.setattr(admin, "admin_client", lambda _connection: created)
    return created


@pytest.fixture
def bench(client: Client, tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_unread_records_use_the_retention_as_time_passes(bench: Bench) -> None:
    assert bench.at(0.5) == {("t", 0): 0.0, ("t", 1): 0.0}
    assert bench.at(40.5) == {("t", 0): 0.4, ("t", 1): 0.0}
    assert bench.reports[-1]["t", 0].remaining_s == 0.6 * 3600
    assert bench.at(140.0) == {("t", 0): 1.0, ("t", 1): 0.0}
    acknowledge(bench.folder, 1, {"t": {0: RECORDS, 1: RECORDS}})
    assert bench.at(141.0) == {("t", 0): 0.0, ("t", 1): 0.0}


def test_each_threshold_is_logged_once_until_the_records_are_read(bench: Bench) -> None:
    with capture_logs() as lines:
        for percent in (10.5, 49.5, 50.5, 51.5, 89.5, 90.5, 99.5, 120.5):
            bench.at(percent)
        assert [(line["log_level"], line["used"]) for line in lines] == [("warning", 0.5), ("error", 0.9)]
        assert {(line["event"], line["topic"], line["partition"]) for line in lines} == {
            ("unread records near Kafka's retention", "t", 0)
        }
        lines.clear()
        acknowledge(bench.folder, 1, {"t": {0: RECORDS, 1: RECORDS}})
        bench.at(121.5)
        assert lines == []
        acknowledge(bench.folder, 2, {"t": {0: RECORDS - 1, 1: RECORDS}})
        bench.at(122.5)
        assert [line["log_level"] for line in lines] == ["error"]


def test_pipeline_without_positions_is_not_checked(client: Client, tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    watch = RetentionWatch("p", bench.settings, Checkpoint(tmp_path / "none"), bench.reports.append)
    watch.check()
    assert (bench.reports, client.asked.is_set()) == ([], False)


def test_partition_that_is_not_in_the_checkpoint_is_read_from_its_beginning(bench: Bench) -> None:
    acknowledge(bench.folder, 1, {"t": {1: RECORDS}})
    assert bench.at(70.5) == {("t", 0): 0.7, ("t", 1): 0.0}


def test_topic_whose_settings_may_not_be_read_is_left_out(client: Client, bench: Bench) -> None:
    client.topics.add("other")
    client.denied.add("t")
    acknowledge(bench.folder, 1, {"t": {0: 0, 1: 0}, "other": {0: 0, 1: 0}})
    with capture_logs() as lines:
        assert bench.at(30.5) == {("other", 0): 0.3, ("other", 1): 0.3}
        bench.at(31.5)
    assert [(line["event"], "allow DescribeConfigs" in line["reason"]) for line in lines] == [
        ("the retention of a topic is unknown", True)
    ]


def test_deleted_topic_is_left_out(client: Client, bench: Bench) -> None:
    client.topics.clear()
    assert bench.at(70.5) == {}


def test_unavailable_cluster_is_an_error_of_the_check(client: Client, bench: Bench) -> None:
    client.answers = False
    with pytest.raises(SourceUnavailableError):
        bench.watch.check()


def test_thread_reports_to_metrics_and_status_and_survives_errors(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "CHECK_S", 0.001)
    acknowledge(tmp_path, 0, {"t": {0: 0, 1: RECORDS}})
    reported = threading.Event()
    (tmp_path / "p.yaml").write_text(pipeline("kafka: {brokers: 'localhost:1', topics: [t]}"))
    configuration = load(tmp_path / "p.yaml", env={}, lookup=Catalog())
    metrics, activity = Metrics(["p"], process=False), Activity()
    report = activity.retention
    monkeypatch.setattr(activity, "retention", lambda *arguments: (report(*arguments), reported.set()))
    client.answers = False
    with closing(RetentionWatches(metrics, activity)) as watches:
        for _ in range(2):  # a pipeline that is built again has one watch
            watches.watch(configuration.pipelines["p"], Checkpoint(tmp_path))
        assert len([thread for thread in threading.enumerate() if thread.name == "retention-p"]) == 1
        assert client.asked.wait(20.0)
        client.answers = True
        assert reported.wait(20.0)
    assert not [thread for thread in threading.enumerate() if thread.name == "retention-p"]
    # the records of the test are years old
    assert activity.of("p")["retention"] == {
        "used": 1.0,
        "partitions": [{"topic": "t", "partition": 0, "used": 1.0, "remaining_s": 0}],
    }
    text = metrics.render()[1].decode()
    assert 'attr2hbase_retention_used_ratio{partition="0",pipeline="p",topic="t"} 1.0' in text
    assert 'attr2hbase_retention_used_ratio{partition="1",pipeline="p",topic="t"} 0.0' in text
