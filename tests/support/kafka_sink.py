"""Sinks `kafka`, and a server whose answers are chosen."""

from collections.abc import Callable
from pathlib import Path

from ingest.api import SinkContext, SourceSettings
from sinks.kafka.sink import Kafka
from sinks.kafka.task_writer import KafkaWriter
from tests.support.kafka_server import Answers, KafkaServer


class Topics:
    """Starts a server with the topics `t`, of one partition, and `parts`, of three, and sinks that write there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._closed_at_end: list[Callable[[], None]] = []
        self.server: KafkaServer

    def serve(self, answer: Answers = lambda _batch: None) -> None:
        self.server = KafkaServer(answer, {"t": 1, "parts": 3})
        self._closed_at_end.insert(0, self.server.close)

    def sink(self, **options: object) -> Kafka:
        given = {"topic": "t", "brokers": f"127.0.0.1:{self.server.port}"} | options
        return Kafka(Kafka.settings_class().model_validate(given))

    def writer(self, **options: object) -> KafkaWriter:
        writer = self.sink(**options).writer(self.context())
        assert isinstance(writer, KafkaWriter)
        self._closed_at_end.insert(0, writer.close)
        return writer

    def context(self, source: SourceSettings | None = None) -> SinkContext:
        return SinkContext("p", "kafka", self._folder, source=source)

    def close(self) -> None:
        for close in self._closed_at_end:
            close()
