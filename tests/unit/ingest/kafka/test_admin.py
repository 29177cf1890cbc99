"""Requests to a cluster, with the responses of kafka-python's client."""

from typing import Any, ClassVar
from uuid import UUID

import pytest
from kafka import TopicPartition
from kafka.errors import IncompatibleBrokerVersion
from kafka.protocol.broker_version_data import BrokerVersionData
from kafka.structs import OffsetAndTimestamp

from ingest.api import NotFoundError, SourceError
from ingest.dead_letters.kafka import CREATED_BY
from ingest.kafka import admin
from ingest.kafka.settings import KafkaConnection
from ingest.kafka.stored import TopicSettings
from ingest.kafka.versions import BrokerVersion

ID = UUID("6b0b2c1e-0000-4000-8000-000000000001")


class Client:
    """Stands for the admin client of a cluster with the topic "dead"."""

    topic_id: UUID | None = ID
    settings: ClassVar[dict[str, str]] = {}

    def describe_topics(self, names: list[str]) -> list[dict[str, Any]]:
        return [
            {"name": name, "error_code": 0 if name == "dead" else 3, "partitions": [0], "topic_id": self.topic_id}
            for name in names
        ]

    def describe_cluster(self) -> dict[str, Any]:
        return {"cluster_id": "the cluster"}

    def describe_configs(self, resources: list[Any], **_: object) -> dict[str, Any]:
        assert [each.name for each in resources] == ["dead"]
        return {"topic": {"dead": {name: {"value": value} for name, value in self.settings.items()}}}

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Client:
    client = Client()
    monkeypatch.setattr(admin, "admin_client", lambda _connection: client)
    return client


@pytest.fixture
def cluster(client: Client) -> admin.KafkaAdmin:
    return admin.KafkaAdmin(KafkaConnection.model_validate({"brokers": "localhost:1"}))


@pytest.mark.parametrize(("topic_id", "expected"), [(ID, str(ID)), (UUID(int=0), "the cluster"), (None, "the cluster")])
def test_incarnation_is_the_id_of_the_topic_or_else_of_the_cluster(client, cluster, topic_id, expected):
    client.topic_id = topic_id
    assert cluster.incarnation("dead") == expected


def test_topic_settings_have_size_limit_retention_and_cleanup_policy(client, cluster):
    client.settings = {
        "max.message.bytes": "2000",
        "retention.ms": "604800000",
        "retention.bytes": "-1",
        "cleanup.policy": "compact,delete",
    }
    assert cluster.settings("dead") == TopicSettings(2000, 604800000, -1, "compact,delete")


def test_missing_topic_settings_mean_no_limit(client, cluster):
    client.settings = {"max.message.bytes": str(2**30)}
    assert cluster.settings("dead") == TopicSettings(32 * 1024 * 1024, -1, -1, "")


def test_topic_settings_without_permission_are_an_error(client, cluster):
    with pytest.raises(SourceError, match="no permission to read the settings"):
        cluster.settings("dead")


def test_hint_for_a_missing_topic_names_the_command_that_creates_it(client, cluster):
    with pytest.raises(NotFoundError) as caught:
        cluster.settings("nowhere", created_by=CREATED_BY)
    assert "'attr2hbase admin dead-letters create-topic' creates the topic" in caught.value.hint
    with pytest.raises(NotFoundError) as caught:
        cluster.partitions(["nowhere"])
    assert "'attr2hbase produce --events EVENTS' creates the topic" in caught.value.hint


def test_partitions_without_a_leader_are_named(client, cluster, monkeypatch):
    partitions = [{"partition_index": number, "leader_id": leader} for number, leader in ((1, -1), (0, 7), (2, -1))]
    topics = [{"name": "dead", "error_code": 0, "partitions": partitions}, {"name": "gone", "partitions": []}]
    monkeypatch.setattr(client, "describe_topics", lambda _names: topics, raising=False)
    assert cluster.leaderless(["dead", "gone"]) == [("dead", 1), ("dead", 2)]
    assert cluster.leaderless([]) == []


class Described(Client):
    """A cluster with two brokers."""

    def describe_cluster(self) -> dict[str, Any]:
        brokers = [{"broker_id": 2, "host": "k2", "port": 9092}, {"broker_id": 1, "host": "k1", "port": 9093}]
        return {"cluster_id": "the cluster", "brokers": brokers}

    def get_broker_version_data(self, broker_id: int) -> BrokerVersionData:
        return BrokerVersionData(broker_version=(3, broker_id))

    def describe_features(self) -> dict[str, Any]:
        return {"metadata.version": {"supported": (7, 33), "finalized": (27, 27), "finalized_epoch": 9}}

    def describe_topics(self, names: list[str]) -> list[dict[str, Any]]:
        operations = {"dead": ["READ", "DESCRIBE"], "old": None}
        return [{"name": name, "error_code": 0, "authorized_operations": operations[name]} for name in names]


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch) -> admin.KafkaAdmin:
    monkeypatch.setattr(admin, "admin_client", lambda _connection: Described())
    return admin.KafkaAdmin(KafkaConnection.model_validate({"brokers": "localhost:1"}))


def test_brokers_have_the_addresses_that_the_cluster_advertises(described):
    assert described.brokers() == [("k1", 9093), ("k2", 9092)]


def test_version_is_that_of_a_broker(described):
    assert described.version() == BrokerVersion((4, 4), (4, 1))


def test_version_of_an_old_broker_is_that_of_its_protocol(described, monkeypatch):
    def describe_features(_self: object) -> dict[str, object]:
        raise IncompatibleBrokerVersion

    monkeypatch.setattr(Described, "describe_features", describe_features)
    assert described.version() == BrokerVersion((3, 2))


def test_operations_on_topics_are_those_that_the_cluster_reports(described):
    assert described.topic_operations(["dead", "old"]) == {"dead": frozenset({"READ", "DESCRIBE"})}


def test_partitions_without_a_record_since_a_time_are_left_out(client, cluster, monkeypatch):
    monkeypatch.setattr(
        client, "describe_topics", lambda _: [{"name": "dead", "error_code": 0, "partitions": [0, 1]}], raising=False
    )
    offsets = {0: OffsetAndTimestamp(7, 1000, None), 1: OffsetAndTimestamp(-1, -1, None)}
    requested = []

    def list_partition_offsets(specs: dict[TopicPartition, int], **_: object) -> dict[TopicPartition, object]:
        requested.extend(specs.values())
        return {part: offsets[part.partition] for part in specs}

    monkeypatch.setattr(client, "list_partition_offsets", list_partition_offsets, raising=False)
    assert (cluster.offsets_since(["dead"], 999), requested) == ({("dead", 0): 7}, [999, 999])
    requested.clear()
    found = [cluster.offsets_since(["dead"], -2), cluster.first_since({("dead", 0): -2, ("dead", 1): 5})]
    assert (found, requested) == ([{("dead", 0): 7}] * 2, [0, 0, 0, 5])
