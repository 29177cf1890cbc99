"""Records that the source of a pipeline reads, without Spark and without its consumer group."""

from ingest.api import ConfigError, Record
from ingest.config.model import Pipeline
from ingest.config.test_cases import Given
from ingest.dry_run.inputs import given_of_record
from ingest.dry_run.raw_lines import first_records
from ingest.kafka.admin import KafkaAdmin
from ingest.kafka.tail import TopicTail
from ingest.sources.kafka import KafkaSourceSettings, required_topics_of


def sample_of(pipeline: Pipeline, count: int) -> list[Given]:
    """
    The newest records of the source's topics, or the first lines of its files, at most `count`.

    Raises:
        ConfigError: the source has neither.
        UnreadableFileError: a file cannot be decompressed.
        SourceUnavailableError: a file cannot be read now; or as `newest_of_topics`.
    """
    source = pipeline.source.settings
    if source.line_files is not None:
        return list(first_records(source.line_files, count, source.decoding))
    return [given_of_record(record) for record in newest_of_topics(pipeline, count)]


def newest_of_topics(pipeline: Pipeline, count: int) -> list[Record]:
    """
    The newest records of the source's topics, at most `count`.

    Raises:
        ConfigError: the source is not Kafka.
        NotFoundError: there is no such topic.
        SourceUnavailableError: the cluster does not answer.
    """
    source = _source_of(pipeline)
    return list(TopicTail(source).newest(_topics_of(source), count))


def first_of_topics(pipeline: Pipeline, from_ms: int, count: int) -> list[Record]:
    """
    The first records of the source's topics from a time on, at most `count`.

    Args:
        pipeline: whose topics are read.
        from_ms: since 1970; compared with the timestamps of the records.
        count: of all partitions together.

    Raises: as `newest_of_topics`.
    """
    source = _source_of(pipeline)
    return list(TopicTail(source).since(_topics_of(source), from_ms, count))


def _source_of(pipeline: Pipeline) -> KafkaSourceSettings:
    source = pipeline.source.settings
    if not isinstance(source, KafkaSourceSettings):
        raise ConfigError(
            f'the source of pipeline "{pipeline.name}" is {pipeline.source.kind}, which has no topics',
            hint="give a raw log with --lines, or JSON lines with --events",
        )
    return source


def _topics_of(source: KafkaSourceSettings) -> tuple[str, ...]:
    if source.topics_pattern is None:
        return tuple(source.topics_by_name)
    with KafkaAdmin(source) as admin:
        return tuple(required_topics_of(source, admin))
