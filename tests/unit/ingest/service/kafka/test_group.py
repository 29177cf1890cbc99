"""The offset committer, with a cluster where some partition leaders do not answer."""

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from kafka import TopicPartition
from kafka.errors import KafkaTimeoutError, NoError
from kafka.structs import OffsetAndMetadata, OffsetAndTimestamp
from structlog.testing import capture_logs

from ingest.api import ConfigError
from ingest.kafka import admin, offsets
from ingest.kafka.settings import KafkaConnection
from ingest.observe.metrics import Metrics
from ingest.service.kafka.clock import CHECK_S
from ingest.service.kafka.group import LAG_S, UNAVAILABLE_S, OffsetCommitter, check_offsets
from ingest.service.kafka.positions import write_first_offsets
from ingest.service.kafka.topics import TopicIds
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import Checkpoint
from tests.support.checkpoint import acknowledge
from tests.support.waiting import reached

LIMIT_S = 20.0


class Client:
    """A fake of kafka-python's client: a cluster with topic "t", which has two partitions."""

    def __init__(self) -> None:
        self.leader = 2
        self.answers = True
        self.end = 5
        self.has_coordinator = True
        self.time_ms = 0
        self.committed: dict[TopicPartition, int] = {}
        self.notes: dict[TopicPartition, str] = {}
        self.measured = threading.Event()
        self.commit_requested = threading.Event()

    def describe_topics(self, names: list[str]) -> list[dict[str, Any]]:
        leaders = (1, self.leader)
        partitions = [{"partition_index": number, "leader_id": leader} for number, leader in enumerate(leaders)]
        return [{"name": name, "error_code": 0, "topic_id": UUID(int=1), "partitions": partitions} for name in names]

    def list_partition_offsets(self, specs: dict[TopicPartition, int], **_: object) -> dict[TopicPartition, Any]:
        self.measured.set()
        if not self.answers:
            raise KafkaTimeoutError("broker 2")
        return {part: OffsetAndTimestamp(self.end, -1, -1) for part in specs}

    def describe_metadata_quorum(self) -> dict[str, Any]:
        voters = [{"replica_id": 2, "last_caught_up_timestamp": self.time_ms}, {"replica_id": 3}]
        return {"topics": [{"partitions": [{"leader_id": 2, "current_voters": voters}]}]}

    def list_group_offsets(self, group: str) -> dict[str, dict[TopicPartition, Any]]:
        assert group == "g"
        found = {part: OffsetAndMetadata(offset, self.notes[part], None) for part, offset in self.committed.items()}
        return {group: found}

    def alter_group_offsets(self, group: str, wanted: dict[TopicPartition, Any]) -> dict[TopicPartition, Any]:
        assert group == "g"
        self.commit_requested.set()
        if not self.has_coordinator:
            raise KafkaTimeoutError("coordinator")
        self.committed |= {part: offset.offset for part, offset in wanted.items()}
        self.notes |= {part: offset.metadata for part, offset in wanted.items()}
        return dict.fromkeys(wanted, NoError)

    def delete_group_offsets(self, group: str, wanted: list[TopicPartition]) -> dict[TopicPartition, Any]:
        assert group == "g"
        for part in wanted:
            del self.committed[part]
        return dict.fromkeys(wanted, NoError)

    def close(self) -> None:
        """Nothing to close."""


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Client:
    created = Client()
    for module in (admin, offsets):
        monkeypatch.setattr(module, "admin_client", lambda _connection: created)
    return created


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(["p"], process=False)


@pytest.fixture
def committer(client: Client, clock: Clock, metrics: Metrics, tmp_path: Path) -> Iterator[OffsetCommitter]:
    acknowledge(tmp_path, 0, {"t": {0: 3, 1: 4}})
    created = OffsetCommitter(
        pipeline="p",
        group="g",
        connection=KafkaConnection.model_validate({"brokers": "localhost:1"}),
        checkpoint=Checkpoint(tmp_path),
        metrics=metrics,
        topics=["t"],
        topic_ids=TopicIds(tmp_path),
        times=BatchTimes(tmp_path / "times", lambda: 0),
        clock=clock,
    )
    yield created
    created.close()


def lags(metrics: Metrics) -> list[float]:
    """The values of the lag metrics, and of the one that says when an acknowledgement is due."""
    lines = metrics.render()[1].decode().splitlines()
    names = ("attr2hbase_lag_records{", "attr2hbase_ack_due_timestamp_seconds{")
    return [float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(names)]


@pytest.mark.parametrize("start", [None, 5, 2])
def test_lag_before_the_first_acknowledgement_is_counted_from_the_start(
    client: Client, committer: OffsetCommitter, metrics: Metrics, tmp_path: Path, start: int | None
):
    for folder in ("commits", "offsets"):
        shutil.rmtree(tmp_path / folder)
    if start is not None:
        write_first_offsets(tmp_path, {("t", 0): start, ("t", 1): start})
    committer.tick()
    assert client.committed == {}
    assert lags(metrics)[:2] == {None: [], 5: [0, 0], 2: [3, 3]}[start]
    assert len(lags(metrics)) == {None: 0, 5: 2, 2: 3}[start]


def test_answer_after_the_end_is_not_reported(clock: Clock, committer: OffsetCommitter, metrics: Metrics):
    committer.tick()
    assert lags(metrics)[:2] == [2, 1]
    metrics.remove("p")
    committer.close()
    clock.now_s = LAG_S
    committer.tick()
    assert lags(metrics) == []


def test_offsets_of_another_service_are_not_hidden(
    client: Client, committer: OffsetCommitter, metrics: Metrics, tmp_path: Path
):
    (tmp_path / "metadata").write_text('{"id": "ours"}')
    (tmp_path / "times" / "0").write_text("1000")
    client.committed = {TopicPartition("t", 0): 1}
    client.notes = {TopicPartition("t", 0): "900 of the checkpoint before"}
    committer.tick()
    assert set(client.notes.values()) == {"1000 ours"}
    client.notes[TopicPartition("t", 0)] = "1001 theirs"
    acknowledge(tmp_path, 1, {"t": {0: 5, 1: 5}})
    with capture_logs() as lines:
        committer.tick()
    assert 'another service commits offsets to group "g"' in lines[0]["reason"]
    assert client.committed == {TopicPartition("t", 0): 3, TopicPartition("t", 1): 4}
    assert 'attr2hbase_group_commit_failures_total{pipeline="p"} 1.0' in metrics.render()[1].decode()
    assert committer.data_loss() is None


def test_clock_that_is_ahead_of_the_cluster_is_reported(client: Client, clock: Clock, committer: OffsetCommitter):
    with capture_logs() as lines:
        committer.tick()
        clock.now_s = CHECK_S
        committer.tick()
    assert [line["cluster"] for line in lines] == []  # it does not report its clock
    client.time_ms = 1_000
    with capture_logs() as lines:
        clock.now_s = 2 * CHECK_S
        committer.tick()
    assert [line["cluster"] for line in lines] == ["1970-01-01T00:00:01.000Z"]
    assert client.committed != {}


def test_partition_without_a_leader_makes_the_source_unavailable(
    client: Client, clock: Clock, committer: OffsetCommitter
):
    client.leader = -1
    committer.start()
    assert reached(lambda: len(client.committed) == 2, LIMIT_S)  # the commit does not wait for a leader
    assert committer.unavailable() is None
    clock.now_s = UNAVAILABLE_S
    assert reached(lambda: committer.unavailable() is not None, LIMIT_S)
    assert str(committer.unavailable()).startswith('no broker leads partition "t/1"; start the brokers')
    client.leader = 2
    assert reached(lambda: committer.unavailable() is None, LIMIT_S)


def test_unresponsive_leader_makes_the_source_unavailable(client: Client, clock: Clock, committer: OffsetCommitter):
    client.answers = False
    committer.start()
    assert client.measured.wait(LIMIT_S)
    clock.now_s = UNAVAILABLE_S
    assert reached(lambda: "broker 2" in str(committer.unavailable()), LIMIT_S)
    assert reached(lambda: len(client.committed) == 2, LIMIT_S)
    client.answers = True
    assert reached(lambda: committer.unavailable() is None, LIMIT_S)


def test_group_without_a_coordinator_does_not_make_the_source_unavailable(
    client: Client, clock: Clock, committer: OffsetCommitter
):
    client.has_coordinator = False
    committer.start()
    assert client.commit_requested.wait(LIMIT_S)
    clock.now_s = UNAVAILABLE_S
    client.commit_requested.clear()
    assert client.commit_requested.wait(LIMIT_S)  # a tick that began after the change of the clock
    assert committer.unavailable() is None
    client.leader = -1
    clock.now_s = 2 * UNAVAILABLE_S
    assert reached(lambda: "no broker leads" in str(committer.unavailable()), LIMIT_S)


def test_truncated_partition_is_a_data_loss(client: Client, clock: Clock, committer: OffsetCommitter):
    """Offsets 3 and 4 are acknowledged."""
    client.end = 4
    committer.start()
    assert reached(lambda: len(client.committed) == 2, LIMIT_S)
    assert committer.data_loss() is None
    client.end = 3
    clock.now_s = LAG_S
    assert reached(lambda: committer.data_loss() is not None, LIMIT_S)
    error = committer.data_loss()
    assert error is not None
    assert error.code == "log_truncated"
    assert error.message == 'topic "t" was truncated: t/1 ends at offset 3, but was read up to 4'


@pytest.mark.parametrize(
    ("offsets", "found", "hint"),
    [
        ({0: 2, 1: 10}, "t/0 2 (it begins at 3)", "deleted"),
        (
            {0: 2, 1: 11, 2: 5},
            "t/0 2 (it begins at 3), t/1 11 (it ends at 10), t/2 5 (there is no such partition)",
            "deleted",
        ),
        ({0: 10, 1: 11}, "t/1 11 (it ends at 10)", "other"),
    ],
)
def test_offsets_that_the_topics_do_not_have_are_refused(offsets: dict[int, int], found: str, hint: str) -> None:
    begins, ends = {("t", 0): 3, ("t", 1): 0}, {("t", 0): 10, ("t", 1): 10}
    wanted = {("t", partition): offset for partition, offset in offsets.items()}
    with pytest.raises(ConfigError) as caught:
        check_offsets('group "g"', wanted, begins, ends, deleted_hint="deleted", hint="other")
    assert caught.value.message == f'group "g" has offsets that the topics of the source do not have: {found}'
    assert caught.value.hint == hint


def test_partitions_without_an_offset_are_known() -> None:
    parts = {("t", partition): 3 for partition in range(3)}
    assert check_offsets("it", {("t", 1): 3}, parts, parts, deleted_hint="", hint="") == [("t", 0), ("t", 2)]
