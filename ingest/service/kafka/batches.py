"""Logs the durable micro-batches of a pipeline that reads Kafka, for `attr2hbase replay`."""

from collections.abc import Callable
from contextlib import ExitStack

from ingest.config.model import Configuration, Pipeline
from ingest.service.kafka.positions import offset_ranges
from ingest.service.kafka.topics import TopicIds
from ingest.service.state_folders import batch_log_folder
from ingest.spark.streaming.batch_log import BatchLog, LoggedBatch
from ingest.spark.streaming.checkpoint import Checkpoint


class BatchRecorder:
    """
    Logs a batch before it is acknowledged: its time, and the offsets that Spark has planned for it.

    Args:
        topic_ids: of the same checkpoint.
        updated: tables with deferred updates that the pipeline writes.
    """

    def __init__(
        self, log: BatchLog, checkpoint: Checkpoint, topic_ids: TopicIds, updated: tuple[str, ...] = ()
    ) -> None:
        self._updated = updated
        self._log = log
        self._checkpoint = checkpoint
        self._topic_ids = topic_ids
        self._ids: dict[str, str] = {}

    def __call__(self, batch_id: int, batch_time_ms: int) -> None:
        """
        Make the entry of a batch durable.

        Raises:
            CheckpointError: the checkpoint is damaged.
            StoreUnavailableError: not possible now; the caller repeats the call.
            IntegrityError: the disk fails.
        """
        ranges = offset_ranges(self._checkpoint, batch_id)
        topics = {topic for topic, _ in ranges}
        if not topics <= self._ids.keys():
            self._ids = self._topic_ids.known()
        ids = {topic: self._ids[topic] for topic in sorted(topics & self._ids.keys())}
        self._log.append(LoggedBatch(batch_id, batch_time_ms, ranges, ids, self._updated))


def batch_recorder(
    configuration: Configuration, pipeline: Pipeline, checkpoint: Checkpoint, opened: ExitStack
) -> Callable[[int, int], None]:
    """
    The function that logs a batch, given its number and time; for a source without a batch log it does nothing.

    The log is closed with `opened`.
    """
    if not pipeline.source.settings.has_batch_log:
        return lambda _batch_id, _batch_time_ms: None
    log = BatchLog(batch_log_folder(configuration, pipeline.name), int(pipeline.replay.keep * 1000))
    opened.callback(log.close)
    updated = tuple(table.name for table in configuration.written_by(pipeline) if table.adds_to_rows)
    return BatchRecorder(log, checkpoint, TopicIds(checkpoint.folder), updated)
