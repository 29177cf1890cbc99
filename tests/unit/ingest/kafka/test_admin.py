"""Requests to a cluster, with the responses of kafka-python's client."""

from typing import Any, ClassVar
from uuid import UUID

import pytest

from ingest.api import NotFoundError, SourceError
from ingest.kafka import admin
from ingest.kafka.settings import KafkaConnection
from ingest.kafka.stored import TopicSettings

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

    def describe_configs(self, _resources: object, **_: object) -> dict[str, Any]:
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


def test_hint_for_a_missing_dead_letter_topic_sets_unlimited_retention(client, cluster):
    with pytest.raises(NotFoundError) as caught:
        cluster.settings("nowhere")
    assert "--create --topic nowhere --config retention.ms=-1'" in caught.value.hint
    with pytest.raises(NotFoundError) as caught:
        cluster.partitions(["nowhere"])
    assert "--create --topic nowhere'" in caught.value.hint


def test_partitions_without_a_leader_are_named(client, cluster, monkeypatch):
    partitions = [{"partition_index": number, "leader_id": leader} for number, leader in ((1, -1), (0, 7), (2, -1))]
    topics = [{"name": "dead", "error_code": 0, "partitions": partitions}, {"name": "gone", "partitions": []}]
    monkeypatch.setattr(client, "describe_topics", lambda _names: topics, raising=False)
    assert cluster.leaderless(["dead", "gone"]) == [("dead", 1), ("dead", 2)]
    assert cluster.leaderless([]) == []
