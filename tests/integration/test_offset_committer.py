"""Offset commits of a pipeline to a real broker: for an idle topic, and for a recreated one."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from kafka import TopicPartition
from kafka.admin import NewTopic
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

from ingest.kafka.admin import KafkaAdmin
from ingest.kafka.settings import KafkaConnection
from ingest.observe.metrics import Metrics
from ingest.service.kafka.group import LAG_S, RECOMMIT_S, UNAVAILABLE_S, OffsetCommitter
from ingest.service.kafka.topics import TopicIds
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import Checkpoint
from tests.support.checkpoint import acknowledge
from tests.support.names import unique
from tests.support.servers import Given, Kafka
from tests.support.waiting import reached

LIMIT_S = 20.0


class Offsets:
    """A checkpoint with one acknowledged batch, its offset committer, and a clock that the test sets."""

    def __init__(self, kafka: Kafka, folder: Path) -> None:
        self.kafka = kafka
        self.topic, self.group = kafka.create_topic("committed", partitions=2), unique("group")
        kafka.produce(self.topic, [Given("a", partition=0), Given("b", partition=1), Given("c", partition=0)])
        self._now_s = 0.0
        self._folder = folder
        self.acknowledge(0, {0: 1, 1: 1})
        self.metrics = Metrics(["p"], process=False)
        self.known = TopicIds(folder)
        self.committer = OffsetCommitter(
            pipeline="p",
            group=self.group,
            connection=KafkaConnection.model_validate({"brokers": kafka.brokers}),
            checkpoint=Checkpoint(folder),
            metrics=self.metrics,
            topics=[self.topic],
            topic_ids=self.known,
            times=BatchTimes(folder / "times", lambda: 0),
            clock=lambda: self._now_s,
        )
        self.committer.start()

    def acknowledge(self, batch: int, ends: dict[int, int], **others: dict[int, int]) -> None:
        """Write the files of an acknowledged batch."""
        acknowledge(self._folder, batch, {self.topic: ends, **others})

    def pass_time(self, seconds: float) -> None:
        """Advance the clock."""
        self._now_s += seconds

    def wait_for(self, committed: dict[int, int]) -> None:
        """Wait until the group has these offsets."""

        def has() -> bool:
            with suppress(KafkaError):  # the broker creates __consumer_offsets with the first group
                return self.kafka.committed(self.group, self.topic) == committed
            return False

        assert reached(has, LIMIT_S)

    def has_lag(self, records: int) -> bool:
        """Whether the lag metric has this value, and an acknowledgement is due."""
        lines = self.metrics.render()[1].decode().splitlines()
        lags = [float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("attr2hbase_lag")]
        is_due = any(line.startswith("attr2hbase_ack_due_timestamp_seconds{") for line in lines)
        return sum(lags) == records and is_due


@pytest.fixture
def offsets(kafka: Kafka, tmp_path: Path) -> Iterator[Offsets]:
    made = Offsets(kafka, tmp_path)
    yield made
    made.committer.close()


def test_offsets_of_an_idle_topic_are_committed_again_twice_a_day(offsets: Offsets, kafka: Kafka) -> None:
    """A broker deletes the offsets of a group without members a week after their commit."""
    offsets.wait_for({0: 1, 1: 1})
    with kafka.admin() as admin:  # like the broker after a week
        admin.delete_group_offsets(offsets.group, [TopicPartition(offsets.topic, part) for part in (0, 1)])
    kafka.produce(offsets.topic, ["d"] * 10)

    def lags() -> bool:
        offsets.pass_time(LAG_S)  # a check without a response is repeated at the next time
        return offsets.has_lag(11)

    assert reached(lags, LIMIT_S)
    assert kafka.committed(offsets.group, offsets.topic) == {}
    offsets.pass_time(RECOMMIT_S)
    offsets.wait_for({0: 1, 1: 1})


def test_offsets_are_not_committed_to_a_recreated_topic(offsets: Offsets, kafka: Kafka) -> None:
    offsets.wait_for({0: 1, 1: 1})
    recreate_topic(kafka, offsets.topic, partitions=2)
    kafka.produce(offsets.topic, ["e"] * 20)
    with kafka.admin() as admin:  # as if the topic was recreated between the check and the commit
        admin.alter_group_offsets(offsets.group, {TopicPartition(offsets.topic, 0): OffsetAndMetadata(5, "", None)})
    offsets.acknowledge(1, {0: 7, 1: 8})
    assert reached(lambda: offsets.committer.data_loss() is not None, LIMIT_S)
    assert f'topic "{offsets.topic}" was deleted and recreated' in str(offsets.committer.data_loss())
    offsets.wait_for({})
    offsets.acknowledge(2, {0: 8, 1: 9})
    offsets.committer.close()
    offsets.wait_for({})


def test_offsets_of_other_topics_are_committed_after_one_is_recreated(offsets: Offsets, kafka: Kafka) -> None:
    offsets.wait_for({0: 1, 1: 1})
    beside = kafka.create_topic("beside")
    kafka.produce(beside, ["a", "b", "c"])
    recreate_topic(kafka, offsets.topic, partitions=2)
    offsets.acknowledge(1, {0: 7, 1: 8}, **{beside: {0: 3}})
    assert reached(lambda: kafka.committed(offsets.group, beside) == {0: 3}, LIMIT_S)
    offsets.wait_for({})


def test_broker_without_responses_is_reported_as_unavailable(offsets: Offsets, kafka: Kafka) -> None:
    offsets.wait_for({0: 1, 1: 1})
    kafka.pause()
    assert offsets.committer.unavailable() is None
    offsets.pass_time(UNAVAILABLE_S)
    assert reached(lambda: "Kafka" in (offsets.committer.unavailable() or ""), LIMIT_S)
    kafka.resume()
    assert reached(lambda: offsets.committer.unavailable() is None, LIMIT_S)


def recreate_topic(kafka: Kafka, topic: str, *, partitions: int) -> None:
    """Delete a topic and create it again."""
    with kafka.admin() as admin:
        admin.delete_topics([topic])
        assert reached(lambda: topic not in admin.list_topics(), LIMIT_S)
        admin.create_topics([NewTopic(topic, partitions, 1)])
        admin.wait_for_topics([topic])


def test_recreated_topic_has_another_id(kafka: Kafka) -> None:
    topic = kafka.create_topic("recreated")
    with KafkaAdmin(KafkaConnection.model_validate({"brokers": kafka.brokers})) as admin:
        before = admin.topic_ids([topic, "nowhere"])
        assert admin.incarnation(topic) == before[topic]
        assert (list(before), admin.topic_ids([])) == ([topic], {})
        assert admin.topic_ids([topic]) == before
        recreate_topic(kafka, topic, partitions=1)
        after = admin.topic_ids([topic])
        assert list(after) == [topic]
        assert after != before
