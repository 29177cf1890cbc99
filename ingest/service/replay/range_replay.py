"""
Replay of a time range: records of the topics through the pipeline again, in the micro-batches of the batch log.

It uses the loop, the tasks and the committers of the streaming query (`ingest.spark.streaming.batch_runner`), on a
Spark session of its own or on that of a running service, and commits no offsets.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial

from ingest.api import ConfigError, IngestError, PositionLostError
from ingest.catalog import Catalog
from ingest.clock import now_ms
from ingest.config.model import Configuration, Pipeline
from ingest.dead_letters.replay import ReplayStoppedError
from ingest.durable import StatePath
from ingest.durable.lock import ProcessLock
from ingest.kafka.admin import KafkaAdmin
from ingest.observe.logs import logger
from ingest.pipeline.rate_limiter import RateLimiter
from ingest.plan.assemble import plan_of
from ingest.service.archived_tables import refuse_archives
from ingest.service.jobs.cancellation import Cancellation
from ingest.service.kafka.positions import acknowledged_offsets
from ingest.service.kafka.topics import TopicIds, TopicRecreatedError, recreated
from ingest.service.offsets import kafka_source_of
from ingest.service.replay.host import OwnProcess, ReplayHost
from ingest.service.replay.interrupted import InterruptedBatch
from ingest.service.replay.plan import (
    BatchKind,
    ReplayBatch,
    TopicState,
    check_allowed,
    omits_later_batch,
    replay_batches,
    unlogged_batches,
)
from ingest.service.replay.request import ReplayRequest
from ingest.service.replay.rolled_back_batches import (
    RolledBack,
    batches_rolled_back,
    common_tables,
    offsets_gone,
    rolled_back_from,
    tables_of,
)
from ingest.service.replay.runner import ReplayRunner
from ingest.service.replay.selection import (
    compacted_topics,
    cut_at,
    durable_ends,
    offsets_between,
    offsets_there,
)
from ingest.service.replay.sinks import only_sinks
from ingest.service.replay.state import ReplayState, ReplayTotals
from ingest.service.replay.update_replay import UpdateReplay, unfinished
from ingest.service.replay_lock import replay_lock
from ingest.service.state_folders import batch_log_folder, replay_folder, update_replay_file
from ingest.service.tables import owned_tables
from ingest.sources.kafka import required_topics_of
from ingest.spark.state import checkpoint_folder
from ingest.spark.streaming.batch_log import BatchLog, LoggedBatch, offsets_in
from ingest.spark.streaming.checkpoint import Checkpoint

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class RangePlan:
    """
    What a replay of a range runs.

    Attributes:
        batches: in the order in which they run.
        totals: of the batches that an earlier, interrupted run has finished; also what is left out of the range.
        resumes: whether there was such a run.
        has_changed: whether the pipeline has changed since that run began, so that the finished batches have the
            results of its earlier version.
        topic_ids: topic -> its id when the batches were planned, as far as it is known.
        counted: those of the batches that another replay has brought into the tables with deferred updates since: they
            do not run.
    """

    batches: Sequence[ReplayBatch]
    totals: ReplayTotals
    resumes: bool = False
    has_changed: bool = False
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    counted: Sequence[ReplayBatch] = ()

    @property
    def offsets(self) -> int:
        """Number of offsets of all batches."""
        return sum(batch.offsets for batch in self.batches)

    def of_kind(self, kind: BatchKind) -> list[ReplayBatch]:
        """The batches of a kind."""
        return [batch for batch in self.batches if batch.kind is kind]


class RangeReplay:
    """
    Replays the records of a pipeline in a time range.

    - A logged batch whose records are all in the range and in the topics runs at its own batch time: it writes the same
      cells again.
    - A part of a logged batch runs one millisecond earlier (see ADR 0013), so it hides nothing that the batch wrote.
    - Other records run only if the cells have event times, or if the request gives them a time.

    Cells with event times have the same timestamps again in all cases; see `may_hide_values`. The pipeline may run
    meanwhile. Records that are not durable yet are left out. An interrupted replay resumes after its last durable
    micro-batch.

    Args:
        request: which records.
        host: the Spark session and the stores; those of this process alone if None, and then a store with a single
            writer is refused while the service runs.

    Raises:
        NotFoundError: the pipeline has no such sink.
        ConfigError: the source is not Kafka, a sink would add rows to an archive again, or the time for records that
            are in no logged batch is in the future.
    """

    def __init__(
        self,
        configuration: Configuration,
        pipeline: Pipeline,
        catalog: Catalog,
        request: ReplayRequest,
        host: ReplayHost | None = None,
    ) -> None:
        self._settings = kafka_source_of(pipeline)
        if request.at_ms is not None and request.at_ms > now_ms():
            raise ConfigError(
                "--at is later than now: its cells would hide what the pipeline writes until then",
                hint="choose a time before the values that must stay visible",
            )
        self._pipeline_plan = only_sinks(plan_of(configuration, pipeline, catalog), request.sinks)
        if not self._pipeline_plan.updates:  # with them, only the sinks of updates run
            refuse_archives(pipeline, {sink.name for sink in self._pipeline_plan.sinks})
        self._configuration = configuration
        self._pipeline = pipeline
        self._catalog = catalog
        self._request = request
        self._host = host or OwnProcess(configuration)
        self._state = ReplayState(replay_folder(configuration, pipeline.name), request, pipeline.fingerprint)

    @property
    def is_any_allowed(self) -> bool:
        """Whether records that are in no logged batch have a time."""
        return (
            self._request.overwrite
            or self._request.at_ms is not None
            or all(sink.settings.has_event_time for sink in self._pipeline_plan.sinks)
        )

    @property
    def has_event_time(self) -> bool:
        """Whether cells of a sink have event times."""
        return any(sink.settings.has_event_time for sink in self._pipeline_plan.sinks)

    def may_hide_values(self, plan: RangePlan) -> bool:
        """
        Whether a replayed cell may hide a newer value with the same event time: a sink has event times, and the plan
        has a part of a logged batch, or ends before the newest one.

        Raises:
            IntegrityError: the batch log is damaged.
            StoreUnavailableError: a file cannot be read now.
        """
        return self.has_event_time and omits_later_batch(plan.batches, self._batch_log().batches())

    def plan(self) -> RangePlan:
        """
        What this replay runs: the plan of the interrupted replay of this range, or a new one. Changes nothing.

        Raises:
            NotFoundError: there is no such topic.
            SourceUnavailableError: the cluster does not answer.
            ConflictError: the interrupted replay has other options.
            PositionLostError: a topic was recreated since the interrupted replay began.
            CheckpointError: the checkpoint is damaged.
            IntegrityError: the batch log is damaged.
        """
        interrupted = self.interrupted_plan()
        if interrupted is not None:
            self._check_topics(interrupted)
            return interrupted
        checkpoint = Checkpoint(checkpoint_folder(self._configuration, self._pipeline.name))
        # in this order, beside a running pipeline: what is acknowledged is logged, and what is logged is in the topics
        acknowledged = acknowledged_offsets(checkpoint)
        batches = list(self._batch_log().batches())
        with KafkaAdmin(self._settings) as admin:
            topics = required_topics_of(self._settings, admin)
            now = TopicState(admin.topic_ids(topics), compacted_topics(admin, topics))
            in_range = offsets_between(admin, topics, self._request)
            there = offsets_there(admin, topics) if self._pipeline_plan.updates else {}
        known_ids = TopicIds(checkpoint.folder).known()
        selected = cut_at(in_range, durable_ends(batches, acknowledged, known_ids, now))
        totals = ReplayTotals(not_durable=offsets_in(in_range) - offsets_in(selected))
        logged = list(replay_batches(batches, selected, now))
        if self._pipeline_plan.updates:
            rolled_back = batches_rolled_back(logged, self._rolled_back(batches), replay_batches(batches, there, now))
            totals.gone = offsets_gone(rolled_back, batches)
            return RangePlan(rolled_back, totals, topic_ids=now.ids)
        time_ms = now_ms() if self._request.at_ms is None else self._request.at_ms
        others = unlogged_batches(logged, selected, time_ms, self._settings.max_events_per_batch)
        return RangePlan([*others, *logged], totals, topic_ids=now.ids)

    def interrupted_plan(self) -> RangePlan | None:
        """
        The plan of the interrupted replay of this range; None if there is none.

        Raises:
            ConflictError: it has other options.
            IntegrityError: its state is damaged.
            StoreUnavailableError: a file cannot be read now.
        """
        stored = self._state.load()
        if stored is None:
            return None
        has_changed = stored.fingerprint != self._pipeline.fingerprint
        return RangePlan(stored.batches, stored.totals, True, has_changed, stored.topic_ids)

    def _check_topics(self, plan: RangePlan) -> None:
        """Refuse offsets of a plan that belong to other records now; brokers before Kafka 2.8 do not show that."""
        if not plan.topic_ids:
            return
        with KafkaAdmin(self._settings) as admin:
            found = recreated(plan.topic_ids, admin.topic_ids(list(plan.topic_ids)))
        if found:
            names = ", ".join(f'"{topic}"' for topic in found)
            raise PositionLostError(
                f"deleted and recreated since this replay was planned: topic {names}; its offsets have other records",
                code=TopicRecreatedError.code,
                hint=f'remove "{self.plan_file}" and run the same command again, which makes a new plan',
            )

    @property
    def plan_file(self) -> StatePath:
        """The file of the plan of an interrupted replay; without it the replay starts from its first micro-batch."""
        return self._state.plan_file

    def _rolled_back(self, batches: Sequence[LoggedBatch]) -> RolledBack:
        return rolled_back_from(self._configuration, self._pipeline_plan, self._catalog, batches)

    def _batch_log(self) -> BatchLog:
        return BatchLog(batch_log_folder(self._configuration, self._pipeline.name))

    def run(
        self,
        *,
        on_progress: Callable[[ReplayTotals, int], None] = lambda _totals, _planned: None,
        on_blocked: Callable[[str], None] = lambda _reason: None,
        cancellation: Cancellation | None = None,
    ) -> ReplayTotals:
        """
        Run the plan until all of it is durable.

        Args:
            on_progress: called with the totals and the number of planned micro-batches, after each durable one.
            on_blocked: called with the reason when a micro-batch cannot be made durable now, and with "" when it can.
            cancellation: ends it early; a running micro-batch is abandoned.

        Raises:
            ConfigError: there are records without a time.
            ConflictError: the service holds a store with a single writer, or another replay of the pipeline runs.
            ReplayStoppedError: a micro-batch cannot be made durable, or the replay was cancelled; finished ones are not
                run again.
            IngestError: as `plan`.
        """
        lock = replay_lock(self._configuration, self._pipeline)
        with lock:
            self._settle()
            try:
                return self._run_locked(lock, on_progress, on_blocked, cancellation or Cancellation())
            except PositionLostError:
                self._settle()  # what it has written of the micro-batch whose records are gone
                raise

    def _run_locked(
        self,
        lock: ProcessLock,
        on_progress: Callable[[ReplayTotals, int], None],
        on_blocked: Callable[[str], None],
        cancellation: Cancellation,
    ) -> ReplayTotals:
        with ExitStack() as opened:
            plan = self._without_counted(self.plan())
            check_allowed(plan.batches, is_allowed=self.is_any_allowed)
            totals = plan.totals
            totals.has_changed |= plan.has_changed and totals.batches > 0
            left = [batch for batch in plan.batches[totals.batches :] if batch not in plan.counted]
            if left:
                runner = ReplayRunner(
                    self._configuration,
                    self._pipeline,
                    self._catalog,
                    self._host,
                    RateLimiter(self._request.rate),
                    opened,
                    tables=self._tables(left) if self._pipeline_plan.updates else None,
                    sinks=self._request.sinks,
                    left=left,
                    topic_ids=plan.topic_ids,
                    on_blocked=on_blocked,
                    check_owner=lock.check,
                )
                if not plan.resumes:
                    self._state.start(plan.batches, plan.topic_ids, totals)
                elif plan.has_changed:
                    _log.warning(
                        "the pipeline has changed since this replay began; finished micro-batches are not run again",
                        pipeline=self._pipeline.name,
                        finished=totals.batches,
                        plan=str(self.plan_file),
                    )
                with cancellation.calls(runner.stop):
                    self._run(runner, plan, cancellation, on_progress)
                    runner.until_possible(self._state.finish)
            elif plan.resumes:
                self._state.finish()
        return totals

    def _tables(self, left: Sequence[ReplayBatch]) -> frozenset[str]:
        """The tables with deferred updates that the rest of a replay writes."""
        return common_tables(self._rolled_back(list(self._batch_log().batches())), left)

    def _without_counted(self, plan: RangePlan) -> RangePlan:
        """A plan that resumes, without the batches that are in the tables again: others have replayed them since."""
        if not (plan.resumes and self._pipeline_plan.updates):
            return plan
        rolled_back = self._rolled_back(list(self._batch_log().batches()))
        return replace(plan, counted=[batch for batch in plan.batches if not tables_of(rolled_back, batch.time_ms)])

    def _settle(self) -> None:
        """End a batch of this pipeline that may be written in part, unless this replay runs it first, as it was."""
        path = update_replay_file(self._configuration, self._pipeline.name)
        has_marks = self._pipeline_plan.updates or self._pipeline_plan.feeds
        if not has_marks or unfinished(path) is None:
            return
        whole = replace(plan_of(self._configuration, self._pipeline, self._catalog), is_replay=True)
        with ExitStack() as opened:
            tables = owned_tables(self._configuration, whole, self._host.stores(whole, opened))
            updates = UpdateReplay(self._configuration, self._pipeline, opened, tables)
            updates.settle_batch(InterruptedBatch(self._state, self._settings))

    def _run(
        self,
        runner: ReplayRunner,
        plan: RangePlan,
        cancellation: Cancellation,
        on_progress: Callable[[ReplayTotals, int], None],
    ) -> None:
        totals, planned = plan.totals, len(plan.batches)
        on_progress(totals, planned)
        for batch in plan.batches[totals.batches :]:
            if batch in plan.counted:
                totals.batches += 1
                runner.until_possible(partial(self._state.progress, totals))
                continue
            cancellation.wait(runner.delay_s())
            with self._host.micro_batch():
                runner.until_possible(partial(self._check_topics, plan))
                self._run_batch(runner, batch, totals, planned)
                on_progress(totals, planned)

    def _run_batch(self, runner: ReplayRunner, batch: ReplayBatch, totals: ReplayTotals, planned: int) -> None:
        """Run a batch until it is durable, and its progress too."""
        finished = totals.batches  # before this one, whose progress may not become durable
        try:
            totals.add(runner.run(batch))
            runner.until_possible(partial(self._state.progress, totals))
            runner.until_possible(partial(runner.finish, batch))
        except PositionLostError as error:
            raise PositionLostError(
                f"stopped after {finished} of {planned} micro-batches: the topics have deleted "
                f"records of the next one since the replay was planned ({error.message})",
                hint=f'remove "{self._state.plan_file}" and run the same command again, which makes a new plan',
            ) from error
        except IngestError as error:
            raise ReplayStoppedError(
                f"stopped after {finished} of {planned} micro-batches: {error}",
                code=error.code,
                hint="finished micro-batches are not run again; run the same command again",
            ) from error
