"""Kafka on the driver: where a pipeline starts, whether its checkpoint fits, and the group that follows it."""

from contextlib import closing
from pathlib import Path

from ingest.api import ConfigError, ConflictError, IngestError, NotFoundError, PositionLostError
from ingest.config.model import Pipeline
from ingest.kafka.admin import KafkaAdmin
from ingest.kafka.offsets import GroupOffsets
from ingest.observe.metrics import Metrics
from ingest.service.group import GroupFollower, kafka_offsets, leave_topics
from ingest.service.topics import KnownTopics, TopicMadeAgainError
from ingest.sources.kafka import KafkaSource, Start, default_group
from ingest.spark.batch_time import BatchTimes
from ingest.spark.checkpoint import Checkpoint
from ingest.spark.jars import connector_jars
from ingest.spark.reading import Frame, Session, read_kafka
from ingest.spark.session import is_submitted


class LiveKafka:
    """
    A Kafka source of a running pipeline; see `ingest.service.sources.LiveSource`.

    Args:
        start_from: `run --start-from`: group, earliest, latest or a time; None for the source's own `start`.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        source: KafkaSource,
        checkpoint: Checkpoint,
        times: BatchTimes,
        start_from: str | None,
        metrics: Metrics,
    ) -> None:
        self._pipeline = pipeline
        self._source = source
        self._checkpoint = checkpoint
        self._times = times
        self._start_from = start_from
        self._metrics = metrics
        self._known = KnownTopics(checkpoint.folder)
        self._follower: GroupFollower | None = None
        self._start: Start | None = None

    @property
    def group(self) -> str:
        """The consumer group that acknowledged offsets are committed to."""
        return self._source.group or default_group(self._pipeline.name)

    @property
    def jars(self) -> list[Path]:
        """Spark's Kafka connector; spark-submit brings its own."""
        return [] if is_submitted() else connector_jars()

    @property
    def java_properties(self) -> dict[str, str]:
        """What the Kafka client needs to be told by way of its JVM."""
        return self._source.security.java_properties()

    def frame(self, session: Session) -> Frame:
        """The stream of records, after the checks of a start."""
        with KafkaAdmin(self._source) as admin:
            cluster = admin.cluster_id()
            pattern = self._source.topics_pattern
            topics = self._source.topics or admin.topics_matching(pattern or "")
            partitions = admin.partitions(topics)
            if self._start is None:
                self._start = self._first_start(topics)
            named = f"pattern {pattern}" if pattern is not None else ",".join(sorted(topics))
            self._checkpoint.claim({"source": "kafka", "cluster": cluster, "topics": named})
            self._check_topics(admin, topics)
            self._check_positions(admin, topics)
        if self._follower is None:
            self._follower = GroupFollower(
                pipeline=self._pipeline.name,
                group=self.group,
                connection=self._source,
                checkpoint=self._checkpoint,
                metrics=self._metrics,
                topics=topics,
                known=self._known,
                times=self._times,
            )
            self._follower.start()
        return read_kafka(session, self._source, self._start, partitions)

    def lost(self) -> IngestError | None:
        """A topic that was deleted and made again while it was read."""
        return None if self._follower is None else self._follower.lost

    def away(self) -> str | None:
        """What the cluster does instead of answering; asked by the follower, since Spark's readers wait for minutes."""
        return None if self._follower is None else self._follower.away()

    def close(self) -> None:
        """Commit what was acknowledged to the group."""
        if self._follower is not None:
            self._follower.close()

    def _check_topics(self, admin: KafkaAdmin, topics: list[str]) -> None:
        """Refuse offsets of topics that are gone, though others have their names now."""
        try:
            self._known.check(admin.topic_ids(topics))
        except TopicMadeAgainError as error:
            with closing(GroupOffsets(self._source, self.group)) as group:
                leave_topics(group, error.topics, self._checkpoint, self._times)
            raise

    def _check_positions(self, admin: KafkaAdmin, topics: list[str]) -> None:
        """Refuse to go on behind records that the topic dropped before they were read, and say which."""
        newest = self._checkpoint.newest_commit()
        position = self._checkpoint.first_offsets() if newest is None else self._checkpoint.end_offsets(newest)
        reached = kafka_offsets(position)
        if not reached:
            return
        gone = sorted({topic for topic, _ in reached} - set(topics))
        if gone:
            raise PositionLostError(
                f"topics the checkpoint has offsets of are gone: {', '.join(gone)}",
                hint=f'to go on with the others move "{self._checkpoint.folder}" away and run '
                "'ingest run --start-from group'",
            )
        lost = [
            # a partition that is new to the checkpoint is read from its beginning
            f"{topic}/{partition} offsets {reached.get((topic, partition), 0)} to {first - 1}"
            for (topic, partition), first in sorted(admin.earliest(topics).items())
            if first > reached.get((topic, partition), 0)
        ]
        if lost:
            raise PositionLostError(
                f"records that were not read yet are gone: {', '.join(lost)}",
                hint="look at the topic's retention; to go on with what is left, move "
                f"\"{self._checkpoint.folder}\" away and run 'ingest run --start-from earliest'",
            )

    def _first_start(self, topics: list[str]) -> Start:
        """Where a checkpoint without batches begins; refuses what would lose or repeat events silently."""
        if self._checkpoint.exists:
            if self._start_from is not None:
                raise ConflictError(
                    f'pipeline "{self._pipeline.name}" has a checkpoint and goes on there, not at "{self._start_from}"',
                    hint=f'leave --start-from out, or move "{self._checkpoint.folder}" away first',
                )
            return self._source.start
        with closing(GroupOffsets(self._source, self.group)) as group:
            kept = group.kept(topics)
        committed = {part: one.offset for part, one in kept.items()}
        if self._start_from is None:
            if committed:
                raise NotFoundError(
                    f'group "{self.group}" has acknowledged offsets, but there is no checkpoint '
                    f'in "{self._checkpoint.folder}"',
                    hint="restore the folder, or say where to go on: "
                    "'ingest run --start-from group|earliest|latest|TIME'",
                )
            return self._source.start
        self._times.rise_above(one.note for one in kept.values())
        if self._start_from == "group":
            if not committed:
                raise NotFoundError(
                    f'group "{self.group}" has no offsets',
                    hint="copy those of the group that was used before, or use --start-from earliest, which is for all "
                    "pipelines of the file that have no checkpoint",
                )
            offsets: dict[str, dict[int, int]] = {}
            for (topic, partition), offset in committed.items():
                offsets.setdefault(topic, {})[partition] = offset
            return Start("offsets", offsets=offsets, text="group")
        try:
            return Start.parse(self._start_from, self._pipeline.timezone)
        except ValueError as error:
            raise ConfigError(str(error), hint="--start-from takes group, earliest, latest or a time") from error
