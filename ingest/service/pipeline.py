"""One pipeline of a service; it is built, started, stopped and closed independently of the others."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from ingest import failpoint
from ingest.api import Committer, ConflictError, Disposition, IngestError, LifecycleError, Source
from ingest.clock import now_ms
from ingest.config.model import Configuration, Pipeline
from ingest.dead_letters.queue import DeadLetterQueue
from ingest.formats.times import moment
from ingest.observe.health import State
from ingest.observe.logs import logger
from ingest.pipeline.back_pressure import BackPressure
from ingest.pipeline.rate_limiter import RateLimiter, records_per_batch
from ingest.plan.codec import packed
from ingest.plan.plan import Plan
from ingest.service.committers import committers_of
from ingest.service.dead_letters.queues import dead_letter_queue, error_budget
from ingest.service.kafka.batches import batch_recorder
from ingest.service.observer import PipelineObserver, Totals
from ingest.service.shared import Shared
from ingest.service.sources import identity_of, open_source, restart_of
from ingest.service.state_folders import batch_times_folder, checkpoint_folder, update_replay_file
from ingest.service.tables import PipelineTables, owned_tables
from ingest.spark.cancelled_tasks import CancelledTasks
from ingest.spark.errors import JVM_GONE
from ingest.spark.session import max_tasks
from ingest.spark.streaming.batch_time import BatchTimes, newest_time
from ingest.spark.streaming.checkpoint import Checkpoint
from ingest.spark.streaming.job import Job
from ingest.spark.streaming.query import PipelineQuery, Trigger
from ingest.spark.streaming.reading import Session, record_frame
from ingest.spark.streaming.timed_caller import TimedCaller

_log = logger(__name__)


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
        opened: ExitStack,
    ) -> None:
        self._shared = shared
        self._plan = plan
        self._pipeline = shared.configuration.pipelines[plan.pipeline]
        self._checkpoint = checkpoint
        self._times = times
        self._source = source
        self._committers = committers
        self._dead_letters = dead_letters
        self._record = record
        self._tables = tables
        self._opened = opened
        self._session: Session | None = None
        self._query: PipelineQuery | None = None
        self.name = plan.pipeline
        totals = shared.totals.setdefault(plan.pipeline, Totals())
        self.observer = PipelineObserver(
            plan.pipeline, shared.health, shared.metrics, shared.activity, shared.follow, totals
        )
        self.jars: Sequence[Path] = source.jars()
        self.every_s = 0.0 if shared.once else self._pipeline.trigger_every_s
        shared.metrics.triggered(self.name, self.every_s)

    def attach(self, session: Session, ask: TimedCaller) -> None:
        """Attach the pipeline to a Spark session that has its `jars` and Java properties; nothing is read yet."""
        self._session = session
        self._cancelled, self._ask = CancelledTasks(session), ask
        self._query = PipelineQuery(self.name, self._checkpoint, self._job(session, self._cancelled), ask)

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
            IngestError: the checkpoint belongs to another source, or positions are lost.
            Exception: raised by Spark.
        """
        query, session = self.query, self._session
        assert session is not None  # noqa: S101 - for mypy: set with the query
        for committer in self._committers.values():
            committer.recover()
        self._tables.claim(self._source, partial(self._dead_letters.publish, ()))
        self._checkpoint.claim(identity_of(self._source))
        frame = record_frame(self._source.frame(session), self._source.kind)
        self._refuse_older_state()
        # only now: the checks above may refuse the checkpoint
        self._checkpoint.note_configuration(self._pipeline.fingerprint)
        query.start(frame, Trigger(once=self._shared.once, every_s=self.every_s))

    def _refuse_older_state(self) -> None:
        """
        Refuse state that is older than what a destination has, such as one that was restored.

        Its offsets would be read again, in micro-batches of other times; and these may be earlier than the newest one.
        """
        known_ms = newest_time(self._checkpoint.times_folder) or 0
        for name, committer in self._committers.items():
            newest_ms = committer.newest_batch_ms()
            if newest_ms > known_ms and not self._shared.owner.recount:
                raise ConflictError(
                    f"the {name} has a micro-batch of {moment(newest_ms)}, which is newer than the state of the "
                    "pipeline; events would be stored twice",
                    code="state_too_old",
                    hint="restore the newest state_dir; or store the events since then again: 'ingest run --recount'",
                )
            self._times.start_after([str(newest_ms)])

    def fatal(self) -> IngestError | None:
        """
        The error that ends a running query, which Spark may not detect; None otherwise.

        Another driver has taken the checkpoint, or the source has lost data.
        """
        return self._checkpoint.lost() or self._source.data_loss()

    def unavailable(self) -> str | None:
        """Why the source has not answered for seconds, which Spark reports after minutes; None while it answers."""
        return self._source.unavailable()

    def stop(self) -> None:
        """Stop the query without acknowledging a running batch, and close the source."""
        if self._query is not None:
            self._query.stop()
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
        """Unlock the checkpoint, and release stores and dead letters; may be called twice."""
        self._opened.close()

    def _job(self, session: Session, cancelled: CancelledTasks) -> Job:
        back_pressure = BackPressure()
        self._shared.metrics.throttled(self.name, back_pressure.ratio)
        self._shared.activity.throttled(self.name, back_pressure.ratio)
        return Job(
            pipeline=self.name,
            plan=packed(self._plan),
            batch_times=self._times,
            committers=self._committers,
            error_budget=error_budget(self._pipeline),
            publish=self._publish,
            observer=self.observer,
            record=self._log,
            is_complete=self._tables.is_complete,
            check_owner=self._checkpoint.check_locked,
            needs_splits=self._plan.needs_splits,
            splits=self._source.splits,
            max_tasks=max_tasks(session),
            limiter=RateLimiter(self._pipeline.max_rate),
            back_pressure=back_pressure,
            watched=cancelled.watched,
            hide=self._shared.configuration.masks.hide,
        )

    def _log(self, batch_id: int, batch_time_ms: int) -> None:
        """Log a durable batch; then move the marks, the last act before the acknowledgement."""
        self._record(batch_id, batch_time_ms)
        self._tables.complete(batch_id, batch_time_ms)

    def _publish(self, dead_letters: Sequence[bytes], batch_id: int, batch_time_ms: int) -> None:
        try:
            self._dead_letters.publish(dead_letters, batch_id, batch_time_ms)
        except IngestError:
            self._shared.metrics.dead_letter_publish_failed(self.name)
            raise


def build_pipeline(
    shared: Shared, plan: Plan, start_from: str | None = None, checkpoint: Checkpoint | None = None
) -> LivePipeline:
    """
    Lock and check the resources of a pipeline. An unavailable store or dead-letter queue is retried by the running
    pipeline, unless the service runs once.

    Args:
        shared: resources of all pipelines.
        plan: of the pipeline.
        start_from: `run --start-from`, for a pipeline without a checkpoint; None for the source's own `start`.
        checkpoint: of the pipeline, if it is locked already; it is unlocked also if the pipeline cannot start.

    Raises:
        ConfigError: its source does not support `start_from`.
        CatalogError: a plugin cannot be created with its settings.
        IngestError: this pipeline cannot start: its checkpoint is damaged or in use, a store is locked or damaged, the
            dead-letter topic is missing. Nothing stays open.
    """
    pipeline = shared.configuration.pipelines[plan.pipeline]
    recovery = failpoint.point("recovery")
    shared.health.change(plan.pipeline, State.STARTING)
    shared.activity.limited(plan.pipeline, pipeline.max_rate)
    with ExitStack() as opened:
        if checkpoint is None:
            checkpoint = checkpoint_of(shared, pipeline)
            checkpoint.lock()
        opened.callback(checkpoint.unlock)
        _verify(checkpoint, pipeline)
        if not shared.once:
            shared.retention.watch(pipeline, checkpoint)
        times = _batch_times(shared.configuration, pipeline, checkpoint)
        recovery()
        every_s = 0.0 if shared.once else pipeline.trigger_every_s
        stores = shared.stores.used_by(plan, opened)
        owned = owned_tables(shared.configuration, plan, stores)
        tables = PipelineTables(
            owned,
            checkpoint,
            times,
            fingerprint=pipeline.fingerprint,
            replay=update_replay_file(shared.configuration, pipeline.name),
            options=shared.owner,
        )
        source = open_source(
            shared.catalog,
            pipeline,
            checkpoint,
            times,
            start_from,
            shared.metrics,
            max_records=records_per_batch(pipeline.max_rate, every_s),
            resume_at=tables.resume_at,
        )
        for name, store in stores.items():
            connect(store.open, f'store "{name}"', once=shared.once)
        committers = committers_of(
            shared.configuration,
            plan,
            stores,
            owned.feeds,
            shared.metrics.bodies_moved,
            check_owner=checkpoint.check_locked,
        )
        for committer in committers.values():
            opened.callback(committer.close)
        dead_letters = dead_letter_queue(shared.configuration, pipeline)
        opened.callback(dead_letters.close)
        connect(dead_letters.prepare, f'dead-letter queue of pipeline "{pipeline.name}"', once=shared.once)
        recovery()
        return LivePipeline(
            shared,
            plan,
            checkpoint=checkpoint,
            times=times,
            source=source,
            committers=committers,
            dead_letters=dead_letters,
            record=batch_recorder(shared.configuration, pipeline, checkpoint, opened),
            tables=tables,
            opened=opened.pop_all(),
        )


def connect(action: Callable[[], object], what: str, *, once: bool) -> None:
    """
    Connect to a resource at the start; an error that allows a retry is only logged, because the pipeline retries.

    Args:
        action: connects.
        what: the resource, for the log.
        once: also raise errors that allow a retry, because a user waits for the run.

    Raises:
        IngestError: as `action`.
    """
    try:
        action()
    except IngestError as error:
        if once or error.disposition is not Disposition.RETRY:
            raise
        _log.warning("not available yet", what=what, reason=str(error))


def check_source(shared: Shared, pipeline: Pipeline) -> None:
    """
    Check that a pipeline would accept its checkpoint, which may be in use.

    Raises:
        ConflictError: it belongs to another source.
        IngestError: the source cannot be opened.
    """
    checkpoint = checkpoint_of(shared, pipeline)
    if checkpoint.is_claimed():
        times = _batch_times(shared.configuration, pipeline, checkpoint)
        source = open_source(shared.catalog, pipeline, checkpoint, times, None, shared.metrics)
        checkpoint.check_identity(identity_of(source))


def checkpoint_of(shared: Shared, pipeline: Pipeline) -> Checkpoint:
    """
    The checkpoint of a pipeline, not locked.

    Raises:
        CatalogError: its source cannot be imported.
    """
    restart = restart_of(shared.catalog.load("sources", pipeline.source.kind))
    return Checkpoint(checkpoint_folder(shared.configuration, pipeline.name), restart)


def _verify(checkpoint: Checkpoint, pipeline: Pipeline) -> None:
    """Check a locked checkpoint, and log what a start does with its last batch."""
    checkpoint.verify()
    uncommitted = checkpoint.uncommitted()
    is_changed = checkpoint.is_changed(pipeline.fingerprint)
    if uncommitted is not None and is_changed:
        _log.warning(
            "the last batch was not acknowledged and runs again with the new configuration",
            pipeline=pipeline.name,
            batch=uncommitted,
        )
    elif uncommitted is not None:
        _log.warning("the last batch was not acknowledged and runs again", pipeline=pipeline.name, batch=uncommitted)
    elif is_changed:
        _log.info("the configuration has changed since the last run", pipeline=pipeline.name)


def _batch_times(configuration: Configuration, pipeline: Pipeline, checkpoint: Checkpoint) -> BatchTimes:
    newest = None if pipeline.source.settings.keeps_batch_times else batch_times_folder(configuration, pipeline.name)
    return BatchTimes(checkpoint.times_folder, now_ms, newest)
