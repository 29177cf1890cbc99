"""Whether the source still has the records of dead letters by place."""

from functools import cached_property

from ingest.config.model import Configuration, Pipeline
from ingest.dead_letters.envelope import DeadLetter
from ingest.service.dead_letters.unread import Retention, can_read_again
from ingest.service.replay.topic_history import TopicHistory
from ingest.service.state_folders import batch_log_folder
from ingest.sources.kafka import DEFAULT_MEMORY_BYTES
from ingest.spark.streaming.batch_log import BatchLog


class ReadableRecords:
    """The records that the source of a pipeline still has."""

    def __init__(self, configuration: Configuration, pipeline: Pipeline) -> None:
        self._source = pipeline.source.settings
        self._memory_bytes = configuration.spark.driver_memory or DEFAULT_MEMORY_BYTES
        self._log_folder = batch_log_folder(configuration, pipeline.name)
        self._retention = Retention(self._source)

    def has(self, letter: DeadLetter) -> bool:
        """
        Whether the records of a dead letter can be read, those that it has itself in any case.

        Raises:
            IntegrityError: the batch log is damaged.
            StoreUnavailableError: the batch log cannot be read now.
            SourceUnavailableError: the cluster does not answer.
        """
        unread = letter.unread
        if unread is None:
            return True
        place = letter.record.place
        if not self._retention.has(place, unread.end, self._topics.id_at(place[0], letter.source_ms)):
            return False
        return unread.was_read or can_read_again(self._source, letter.record, unread, self._memory_bytes)

    @cached_property
    def _topics(self) -> TopicHistory:
        """Read for the first dead letter by place."""
        return TopicHistory.of(BatchLog(self._log_folder).batches())
