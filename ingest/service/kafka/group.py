"""
The consumer group of a pipeline: offsets acknowledged in the checkpoint are committed to it.

So Kafka tools show the lag. The checkpoint is authoritative and the group is a copy: a failure here loses no event. The
commit metadata contains the batch time, so that a new checkpoint, created after a loss, continues with later times.
Spark's StreamingQueryListener is not used: when a query ends it may not have received the last batch.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress

from ingest.api import ConfigError, ConflictError, IngestError, NotFoundError, SourceUnavailableError, TopicPartition
from ingest.clock import now_ms
from ingest.kafka.admin import KafkaAdmin
from ingest.kafka.offsets import GroupOffset, GroupOffsets
from ingest.kafka.settings import KafkaConnection
from ingest.observe.logs import logger, traceback_of
from ingest.observe.metrics import Metrics
from ingest.service.kafka.clock import ClockWatch
from ingest.service.kafka.positions import acknowledged_offsets, kafka_offsets
from ingest.service.kafka.topics import TopicIds, TopicLostError, check_ends
from ingest.sources.kafka import KafkaSourceSettings
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import Checkpoint

TICK_S = 0.5  # maximum delay between the acknowledgement of a batch and the commit
LAG_S = 5.0  # between checks of an idle topic: its end offsets and its id
UNAVAILABLE_S = 10.0  # without an answer: reported within 15 s; the election of a new leader takes less
RECOMMIT_S = 12 * 3600.0  # brokers delete group offsets a week after the last commit, or sooner if so configured
OF_GROUP = "group:"
"""Start of a position that is the committed offsets of another consumer group."""
CLOSE_S = 10.0  # for the last commit: more than a broker takes, less than a stop timeout

_log = logger(__name__)


class OffsetCommitter:
    """
    Commits the acknowledged offsets of a checkpoint from a background thread; the pipeline never waits for it.

    It also detects that a topic was deleted and recreated, or truncated. Spark fails only if the topic is then shorter
    than the offset reached; otherwise it resumes in the middle of new records.

    Order: start, then close, which commits once more.

    Args:
        topic_ids: ids of the topics that the checkpoint's offsets belong to.
        times: batch times, for the commit metadata.
        clock: monotonic, seconds.
    """

    def __init__(  # noqa: PLR0913 - checkpoint, group and reporting
        self,
        *,
        pipeline: str,
        group: str,
        connection: KafkaConnection,
        checkpoint: Checkpoint,
        metrics: Metrics,
        topics: Sequence[str],
        topic_ids: TopicIds,
        times: BatchTimes,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pipeline = pipeline
        self._connection = connection
        self._group = GroupOffsets(connection, group)
        self._group_name = group
        self._checkpoint = checkpoint
        self._metrics = metrics
        self._topics = tuple(topics)
        self._topic_ids = topic_ids
        self._times = times
        self._clock = clock
        self._clock_watch = ClockWatch(pipeline, now_ms, clock)
        self._data_loss: IngestError | None = None
        self._closing = threading.Event()
        self._is_closed = False
        self._query_id = ""
        self._thread = threading.Thread(target=self._run, name=f"group-{pipeline}", daemon=True)
        self._committed: int | None = None
        self._acknowledged: dict[TopicPartition, int] = {}
        self._committed_at = 0.0
        self._checked_at: float | None = None
        self._answered_at = clock()
        self._failure: str | None = None
        self._logged: type[Exception] | None = None

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Commit the acknowledged offsets and disconnect; bounded in time."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(CLOSE_S)
        self._is_closed = True

    def data_loss(self) -> IngestError | None:
        """Why the pipeline must stop reading, if so; no offsets are committed from then on. Thread-safe."""
        return self._data_loss

    def unavailable(self) -> str | None:
        """Why the cluster or partition leaders have not answered for some seconds; None while they do. Thread-safe."""
        failure = self._failure
        return failure if self._clock() - self._answered_at >= UNAVAILABLE_S else None

    def _run(self) -> None:
        while not self._closing.is_set():
            self.tick()
            self._closing.wait(TICK_S)
        self._checked_at = None
        self.tick()
        self._group.close()

    def tick(self) -> None:
        """Commit and measure once, as the thread does; errors are counted and logged, and the next tick retries."""
        if self._data_loss is not None:
            return
        try:
            self._sync()
        except TopicLostError as error:
            self._data_loss = error
            leave_topics(self._group, error.topics, self._checkpoint, self._times)
        except Exception as error:  # noqa: BLE001 - the group is only a copy: no error may end the thread
            self._report(error)
        else:
            self._logged = None

    def _report(self, error: Exception) -> None:
        self._metrics.group_commit_failed(self._pipeline)
        if self._logged is not type(error):
            _log.warning(
                "group offsets or lag cannot be reported",
                pipeline=self._pipeline,
                reason=str(error),
                exc_info=traceback_of(error),
            )
        self._logged = type(error)

    def _sync(self) -> None:
        now = self._clock()
        newest = self._checkpoint.newest_commit()
        moved = newest is not None and newest != self._committed
        if not moved and self._checked_at is not None and now - self._checked_at < LAG_S:
            return
        if newest is None or moved:
            self._acknowledged = acknowledged_offsets(self._checkpoint)
        topics = sorted({topic for topic, _ in self._acknowledged}.union(self._topics))
        try:
            error = self._check(topics)
        except SourceUnavailableError as unavailable:
            self._failure = str(unavailable)
            raise
        # failures from here on concern the group only; events can be read
        self._failure = str(error) if isinstance(error, SourceUnavailableError) else None
        if self._failure is None:
            self._answered_at = self._clock()
        if newest is not None and (moved or now - self._committed_at >= RECOMMIT_S):
            # with the batch time: a new checkpoint must start after it, even if the clock was set back
            self._query_id = self._query_id or self._checkpoint.query_id()  # it never changes, and may be remote
            note = f"{self._times.note(newest)} {self._query_id}".rstrip()
            self._group.commit(self._acknowledged, note=note, check=self._refuse_other)
            self._committed, self._committed_at = newest, now
        if error is not None:
            raise error
        self._checked_at = now

    def _refuse_other(self, committed: Mapping[TopicPartition, GroupOffset]) -> None:
        """Refuse to commit beside another service, which has committed since this one did."""
        ids = {id_ for each in committed.values() if (id_ := each.note.partition(" ")[2])}
        if self._committed is not None and not ids <= {self._query_id}:
            raise ConflictError(
                f'another service commits offsets to group "{self._group_name}": both write all events of its topics',
                hint="stop one of the two, or give it a group and tables of its own",
            )

    def _check(self, topics: Sequence[str]) -> IngestError | None:
        """
        Check the ids of the topics, and measure the lag of their partitions.

        Returns:
            Why the lag cannot be measured; acknowledged offsets are committed nevertheless.

        Raises:
            TopicRecreatedError: a topic was deleted and recreated.
            LogTruncatedError: a partition ends before its acknowledged offset.
            SourceUnavailableError: the cluster does not answer.
        """
        with KafkaAdmin(self._connection) as admin:
            # before the commit: offsets of the old topic would hide unread records of the new one
            self._topic_ids.check(admin.topic_ids(topics))
            try:
                self._clock_watch.check(admin)
                self._measure(admin, topics)
            except TopicLostError:
                raise
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
        # not the last stable offset: records after an open transaction count as lag
        ends = admin.high_watermarks(topics)
        check_ends(
            ends, self._acknowledged, self._checkpoint.folder, lambda: self._topic_ids.check(admin.topic_ids(topics))
        )
        if not self._acknowledged:
            return  # the query has not stored yet where it starts
        # a partition that is not in the checkpoint is read from its beginning
        begins = admin.earliest(topics)
        if self._is_closed:  # a late answer, for metrics that may be removed
            return
        lags = {part: max(0, end - self._acknowledged.get(part, begins.get(part, end))) for part, end in ends.items()}
        for part, records in lags.items():
            self._metrics.lag(self._pipeline, *part, records)
        self._metrics.unread(self._pipeline, sum(lags.values()), time.time())


def offsets_of_group(connection: KafkaConnection, group: str, topics: Sequence[str]) -> dict[TopicPartition, int]:
    """
    The committed offsets of any consumer group, as of the tool whose place a pipeline takes.

    Raises:
        ConfigError: the name is empty.
        NotFoundError: it has none of these topics.
        GroupInUseError: it has members, which would read the same records.
        SourceUnavailableError: the cluster does not answer.
    """
    if not group:
        raise ConfigError(f'"{OF_GROUP}" names no consumer group', hint=f"write {OF_GROUP}NAME")
    with closing(GroupOffsets(connection, group)) as offsets:
        offsets.refuse_members()
        found = offsets.committed(topics)
    if not found:
        raise NotFoundError(
            f'group "{group}" has no offsets of {", ".join(topics)}',
            hint="'kafka-consumer-groups.sh --list' lists the groups; a group without members loses its offsets after "
            "some time, by default a week",
        )
    return found


def check_offsets(
    what: str,
    offsets: Mapping[TopicPartition, int],
    begins: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
    *,
    deleted_hint: str,
    hint: str,
) -> list[TopicPartition]:
    """
    Check that the topics of a source have the offsets at which a pipeline shall start.

    Args:
        what: has the offsets, such as a group, for the message.
        offsets: by topic and partition.
        begins: offset of the first record that is left, of each partition of the topics.
        ends: offset after the last record, of the same.
        deleted_hint: if records are deleted from one of the offsets on.
        hint: if they only are beyond the end, or of no partition of the topics.

    Returns:
        The partitions of the topics that have no offset, sorted.

    Raises:
        ConfigError: the topics do not have all of the offsets.
    """
    deleted, beyond = [], []
    for (topic, partition), offset in sorted(offsets.items()):
        begin, end = begins.get((topic, partition)), ends.get((topic, partition))
        if begin is None or end is None:
            beyond.append(f"{topic}/{partition} {offset} (there is no such partition)")
        elif offset < begin:
            deleted.append(f"{topic}/{partition} {offset} (it begins at {begin})")
        elif offset > end:
            beyond.append(f"{topic}/{partition} {offset} (it ends at {end})")
    if deleted or beyond:
        raise ConfigError(
            f"{what} has offsets that the topics of the source do not have: {', '.join(deleted + beyond)}",
            hint=deleted_hint if deleted else hint,
        )
    return sorted(begins.keys() - offsets.keys())


def set_group_offsets(
    settings: KafkaSourceSettings, pipeline: str, offsets: Mapping[TopicPartition, int], newest_ms: int | None
) -> bool:
    """
    Commit the offsets at which a pipeline starts to its consumer group, also below those of the group.

    The group is a copy: the start of a checkpoint that has acknowledged nothing commits them again.

    Args:
        settings: name the group.
        pipeline: its name.
        offsets: by topic and partition.
        newest_ms: the newest batch time of the checkpoint.

    Returns:
        Whether the group has them; if not, the log says why.
    """
    try:
        with closing(GroupOffsets(settings, settings.group_of(pipeline))) as group:
            group.commit(offsets, note=str(newest_ms or ""), lower=True)
    except IngestError as error:
        _log.warning("group offsets cannot be set; the next start sets them", pipeline=pipeline, reason=str(error))
        return False
    return True


def leave_topics(group: GroupOffsets, topics: Sequence[str], checkpoint: Checkpoint, times: BatchTimes) -> None:
    """
    Commit the offsets of all topics but these, so that a new checkpoint can resume there, and delete those of these.

    Errors of the group are ignored, so that the loss itself is reported.
    """
    newest = checkpoint.newest_commit()
    acknowledged = {} if newest is None else kafka_offsets(checkpoint.end_offsets(newest))
    others = {part: offset for part, offset in acknowledged.items() if part[0] not in topics}
    with suppress(IngestError):
        if newest is not None and others:
            group.commit(others, note=times.note(newest))
    with suppress(IngestError):  # present only if committed between the recreation and its detection
        group.delete(topics)
