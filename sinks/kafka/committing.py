"""The driver's half of the sink: the tasks have written all records when it is called."""

from collections.abc import Callable, Sequence

from ingest.api import Batch, Committer, SourceUnavailableError, StoreUnavailableError
from ingest.kafka.admin import KafkaAdmin
from ingest.kafka.loops import refuse_topic_of_source
from ingest.kafka.settings import KafkaConnection
from sinks.kafka.errors import OF_CLUSTER, of_sink
from sinks.kafka.refused import packed, unpacked


def topic_partitions(connection: KafkaConnection, topic: str, cluster_of_reader: Callable[[], str] | None) -> int:
    """
    The number of partitions of a topic that the source of the pipeline does not read.

    Raises:
        IngestError: as `KafkaCommitter.recover`, with SourceUnavailableError if the cluster does not answer.
    """
    with KafkaAdmin(connection) as admin:
        create = f"kafka-topics.sh --bootstrap-server {connection.broker_list[0]} --create --topic {topic}"
        partitions = admin.partitions([topic], created_by=create)[topic]
        refuse_topic_of_source(topic, admin, cluster_of_reader, "the records of the sink")
        return partitions


class KafkaCommitter(Committer):
    """
    Looks at the topic, and passes refused records on to the tasks.

    Args:
        connection: to the cluster.
        topic: its name.
        cluster_of_reader: as in `refuse_topic_of_source`.
    """

    def __init__(
        self, connection: KafkaConnection, topic: str, cluster_of_reader: Callable[[], str] | None = None
    ) -> None:
        self._connection = connection
        self._topic = topic
        self._cluster_of_reader = cluster_of_reader

    def recover(self) -> None:
        """
        Check the topic.

        Raises:
            StoreUnavailableError: the cluster does not answer now.
            NotFoundError: there is no such topic.
            ConfigError: the source of the pipeline reads the topic.
            SourceError: the cluster refuses the user.
        """
        try:
            topic_partitions(self._connection, self._topic, self._cluster_of_reader)
        except SourceUnavailableError as error:
            raise of_sink(error) from error

    def prepare(self, batch: Batch, requests: Sequence[bytes]) -> bytes:  # noqa: ARG002 - the same for each attempt
        """The records that the broker has refused in earlier attempts."""
        return packed(unpacked(requests)) if requests else b""

    def commit(self, batch: Batch, results: Sequence[bytes]) -> None:
        """Nothing: all records were acknowledged."""

    def probe(self, payload: bytes, timeout_s: float) -> None:  # noqa: ARG002 - of the admin client
        """
        Check that each partition of the topic can be written to: it has a leader, and enough replicas in sync.

        Writes nothing. Each attempt that runs while some partitions cannot be written to adds a copy of its records to
        the others.
        """
        try:
            with KafkaAdmin(self._connection) as admin:
                admin.partitions([self._topic])
                leaderless = admin.leaderless([self._topic])
                short = admin.short_of_replicas(self._topic)
        except OF_CLUSTER as error:
            raise of_sink(error) from error
        if leaderless:
            raise StoreUnavailableError(
                f'topic "{self._topic}": {len(leaderless)} of its partitions have no leader',
                hint="are all brokers of the cluster running?",
            )
        if short:
            raise StoreUnavailableError(
                f'topic "{self._topic}": {len(short)} of its partitions have fewer replicas in sync than '
                "`min.insync.replicas`",
                hint="are all brokers of the cluster running?",
            )
