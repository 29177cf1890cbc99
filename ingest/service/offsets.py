"""The offsets of a pipeline that reads Kafka: those of its checkpoint, of its consumer group, and of its topics."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from ingest.api import ConfigError
from ingest.config.model import Configuration, Pipeline
from ingest.kafka.admin import KafkaAdmin
from ingest.kafka.offsets import GroupOffsets
from ingest.service.kafka.positions import acknowledged_offsets
from ingest.service.kafka.topics import TopicIds, recreated
from ingest.service.state_folders import batch_log_folder
from ingest.sources.kafka import KafkaSourceSettings, topics_of
from ingest.spark.state import checkpoint_folder
from ingest.spark.streaming.batch_log import BatchLog
from ingest.spark.streaming.batch_time import stored_time
from ingest.spark.streaming.checkpoint import Checkpoint


@dataclass(frozen=True, slots=True)
class PartitionOffsets:
    """
    The offsets of a partition.

    Attributes:
        acknowledged: after the last acknowledged record; None if the checkpoint does not have the partition.
        group: committed offset of the consumer group; None for none.
        log_start: of the first record that the topic still has; None if there is no such partition any more.
        log_end: after the last record, open transactions included; None as above.
    """

    topic: str
    partition: int
    acknowledged: int | None
    group: int | None
    log_start: int | None
    log_end: int | None

    @property
    def lag(self) -> int | None:
        """Number of offsets that are not acknowledged; None without a partition in the topic."""
        if self.log_start is None or self.log_end is None:
            return None
        return max(0, self.log_end - (self.log_start if self.acknowledged is None else self.acknowledged))

    @property
    def lost(self) -> int:
        """Number of offsets that are not acknowledged and that the topic does not have any more."""
        if self.acknowledged is None or self.log_start is None:
            return 0
        return max(0, self.log_start - self.acknowledged)


@dataclass(frozen=True, slots=True)
class PipelineOffsets:
    """
    The offsets of a pipeline.

    Attributes:
        group: its consumer group.
        batch: number of the newest acknowledged batch; None for none.
        batch_time_ms: its time.
        uncommitted: number of the batch that has started and is not acknowledged; None for none.
        replayable_since_ms: time of the oldest batch that `attr2hbase replay` can run; None for none.
        recreated: topics that were deleted and recreated; acknowledged offsets are of other records, so left out.
        partitions: by topic and partition.
    """

    group: str
    batch: int | None
    batch_time_ms: int | None
    uncommitted: int | None
    replayable_since_ms: int | None
    recreated: Sequence[str]
    partitions: Sequence[PartitionOffsets]


def kafka_source_of(pipeline: Pipeline) -> KafkaSourceSettings:
    """
    The settings of a pipeline's source.

    Raises:
        ConfigError: it is not Kafka.
    """
    settings = pipeline.source.settings
    if not isinstance(settings, KafkaSourceSettings):
        raise ConfigError(
            f'the source of pipeline "{pipeline.name}" is {pipeline.source.kind}, which has no offsets',
            hint="choose a pipeline that reads kafka",
        )
    return settings


def offsets_of(configuration: Configuration, pipeline: Pipeline) -> PipelineOffsets:
    """
    The offsets of a pipeline now; the service may run.

    Raises:
        ConfigError: its source is not Kafka.
        SourceUnavailableError: the cluster does not answer.
        SourceError: the cluster denies access.
        CheckpointError: the checkpoint is damaged.
    """
    settings = kafka_source_of(pipeline)
    checkpoint = Checkpoint(checkpoint_folder(configuration, pipeline.name))
    newest = checkpoint.newest_commit()
    acknowledged = acknowledged_offsets(checkpoint)
    with KafkaAdmin(settings) as admin:
        named = topics_of(settings, admin)
        # a topic that was deleted is shown with its acknowledged offset
        topics = sorted(admin.existing(sorted({*named, *(topic for topic, _ in acknowledged)})))
        begins, ends = admin.earliest(topics), admin.high_watermarks(topics)
        topic_ids = admin.topic_ids(topics)
    group = settings.group_of(pipeline.name)
    with closing(GroupOffsets(settings, group)) as offsets:
        committed = offsets.committed(sorted({*named, *(topic for topic, _ in acknowledged)}))
    other = recreated(TopicIds(checkpoint.folder).known(), topic_ids)
    known = {part: offset for part, offset in acknowledged.items() if part[0] not in other}
    log = BatchLog(batch_log_folder(configuration, pipeline.name))
    replayable = (batch for batch in log.batches() if not recreated(batch.topic_ids, topic_ids))
    oldest = next(replayable, None)
    return PipelineOffsets(
        group=group,
        batch=newest,
        batch_time_ms=None if newest is None else stored_time(checkpoint.times_folder, newest),
        uncommitted=checkpoint.uncommitted(),
        replayable_since_ms=None if oldest is None else oldest.time_ms,
        recreated=other,
        partitions=[
            PartitionOffsets(*part, known.get(part), committed.get(part), begins.get(part), ends.get(part))
            for part in sorted({*acknowledged, *committed, *ends})
        ],
    )
