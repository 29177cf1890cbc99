"""A Kafka topic of dead letters, in memory."""

from dataclasses import dataclass

from ingest.api import SourceUnavailableError
from ingest.kafka.stored import Stored, TopicSettings


@dataclass
class Sent:
    """A record that was sent."""

    key: bytes | None
    value: bytes | None
    headers: list
    partition_key: bytes
    is_durable: bool = False
    time_refused: str = ""


class Topic:
    """A Kafka topic with three partitions; stands for its producer, its reader and its admin client."""

    PARTITIONS = 3

    def __init__(self, name: str = "dead", id_: str = "first") -> None:
        self.name, self.id = name, id_
        self.limit = 1_000_000
        self.retention = (-1, -1, "delete")
        self.failing_requests = 0  # requests for settings that fail from now on
        self.records: list[list[tuple[bytes | None, bytes | None, list]]] = [[] for _ in range(self.PARTITIONS)]
        self.pending: list[Sent] = []
        self.failure: Exception | None = None
        self.acknowledged_before_failure = 0  # records of a flush that fails
        self.time_refused = ""  # by the broker, of every record from now on
        self.closed = 0

    def send(self, topic, key, value, headers, *, partition_key):
        assert topic == self.name
        self.pending.append(Sent(key, value, list(headers), partition_key, time_refused=self.time_refused))
        return self.pending[-1]

    def flush(self):
        pending, self.pending = self.pending, []
        for sent in pending if self.failure is None else pending[: self.acknowledged_before_failure]:
            self.records[sum(sent.partition_key) % self.PARTITIONS].append((sent.key, sent.value, sent.headers))
            sent.is_durable = True
        if self.failure is not None:
            raise self.failure

    def close(self):
        self.closed += 1

    def read(self, topic):
        assert topic == self.name
        for partition, records in enumerate(self.records):
            for offset in range(len(records)):
                yield self._stored(partition, offset)

    def read_at(self, topic, partition, offset):
        assert topic == self.name
        if partition >= self.PARTITIONS or offset >= len(self.records[partition]):
            return None
        return self._stored(partition, offset)

    def _stored(self, partition, offset):
        key, value, headers = self.records[partition][offset]
        return Stored(partition, offset, value, key, tuple(headers))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Nothing to close."""

    def settings(self, topic, *, created_by=""):
        assert topic == self.name
        if self.failing_requests:
            self.failing_requests -= 1
            raise SourceUnavailableError("no broker")
        return TopicSettings(self.limit, *self.retention)

    def incarnation(self, topic):
        assert topic == self.name
        return self.id

    def cluster_id(self):
        return "cluster"
