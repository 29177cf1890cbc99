"""A Kafka topic of dead letters, in memory."""

from ingest.api import SourceUnavailableError
from ingest.kafka.stored import Stored, TopicSettings


class Topic:
    """A Kafka topic with three partitions; stands for its producer, its reader and its admin client."""

    PARTITIONS = 3

    def __init__(self, name: str = "dead", id_: str = "first") -> None:
        self.name, self.id = name, id_
        self.limit = 1_000_000
        self.retention = (-1, -1, "delete")
        self.failing_requests = 0  # requests for settings that fail from now on
        self.records: list[list[tuple[bytes | None, bytes | None, list]]] = [[] for _ in range(self.PARTITIONS)]
        self.pending: list[tuple] = []
        self.failure: Exception | None = None
        self.closed = 0

    def send(self, topic, key, value, headers):
        assert topic == self.name
        self.pending.append((key, value, list(headers)))

    def flush(self):
        if self.failure is not None:
            raise self.failure
        for key, value, headers in self.pending:
            self.records[sum(key) % self.PARTITIONS].append((key, value, headers))
        self.pending = []

    def close(self):
        self.closed += 1

    def read(self, topic):
        assert topic == self.name
        for partition, records in enumerate(self.records):
            for offset, (_, value, _) in enumerate(records):
                yield Stored(partition, offset, value)

    def read_at(self, topic, partition, offset):
        assert topic == self.name
        if partition >= self.PARTITIONS or offset >= len(self.records[partition]):
            return None
        return Stored(partition, offset, self.records[partition][offset][1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Nothing to close."""

    def settings(self, topic, *, create_with=""):
        assert topic == self.name
        if self.failing_requests:
            self.failing_requests -= 1
            raise SourceUnavailableError("no broker")
        return TopicSettings(self.limit, *self.retention)

    def incarnation(self, topic):
        assert topic == self.name
        return self.id
