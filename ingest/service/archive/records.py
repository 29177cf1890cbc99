"""Which records a re-run of an archive's partition reads: those that the pipeline does not write to the new version."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from ingest.api import ConfigError, ConflictError, RecordPlace, TopicPartition
from ingest.config.model import Configuration, Pipeline
from ingest.kafka.admin import KafkaAdmin
from ingest.service.kafka.positions import acknowledged_offsets
from ingest.service.kafka.topics import TopicIds, recreated
from ingest.service.offsets import kafka_source_of
from ingest.service.state_folders import batch_log_folder
from ingest.sources.kafka import required_topics_of
from ingest.spark.streaming.batch_log import BatchLog, LoggedBatch, OffsetRanges
from ingest.spark.streaming.checkpoint import Checkpoint

Ranges = dict[TopicPartition, tuple[int, int]]
"""Topic and partition -> first offset, and the offset after the last one."""
_NO_RECORD = 1 << 62  # an offset above all others


class ArchiveTopicCompactedError(ConfigError):
    """A re-run of a partition: a topic is compacted, so it lacks records that have rows in the archive."""

    code = "archive_topic_compacted"
    hint = "keep the rows of the partition as they are; 'attr2hbase archive join' writes them into fewer files"


class ArchiveTopicRecreatedError(ConflictError):
    """A re-run of a partition: a topic was recreated, so rows of the archive have offsets of other records."""

    code = "archive_topic_recreated"
    hint = "archive the records of the new topic in another table"


class RerunRecords:
    """
    The records of a pipeline that a re-run reads.

    Args:
        checkpoint: of the pipeline.
        start_ms: only records with at least this timestamp; None for all that the topics have.
        end_ms: only records with an earlier timestamp; None for all.

    Raises:
        ConfigError: the source is not Kafka.
    """

    def __init__(
        self,
        configuration: Configuration,
        pipeline: Pipeline,
        checkpoint: Checkpoint,
        start_ms: int | None,
        end_ms: int | None,
    ) -> None:
        self._source = kafka_source_of(pipeline)
        self._checkpoint = checkpoint
        self._log = BatchLog(batch_log_folder(configuration, pipeline.name))
        self._start_ms = start_ms
        self._end_ms = end_ms

    def ranges(self, pipeline_start_ms: int | None) -> Ranges:
        """
        The acknowledged offsets that the topics still have, before those of the pipeline.

        Args:
            pipeline_start_ms: the first batch time that the pipeline writes to the new version itself; None for none.

        Raises:
            ConflictError: `archive_topic_recreated`: rows may have equal offsets and be of other records.
            ConfigError: `archive_topic_compacted`: rows may have records that the topics no longer have.
            NotFoundError: there is no such topic.
            SourceError: the cluster denies access to the settings of a topic.
            SourceUnavailableError: the cluster does not answer.
            CheckpointError: the checkpoint is damaged.
            IntegrityError: the batch log is damaged.
        """
        # in this order: what is acknowledged is in the batch log
        ends = dict(acknowledged_offsets(self._checkpoint))
        logged = list(self._log.batches())
        if pipeline_start_ms is not None:
            for batch in logged:
                if batch.time_ms >= pipeline_start_ms:
                    for place, (begin, _) in batch.ranges.items():
                        ends[place] = min(begin, ends.get(place, begin))
        with KafkaAdmin(self._source) as admin:
            topics = required_topics_of(self._source, admin)
            self._refuse_recreated(logged, admin.topic_ids(topics))
            _refuse_compacted(admin, topics)
            begins, log_ends = admin.earliest(topics), admin.ends(topics)
            if self._start_ms is not None:
                begins |= dict.fromkeys(begins, _NO_RECORD) | admin.offsets_since(topics, self._start_ms)
            if self._end_ms is not None:
                log_ends |= admin.offsets_since(topics, self._end_ms)
        found = {
            place: (begins[place], min(end, log_ends[place]))
            for place, end in ends.items()
            if place in begins and place in log_ends
        }
        return {place: (begin, end) for place, (begin, end) in found.items() if begin < end}

    def _refuse_recreated(self, logged: Sequence[LoggedBatch], current: Mapping[str, str]) -> None:
        """Rows of the topic before have the same offsets: the re-run would drop them, as if it had read them."""
        known = [TopicIds(self._checkpoint.folder).known(), *(batch.topic_ids for batch in logged)]
        for ids in known:
            found = recreated(ids, current)
            if found:
                raise ArchiveTopicRecreatedError(
                    f'topic "{found[0]}" was recreated: rows of the archive have offsets of the topic before',
                )


class RecordsRead:
    """The records that a re-run has read: some ranges of offsets, between which the topic has lost records."""

    def __init__(self) -> None:
        self._ranges: dict[TopicPartition, list[range]] = defaultdict(list)

    def add(self, ranges: OffsetRanges) -> None:
        """Records that were read after all others."""
        for place, (begin, end) in ranges.items():
            self._ranges[place].append(range(begin, end))

    def rest_of(self, ranges: OffsetRanges) -> Ranges:
        """The ranges after what was read."""
        rest: Ranges = {}
        for place, (begin, end) in ranges.items():
            read = self._ranges.get(place)
            first = begin if read is None else max(begin, read[-1].stop)
            if first < end:
                rest[place] = first, end
        return rest

    def __contains__(self, record: RecordPlace) -> bool:
        topic, partition, offset = record
        return any(offset in each for each in self._ranges.get((topic, partition), ()))


def _refuse_compacted(admin: KafkaAdmin, topics: Sequence[str]) -> None:
    """The re-run would drop the rows of records between its offsets that the topic has removed."""
    compacted = [topic for topic in topics if admin.settings(topic).is_compacted]
    if compacted:
        raise ArchiveTopicCompactedError(
            f'topic "{compacted[0]}" is compacted: records of rows are missing in it',
        )
