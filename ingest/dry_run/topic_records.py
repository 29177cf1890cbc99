"""Records of the topics that a pipeline reads, without its consumer group."""

from ingest.api import ConfigError, Record
from ingest.config.model import Pipeline
from ingest.kafka.admin import KafkaAdmin
from ingest.kafka.tail import TopicTail
from ingest.sources.kafka import KafkaSourceSettings, required_topics_of


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
