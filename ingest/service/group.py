"""
The consumer group of a pipeline: what is acknowledged in the checkpoint is committed to it.

So ordinary tools see the lag. The checkpoint is the truth and the group its copy, so a failure here loses no event.
The time of the batch is noted with the offsets: a checkpoint that is made anew, after the old one was lost, writes with
later times than that one did.
Spark's own listener is not used: it may not have heard of the last batch when a query ends.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from ingest.api import IngestError, SourceUnavailableError
from ingest.kafka.admin import KafkaAdmin
from ingest.kafka.offsets import GroupOffsets
from ingest.kafka.settings import KafkaConnection
from ingest.observe.logs import logger
from ingest.observe.metrics import Metrics
from ingest.service.topics import TopicIds, TopicRecreatedError
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import Checkpoint

TICK_S = 0.5  # how soon after its batch an offset is in the group
LAG_S = 5.0  # between looks at an idle topic: its end, and whether it is still the same
UNAVAILABLE_S = 10.0  # without an answer: reported to an operator within 15 s; a partition gets a new leader sooner
RECOMMIT_S = (
    12 * 3600.0
)  # a broker forgets offsets that were not committed for a week, and may be configured to do so sooner
CLOSE_S = 10.0  # for the last commit: longer than a broker takes to answer, short beside a stop time-out

_log = logger(__name__)


class OffsetCommitter:
    """
    Follows a checkpoint from a thread of its own; nothing of the pipeline ever waits for it.

    It also notices that a topic was deleted and recreated: Spark fails only when the new one is shorter than what was
    read of the old one, and else reads on in the midst of it.

    Order: start, then close, which commits once more.

    Args:
        clock: seconds that pass evenly.
    """

    def __init__(  # noqa: PLR0913 - what is followed, where to, and where that shows
        self,
        *,
        pipeline: str,
        group: str,
        connection: KafkaConnection,
        checkpoint: Checkpoint,
        metrics: Metrics,
        topics: Sequence[str],
        known: TopicIds,
        times: BatchTimes,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pipeline = pipeline
        self._connection = connection
        self._group = GroupOffsets(connection, group)
        self._checkpoint = checkpoint
        self._metrics = metrics
        self._topics = tuple(topics)
        self._known = known
        self._times = times
        self._clock = clock
        self._data_loss: IngestError | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"group-{pipeline}", daemon=True)
        self._committed: int | None = None
        self._acknowledged: dict[tuple[str, int], int] = {}
        self._committed_at = 0.0
        self._looked_at: float | None = None
        self._heard_at = clock()
        self._silence: str | None = None
        self._failing: type[Exception] | None = None

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def close(self) -> None:
        """Commit what is acknowledged and let go; bounded in time."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(CLOSE_S)

    def data_loss(self) -> IngestError | None:
        """Why the pipeline must not read on; then nothing is committed any more. By any thread."""
        return self._data_loss

    def unavailable(self) -> str | None:
        """Why cluster or partition leaders have not answered for some seconds; None while they do. By any thread."""
        silence = self._silence
        return silence if self._clock() - self._heard_at >= UNAVAILABLE_S else None

    def _follow(self) -> None:
        while not self._closing.is_set():
            self._tick()
            self._closing.wait(TICK_S)
        self._looked_at = None
        self._tick()
        self._group.close()

    def _tick(self) -> None:
        """Look once; whatever goes wrong is counted, logged, and tried again at the next look."""
        if self._data_loss is not None:
            return
        try:
            self._look()
        except TopicRecreatedError as error:
            self._data_loss = error
            leave_topics(self._group, error.topics, self._checkpoint, self._times)
        except Exception as error:  # noqa: BLE001 - the group is a copy: its thread must outlive every surprise
            self._report(error)
        else:
            self._failing = None

    def _report(self, error: Exception) -> None:
        self._metrics.group_commit_failed(self._pipeline)
        if self._failing is not type(error):
            _log.warning("group offsets or lag cannot be reported", pipeline=self._pipeline, reason=str(error))
        self._failing = type(error)

    def _look(self) -> None:
        now = self._clock()
        newest = self._checkpoint.newest_commit()
        moved = newest is not None and newest != self._committed
        if not moved and self._looked_at is not None and now - self._looked_at < LAG_S:
            return
        if newest is not None and moved:
            self._acknowledged = kafka_offsets(self._checkpoint.end_offsets(newest))
        topics = sorted({topic for topic, _ in self._acknowledged}.union(self._topics))
        try:
            failure = self._asked(topics)
        except SourceUnavailableError as error:
            self._silence = str(error)
            raise
        # what fails after this is the group's alone: events can be read
        self._silence = str(failure) if isinstance(failure, SourceUnavailableError) else None
        if self._silence is None:
            self._heard_at = self._clock()
        if newest is not None and (moved or now - self._committed_at >= RECOMMIT_S):
            # with the time of the batch: a new checkpoint has to begin after it, whatever the clock says then
            self._group.commit(self._acknowledged, note=self._times.note(newest))
            self._committed, self._committed_at = newest, now
        if failure is not None:
            raise failure
        self._looked_at = now

    def _asked(self, topics: Sequence[str]) -> IngestError | None:
        """
        Ask the cluster which topics these are, and the leaders of their partitions where they end.

        Returns:
            why the leaders cannot say that; what is acknowledged is committed all the same.
        """
        with KafkaAdmin(self._connection) as admin:
            # before the commit: offsets of another topic would hide what is still to be read of this one
            self._known.check(admin.topic_ids(topics))
            try:
                self._measure(admin, topics)
            except IngestError as error:
                return error
        return None

    def _measure(self, admin: KafkaAdmin, topics: Sequence[str]) -> None:
        leaderless = admin.leaderless(topics)
        if leaderless:
            names = ", ".join(f'"{topic}/{partition}"' for topic, partition in leaderless)
            raise SourceUnavailableError(
                f"no broker leads {'partition' if len(leaderless) == 1 else 'partitions'} {names}",
                hint="start the brokers that hold its replicas: 'kafka-topics.sh --describe --unavailable-partitions'",
            )
        # a transaction that is never ended holds everything behind it back, and shows as lag
        ends = admin.high_watermarks(topics)
        # of a partition without an acknowledged record everything is still to be read
        begins = admin.earliest(topics)
        for place, end in ends.items():
            behind = end - self._acknowledged.get(place, begins.get(place, end))
            self._metrics.lag(self._pipeline, *place, max(0, behind))


def kafka_offsets(content: dict[str, object]) -> dict[tuple[str, int], int]:
    """What Spark's Kafka source writes, `{topic: {partition: offset}}`, by topic and partition."""
    return {
        (topic, int(partition)): int(offset)
        for topic, partitions in content.items()
        if isinstance(partitions, dict)
        for partition, offset in partitions.items()
    }


def leave_topics(group: GroupOffsets, topics: Sequence[str], checkpoint: Checkpoint, times: BatchTimes) -> None:
    """
    Give the group what the other topics have reached, so that a new checkpoint can resume there, and take back these.

    An error of the group is ignored: the loss is what has to be reported.
    """
    newest = checkpoint.newest_commit()
    acknowledged = {} if newest is None else kafka_offsets(checkpoint.end_offsets(newest))
    others = {part: offset for part, offset in acknowledged.items() if part[0] not in topics}
    with suppress(IngestError):
        if newest is not None and others:
            group.commit(others, note=times.note(newest))
    with suppress(IngestError):  # it has none of them but for what was committed in the moment of the change
        group.delete(topics)
