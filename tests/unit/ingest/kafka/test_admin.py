"""Questions to a cluster, answered as kafka-python's client answers them."""

from typing import Any, ClassVar
from uuid import UUID

import pytest

from ingest.api import NotFoundError, SourceError
from ingest.kafka import admin
from ingest.kafka.settings import KafkaConnection
from ingest.kafka.stored import TopicSettings

ID = UUID("6b0b2c1e-0000-4000-8000-000000000001")


class Client:
    """Of a cluster with the topic "dead"."""

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
def asked(client: Client) -> admin.KafkaAdmin:
    return admin.KafkaAdmin(KafkaConnection.model_validate({"brokers": "localhost:1"}))


@pytest.mark.parametrize(("topic_id", "expected"), [(ID, str(ID)), (UUID(int=0), "the cluster"), (None, "the cluster")])
def test_incarnation_is_the_id_of_the_topic_or_of_the_cluster(client, asked, topic_id, expected):
    client.topic_id = topic_id
    assert asked.incarnation("dead") == expected


def test_settings_of_a_topic_say_what_it_takes_and_keeps(client, asked):
    client.settings = {
        "max.message.bytes": "2000",
        "retention.ms": "604800000",
        "retention.bytes": "-1",
        "cleanup.policy": "compact,delete",
    }
    assert asked.settings("dead") == TopicSettings(2000, 604800000, -1, "compact,delete")


def test_what_a_cluster_does_not_tell_of_a_topic_is_not_held_against_it(client, asked):
    client.settings = {"max.message.bytes": str(2**30)}
    assert asked.settings("dead") == TopicSettings(32 * 1024 * 1024, -1, -1, "")


def test_settings_that_may_not_be_read(client, asked):
    with pytest.raises(SourceError, match="no permission to read the settings"):
        asked.settings("dead")


def test_a_missing_topic_for_what_is_to_be_kept_is_made_to_keep_it(client, asked):
    with pytest.raises(NotFoundError) as caught:
        asked.settings("nowhere")
    assert "--create --topic nowhere --config retention.ms=-1'" in caught.value.hint
    with pytest.raises(NotFoundError) as caught:
        asked.partitions(["nowhere"])
    assert "--create --topic nowhere'" in caught.value.hint


def test_partitions_without_a_leader_are_named(client, asked, monkeypatch):
    partitions = [{"partition_index": number, "leader_id": leader} for number, leader in ((1, -1), (0, 7), (2, -1))]
    topics = [{"name": "dead", "error_code": 0, "partitions": partitions}, {"name": "gone", "partitions": []}]
    monkeypatch.setattr(client, "describe_topics", lambda _names: topics, raising=False)
    assert asked.leaderless(["dead", "gone"]) == [("dead", 1), ("dead", 2)]
    assert asked.leaderless([]) == []
