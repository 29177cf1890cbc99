"""One pipeline of a service; it is built, started, stopped and closed independently of the others."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from ingest.api import Committer, ConflictError, IngestError, LifecycleError, Source
from ingest.dead_letters.envelope import with_topic_ids
from ingest.dead_letters.queue import DeadLetterQueue
from ingest.formats.times import moment
from ingest.observe.logs import logger
from ingest.pipeline.back_pressure import BackPressure
from ingest.pipeline.rate_limiter import RateLimiter
from ingest.plan.codec import packed
from ingest.plan.plan import Plan
from ingest.service.dead_letters.queues import error_budget
from ingest.service.kafka.quarantine import quarantine_of
from ingest.service.kafka.query_guard import QueryGuard
from ingest.service.kafka.topics import TopicIds
from ingest.service.lost_batches import forget_unbegun, withdraw_lost_batches
from ingest.service.observer import PipelineObserver, Totals
from ingest.service.shared import Shared
from ingest.service.sources import identity_of
from ingest.service.tables import PipelineTables
from ingest.sources.kafka import KafkaSourceSettings
from ingest.spark.cancelled_tasks import CancelledTasks
from ingest.spark.errors import JVM_GONE
from ingest.spark.session import max_tasks
from ingest.spark.streaming.batch_runner import BatchRunner
from ingest.spark.streaming.batch_time import BatchTimes, newest_time
from ingest.spark.streaming.checkpoint import Checkpoint
from ingest.spark.streaming.query import PipelineQuery, Trigger
from ingest.spark.streaming.reading import Session, record_frame
from ingest.spark.streaming.timed_caller import TimedCaller

_log = logger(__name__)


class StateTooOldError(ConflictError):
    """The state of a pipeline is older than its archive, as after a restore; rows would be there twice."""

    code = "state_too_old"
    remedy = (
        "Restore the newest `state_dir`; or run with `--recount`, then `attr2hbase archive rerun` for the partitions "
        "since then."
    )


class LivePipeline:
    """
    One pipeline with its checkpoint lock, source, dead letters and query, and its references to shared stores.

    Order: `build_pipeline`, `attach`, `start`, `stop`, `close`. `start` may be repeated after the query has ended.
    After `close` a pipeline of the same name can be built.

    Not thread-safe. `start` and `stop` may run in another thread if the caller calls nothing else meanwhile, except
    `stop` during a `start` that hangs. Different pipelines may start at the same time.

    Attributes:
        name: of the pipeline.
        observer: publishes its state, and totals its durable batches.
        jars: required by its source in the Spark session.
        every_s: seconds between starts of batches; 0 for no pause.
    """

    def __init__(  # noqa: PLR0913 - the parts of a pipeline; only `build_pipeline` calls it
        self,
        shared: Shared,
        plan: Plan,
        *,
        checkpoint: Checkpoint,
        times: BatchTimes,
        source: Source[Any],
        committers: Mapping[str, Committer],
        dead_letters: DeadLetterQueue,
        record: Callable[[int, int], None],
        tables: PipelineTables,
        guard: QueryGuard,
        every_s: float,
        jars: Sequence[Path],
        locked: ExitStack,
        opened: ExitStack,
    ) -> None:
        self._shared = shared
        self._plan = plan
        self._pipeline = shared.configuration.pipelines[plan.pipeline]
        self._checkpoint = checkpoint
        self._topic_ids = TopicIds(checkpoint.folder)
        self._times = times
        self._source = source
        self._committers = committers
        self._dead_letters = dead_letters
        self._record = record
        self._tables = tables
        self._guard = guard
        self._locked = locked
        self._opened = opened
        self._session: Session | None = None
        self._query: PipelineQuery | None = None
        self._closing = threading.Lock()
        self._is_source_closed = False
        self._has_started = False
        self.name = plan.pipeline
        totals = shared.totals.setdefault(plan.pipeline, Totals())
        self.observer = PipelineObserver(
            plan.pipeline, shared.health, shared.metrics, shared.activity, shared.follow, totals
        )
        self.jars = jars
        self.every_s = every_s
        shared.metrics.triggered(self.name, self.every_s)

    def attach(self, session: Session, ask: TimedCaller, ask_state: TimedCaller) -> None:
        """
        Attach the pipeline to a Spark session that has its `jars` and Java properties; nothing is read yet.

        Args:
            session: Spark's.
            ask: calls Spark's JVM.
            ask_state: reads files of the state.
        """
        self._session = session
        self._cancelled, self._ask = CancelledTasks(session), ask
        runner = self._runner(session, self._cancelled)
        self._opened.callback(partial(ask, runner.close, None))  # a JVM that hangs does not delay the end
        self._query = PipelineQuery(self.name, self._checkpoint, runner, ask, ask_state)

    def check_source(self) -> None:
        """
        Ask Kafka what a start asks it first: it answers or fails within seconds, and Spark starts much later.

        Other sources are not asked: one that hangs would hold up all pipelines. Nor is that of a pipeline that owns
        tables, which a start settles first.

        Raises:
            ConflictError: the checkpoint belongs to another source.
            IngestError: as `Source.identity`.
        """
        if isinstance(self._pipeline.source.settings, KafkaSourceSettings) and not self._tables.has_any:
            self._checkpoint.check_identity(identity_of(self._source))

    @property
    def query(self) -> PipelineQuery:
        """
        The streaming query.

        Raises:
            LifecycleError: the pipeline is not attached.
        """
        if self._query is None:
            raise LifecycleError(f'pipeline "{self.name}" is used before it is attached to a Spark session')
        return self._query

    def start(self) -> None:
        """
        Connect to stores and source, and start the query at its checkpoint.

        Raises:
            StoreUnavailableError: a store is unavailable.
            SourceUnavailableError: the source is unavailable.
            ConflictError: another driver has taken the checkpoint.
            IngestError: the checkpoint belongs to another source, or positions are lost.
            Exception: raised by Spark.
        """
        query, session = self.query, self._session
        assert session is not None  # noqa: S101 - for mypy: set with the query
        # a driver that was cut off may start again, or go on, after another one has taken over
        self._checkpoint.check_locked()
        self._source.check_clock()
        for committer in self._committers.values():
            committer.recover()
        self._tables.claim(self._source, partial(self._dead_letters.publish, ()))
        self._checkpoint.claim(identity_of(self._source))
        frame = record_frame(self._source.frame(session), self._source.kind)
        self._refuse_older_state()
        self._checkpoint.check_locked()
        withdraw_lost_batches(self._checkpoint, self._times, self._tables, partial(self._dead_letters.publish, ()))
        quarantine = quarantine_of(self._pipeline, session)
        if quarantine is not None:
            self._guard.start(quarantine)
        # only now: the checks above may refuse the checkpoint
        self._checkpoint.note_configuration(self._pipeline.fingerprint)
        query.start(frame, Trigger(once=self._shared.once, every_s=self.every_s))
        self._has_started = True

    def _refuse_older_state(self) -> None:
        """
        Refuse state that is older than what a destination has, such as one that was restored.

        Its offsets would be read again, in micro-batches of other times; and these may be earlier than the newest one.
        """
        known_ms = self._newest_replaced_ms()
        for name, committer in self._committers.items():
            newest_ms = committer.newest_batch_ms()
            if newest_ms > known_ms and not self._shared.owner.recount:
                raise StateTooOldError(
                    f"the {name} has a micro-batch of {moment(newest_ms)}, which is newer than the state of the "
                    "pipeline; events would be stored twice",
                    hint="restore the newest state_dir; or store the events since then again: "
                    "'attr2hbase run --recount'",
                )
            self._times.start_after(newest_ms)

    def _newest_replaced_ms(self) -> int:
        """
        The newest time of a micro-batch whose commit the next one replaces: the one that was not acknowledged. If its
        plan is lost, the first of those has its name.
        """
        lost = self._checkpoint.unplanned()
        replaced = lost[:1] if self._checkpoint.uncommitted() is None else ()
        return newest_time(self._checkpoint.times_folder, without=set(lost) - set(replaced)) or 0

    def fatal(self) -> IngestError | None:
        """
        The error that ends a running query, which Spark may not detect; None otherwise.

        Another driver has taken the checkpoint, or the source has lost data.
        """
        return self._checkpoint.lost() or self._source.data_loss()

    def explains_death(self) -> tuple[str, int] | None:
        """
        Its name and the micro-batch that ended Spark's JVM, if its next start goes around what it was reading.

        None also if that cannot be found out now; the log has the reason.
        """
        try:
            batch_id = self._guard.explains_death()
        except IngestError as error:
            _log.error("it is unknown why Spark's JVM has ended", pipeline=self.name, reason=str(error))
            return None
        return None if batch_id is None else (self.name, batch_id)

    def unavailable(self) -> str | None:
        """Why the source has not answered for seconds, which Spark reports after minutes; None while it answers."""
        return self._source.unavailable()

    def stop(self) -> None:
        """Stop the query without acknowledging a running batch, and close the source; may be called twice."""
        if self._query is not None:
            self._query.stop()
        self._close_source()

    def _close_source(self) -> None:
        with self._closing:  # a stop of the service may overtake a reload that ends the pipeline
            if not self._is_source_closed:
                self._is_source_closed = True
                self._source.close()

    def has_stopped(self) -> bool:
        """
        Whether nothing of the pipeline runs any more, so it can be closed while the service runs.

        Two things outlive `stop` and may still write: a batch that waits for a hanging JVM, which ends with the JVM,
        and tasks of an abandoned batch, which Spark kills within seconds.
        """
        if self._query is None:
            return True
        if not (self._query.ended() and self._query.is_idle()):
            return False
        try:
            return not self._ask(self._cancelled.are_running, default=True)
        except JVM_GONE:
            return True

    def close(self) -> None:
        """Unlock the checkpoint, and release the source, stores and dead letters; may be called twice."""
        self._close_source()
        self._opened.close()
        self._locked.close()

    def lend(self, borrow: Callable[[Checkpoint], object]) -> None:
        """As `close`, but the checkpoint stays locked, and is passed on without a micro-batch that has not begun."""
        self._locked.pop_all()
        try:
            self.close()
            if self._has_started:
                self._forget_unbegun()
        finally:
            borrow(self._checkpoint)

    def _forget_unbegun(self) -> None:
        try:
            forget_unbegun(self._checkpoint)
        except IngestError as error:
            _log.warning("the plan of a batch that has not begun stays", pipeline=self.name, reason=str(error))

    def _runner(self, session: Session, cancelled: CancelledTasks) -> BatchRunner:
        back_pressure = BackPressure()
        self._shared.metrics.throttled(self.name, back_pressure.ratio)
        self._shared.activity.throttled(self.name, back_pressure.ratio)
        return BatchRunner(
            pipeline=self.name,
            plan=packed(self._plan),
            session=session,
            batch_times=self._times,
            committers=self._committers,
            error_budget=error_budget(self._pipeline),
            publish=self._publish,
            observer=self.observer,
            record=self._complete,
            is_complete=self._tables.is_complete,
            check_owner=self._checkpoint.check_locked,
            sync_plan=self._checkpoint.sync_plan,
            needs_splits=self._plan.needs_splits,
            splits=self._source.splits,
            guard=self._guard,
            max_tasks=max_tasks(session),
            limiter=RateLimiter(self._pipeline.max_rate),
            back_pressure=back_pressure,
            watched=cancelled.watched,
            hide=self._shared.configuration.masks.hide,
            taps=self._shared.taps,
        )

    def _complete(self, batch_id: int, batch_time_ms: int) -> None:
        """Log a durable batch; then move the committed positions, the last act before the acknowledgement."""
        self._record(batch_id, batch_time_ms)
        self._tables.complete(batch_id, batch_time_ms)

    def _publish(self, dead_letters: Sequence[bytes], batch_id: int, batch_time_ms: int) -> None:
        try:
            letters = with_topic_ids(dead_letters, self._topic_ids.known)
            self._dead_letters.publish(letters, batch_id, batch_time_ms)
        except IngestError:
            self._shared.metrics.dead_letter_publish_failed(self.name)
            raise
