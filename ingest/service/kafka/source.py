"""The Kafka source on the driver: start position, checks of the checkpoint, and the consumer group."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ingest.amounts import counted
from ingest.api import (
    ConfigError,
    Example,
    IngestError,
    NotFoundError,
    PositionLostError,
    RecordPlace,
    Source,
    TopicPartition,
)
from ingest.clock import now_ms
from ingest.kafka.admin import KafkaAdmin
from ingest.kafka.offsets import GroupOffsets, NoCheckpointError
from ingest.observe.logs import logger
from ingest.service.kafka.clock import check_clock
from ingest.service.kafka.group import (
    OF_GROUP,
    OffsetCommitter,
    check_offsets,
    leave_topics,
    offsets_of_group,
    set_group_offsets,
)
from ingest.service.kafka.positions import acknowledged_offsets, by_topic, kafka_offsets, offset_ranges, splits_of
from ingest.service.kafka.topics import TopicDeletedError, TopicIds, TopicLostError, check_ends
from ingest.service.sources import DriverContext
from ingest.sources.kafka import KafkaSourceSettings, Start, identity_of_offsets, required_topics_of, topics_of
from ingest.spark.jars import connector_jars
from ingest.spark.streaming.batch_time import newest_noted, newest_time

if TYPE_CHECKING:  # `describe` shows this source and needs no Spark
    from ingest.spark.streaming.reading import Frame, Session


_log = logger(__name__)


class KafkaSource(Source[KafkaSourceSettings]):
    """
    Read topics of a Kafka cluster.

    Only committed records of transactions are read. Offsets are acknowledged after the events are durable, and then
    committed to the consumer group, so that Kafka tools show the lag.
    """

    kind = "kafka"
    supports_start = True
    supports_resume_at = True
    resume_from = "group"
    changed_identity: ClassVar[Mapping[str, str]] = {
        "topics": "to go on where it has read, and in new topics at their first records, stop the service and run "
        "'attr2hbase offsets reset --to remaining'"
    }
    examples = (
        Example("one topic", settings="{brokers: 'localhost:9092', topics: [ticks]}"),
        Example(
            "all topics of a pattern, over TLS, from a given time",
            settings=(
                "{brokers: ['k1:9093', 'k2:9093'], topics_pattern: 'app-.*', start: 2026-01-31T12:00:00Z, "
                "security: {tls: {}, sasl: {mechanism: scram_sha_512, username: ingest, password: '${secret:kafka}'}}}"
            ),
        ),
    )

    def __init__(self, settings: KafkaSourceSettings, context: DriverContext) -> None:
        super().__init__(settings, context)
        self._checkpoint = context.checkpoint
        self._times = context.times
        self._metrics = context.metrics
        self._topic_ids = TopicIds(context.checkpoint.folder)
        self._committer: OffsetCommitter | None = None
        self._start: Start | None = None

    @property
    def group(self) -> str:
        """The consumer group that acknowledged offsets are committed to."""
        return self.settings.group_of(self.context.pipeline)

    @classmethod
    def jars(cls) -> list[Path]:
        """Spark's Kafka connector."""
        return connector_jars()

    @classmethod
    def check(cls, settings: KafkaSourceSettings) -> str:
        """The number of topics and partitions."""
        with KafkaAdmin(settings) as admin:
            partitions = admin.partitions(required_topics_of(settings, admin))
        return f"{counted(len(partitions), 'topic')}, {counted(sum(partitions.values()), 'partition')}"

    def check_clock(self) -> None:
        """Compare the clocks of the driver and the cluster."""
        check_clock(self.settings)

    def identity(self) -> Mapping[str, str]:
        """The cluster, and the topics or their pattern; also determines the start position."""
        with KafkaAdmin(self.settings) as admin:
            cluster = admin.cluster_id()
            topics = topics_of(self.settings, admin)
        self._start = self._checked_start(topics)
        return identity_of_offsets(self.settings, cluster, topics)

    def frame(self, session: "Session") -> "Frame":
        """The stream of records, after a check that topics and positions match the checkpoint."""
        from ingest.spark.streaming.reading import read_kafka

        with KafkaAdmin(self.settings) as admin:
            topics = topics_of(self.settings, admin)
            reached = acknowledged_offsets(self._checkpoint)
            self._check_topics(admin, topics, {topic for topic, _ in reached})
            partitions = admin.partitions(topics)
            if reached:
                self._check_positions(admin, topics, reached)
                self._check_ends(admin, topics, reached)
        if reached and self._checkpoint.newest_commit() is None:
            # also below the group's offsets: so a reset that was killed before it committed them is complete
            newest_ms = newest_time(self._checkpoint.times_folder)
            set_group_offsets(self.settings, self.context.pipeline, reached, newest_ms)
        if self._committer is None:
            self._committer = OffsetCommitter(
                pipeline=self.context.pipeline,
                group=self.group,
                connection=self.settings,
                checkpoint=self._checkpoint,
                metrics=self._metrics,
                topics=topics,
                topic_ids=self._topic_ids,
                times=self._times,
            )
            self._committer.start()
        start = self._start or self.settings.start
        return read_kafka(session, self.settings, start, partitions, self.context.max_records)

    def splits(self, batch_id: int) -> list[RecordPlace]:
        """The first offset of each partition that has offsets in the micro-batch."""
        return splits_of(offset_ranges(self._checkpoint, batch_id))

    def data_loss(self) -> IngestError | None:
        """The error if a topic was deleted and recreated while it was read."""
        return None if self._committer is None else self._committer.data_loss()

    def unavailable(self) -> str | None:
        """Why the cluster or leaders do not answer; from the committer, since Spark's readers wait for minutes."""
        return None if self._committer is None else self._committer.unavailable()

    def close(self) -> None:
        """Commit the acknowledged offsets to the group."""
        if self._committer is not None:
            self._committer.close()

    def _check_topics(self, admin: KafkaAdmin, topics: list[str], read: set[str]) -> None:
        """Refuse offsets of topics that were deleted, also if they were recreated."""
        try:
            self._topic_ids.check(admin.topic_ids(topics))
            deleted = sorted(read - admin.existing(sorted(read)))
            if deleted:
                raise TopicDeletedError(deleted, self._checkpoint.folder, others=set(deleted) < read)
        except TopicLostError as error:
            self._leave(error.topics)
            raise

    def _check_ends(self, admin: KafkaAdmin, topics: list[str], reached: Mapping[TopicPartition, int]) -> None:
        """Refuse to resume behind the end of a partition, whose next records will have offsets that were read."""
        try:
            check_ends(
                admin.high_watermarks(topics),
                reached,
                self._checkpoint.folder,
                lambda: self._topic_ids.check(admin.topic_ids(topics)),
            )
        except TopicLostError as error:
            self._leave(error.topics)
            raise

    def _leave(self, topics: Sequence[str]) -> None:
        with closing(GroupOffsets(self.settings, self.group)) as group:
            leave_topics(group, topics, self._checkpoint, self._times)

    def _check_positions(self, admin: KafkaAdmin, topics: list[str], reached: Mapping[TopicPartition, int]) -> None:
        """Refuse to resume if a topic has deleted unread records; the error names them."""
        lost = [
            # a partition that is not in the checkpoint is read from its beginning
            f"{topic}/{partition} offsets {reached.get((topic, partition), 0)} to {first - 1}"
            for (topic, partition), first in sorted(admin.earliest(topics).items())
            if first > reached.get((topic, partition), 0)
        ]
        if lost:
            raise PositionLostError(
                f"records that were not read yet are gone: {', '.join(lost)}",
                hint="check the topic's retention; to resume with the remaining records: "
                "'attr2hbase offsets reset --to remaining'",
            )

    def _checked_start(self, topics: list[str]) -> Start:
        """The start position; refuses a time in the future, before which all records would be skipped."""
        start = self._first_start(topics)
        if start.time_ms is not None and start.time_ms > now_ms() and not acknowledged_offsets(self._checkpoint):
            raise ConfigError(
                f'pipeline "{self.context.pipeline}" starts in the future, at "{start.text}": it would skip all '
                "records until then",
                hint="write latest to skip the records that are there, or a time that has passed",
            )
        return start

    def _first_start(self, topics: list[str]) -> Start:
        """The start position of a new checkpoint; refuses one that would silently lose or repeat events."""
        if self._checkpoint.exists:
            return self.settings.start
        resume_at = self.context.resume_at()
        if resume_at is not None and self.context.start_from is not None:
            if self.context.start_from != "group":
                raise ConfigError(
                    f'pipeline "{self.context.pipeline}" starts where the deferred updates of its tables end, '
                    f'not at "{self.context.start_from}"',
                    hint="use --start-from group; or run with --recount, and events from there on are counted again",
                )
            return Start(
                "offsets",
                offsets=by_topic(kafka_offsets(dict(resume_at))),
                text="the committed positions of its tables",
            )
        with closing(GroupOffsets(self.settings, self.group)) as own:
            if self.context.start_from == "group":
                own.refuse_members()
            entries = own.committed_with_notes(topics)
        committed = {part: entry.offset for part, entry in entries.items()}
        if self.context.start_from is None:
            if resume_at is not None:
                raise NotFoundError(
                    "the tables of the pipeline have deferred updates up to acknowledged offsets, but there is no "
                    f'checkpoint in "{self._checkpoint.folder}"',
                    hint="restore the folder; or, if no other process runs the pipeline, resume at these offsets: "
                    "'attr2hbase run --start-from group'",
                )
            if committed:
                raise NoCheckpointError(self.group, self._checkpoint.folder)
            return self.settings.start
        self._times.start_after(newest_noted(entry.note for entry in entries.values()))
        if self.context.start_from == "group":
            if not committed:
                raise NotFoundError(
                    f'group "{self.group}" has no offsets',
                    hint="copy the offsets of the previous group, or use --start-from earliest, which applies to all "
                    "pipelines of the file without a checkpoint",
                )
            return self._start_of_group(self.group, committed, topics)
        if self.context.start_from.startswith(OF_GROUP):
            group = self.context.start_from.removeprefix(OF_GROUP)
            return self._start_of_group(group, offsets_of_group(self.settings, group, topics), topics)
        try:
            return Start.parse(self.context.start_from, self.context.timezone)
        except ValueError as error:
            raise ConfigError(
                str(error), hint="--start-from takes group, group:NAME, earliest, latest or a time"
            ) from error

    def _start_of_group(self, group: str, offsets: Mapping[TopicPartition, int], topics: list[str]) -> Start:
        """
        The start at the offsets of a group; the log names the partitions for which it has none.

        Raises:
            ConfigError: the topics do not have the records from some of them on.
        """
        assert self.context.start_from is not None  # noqa: S101 - for mypy: it names the group
        with KafkaAdmin(self.settings) as admin:
            begins, ends = admin.earliest(topics), admin.ends(topics)
        missing = check_offsets(
            f'group "{group}"',
            offsets,
            begins,
            ends,
            deleted_hint="the records from there on are deleted: '--start-from earliest' reads all that are left; or "
            "move these offsets of the group to the first ones that are left, and no others: 'kafka-consumer-groups.sh "
            f"--bootstrap-server … --group {group} --all-topics --reset-offsets --shift-by 0 --execute'",
            hint="was a topic recreated? '--start-from earliest' reads all of its records",
        )
        if missing:
            _log.warning(
                "partitions without an offset of the group start at their first record",
                pipeline=self.context.pipeline,
                group=group,
                partitions=", ".join(f"{topic}/{partition}" for topic, partition in missing),
            )
        return Start("offsets", offsets=by_topic(offsets), text=self.context.start_from)
