"""
The consumer group of a pipeline: what is acknowledged in the checkpoint, told to Kafka.

So ordinary tools see the lag. The checkpoint is the truth and the group its copy, so a failure here loses nothing.
Spark's own listener is not used: it may not have heard of the last batch when a query ends.
"""

import threading
import time
from collections.abc import Sequence

from ingest.kafka.admin import KafkaAdmin
from ingest.kafka.offsets import GroupOffsets
from ingest.kafka.settings import KafkaConnection
from ingest.observe.logs import logger
from ingest.observe.metrics import Metrics
from ingest.spark.checkpoint import Checkpoint

TICK_S = 0.5  # how soon after its batch an offset is in the group
LAG_S = 5.0  # between looks at the ends of an idle topic
CLOSE_S = 10.0  # for the last commit: longer than a broker takes to answer, short beside a stop time-out

_log = logger(__name__)


class GroupFollower:
    """
    Follows a checkpoint from a thread of its own; nothing of the pipeline ever waits for it.

    Order: start, then close, which commits once more.
    """

    def __init__(
        self,
        pipeline: str,
        group: str,
        connection: KafkaConnection,
        checkpoint: Checkpoint,
        metrics: Metrics,
        topics: Sequence[str],
    ) -> None:
        self._pipeline = pipeline
        self._connection = connection
        self._group = GroupOffsets(connection, group)
        self._checkpoint = checkpoint
        self._metrics = metrics
        self._topics = tuple(topics)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"group-{pipeline}", daemon=True)
        self._committed: int | None = None
        self._acknowledged: dict[tuple[str, int], int] = {}
        self._lag_at = 0.0
        self._failing = False

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def close(self) -> None:
        """Commit what is acknowledged and let go; bounded in time."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(CLOSE_S)

    def _follow(self) -> None:
        while not self._closing.is_set():
            self._tick()
            self._closing.wait(TICK_S)
        self._lag_at = 0.0
        self._tick()
        self._group.close()

    def _tick(self) -> None:
        """Look once; whatever goes wrong is counted, told, and tried again at the next look."""
        try:
            newest = self._checkpoint.newest_commit()
            moved = newest is not None and newest != self._committed
            if newest is not None and moved:
                self._acknowledged = kafka_offsets(self._checkpoint.end_offsets(newest))
                self._group.commit(self._acknowledged)
                self._committed = newest
            if moved or time.monotonic() - self._lag_at >= LAG_S:
                self._measure()
        except Exception as error:  # noqa: BLE001 - the group is a copy: its thread must outlive every surprise
            self._metrics.group_commit_failed(self._pipeline)
            if not self._failing:
                _log.warning("group offsets or lag can not be told", pipeline=self._pipeline, reason=str(error))
            self._failing = True
        else:
            self._failing = False

    def _measure(self) -> None:
        topics = sorted({topic for topic, _ in self._acknowledged}.union(self._topics))
        with KafkaAdmin(self._connection) as admin:
            ends = admin.ends(topics)
            # of a partition without an acknowledged record everything is still to be read
            begins = admin.earliest(topics)
        for place, end in ends.items():
            behind = end - self._acknowledged.get(place, begins.get(place, end))
            self._metrics.lag(self._pipeline, *place, max(0, behind))
        self._lag_at = time.monotonic()


def kafka_offsets(content: dict[str, object]) -> dict[tuple[str, int], int]:
    """What Spark's Kafka source writes, `{topic: {partition: offset}}`, by topic and partition."""
    return {
        (topic, int(partition)): int(offset)
        for topic, partitions in content.items()
        if isinstance(partitions, dict)
        for partition, offset in partitions.items()
    }
