"""`attr2hbase admin dead-letters create-topic`: the topic has the settings that keep dead letters."""

from typing import Any

import pytest

from ingest.kafka import admin
from ingest.kafka.settings import KafkaConnection

FILE = """\
version: 1
stores: {mem: {memory: {}}}
pipelines:
  p:
    source: {kafka: {brokers: "localhost:1", topics: [events]}}
    sinks: [attr2hbase: {table: t}]
"""
TOPIC = "    dead_letters: {kafka: {topic: events-dead}}\n"


class Cluster:
    """A fake Kafka client with topics that have been created, and their settings."""

    def __init__(self, _connection: KafkaConnection) -> None:
        self.topics: dict[str, dict[str, str]] = {}

    def describe_topics(self, names: list[str]) -> list[dict[str, Any]]:
        return [{"name": name, "error_code": 0 if name in self.topics else 3, "partitions": [0]} for name in names]

    def create_topics(self, topics: dict[str, dict[str, Any]]) -> None:
        for name, options in topics.items():
            assert options["num_partitions"] == -1  # as many as the cluster gives a topic
            self.topics[name] = options["configs"]

    def wait_for_topics(self, names: list[str], **_: object) -> None:
        assert set(names) <= self.topics.keys()

    def describe_configs(self, resources: list[Any], **_: object) -> dict[str, Any]:
        usual = {"max.message.bytes": "1048588", "retention.ms": "604800000", "cleanup.policy": "delete"}
        settings = {each.name: usual | self.topics[each.name] for each in resources}
        return {"topic": {name: {key: {"value": text} for key, text in of.items()} for name, of in settings.items()}}

    def close(self) -> None:
        """Nothing to close."""


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster(KafkaConnection(brokers="localhost:1"))
    monkeypatch.setattr(admin, "admin_client", lambda _connection: made)
    return made


def test_topic_keeps_dead_letters_for_ever(ingest, folder, cluster):
    (folder / "p.yaml").write_text(FILE + TOPIC)
    created = ingest("admin", "dead-letters", "create-topic", "-f", "p.yaml")
    assert (created.code, created.err) == (
        0,
        'topic "events-dead" created\nnext: attr2hbase validate -f p.yaml --connect\n',
    )
    assert cluster.topics == {
        "events-dead": {"retention.ms": "-1", "retention.bytes": "-1", "cleanup.policy": "delete"}
    }
    again = ingest("admin", "dead-letters", "create-topic", "-f", "p.yaml", "--output", "json")
    assert again.json == {"topic": "events-dead", "created": False, "warning": None}


def test_topic_that_exists_stays_as_it_is_with_a_warning(ingest, folder, cluster):
    cluster.topics["events-dead"] = {}
    (folder / "p.yaml").write_text(FILE + TOPIC)
    result = ingest("admin", "dead-letters", "create-topic", "-f", "p.yaml", "--pipeline", "p")
    assert result.code == 0
    assert 'warning: topic "events-dead" deletes dead letters: retention.ms is 604800000' in result.err
    assert 'topic "events-dead" exists\n' in result.err
    assert cluster.topics == {"events-dead": {}}


def test_files_need_no_topic(ingest, folder):
    (folder / "p.yaml").write_text(FILE)
    result = ingest("admin", "dead-letters", "create-topic", "-f", "p.yaml")
    assert (result.code, 'the dead letters of pipeline "p" are in files' in result.err) == (2, True)
