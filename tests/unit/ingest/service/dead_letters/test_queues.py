"""The dead-letter queue of a pipeline, as its file says."""

from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from ingest.api import ConfigError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.kafka import admin
from ingest.kafka.settings import KafkaConnection
from ingest.service.dead_letters.queues import dead_letter_queue

FILE = """\
version: 1
state_dir: {folder}/state
pipelines:
  p:
    source: {{files: {{path: {folder}/in}}}}
    sinks: [{{kafka: {{topic: {topic}, brokers: "{brokers}", label: copies}}}}]
    dead_letters: {{kafka: {{topic: dead, brokers: "localhost:1"}}}}
"""


class Client:
    """A fake of kafka-python's client: the brokers with the ports 1 and 2 are of one cluster."""

    def __init__(self, connection: KafkaConnection) -> None:
        self._cluster = "one" if connection.brokers in {"localhost:1", "localhost:2"} else "another"

    def describe_cluster(self) -> dict[str, Any]:
        return {"cluster_id": self._cluster}

    def describe_topics(self, names: list[str]) -> list[dict[str, Any]]:
        return [{"name": name, "error_code": 0, "topic_id": UUID(int=1), "partitions": [0]} for name in names]

    def describe_configs(self, resources: list[Any], **_: object) -> dict[str, Any]:
        values = {"max.message.bytes": "1000", "retention.ms": "-1", "retention.bytes": "-1"}
        settings = {name: {"value": value} for name, value in (values | {"cleanup.policy": "delete"}).items()}
        return {"topic": {each.name: settings for each in resources}}

    def close(self) -> None:
        """Nothing to close."""


@pytest.mark.parametrize(
    ("topic", "brokers", "is_refused"),
    [("dead", "localhost:2", True), ("copies", "localhost:2", False), ("dead", "localhost:3", False)],
)
def test_topic_that_a_sink_writes_through_another_broker_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, topic: str, brokers: str, *, is_refused: bool
) -> None:
    monkeypatch.setattr(admin, "admin_client", Client)
    file = tmp_path / "p.yaml"
    file.write_text(FILE.format(folder=tmp_path, topic=topic, brokers=brokers))
    configuration = load(file, env={}, lookup=Catalog())
    with closing(dead_letter_queue(configuration, configuration.pipelines["p"])) as queue:
        if is_refused:
            with pytest.raises(ConfigError, match='written to "dead", and so are the records of the sink copies'):
                queue.prepare()
        else:
            queue.prepare()
