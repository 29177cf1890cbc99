"""Administration of a Kafka cluster: its topics, their partitions, settings and offsets."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Self

from kafka import IsolationLevel, KafkaAdminClient
from kafka.admin import ConfigFilterType, ConfigResource, ConfigResourceType, OffsetSpec
from kafka.errors import (
    IncompatibleBrokerVersion,
    InvalidTopicError,
    NoError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
    for_code,
)

from ingest.api import ConflictError, IngestError, NotFoundError, TopicPartition
from ingest.kafka.clients import ANSWER_MS, admin_client, partition
from ingest.kafka.errors import AccessDeniedError, translated, translating
from ingest.kafka.producer import MAX_REQUEST_BYTES
from ingest.kafka.settings import KafkaConnection
from ingest.kafka.stored import TopicSettings
from ingest.kafka.versions import FEATURE, BrokerVersion, broker_version

_PRODUCE = "attr2hbase produce --events EVENTS"
_NO_ID = "00000000-0000-0000-0000-000000000000"
_MISSING = (UnknownTopicOrPartitionError, InvalidTopicError)


class KafkaAdmin:
    """
    An admin connection; opened by the constructor, closed by `close` or the end of a `with` block.

    Used by one thread. Each request succeeds or fails within seconds. A failed request leaves the connection open, and
    the next one may succeed.

    Raises:
        SourceUnavailableError: no broker answers; also from each request.
        SourceError: the cluster denies access, code `access_denied`; also from each request.
    """

    def __init__(self, connection: KafkaConnection) -> None:
        self._client: KafkaAdminClient = admin_client(connection)
        self._brokers = connection.brokers

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; may be called twice."""
        self._client.close()

    def cluster_id(self) -> str:
        """The id of the cluster."""
        with translating("reading the id of the cluster"):
            return str(self._client.describe_cluster()["cluster_id"])

    def version(self) -> BrokerVersion:
        """
        The version of a broker: of its features, and of brokers without `metadata.version` as their protocol shows it.

        The latter is the newest version that kafka-python knows and whose requests the broker supports.
        """
        with translating("reading the version of a broker"):
            broker = self._client.describe_cluster()["brokers"][0]["broker_id"]
            by_protocol = tuple(self._client.get_broker_version_data(broker).broker_version)
            try:
                features = self._client.describe_features().get(FEATURE, {})
            except IncompatibleBrokerVersion:  # older than 2.4
                features = {}
        return broker_version(by_protocol, features)

    def clock_ms(self) -> int | None:
        """
        The clock of the cluster's controller, in ms since the epoch, at the time of the answer.

        None if the cluster does not report it: it has no controller quorum (ZooKeeper) or no leader of it now, is older
        than Kafka 3.3, does not answer, or the user has no right to Describe the cluster.

        Source: `LeaderState.describeReplicaState` of Kafka: the leader of the quorum reports its present clock as the
        time at which it was caught up itself (KIP-836).
        """
        try:
            with translating("reading the clock of the cluster"):
                quorum = self._client.describe_metadata_quorum()
        except IngestError:  # the clock is one witness; whether the cluster answers is found out by other requests
            return None
        times = [
            replica.get("last_caught_up_timestamp", -1)
            for topic in quorum["topics"]
            for part in topic["partitions"]
            for replica in part["current_voters"]
            if replica["replica_id"] == part["leader_id"]
        ]
        return max((int(time_ms) for time_ms in times if time_ms > 0), default=None)

    def brokers(self) -> list[tuple[str, int]]:
        """Host and port of each broker as the cluster advertises them; clients connect to these addresses."""
        with translating("listing the brokers"):
            return sorted((broker["host"], broker["port"]) for broker in self._client.describe_cluster()["brokers"])

    def topic_operations(self, topics: Sequence[str]) -> dict[str, frozenset[str]]:
        """
        The operations that the user may perform on each topic, by Kafka's names, such as READ.

        Topics for which the cluster does not report them are left out; a cluster without ACLs reports all operations.
        """
        found = {topic["name"]: topic.get("authorized_operations") for topic in self._described(topics)}
        return {name: frozenset(operations) for name, operations in found.items() if operations}

    def partitions(self, topics: Sequence[str], *, created_by: str = _PRODUCE) -> dict[str, int]:
        """
        The number of partitions of topics.

        Args:
            topics: their names.
            created_by: the command that creates a missing topic, for the hint.

        Raises:
            NotFoundError: one of them does not exist.
        """
        if not topics:
            return {}
        found: dict[str, int] = {}
        for topic in self._described(topics):
            name, problem = topic["name"], for_code(topic["error_code"])
            if issubclass(problem, _MISSING):
                raise NotFoundError(
                    f'no topic "{name}" in the cluster',
                    hint=f"check the name, and the cluster at {self._brokers}; '{created_by}' creates the topic",
                )
            if problem is not NoError:
                raise translated(problem(), f'reading topic "{name}"')
            found[name] = len(topic["partitions"])
        return {name: found[name] for name in topics}

    def existing(self, topics: Sequence[str]) -> set[str]:
        """Those of these topics that exist."""
        described = self._described(topics) if topics else []
        return {topic["name"] for topic in described if not issubclass(for_code(topic["error_code"]), _MISSING)}

    def topic_ids(self, topics: Sequence[str]) -> dict[str, str]:
        """
        The id of each topic: another id means that the topic was recreated.

        Topics that do not exist are left out, and so are all topics of brokers before Kafka 2.8, which have no ids.
        """
        if not topics:
            return {}
        found = ((topic["name"], topic["topic_id"]) for topic in self._described(topics))
        return {name: str(id_) for name, id_ in found if id_ is not None and str(id_) != _NO_ID}

    def leaderless(self, topics: Sequence[str]) -> list[TopicPartition]:
        """Partitions without a leader, which can be neither read nor written now; by topic and partition."""
        if not topics:
            return []
        return sorted(
            (topic["name"], partition["partition_index"])
            for topic in self._described(topics)
            for partition in topic["partitions"]
            if partition["leader_id"] < 0
        )

    def short_of_replicas(self, topic: str) -> list[TopicPartition]:
        """
        Partitions with fewer replicas in sync than `min.insync.replicas`: a write that waits for all is refused now.

        Empty if the user may not read the settings of the topic.
        """
        least = int(self._settings(topic).get("min.insync.replicas", 1))
        return sorted(
            (found["name"], partition["partition_index"])
            for found in self._described([topic])
            for partition in found["partitions"]
            if len(partition["isr_nodes"]) < least
        )

    def incarnation(self, topic: str) -> str:
        """
        An id that no other topic of its name has: the topic's id, or the cluster's if topics have none.

        So before Kafka 2.8 a recreated topic in the same cluster has the same incarnation.
        """
        return self.topic_ids([topic]).get(topic) or self.cluster_id()

    def topics_matching(self, pattern: str) -> list[str]:
        """Names of topics that match a regular expression as a whole, sorted; Kafka's own topics are left out."""
        expression = re.compile(pattern)
        return sorted(
            topic["name"]
            for topic in self._described(None)
            if not topic["is_internal"] and expression.fullmatch(topic["name"])
        )

    def ensure_topic(self, name: str, config: Mapping[str, str] | None = None) -> bool:
        """Create a topic as `create_topic`, with the cluster's partitions, if it is missing; returns whether it was."""
        if self.existing([name]):
            return False
        try:
            self.create_topic(name, config=config)
        except ConflictError:  # another process creates it at this moment
            with translating(f'creating topic "{name}"'):
                self._client.wait_for_topics([name], timeout_ms=ANSWER_MS)
            return False
        return True

    def create_topic(self, name: str, *, partitions: int = -1, config: Mapping[str, str] | None = None) -> None:
        """
        Create a topic with the cluster's default replication, and wait until it can be used.

        Args:
            name: letters, digits, dots, underscores and hyphens.
            partitions: -1 for the cluster's default.
            config: settings of the topic by Kafka's names.

        Raises:
            ConflictError: a topic of this name exists.
        """
        with translating(f'creating topic "{name}"'):
            try:
                self._client.create_topics({name: {"num_partitions": partitions, "configs": dict(config or {})}})
            except TopicAlreadyExistsError as error:
                raise ConflictError(f'topic "{name}" already exists') from error
            self._client.wait_for_topics([name], timeout_ms=ANSWER_MS)

    def settings(self, topic: str, *, created_by: str = _PRODUCE) -> TopicSettings:
        """
        Settings of a topic; the size limit is that of the topic or of our producer, the smaller one.

        Args:
            topic: its name.
            created_by: as in `partitions`.

        Raises:
            NotFoundError: there is no such topic.
        """
        # brokers return settings for topics that do not exist, too
        self.partitions([topic], created_by=created_by)
        found = self._settings(topic)
        if "max.message.bytes" not in found:
            raise AccessDeniedError(
                f'no permission to read the settings of topic "{topic}"',
                hint="allow DescribeConfigs on the topic",
            )
        decompressed = found.get("max.decompressed.message.bytes")
        return TopicSettings(
            max_message_bytes=min(int(found["max.message.bytes"]), MAX_REQUEST_BYTES),
            retention_ms=int(found.get("retention.ms", -1)),
            retention_bytes=int(found.get("retention.bytes", -1)),
            cleanup_policy=found.get("cleanup.policy", ""),
            max_decompressed_bytes=None if decompressed is None else int(decompressed),
        )

    def earliest(self, topics: Sequence[str]) -> dict[TopicPartition, int]:
        """Offset of the first record that still exists, by topic and partition."""
        return self._offsets(topics, OffsetSpec.EARLIEST)

    def ends(self, topics: Sequence[str]) -> dict[TopicPartition, int]:
        """Offset after the last record that `read_committed` returns (last stable offset), by topic and partition."""
        return self._offsets(topics, OffsetSpec.LATEST)

    def high_watermarks(self, topics: Sequence[str]) -> dict[TopicPartition, int]:
        """Offset after the last record (high watermark), open transactions included, by topic and partition."""
        return self._offsets(topics, OffsetSpec.LATEST, IsolationLevel.READ_UNCOMMITTED)

    def offsets_since(self, topics: Sequence[str], time_ms: int) -> dict[TopicPartition, int]:
        """
        Offset of the first record with this timestamp or a later one; partitions without one are left out.

        Args:
            topics: their names.
            time_ms: since 1970; an earlier time counts as 1970.
        """
        found = self._offsets(topics, _since_1970(time_ms), IsolationLevel.READ_UNCOMMITTED)
        return {part: offset for part, offset in found.items() if offset >= 0}

    def first_since(self, times_ms: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """As `offsets_since`, with a time for each partition; the partitions exist."""
        if not times_ms:
            return {}
        with translating(f"reading offsets of {_names(sorted({topic for topic, _ in times_ms}))}"):
            found = self._client.list_partition_offsets(
                {partition(part): _since_1970(time_ms) for part, time_ms in times_ms.items()},
                isolation_level=IsolationLevel.READ_UNCOMMITTED,
            )
        offsets = {part: found[partition(part)].offset for part in times_ms}
        return {part: offset for part, offset in offsets.items() if offset >= 0}

    def _offsets(
        self, topics: Sequence[str], spec: int, isolation: IsolationLevel = IsolationLevel.READ_COMMITTED
    ) -> dict[TopicPartition, int]:
        wanted = [(topic, number) for topic, count in self.partitions(topics).items() for number in range(count)]
        if not wanted:
            return {}
        with translating(f"reading offsets of {_names(topics)}"):
            found = self._client.list_partition_offsets(
                {partition(part): spec for part in wanted}, isolation_level=isolation
            )
        return {part: found[partition(part)].offset for part in wanted}

    def _settings(self, topic: str) -> dict[str, str]:
        """The settings of a topic by Kafka's names; empty without the right to read them."""
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        with translating(f'reading settings of topic "{topic}"'):
            answer = self._client.describe_configs([resource], config_filter=ConfigFilterType.ALL)
        return {name: about["value"] for name, about in answer.get("topic", {}).get(topic, {}).items()}

    def _described(self, topics: Sequence[str] | None) -> list[dict[str, Any]]:
        with translating("listing topics" if topics is None else f"reading topics {_names(topics)}"):
            found: list[dict[str, Any]] = self._client.describe_topics(None if topics is None else list(topics))
        return found


def _since_1970(time_ms: int) -> int:
    return max(0, time_ms)  # Kafka gives negative ones other meanings


def _names(topics: Sequence[str]) -> str:
    return ", ".join(f'"{topic}"' for topic in topics)
