"""
One streaming query: foreachBatch -> tasks -> receipts -> commit -> dead letters -> ack.

Nothing is acknowledged before it is durable. A micro-batch is acknowledged in one place: `BatchRunner.on_batch`
returns, and Spark then writes `commits/N`. After an earlier failure it runs again, with the same records and time.
"""

import copy
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TypeVar

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from ingest import failpoint
from ingest.amounts import counted
from ingest.api import (
    Committer,
    ConfigError,
    Disposition,
    IngestError,
    LifecycleError,
    RecordPlace,
    StoreUnavailableError,
    TaskSpec,
)
from ingest.dead_letters.budget import ErrorBudget
from ingest.dead_letters.buffer import check_size
from ingest.observe.logs import logger
from ingest.observe.taps import Taps
from ingest.pipeline.back_pressure import BackPressure
from ingest.pipeline.loop import LoopHost, MicroBatch, run_until_durable
from ingest.pipeline.rate_limiter import RateLimiter
from ingest.pipeline.splits import ranked
from ingest.receipt import Counts, Receipt, TaskStatus, worst_of
from ingest.retry import Retry
from ingest.spark.errors import translated
from ingest.spark.jobs.task_errors import TaskUnavailableError
from ingest.spark.streaming.batch_errors import AbandonedError, BatchFailedError, RunsAnewError
from ingest.spark.streaming.batch_observer import BatchObserver
from ingest.spark.streaming.batch_tasks import BatchTasks
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.busy_time import BusyTime
from ingest.spark.streaming.guard import Guard, Guarded, unguarded

T = TypeVar("T")
_log = logger(__name__)

BACK_OFF_S = (0.5, 1.0, 2.0, 5.0)  # between attempts of a blocked batch; the last one repeats
WITHOUT_BYTES = "dead letters of a micro-batch are too large, and some have places in place of bytes"
JOB_RETRIES = 3  # of a Spark job that failed for an external reason, such as a killed worker


class BatchRunner(LoopHost):
    """
    Runs the micro-batches of one pipeline, from one start of its query to the next, or those of a replay.

    Args:
        pipeline: its name.
        task_name: of the pipeline in worker processes, each of which keeps one plan for each name; that of the pipeline
            if None. A replay has another plan than the query that may run at the same time.
        batch_times: of the query; None for a replay, which passes its times to `run_batch`.
        plan: as `ingest.plan.codec.packed` returns it; each worker process unpacks it once.
        session: of the frames; None if tasks run in this process.
        committers: name of a destination -> its half on the driver.
        error_budget: checked once for each batch, before any committer commits it.
        publish: makes the dead letters of a batch durable, given its number and time; repeated as `until_possible`.
        observer: receives the progress.
        record: logs a durable batch, given its number and time, before it is acknowledged; retried in the same way.
        is_complete: whether a batch of the query, given its number and time, is durable and need not run.
        check_owner: checks that no other driver has taken the pipeline, before each attempt, each call of a committer,
            of `publish` and of `record`, and each acknowledgement; retried in the same way, so the batch waits for a
            file system that does not answer.
        sync_plan: makes the plan of a batch durable, before its time is chosen.
        needs_splits: whether a destination needs the ranks of the splits, as `Plan.needs_splits`.
        splits: see `Source.splits`; for the batches of a query.
        guard: given the number of a batch, as `ingest.spark.streaming.guard.Guard`; for the batches of a query.
        max_tasks: partitions of a batch are coalesced to so many, since a task costs 40 ms; None for one task for each.
        limiter: delays micro-batches, so that they observe a maximum rate; None without one.
        back_pressure: delays micro-batches while a store is overloaded.
        watched: surrounds each Spark job; its tasks may outlive the job if an exception ends the block.
        hide: masks the secrets of the configuration.
        taps: of the service, for what tasks report to readers; None for a replay.
        clock: monotonic seconds.

    Attributes:
        idle: set while no batch runs.
        finished_batch: the newest batch that this process made durable.
        failure: the error of the last batch that was not acknowledged.
    """

    def __init__(  # noqa: PLR0913 - the collaborators of a batch, each used once
        self,
        *,
        pipeline: str,
        plan: bytes,
        session: SparkSession | None = None,
        batch_times: BatchTimes | None,
        committers: Mapping[str, Committer],
        error_budget: ErrorBudget,
        publish: Callable[[Sequence[bytes], int, int], None],
        observer: BatchObserver,
        check_owner: Callable[[], None],
        sync_plan: Callable[[int], None] = lambda _batch_id: None,
        record: Callable[[int, int], None] = lambda _batch_id, _batch_time_ms: None,
        is_complete: Callable[[int, int], bool] = lambda _batch_id, _batch_time_ms: False,
        needs_splits: bool = False,
        splits: Callable[[int], Iterable[RecordPlace] | None] = lambda _batch_id: None,
        guard: Callable[[int, int, bool], Guarded | None] = lambda _batch_id, _batch_time_ms, _has_failed: None,
        task_name: str | None = None,
        max_tasks: int | None = None,
        limiter: RateLimiter | None = None,
        back_pressure: BackPressure | None = None,
        watched: Callable[[], AbstractContextManager[None]] = nullcontext,
        hide: Callable[[str], str] = str,
        taps: Taps | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pipeline = pipeline
        self._tasks = BatchTasks(session, task_name or pipeline, plan)
        self._batch_times = batch_times
        self._committers = committers
        self._error_budget = error_budget
        self._publish = publish
        self._observer = observer
        self._record = record
        self._is_complete = is_complete
        self._check_owner = check_owner
        self._sync_plan = sync_plan
        self._needs_splits = needs_splits
        self._splits = splits
        self._guard_of_query = guard
        self._max_tasks = max_tasks
        self._limiter = limiter or RateLimiter(None)
        self._back_pressure = back_pressure or BackPressure()
        self._watched = watched
        self._hide = hide
        self._taps = taps
        self._clock = clock
        self._busy = BusyTime(clock)
        self._before_commit = failpoint.point("before_commit")
        self._draining = threading.Event()
        self.finished_batch: int | None = None
        self._reset()

    def _reset(self) -> None:
        self._started_ns = time.monotonic_ns()
        self._stopping = threading.Event()
        self._stage_started: float | None = None
        self._tasks_s = 0.0
        self.idle = threading.Event()
        self.idle.set()
        self.failure: Exception | None = None
        self._frame: DataFrame | None = None
        self._guarded: Guarded | None = None

    def restarted(self) -> "BatchRunner":
        """
        Stop this job, and return the job for the next start of the query.

        A batch that still runs here outlives its query, while the next query runs the same batch: the two jobs share
        their collaborators and the effect of `refuse_batches`, but no state of a batch.
        """
        self.stop()
        job = copy.copy(self)
        job._reset()  # noqa: SLF001 - of this class
        return job

    def refuse_batches(self) -> None:
        """Let the running batch finish and start no other, also after `restarted`."""
        self._draining.set()

    def accept_batches(self) -> None:
        """Undo `refuse_batches`, for the jobs that `restarted` returns."""
        self._draining.clear()

    def stop(self) -> None:
        """Abandon the running batch without an acknowledgement, and start no other."""
        self._stopping.set()
        for committer in self._committers.values():
            committer.stop_probe()

    def close(self) -> None:
        """Remove the plan from the executors; no batch runs any more. May be called twice."""
        self._tasks.close()

    def busy_s(self) -> float:
        """Seconds in which batches of the query ran, since its first start; that of a running one counts."""
        return self._busy.seconds()

    def stage_s(self) -> float:
        """Seconds since the current stage (an attempt, a commit, a publication) started; 0 if none runs."""
        started = self._stage_started
        return 0.0 if started is None else self._clock() - started

    def delay_s(self) -> float:
        """Seconds until the next micro-batch may start; 0 if it may start now."""
        return max(self._limiter.delay_s(), self._back_pressure.delay_s())

    def on_batch(self, frame: DataFrame, batch_id: int) -> None:
        """Make one micro-batch durable: a return acknowledges it, an exception does not."""
        # idle meanwhile: nothing of the batch runs and no task slot is held, so a pause or a stop need not wait
        self._stopping.wait(self.delay_s())
        self.idle.clear()
        try:
            self._check_may_start(batch_id)
            assert self._batch_times is not None  # noqa: S101 - for mypy: a query has them
            self._confirm_owner()
            with self._busy.running():
                with self._stage():  # a hanging disk is visible as a long stage
                    self._sync_plan(batch_id)
                    batch_time_ms, name = self._batch_times.of(batch_id), self._batch_times.name_of(batch_id)
                if self._is_complete(batch_id, batch_time_ms):
                    _log.info("the batch was complete before the restart", pipeline=self._pipeline, batch=batch_id)
                    self.finished_batch = batch_id
                else:
                    by_number = partial(self._splits, batch_id), partial(self._guard_of_query, batch_id)
                    self.run_batch(frame, batch_id, batch_time_ms, name, *by_number)
        except IngestError as error:
            # Spark passes on only the text of an exception, so the error itself is stored here
            self.failure = error
            # no chained exception: Spark searches the text with a pattern that overflows its stack if the text contains
            # a failed job, and the query then ends without a reason
            text = str(error)
            if self._hide(text) == text:
                raise error from None
            # Spark writes the text to its log and its event log, which mask no secrets
            raise BatchFailedError(f"batch {batch_id} is not acknowledged: {self._hide(text)}") from None
        except Exception as error:  # noqa: BLE001 - `failure` reports any error when the query has ended
            self.failure = error
            raise BatchFailedError(f"batch {batch_id} is not acknowledged: {type(error).__name__}") from None
        finally:
            self.idle.set()

    def run_batch(
        self,
        frame: DataFrame,
        batch_id: int,
        batch_time_ms: int,
        name: str,
        splits: Callable[[], Iterable[RecordPlace] | None],
        guard: Guard = unguarded,
    ) -> None:
        """
        Run one micro-batch until its rows, its dead letters and its entry in the batch log are durable.

        Args:
            frame: its records.
            batch_id: number for the dead letters and the batch log.
            batch_time_ms: the batch time.
            name: see `ingest.api.Batch`.
            splits: returns the first place of each split, as `Source.splits`; called if a destination needs the ranks.
            guard: replaces the frame if it cannot be read as it is.

        Raises:
            ConfigError: a destination needs the ranks, and the source cannot compute the splits.
            TooManySplitsError: there are more than 2^20 splits.
            IngestError: it cannot be made durable; the tables may have a part of it.
        """
        started = self._clock()
        self._limiter.start()
        micro_batch = MicroBatch(
            name=name,
            time_ms=batch_time_ms,
            # unique to this start: an earlier one may still run the same batch
            attempts=f"{self._started_ns}-{batch_id}",
            max_failures=self._error_budget.max_failures(batch_time_ms),
            splits=self._ranked(splits) if self._needs_splits else (),
        )
        self._frame, self._guard = frame, partial(guard, batch_time_ms)
        self._guarded = self._guarded_now(has_failed=False)
        counts, dead_letters = run_until_durable(
            micro_batch, self._committers, self, on_attempt=self._attempted, check=partial(self._check, batch_time_ms)
        )
        if counts.by_place:
            _log.warning(WITHOUT_BYTES, pipeline=self._pipeline, batch=batch_id, records=counts.by_place)
        if (guarded := self._guarded) is not None:
            counts.add(guarded.counts)
            dead_letters += guarded.dead_letters
        self._check_not_stopping()
        self._observer.running()
        self.until_possible(partial(self._publish, dead_letters, batch_id, batch_time_ms))
        self.until_possible(partial(self._record, batch_id, batch_time_ms))
        self._confirm_owner()
        self._check_not_stopping()
        self.finished_batch = batch_id
        self._limiter.finish(counts.records)
        self._observer.durable(batch_id, batch_time_ms, counts, self._clock() - started)
        self._before_commit()

    def _guarded_now(self, *, has_failed: bool) -> Guarded | None:
        """
        What to run in place of the micro-batch; None to run it as it is.

        Raises:
            RunsAnewError: it must run at another time.
        """
        guarded = self.until_possible(partial(self._guard, has_failed))
        if guarded is not None and guarded.must_renew:
            raise RunsAnewError(
                f"{counted(guarded.counts.records, 'record')} of a micro-batch that has begun cannot be read; it runs "
                "again without them, at a later time"
            )
        return guarded

    def _ranked(self, splits: Callable[[], Iterable[RecordPlace] | None]) -> tuple[RecordPlace, ...]:
        places = self.until_possible(splits)
        if places is None:
            raise ConfigError(
                f'the source of pipeline "{self._pipeline}" cannot compute the splits of a micro-batch',
                hint="a table with deferred updates or a change feed needs them: `splits` of the source returns them",
            )
        return ranked(places)

    def _confirm_owner(self) -> None:
        """Wait until it is known that no other driver has taken the pipeline."""
        self.until_possible(lambda: None)

    def _attempted(self, counts: Counts) -> None:
        if counts.busy and self._back_pressure.ratio() == 1.0:
            _log.warning("a store is overloaded; the pipeline writes less", pipeline=self._pipeline, busy=counts.busy)
        self._back_pressure.attempted(counts.busy, self._tasks_s)
        self._observer.attempted(counts)

    def _check(self, batch_time_ms: int, counts: Counts, dead_letters: Sequence[bytes]) -> None:
        """Check a batch before it is committed: a sink cannot remove what it has committed."""
        self._check_not_stopping()
        self._confirm_owner()
        check_size(sum(map(len, dead_letters)), has_places=bool(counts.by_place))
        self._error_budget.check(batch_time_ms, counts.records, counts.failed, dead_letters)

    def _check_may_start(self, batch_id: int) -> None:
        if self._draining.is_set() or self._stopping.is_set():
            raise AbandonedError(f"the service stops; batch {batch_id} runs again after a restart")

    def _check_not_stopping(self) -> None:
        if self._stopping.is_set():
            raise AbandonedError("the query stops while a batch runs") from None

    def run_tasks(self, spec: TaskSpec, *, on_one_slot: bool) -> Sequence[Receipt]:
        """Run the records of the batch as one Spark job."""
        self._check_not_stopping()
        self._confirm_owner()
        max_tasks = 1 if on_one_slot else self._max_tasks
        job = partial(self._run_job, spec, max_tasks)
        until_available = partial(Retry(pauses_s=BACK_OFF_S).run, job, pause=self._blocked_by)
        retry = Retry(pauses_s=BACK_OFF_S, attempts=1 + JOB_RETRIES, is_transient=_is_of_spark)
        return retry.run(until_available, pause=self._job_failed)

    def _run_job(self, spec: TaskSpec, max_tasks: int | None) -> Sequence[Receipt]:
        started = self._clock()
        if self._taps is not None:
            spec = replace(spec, taps=self._taps.of(self._pipeline))
        frame = self._frame if self._guarded is None else self._guarded.frame
        if frame is None:
            raise LifecycleError("tasks run only within a batch")
        try:
            with self._stage(), self._watched():
                receipts = self._tasks.run(frame, spec, max_tasks)
        except (Py4JError, PySparkException, StoreUnavailableError) as error:
            if self._stopping.is_set():
                # no chained exception, as in `on_batch`
                raise AbandonedError("the service stops while tasks run") from None
            cause = error if isinstance(error, StoreUnavailableError) else translated(error)
            if cause is None or cause is error:
                raise
            raise cause from error
        self._check_not_stopping()
        self._tasks_s = self._clock() - started
        if self._taps is not None:
            _deliver(receipts, self._taps)
        return receipts

    def _job_failed(self, error: Exception, seconds: float) -> None:
        """Wait before a Spark job that failed for an external reason runs again."""
        _log.warning("a Spark job failed", pipeline=self._pipeline, reason=str(error))  # Spark's own log of it is off
        self._wait_blocked(TaskUnavailableError.code, "a Spark job failed, and runs again", seconds)
        if self._guarded is None and isinstance(error, PySparkException | Py4JJavaError):  # the JVM lives
            self._guarded = self._guarded_now(has_failed=True)

    def until_possible(self, action: Callable[[], T]) -> T:
        """
        The result of an action on the driver, repeated without a limit while its error is not STOP; the pipeline is
        blocked meanwhile. Before each attempt a takeover by another driver ends it.
        """

        def attempt() -> T:
            self._check_not_stopping()
            with self._stage():
                self._check_owner()
                return action()

        def may_end(error: Exception) -> bool:
            # DIVERT blocks the batch too: no row that a store rejects here may be skipped
            return isinstance(error, IngestError) and error.disposition is not Disposition.STOP

        retry = Retry(pauses_s=BACK_OFF_S, is_transient=may_end)
        return retry.run(attempt, pause=self._blocked_by)

    @contextmanager
    def _stage(self) -> Iterator[None]:
        self._stage_started = self._clock()
        try:
            yield
        finally:
            self._stage_started = None

    def blocked(self, code: str, message: str, attempts: int) -> None:
        """Report the batch as blocked and wait before the next attempt; raises if the service stops meanwhile."""
        self._wait_blocked(code, message, BACK_OFF_S[min(attempts, len(BACK_OFF_S)) - 1])

    def _blocked_by(self, error: IngestError, seconds: float) -> None:
        self._wait_blocked(error.code, str(error), seconds)

    def _wait_blocked(self, code: str, message: str, seconds: float) -> None:
        self._check_not_stopping()
        self._observer.blocked(code, message)
        if self._stopping.wait(seconds):
            raise AbandonedError(f"the service stops while blocked: {message}") from None


def _is_of_spark(error: Exception) -> bool:
    return isinstance(error, Py4JError | PySparkException)


def _deliver(receipts: Sequence[Receipt], taps: Taps) -> None:
    """Give an attempt's reports to the readers of taps, unless the next attempt reports the same events at once."""
    if any(receipt.status is TaskStatus.RUN_AGAIN for receipt in receipts):
        return
    lines = (line for receipt in receipts for line in receipt.tapped)
    # a blocked attempt has compared some events, and the next one compares all: only one of them may count
    is_durable = worst_of(receipts).status is TaskStatus.DURABLE
    counts = (each for receipt in receipts for each in receipt.tap_counts.items())
    taps.deliver(lines, counts if is_durable else ())
