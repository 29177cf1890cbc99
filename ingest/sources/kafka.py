"""Options of the Kafka source, and the topics that they select."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    BeforeValidator,
    SkipValidation,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from ingest.api import (
    ByteSize,
    Decoding,
    Format,
    NotFoundError,
    OffsetUnit,
    RepeatedHeaders,
    SourceSettings,
    Tombstones,
    option,
)
from ingest.api.event import MAX_OFFSET
from ingest.api.source import MAX_EVENT_BYTES
from ingest.kafka.codecs import MAX_BATCH_BYTES
from ingest.kafka.settings import KafkaConnection

if TYPE_CHECKING:
    from ingest.kafka.admin import KafkaAdmin

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
DEFAULT_MEMORY_BYTES = 1 << 30  # Spark's default for each of its JVMs
PART_OF_MEMORY = 8
"""Of the memory of a JVM that one record batch may take: it is there up to five times, and other tasks read too."""

Offsets = dict[str, dict[int, int]]
"""topic -> partition -> offset of the first event to read."""


@dataclass(frozen=True, slots=True)
class Start:
    """
    Where a pipeline without a checkpoint starts to read.

    Attributes:
        at: `earliest`, `latest`, `time` or `offsets`.
        time_ms: the first event at or after this time, when `at` is `time`.
        offsets: when `at` is `offsets`; partitions that are not listed start at their earliest event.
        text: as written in the configuration or on the command line.
    """

    at: str
    time_ms: int | None = None
    offsets: Offsets = field(default_factory=dict)
    text: str = ""

    @classmethod
    def parse(cls, text: str, zone: str = "UTC") -> "Start":
        """
        Parse a start; a time without a UTC offset is in the given zone.

        Raises:
            ValueError: the text is not earliest, latest or a time since 1970; Kafka gives negative ones other meanings.
        """
        if text in ("earliest", "latest"):
            return cls(text, text=text)
        try:
            moment = datetime.fromisoformat(text)
        except ValueError as error:
            raise ValueError(
                f'"{text}" is not a start; write earliest, latest or a time, as in "2026-01-31T12:00:00Z"'
            ) from error
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=ZoneInfo(zone))
        time_ms = round(moment.timestamp() * 1000)
        if time_ms < 0:
            raise ValueError(f'"{text}" is before 1970; write earliest to read all records')
        return cls("time", time_ms=time_ms, text=text)


def _topic(name: str) -> str:
    if not _TOPIC.fullmatch(name) or name in (".", ".."):
        raise PydanticCustomError("wrong_type", '"{topic}" is not the name of a topic', {"topic": name})
    return name


Topic = Annotated[str, AfterValidator(_topic)]


def _start(value: object, info: ValidationInfo) -> object:
    if isinstance(value, Start):
        return value
    if isinstance(value, dict):
        return Start("offsets", offsets={topic: _partitions(topic, found) for topic, found in value.items()})
    if not isinstance(value, str):
        raise PydanticCustomError("wrong_type", "start must be earliest, latest, a time or offsets")
    zone = info.context.get("timezone", "UTC") if isinstance(info.context, dict) else "UTC"
    try:
        return Start.parse(value, zone)
    except (ValueError, OverflowError) as error:
        raise PydanticCustomError("not_one_of", "{problem}", {"problem": str(error)}) from error


def _partitions(topic: object, partitions: object) -> dict[int, int]:
    if not isinstance(partitions, dict) or not partitions:
        raise PydanticCustomError(
            "wrong_type", 'offsets of "{topic}" are written {PARTITION: OFFSET, …}', {"topic": str(topic)}
        )
    result = {}
    for partition, offset in partitions.items():
        valid = re.fullmatch(r"[0-9]{1,9}", str(partition)) and type(offset) is int and 0 <= offset <= MAX_OFFSET
        if not valid:
            raise PydanticCustomError(
                "out_of_range",
                '"{partition}: {offset}" of topic "{topic}" is not a partition and its offset',
                {"topic": str(topic), "partition": str(partition), "offset": str(offset)},
            )
        result[int(partition)] = offset
    return result


StartOption = Annotated[
    SkipValidation[Start],
    BeforeValidator(_start),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": {"type": "object"}}]}),
]


def default_group(pipeline: str) -> str:
    """The consumer group of a pipeline that names none."""
    return f"attr2hbase-{pipeline}"


class KafkaSourceSettings(KafkaConnection, SourceSettings):
    """Options of the kafka source."""

    topics: list[Topic] | None = option("Topics to read.", default=None, example=["ticks"], min_length=1)
    topics_pattern: str | None = option(
        "Regular expression; topics whose whole name matches are read, also new ones.",
        default=None,
        example="app-.*",
    )
    group: str | None = option(
        f"Consumer group that acknowledged offsets are committed to; `{default_group('PIPELINE')}` when left out.",
        default=None,
        example=default_group("ticks"),
        min_length=1,
    )
    start: StartOption = option(
        "Where to start without a checkpoint: earliest, latest, a time, or offsets `{topic: {partition: offset}}`.",
        default="earliest",
    )
    max_events_per_batch: int = option(
        "Maximum number of events in one micro-batch; a restart repeats at most one micro-batch.", default=200_000, ge=1
    )
    max_event_bytes: ByteSize = option(
        "A record with a larger value fails, and one whose key and headers together are larger, and above 1 MiB.",
        default="1MiB",
        ge=1,
        le=MAX_EVENT_BYTES,
    )
    max_decompressed_bytes: ByteSize | None = option(
        "If Spark's JVM has died, a compressed record batch with more bytes is not read, and becomes a dead letter. An "
        "eighth of the memory of Spark's JVM when left out, at most 256 MiB.",
        default=None,
        example="64MiB",
        ge=1,
        le=MAX_BATCH_BYTES,
    )
    format: Format = option("How a value holds an event: raw, json or flume_avro.", default="raw", strict=False)
    headers: list[str] | None = option(
        "Only these headers are read; all when left out, none with `[]`. A producer chooses the names of its headers, "
        "and one such as `2hb_web:url` becomes a cell if no decorator replaces or removes it.",
        default=None,
        example=["host", "file"],
    )
    on_repeated_header: RepeatedHeaders = option(
        "If a record has several headers of one name, the attribute gets the `first` or `last` value, or all of them, "
        "with `header_separator` between them (`join`). Of `host`, `priority` and `nanos` the last one counts.",
        default="last",
        strict=False,
    )
    header_separator: str = option("Separator between joined values of headers.", default=",", example="; ")
    tombstones: Tombstones = option(
        "Records without a value: drop, error, delete the row that the decorators name in `2hb_`, or keep them as "
        "events with an empty body, so that a decorator can mark the row. With `delete`, decorators that read the body "
        "pass these records unchanged, so the row key must be made of the record's key or headers.",
        default="drop",
        strict=False,
    )

    @field_validator("topics_pattern")
    @classmethod
    def _is_pattern(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        except re.error as error:
            column = (error.pos or 0) + 1
            raise PydanticCustomError(
                "bad_pattern", "{problem}", {"problem": f"bad pattern: {error.msg}", "column": column}
            ) from error
        except (OverflowError, RecursionError) as error:
            raise PydanticCustomError("bad_pattern", "bad pattern: too large or nested too deep") from error
        return pattern

    @field_validator("group")
    @classmethod
    def _has_group(cls, group: str | None, info: ValidationInfo) -> str | None:
        if group is None and isinstance(info.context, dict) and "pipeline" in info.context:
            return default_group(info.context["pipeline"])
        return group

    def group_of(self, pipeline: str) -> str:
        """The consumer group of a pipeline with these options."""
        return self.group or default_group(pipeline)

    @model_validator(mode="after")
    def _has_topics(self) -> "KafkaSourceSettings":
        if self.topics is None and self.topics_pattern is None:
            raise PydanticCustomError("missing_field", 'kafka needs "topics" or "topics_pattern"')
        if self.topics is not None and self.topics_pattern is not None:
            raise PydanticCustomError(
                "conflict", '"topics" and "topics_pattern" exclude each other', {"option": "topics_pattern"}
            )
        return self

    @property
    def decoding(self) -> Decoding:
        """The decoding options."""
        return Decoding(
            self.format,
            self.max_event_bytes,
            self.tombstones,
            on_repeated_header=self.on_repeated_header,
            header_separator=self.header_separator,
            headers=None if self.headers is None else frozenset(self.headers),
        )

    @property
    def has_headers(self) -> bool:
        """Whether any may be read."""
        return self.headers != []

    @property
    def summary(self) -> str:
        """The topics, or their pattern."""
        return ", ".join(self.topics_by_name) or str(self.topics_pattern)

    @property
    def topics_by_name(self) -> tuple[str, ...]:
        """The topics listed in `topics`; empty for a pattern."""
        return tuple(self.topics or ())

    def reads_topic(self, topic: str) -> bool:
        """Whether `topics` lists it or the pattern matches it."""
        if self.topics_pattern is not None:
            return re.fullmatch(self.topics_pattern, topic) is not None
        return topic in self.topics_by_name

    @property
    def consumer_group(self) -> tuple[str, str] | None:
        """Brokers and group; None while the default group is unknown, which needs the name of the pipeline."""
        return None if self.group is None else (self.brokers, self.group)

    @property
    def read_again_by(self) -> OffsetUnit:
        """An offset is that of a record."""
        return OffsetUnit.RECORDS

    @property
    def has_batch_log(self) -> bool:
        """True: an offset is a number for each partition."""
        return True

    @property
    def max_records_per_batch(self) -> int:
        """`max_events_per_batch`."""
        return self.max_events_per_batch

    @property
    def keeps_batch_times(self) -> bool:
        """True: they are committed with the offsets of the consumer group."""
        return True

    def java_properties(self) -> dict[str, str]:
        """The system properties that the security options need."""
        return self.security.java_properties()


def max_decompressed_bytes(settings: KafkaSourceSettings, memory_bytes: int) -> int:
    """The decompressed size above which a record batch is left out, for a JVM with this memory."""
    if settings.max_decompressed_bytes is not None:
        return settings.max_decompressed_bytes
    return min(memory_bytes // PART_OF_MEMORY, MAX_BATCH_BYTES)


def topics_of(settings: KafkaSourceSettings, admin: "KafkaAdmin") -> list[str]:
    """The topics that a source reads now: those listed, or those that match its pattern."""
    return settings.topics or admin.topics_matching(settings.topics_pattern or "")


def identity_of_offsets(settings: KafkaSourceSettings, cluster: str, topics: Sequence[str]) -> dict[str, str]:
    """
    What offsets belong to, beside the kind of the source.

    Args:
        settings: of the source.
        cluster: its id.
        topics: those that the source reads now.
    """
    pattern = settings.topics_pattern
    return {"cluster": cluster, "topics": f"pattern {pattern}" if pattern is not None else ",".join(sorted(topics))}


def required_topics_of(settings: KafkaSourceSettings, admin: "KafkaAdmin") -> list[str]:
    """
    The topics that a source reads now, at least one.

    Raises:
        NotFoundError: no topic matches its pattern.
    """
    topics = topics_of(settings, admin)
    if not topics:
        raise NotFoundError(
            f'no topic matches "{settings.topics_pattern}"', hint="correct `topics_pattern`, or create the topic"
        )
    return topics
