"""Records that the source of a pipeline reads, without Spark and without its consumer group."""

from collections.abc import Generator, Iterable
from contextlib import closing
from typing import NamedTuple

from ingest.api import ConfigError, Record
from ingest.config.model import Pipeline
from ingest.config.test_cases import Given
from ingest.dry_run.inputs import given_of_record
from ingest.dry_run.raw_lines import first_records
from ingest.kafka.admin import KafkaAdmin
from ingest.kafka.tail import TopicTail
from ingest.sources.kafka import KafkaSourceSettings, required_topics_of

_OTHER_EVENTS = "give a raw log with --lines, or JSON lines with --events"

SAMPLE_BYTES = 16 << 20
"""Most of a sample: 10,000 records of 1.6 KiB. It is in memory several times while it is sent to another process."""


class Sample(NamedTuple):
    """
    Records of a source.

    Attributes:
        given: at least one, unless the source has none.
        is_cut: whether there were more, which are left out because of their size.
    """

    given: list[Given]
    is_cut: bool


def sample_of(pipeline: Pipeline, count: int, hint: str) -> Sample:
    """
    The newest records of the source's topics, or the first lines of its files, at most `count` and `SAMPLE_BYTES`.

    Args:
        pipeline: whose source is read.
        count: of all partitions together.
        hint: what to do if the source has neither topics nor files.

    Raises:
        ConfigError: the source has neither.
        UnreadableFileError: a file cannot be decompressed.
        SourceUnavailableError: a file cannot be read now; or as `newest_of_topics`.
    """
    source = pipeline.source.settings
    if source.line_files is not None:
        return within(SAMPLE_BYTES, first_records(source.line_files, count, source.decoding))
    with closing(newest_of_topics(pipeline, count, hint)) as records:
        return within(SAMPLE_BYTES, map(given_of_record, records))


def within(most_bytes: int, given: Iterable[Given]) -> Sample:
    """The first records, as many as have at most so many bytes as JSON, and at least one."""
    taken: list[Given] = []
    left = most_bytes
    for each in given:
        left -= len(each.model_dump_json())
        if left < 0 and taken:
            return Sample(taken, is_cut=True)
        taken.append(each)
    return Sample(taken, is_cut=False)


def newest_of_topics(pipeline: Pipeline, count: int, hint: str = _OTHER_EVENTS) -> Generator[Record]:
    """
    The newest records of the source's topics, at most `count`; read while they are iterated.

    Args:
        pipeline: whose topics are read.
        count: of all partitions together.
        hint: what to do if the source has no topics.

    Raises:
        ConfigError: the source is not Kafka.
        NotFoundError: there is no such topic.
        SourceUnavailableError: the cluster does not answer; also while records are read.
    """
    source = _kafka_source_of(pipeline, hint)
    return TopicTail(source).newest(_topics_of(source), count)


def first_of_topics(pipeline: Pipeline, from_ms: int, count: int) -> Generator[Record]:
    """
    The first records of the source's topics from a time on, at most `count`; read while they are iterated.

    Args:
        pipeline: whose topics are read.
        from_ms: since 1970; compared with the timestamps of the records.
        count: of all partitions together.

    Raises: as `newest_of_topics`.
    """
    source = _kafka_source_of(pipeline, _OTHER_EVENTS)
    return TopicTail(source).since(_topics_of(source), from_ms, count)


def _kafka_source_of(pipeline: Pipeline, hint: str) -> KafkaSourceSettings:
    source = pipeline.source.settings
    if not isinstance(source, KafkaSourceSettings):
        raise ConfigError(
            f'the source of pipeline "{pipeline.name}" is {pipeline.source.kind}, which has no topics',
            hint=hint,
        )
    return source


def _topics_of(source: KafkaSourceSettings) -> tuple[str, ...]:
    if source.topics_pattern is None:
        return tuple(source.topics_by_name)
    with KafkaAdmin(source) as admin:
        return tuple(required_topics_of(source, admin))
