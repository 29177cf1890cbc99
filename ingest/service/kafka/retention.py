"""Watches how much of Kafka's retention the unread records of a pipeline have used, whatever its state."""

import threading
import time
from collections.abc import Callable, Mapping

from ingest.api import TopicPartition
from ingest.config.model import Pipeline
from ingest.kafka.admin import KafkaAdmin
from ingest.kafka.errors import AccessDeniedError
from ingest.kafka.retention import HALF, NEARLY, Backlog, backlogs
from ingest.observe.activity import Activity
from ingest.observe.logs import logger, traceback_of
from ingest.observe.metrics import Metrics
from ingest.service.kafka.positions import acknowledged_offsets
from ingest.sources.kafka import KafkaSourceSettings, topics_of
from ingest.spark.streaming.checkpoint import Checkpoint

CHECK_S = 60.0
"""Between two checks: far less than any useful retention."""
CLOSE_S = 1.0  # a request in flight is not waited for

_log = logger(__name__)

Report = Callable[[Mapping[TopicPartition, Backlog]], None]


class RetentionWatch:
    """
    Compares the acknowledged offsets of a checkpoint with the retention of their topics, in a thread of its own.

    It needs no query and no other connection, so it also works while the pipeline is paused, blocked or failed. The log
    gets a line when half of the retention is used, and another when nearly all of it is.

    Order: start, then close.

    Args:
        pipeline: its name.
        settings: the cluster and the topics.
        checkpoint: the positions; nothing is checked before it has some.
        report: called with the backlogs by topic and partition after each check.
        wall_s: seconds since the epoch.
    """

    def __init__(
        self,
        pipeline: str,
        settings: KafkaSourceSettings,
        checkpoint: Checkpoint,
        report: Report,
        wall_s: Callable[[], float] = time.time,
    ) -> None:
        self._pipeline = pipeline
        self._settings = settings
        self._checkpoint = checkpoint
        self._report = report
        self._wall_s = wall_s
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"retention-{pipeline}", daemon=True)
        self._reported = 0.0
        self._unreadable: set[str] = set()
        self._failure: type[Exception] | None = None

    def start(self) -> None:
        """Start the thread, which checks at once."""
        self._thread.start()

    def end(self) -> None:
        """Let the thread end; returns at once."""
        self._closing.set()

    def close(self) -> None:
        """End the thread; bounded in time."""
        self.end()
        if self._thread.is_alive():
            self._thread.join(CLOSE_S)

    def check(self) -> None:
        """
        Check once.

        Raises:
            CheckpointError: the checkpoint is damaged.
            SourceUnavailableError: the cluster does not answer.
            SourceError: the cluster denies access.
        """
        reached = acknowledged_offsets(self._checkpoint)
        if not reached:
            return
        with KafkaAdmin(self._settings) as admin:
            found = self._backlogs(admin, reached)
        if not self._closing.is_set():
            self._report(found)
            self._warn(found)

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                self.check()
            except Exception as error:  # noqa: BLE001 - the pipeline does not depend on this: no error may end the thread
                if self._failure is not type(error) and not self._closing.is_set():
                    _log.warning(
                        "Kafka's retention cannot be checked",
                        pipeline=self._pipeline,
                        reason=str(error),
                        exc_info=traceback_of(error),
                    )
                self._failure = type(error)
            else:
                self._failure = None
            self._closing.wait(CHECK_S)

    def _backlogs(self, admin: KafkaAdmin, reached: Mapping[TopicPartition, int]) -> dict[TopicPartition, Backlog]:
        topics = admin.existing(sorted({*topics_of(self._settings, admin), *(topic for topic, _ in reached)}))
        found: dict[TopicPartition, Backlog] = {}
        for topic, count in admin.partitions(sorted(topics)).items():
            try:
                limits = admin.settings(topic)
            except AccessDeniedError as error:
                if topic not in self._unreadable:
                    _log.warning("the retention of a topic is unknown", pipeline=self._pipeline, reason=str(error))
                self._unreadable.add(topic)
                continue
            # a partition that is not in the checkpoint is read from its beginning
            positions = {part: reached.get(part, 0) for part in ((topic, number) for number in range(count))}
            now_ms = self._wall_s() * 1000
            found |= backlogs(admin, topic, limits, positions, now_ms)
        return found

    def _warn(self, found: Mapping[TopicPartition, Backlog]) -> None:
        """Log that the next threshold is exceeded, once until the used fraction is below it again."""
        if not found:
            return
        (topic, partition), worst = max(found.items(), key=lambda each: each[1].used)
        exceeded = max((threshold for threshold in (HALF, NEARLY) if worst.used >= threshold), default=0.0)
        if exceeded > self._reported:
            (_log.error if exceeded == NEARLY else _log.warning)(
                "unread records near Kafka's retention",
                pipeline=self._pipeline,
                topic=topic,
                partition=partition,
                used=worst.used,
                remaining_s=worst.remaining_s,
                hint="let the pipeline run, or raise the retention of the topic",
            )
        self._reported = exceeded


class RetentionWatches:
    """
    The watches of a service, by pipeline. A watch lasts until its pipeline is built again or removed, so a pipeline
    that cannot be built is watched too.

    Thread-safe.

    Args:
        metrics: gets the used fraction of the retention.
        activity: gets the same for the status.
    """

    def __init__(self, metrics: Metrics, activity: Activity) -> None:
        self._metrics = metrics
        self._activity = activity
        self._lock = threading.Lock()
        self._watches: dict[str, RetentionWatch] = {}

    def watch(self, pipeline: Pipeline, checkpoint: Checkpoint) -> None:
        """Start to watch a pipeline that reads Kafka, in place of its earlier watch."""
        name, settings = pipeline.name, pipeline.source.settings
        self.remove(name)
        if not isinstance(settings, KafkaSourceSettings):
            return

        def report(found: Mapping[TopicPartition, Backlog]) -> None:
            self._metrics.retention(name, {part: backlog.used for part, backlog in found.items()})
            self._activity.retention(name, {part: (each.used, each.remaining_s) for part, each in found.items()})

        watch = RetentionWatch(name, settings, checkpoint, report)
        with self._lock:
            self._watches[name] = watch
        watch.start()

    def remove(self, pipeline: str) -> None:
        """End the watch of a pipeline; it may have none."""
        with self._lock:
            watch = self._watches.pop(pipeline, None)
        if watch is not None:
            watch.close()

    def close(self) -> None:
        """End all watches, in the time of one."""
        with self._lock:
            watches = list(self._watches.values())
        for watch in watches:
            watch.end()
        for name in list(self._watches):
            self.remove(name)
