"""The sink `kafka`."""

import re
from collections.abc import Callable, Mapping

from pydantic import field_validator

from ingest.api import Committer, DryWrite, Event, Example, Sink, SinkContext, SinkSettings, SinkWriter, option
from ingest.kafka.settings import Compression, KafkaTopic
from sinks.kafka.records import PartOptions, RecordTime, SinkRecord, record_maker

_UNESCAPED = re.compile(r'"%\{(?:json\(\s*)?([A-Za-z0-9_.-]+)\s*\)?\}')
_SAFE = frozenset({"fan_out", "nanos", "offset", "partition", "priority", "timestamp", "topic"})
"""Core names whose values need no escapes in JSON."""


class KafkaSinkSettings(KafkaTopic, SinkSettings):
    """Options of the kafka sink."""

    topic: str = option(
        "Topic of the records, which exists.", example="ticks-clean", pattern=r"^[A-Za-z0-9._-]{1,249}$"
    )
    key: PartOptions = option(
        "Key of the record, which decides its partition as in Kafka's own clients; a template alone, or with "
        "`on_missing`. By default the key of the event's record. A record without a key goes to a partition by the "
        "place of the event's record.",
        default="%{key}",
        example="%{user}",
    )
    value: PartOptions = option(
        "Value of the record, as `key`; null for a tombstone of the source (`tombstones: delete`).",
        default="%{body}",
        example={"template": "%{json.after}", "on_missing": "unset"},
    )
    headers: dict[str, PartOptions] = option(
        "Headers of the record by name, in this order, as `key`.", default={}, example={"level": "%{level}"}
    )
    timestamp: RecordTime = option(
        "Timestamp of the record: that of the event (`event`), if it is of 1970 or later, or `none`. The topic deletes "
        "by it, and a broker may refuse it.",
        default="event",
        strict=False,
    )
    compression: Compression = option(
        "How record batches are compressed on their way: `none`, `gzip` or `zstd`.", default="none", strict=False
    )

    @field_validator("key", "value", mode="before", json_schema_input_type=str | PartOptions)
    @classmethod
    def _template_alone(cls, part: object) -> object:
        return {"template": part} if isinstance(part, str) else part

    @field_validator("headers", mode="before", json_schema_input_type=dict[str, str | PartOptions])
    @classmethod
    def _templates_alone(cls, headers: object) -> object:
        if not isinstance(headers, dict):
            return headers
        return {name: {"template": part} if isinstance(part, str) else part for name, part in headers.items()}

    def lint_warnings(self) -> Mapping[str, str]:
        """Templates of JSON with an attribute between quotes, which a quote in its value makes invalid."""
        found = {}
        for name in ("key", "value"):
            text = getattr(self, name).template.text
            names = [each for each in _UNESCAPED.findall(text) if each not in _SAFE]
            if names and text.lstrip().startswith(("{", "[")):
                found[name] = (
                    f"a quote in {names[0]} makes this invalid JSON: write `%{{json({names[0]})}}` without quotes"
                )
        return found

    def record_maker(self) -> Callable[[Event], SinkRecord]:
        """As the function of this name, with these options."""
        return record_maker(self.key, self.value, self.headers, self.timestamp)


class Kafka(Sink[KafkaSinkSettings]):
    """
    Write each event as a record of a topic.

    Key, value and headers are templates, which insert bytes unchanged: in JSON, write `%{json(user)}` without quotes.
    The topic gets every record at least once: a micro-batch that runs again sends its records again, with the same
    bytes, times and partitions. A micro-batch is acknowledged after all in-sync replicas of the topic have all of its
    records.

    A record that the broker refuses, since it is too large or its time is too far from the broker's clock, fails its
    event. The topic is never created.
    """

    kind = "kafka"
    examples = (
        Example("the key and the body of each event", settings="{topic: ticks-clean}"),
        Example(
            "templates, in another cluster",
            settings=(
                "{topic: errors, key: '%{user}', value: '{\"user\":%{json(user)},\"text\":%{json(body)}}', "
                "headers: {level: '%{level}'}, compression: zstd, brokers: localhost:9092}"
            ),
        ),
    )

    def writer(self, context: SinkContext) -> SinkWriter:
        """Sends the records of a task."""
        from sinks.kafka.task_writer import KafkaWriter

        settings = self.settings
        return KafkaWriter(
            settings.connection(),
            settings.topic,
            settings.compression,
            settings.record_maker(),
            context.max_event_bytes,
        )

    def committer(self, context: SinkContext) -> Committer:
        """Looks at the topic."""
        from sinks.kafka.committing import KafkaCommitter

        return KafkaCommitter(self.settings.connection(), self.settings.topic, self._cluster_of_reader(context))

    def check(self, context: SinkContext) -> str:
        """The number of partitions."""
        from sinks.kafka.committing import topic_partitions

        settings = self.settings
        return (
            f"partitions: {topic_partitions(settings.connection(), settings.topic, self._cluster_of_reader(context))}"
        )

    def dry_run(self) -> DryWrite:
        """The topic and the record of an event."""
        record_of, topic = self.settings.record_maker(), self.settings.topic

        def record(event: Event, batch_time_ms: int) -> dict[str, object]:  # noqa: ARG001 - no record depends on it
            return {"topic": topic, "record": record_of(event).shown()}

        return record

    def _cluster_of_reader(self, context: SinkContext) -> Callable[[], str] | None:
        from ingest.kafka.loops import cluster_of_reader

        return None if context.source is None else cluster_of_reader(context.source, self.settings.topic)
