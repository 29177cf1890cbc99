"""
Replay of a time range: records of the topics through the pipeline again, in the micro-batches of the batch log.

It uses the loop, the tasks and the committers of the streaming query (`ingest.spark.streaming.batch_runner`), on the
Spark session of its place, and commits no offsets.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

from ingest import failpoint
from ingest.api import ConfigError, IngestError, PositionLostError
from ingest.clock import now_ms
from ingest.config.model import Pipeline
from ingest.dead_letters.replay import ReplayStoppedError
from ingest.durable import StatePath
from ingest.durable.lock import ProcessLock
from ingest.kafka.admin import KafkaAdmin
from ingest.observe.logs import logger
from ingest.pipeline.rate_limiter import RateLimiter
from ingest.service.archived_tables import refuse_archives
from ingest.service.jobs.job import Steps
from ingest.service.jobs.job_run import Progress
from ingest.service.jobs.place import Place
from ingest.service.kafka.positions import acknowledged_offsets
from ingest.service.kafka.topics import TopicIds, TopicRecreatedError, recreated
from ingest.service.offsets import kafka_source_of
from ingest.service.replay.interrupted import InterruptedBatch
from ingest.service.replay.options import ReplayOptions
from ingest.service.replay.plan import (
    BatchKind,
    ReplayBatch,
    TopicState,
    check_allowed,
    omits_later_batch,
    replay_batches,
    unlogged_batches,
)
from ingest.service.replay.range_plan import RangePlan
from ingest.service.replay.rolled_back_batches import (
    RolledBack,
    batches_rolled_back,
    common_tables,
    offsets_gone,
    refuse_counted,
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
from ingest.service.replay.update_replay import UpdateReplay, logged, unfinished
from ingest.service.replay_lock import replay_lock
from ingest.service.state_folders import batch_log_folder, replay_folder, update_replay_file
from ingest.service.tables import owned_tables
from ingest.sources.kafka import required_topics_of
from ingest.spark.state import checkpoint_folder
from ingest.spark.streaming.batch_log import BatchLog, LoggedBatch, offsets_in
from ingest.spark.streaming.checkpoint import Checkpoint
from sinks.feed.feature import Feed
from sinks.updates.feature import Updates

_log = logger(__name__)


class RangeReplay:
    """
    Replays the records of a pipeline in a time range.

    - A logged batch whose records are all in the range and in the topics runs at its own batch time: it writes the same
      cells again.
    - A part of a logged batch runs one millisecond earlier (see ADR 0013), so it hides nothing that the batch wrote.
    - Other records run only if the cells have event times, or if the request gives them a time.

    Cells with event times have the same timestamps again in all cases; see `may_hide_values`. The pipeline may run
    meanwhile, unless it has tables with deferred updates or a change feed: these are borrowed with it. Records that are
    not durable yet are left out. An interrupted replay resumes after its last durable micro-batch.

    Args:
        place: where it runs.
        pipeline: whose records run.
        options: which records.

    Raises:
        NotFoundError: the pipeline has no such sink.
        ConfigError: the source is not Kafka, a sink would add rows to an archive again, or the time for records that
            are in no logged batch is in the future.
    """

    def __init__(
        self,
        place: Place,
        pipeline: Pipeline,
        options: ReplayOptions,
    ) -> None:
        self._settings = kafka_source_of(pipeline)
        if options.at is not None and options.at > now_ms():
            raise ConfigError(
                "--at is later than now: its cells would hide what the pipeline writes until then",
                hint="choose a time before the values that must stay visible",
            )
        self._pipeline_plan = only_sinks(place.plan_of(pipeline), options.sink)
        if not self._pipeline_plan.tables_with(Updates):  # with them, only the sinks of updates run
            refuse_archives(pipeline, {sink.name for sink in self._pipeline_plan.sinks})
        self._place = place
        self._configuration = place.configuration
        self._pipeline = pipeline
        self._options = options
        self._state = ReplayState(replay_folder(place.configuration, pipeline.name), options, pipeline.fingerprint)

    @property
    def is_any_allowed(self) -> bool:
        """Whether records that are in no logged batch have a time."""
        return (
            self._options.overwrite
            or self._options.at is not None
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
            in_range = offsets_between(admin, topics, self._options)
            there = offsets_there(admin, topics) if self._pipeline_plan.tables_with(Updates) else {}
        known_ids = TopicIds(checkpoint.folder).known()
        selected = cut_at(in_range, durable_ends(batches, acknowledged, known_ids, now))
        totals = ReplayTotals(not_durable=offsets_in(in_range) - offsets_in(selected))
        logged = list(replay_batches(batches, selected, now))
        if self._pipeline_plan.tables_with(Updates):
            taken_back = self._rolled_back(batches)
            planned = batches_rolled_back(logged, taken_back, replay_batches(batches, there, now))
            refuse_counted(self._configuration, self._pipeline_plan, self._place.catalog, planned, taken_back)
            totals.gone = offsets_gone(planned, batches)
            return RangePlan(planned, totals, topic_ids=now.ids)
        time_ms = now_ms() if self._options.at is None else self._options.at
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
        return rolled_back_from(self._configuration, self._pipeline_plan, self._place.catalog, batches)

    def _batch_log(self) -> BatchLog:
        return BatchLog(batch_log_folder(self._configuration, self._pipeline.name))

    def preview(self) -> dict[str, Any]:
        """
        What would run, as plain data.

        Raises:
            IngestError: as `plan`.
        """
        plan = self.plan()
        is_refused = bool(plan.of_kind(BatchKind.UNLOGGED)) and not self.is_any_allowed
        return self._begun(plan) | {"has_changed": plan.has_changed, "is_refused": is_refused} | plan.to_json()

    def _begun(self, plan: RangePlan) -> dict[str, Any]:
        """What the user must know before the first micro-batch runs."""
        return {
            "resumes": plan.resumes,
            "finished": plan.totals.batches,
            "planned": len(plan.batches),
            "may_hide_values": self.has_event_time and self.may_hide_values(plan),
            "plan": str(self.plan_file),
        }

    def steps(self) -> Steps:
        """
        Run the plan until all of it is durable; yields the totals after each micro-batch.

        Raises:
            ConfigError: there are records without a time.
            ConflictError: another process holds a store with a single writer, or another replay of the pipeline runs.
            ReplayStoppedError: a micro-batch cannot be made durable, or the replay was cancelled; finished ones are not
                run again.
            IngestError: as `plan`.
        """
        with replay_lock(self._configuration, self._pipeline) as lock, ExitStack() as opened:
            checkpoint = None
            if self._pipeline_plan.tables_with(Updates) or self._pipeline_plan.tables_with(Feed):
                if unfinished(update_replay_file(self._configuration, self._pipeline.name)) is None:
                    self.plan()  # what is refused does not end the pipeline
                checkpoint = opened.enter_context(self._place.borrowed(self._pipeline, kind="replay"))
            self._settle(checkpoint)
            try:
                yield from self._steps(lock, checkpoint)
            except PositionLostError:
                self._settle(checkpoint)  # what it has written of the micro-batch whose records are gone
                raise
            except BaseException:
                if self._place.is_service:  # the pipeline could not start
                    with logged("a replay is not taken back", self._pipeline.name):
                        self._settle(checkpoint, may_run=False)
                raise

    def _steps(self, lock: ProcessLock, checkpoint: Checkpoint | None) -> Steps:
        with ExitStack() as opened:
            plan = self._without_counted(self.plan())
            check_allowed(plan.batches, is_allowed=self.is_any_allowed)
            begun, totals = self._begun(plan), plan.totals
            totals.has_changed |= plan.has_changed and totals.batches > 0
            left = [batch for batch in plan.batches[totals.batches :] if batch not in plan.counted]
            if left:
                runner = ReplayRunner(
                    self._place,
                    self._pipeline,
                    RateLimiter(self._options.rate),
                    opened,
                    checkpoint=checkpoint,
                    tables=self._tables(left) if self._pipeline_plan.tables_with(Updates) else None,
                    sinks=self._options.sink,
                    left=left,
                    topic_ids=plan.topic_ids,
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
                with self._place.cancellation.calls(runner.stop):
                    for _ in self._run(runner, plan):
                        yield Progress(totals.batches, len(plan.batches), begun | totals.to_json())
                    runner.until_possible(self._state.finish)
            elif plan.resumes:
                self._state.finish()
        yield Progress(totals.batches, totals.batches, begun | totals.to_json())

    def _tables(self, left: Sequence[ReplayBatch]) -> frozenset[str]:
        """The tables with deferred updates that the rest of a replay writes."""
        return common_tables(self._rolled_back(list(self._batch_log().batches())), left)

    def _without_counted(self, plan: RangePlan) -> RangePlan:
        """A plan that resumes, without the batches that are in the tables again: others have replayed them since."""
        if not (plan.resumes and self._pipeline_plan.tables_with(Updates)):
            return plan
        rolled_back = self._rolled_back(list(self._batch_log().batches()))
        return replace(plan, counted=[batch for batch in plan.batches if not tables_of(rolled_back, batch.time_ms)])

    def _settle(self, checkpoint: Checkpoint | None, *, may_run: bool = True) -> None:
        """End a batch of this pipeline that may be written in part, unless this replay runs it first, as it was."""
        path = update_replay_file(self._configuration, self._pipeline.name)
        if checkpoint is None or unfinished(path) is None:
            return
        whole = replace(self._place.plan_of(self._pipeline), is_replay=True)
        with ExitStack() as opened:
            tables = owned_tables(self._configuration, whole, self._place.driver_stores(whole, opened))
            updates = UpdateReplay(self._configuration, self._pipeline, checkpoint, tables)
            updates.settle_batch(InterruptedBatch(self._state, self._settings), may_run=may_run)

    def _run(self, runner: ReplayRunner, plan: RangePlan) -> Iterator[None]:
        """Run the batches that are left; yields before the first one, and after each."""
        totals, planned = plan.totals, len(plan.batches)
        yield
        for batch in plan.batches[totals.batches :]:
            if batch in plan.counted:
                totals.batches += 1
                runner.until_possible(partial(self._state.progress, totals))
                continue
            self._place.cancellation.wait(runner.delay_s())
            with self._place.new_slice():
                runner.until_possible(partial(self._check_topics, plan))
                self._run_batch(runner, batch, totals, planned)
            yield

    def _run_batch(self, runner: ReplayRunner, batch: ReplayBatch, totals: ReplayTotals, planned: int) -> None:
        """Run a batch until it is durable, and its progress too."""
        finished = totals.batches  # before this one, whose progress may not become durable
        try:
            totals.add(runner.run(batch))
            failpoint.point("replay_stored")()
            runner.until_possible(partial(self._state.progress, totals))
            failpoint.point("replay_noted")()
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
