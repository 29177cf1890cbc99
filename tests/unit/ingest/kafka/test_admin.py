"""Questions to a cluster, answered as kafka-python's client answers them."""

from typing import Any
from uuid import UUID

import pytest

from ingest.kafka import admin
from ingest.kafka.settings import KafkaConnection

ID = UUID("6b0b2c1e-0000-4000-8000-000000000001")


class Client:
    """Of a cluster with the topic "dead"."""

    topic_id: UUID | None = ID

    def describe_topics(self, names: list[str]) -> list[dict[str, Any]]:
        return [
            {"name": name, "error_code": 0 if name == "dead" else 3, "partitions": [0], "topic_id": self.topic_id}
            for name in names
        ]

    def describe_cluster(self) -> dict[str, Any]:
        return {"cluster_id": "the cluster"}

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
def test_topic_is_told_from_others_by_its_id_or_that_of_the_cluster(client, asked, topic_id, expected):
    client.topic_id = topic_id
    assert asked.incarnation("dead") == expected
