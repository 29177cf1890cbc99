"""The scheduler of a service's jobs: one after the other, beside the pipelines."""

import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any

from ingest.api import IngestError, NotFoundError
from ingest.clock import now_ms
from ingest.observe.logs import logger, traceback_of
from ingest.observe.metrics import Metrics
from ingest.service.jobs.cancellation import Cancellation
from ingest.service.jobs.job import Job
from ingest.service.jobs.job_run import Failure, JobContext, JobRun, JobState, JobStatus, NoJobsError, Progress
from ingest.service.shared import Shared

MAX_WAITING = 100
"""Jobs in the queue; more are refused."""
MAX_ENDED = 20
"""Newest jobs that have ended and are kept for the status."""
STOP_S = 5.0
"""How long `close` waits for the running job: Spark cancels tasks in milliseconds, unless its JVM hangs."""

_OWN_PROCESS = "--own-process runs it beside the service, unless a store is RocksDB"
_log = logger(__name__)


@dataclass(slots=True, eq=False)
class _Entry:
    """
    A job with its status.

    Attributes:
        is_cancelled: an operator has cancelled it.
        is_held: a reload ends its run; it then waits again.
    """

    job: Job[Any]
    status: JobStatus
    cancellation: Cancellation = field(default_factory=Cancellation)
    is_cancelled: bool = False
    is_held: bool = False


class Jobs:
    """
    Runs the jobs of a service one after the other, in the order in which they were submitted; those that overtake run
    before the others that wait.

    Thread-safe. The queue is in memory: a job that must survive a restart keeps its progress itself, and is submitted
    again.

    Args:
        metrics: of the service.
        hide: masks secrets in reasons.
        refusal: why this service takes no jobs; "" if it does.
        wall_ms: milliseconds since the epoch.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        metrics: Metrics,
        *,
        hide: Callable[[str], str] = str,
        refusal: str = "",
        wall_ms: Callable[[], int] = now_ms,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._metrics = metrics
        self._hide = hide
        self._refusal = refusal
        self._wall_ms = wall_ms
        self._clock = clock
        self._changed = threading.Condition()
        self._waiting: deque[_Entry] = deque()
        self._running: _Entry | None = None
        self._ended: deque[_Entry] = deque(maxlen=MAX_ENDED)
        self._context: JobContext | None = None
        self._held: frozenset[str] = frozenset()
        self._is_stopping = False
        self._thread: threading.Thread | None = None
        self._counted_s = 0.0

    def submit(self, job: Job[Any]) -> JobStatus:
        """
        Add a job to the queue, unless the same one waits or runs; returns its status.

        Raises:
            ConflictError: this service takes no jobs, its queue is full, or as `Job.check`.
            ConfigError: it can never run.
        """
        with self._changed:
            if self._context is not None:
                job.check(self._context.shared)
            for entry in self._active():
                if entry.job.is_same(job) and not entry.is_cancelled:
                    return entry.status
            if self._refusal or self._is_stopping:
                raise NoJobsError(self._refusal or "the service stops", hint=_OWN_PROCESS)
            if len(self._waiting) >= MAX_WAITING:
                raise NoJobsError(f"{MAX_WAITING} jobs wait already", hint="try again later")
            status = JobStatus(
                secrets.token_hex(8), job.kind, job.subject, JobState.WAITING, "", since_ms=self._wall_ms()
            )
            ahead = [entry for entry in self._waiting if entry.job.overtakes] if job.overtakes else self._waiting
            self._waiting.insert(len(ahead), _Entry(job, status))
            self._publish(job.kind)
            self._changed.notify_all()
            return status

    def statuses(self) -> list[JobStatus]:
        """The newest jobs that have ended, the running one, and those that wait, in this order."""
        with self._changed:
            return [entry.status for entry in (*self._ended, *self._active())]

    def active_of(self, pipeline: str) -> list[JobStatus]:
        """The running job and those that wait, if they use a pipeline."""
        with self._changed:
            return [entry.status for entry in self._active() if entry.job.uses([pipeline])]

    def status(self, job_id: str) -> JobStatus:
        """
        The status of a job.

        Raises:
            NotFoundError: there is no such job, or it ended long ago.
        """
        return self._find(job_id).status

    def cancel(self, job_id: str) -> JobStatus:
        """
        End a job, or take it out of the queue; one that has ended stays as it is.

        Raises:
            NotFoundError: there is no such job, or it ended long ago.
        """
        with self._changed:
            entry = self._find(job_id)
            entry.is_cancelled = entry.status.state.is_active
            if entry in self._waiting:
                self._waiting.remove(entry)
                self._end(entry, JobState.CANCELLED, "cancelled while it waited")
        if entry.is_cancelled:
            entry.cancellation.request()
        return entry.status

    def start(self, context: JobContext) -> None:
        """Run the jobs, from now on, in a thread."""
        with self._changed:
            self._use(context)
            self._thread = threading.Thread(target=self._run, name="jobs", daemon=True)
            self._thread.start()

    def hold(self, pipelines: Collection[str]) -> bool:
        """
        Run no job that uses these pipelines until `release`; returns whether none runs now.

        A running one ends soon, and waits again.
        """
        with self._changed:
            self._held = frozenset(pipelines)
            running = self._running
            if running is None or not running.job.uses(self._held):
                return True
            running.is_held = True
        running.cancellation.request()
        return False

    def release(self, shared: Shared) -> None:
        """End a `hold`; runs of jobs use another configuration from now on."""
        with self._changed:
            self._held = frozenset()
            if self._context is not None:
                self._use(replace(self._context, shared=shared))
            self._changed.notify_all()

    @property
    def shared(self) -> Shared | None:
        """What the next run of a job uses; None before `start`."""
        with self._changed:
            return None if self._context is None else self._context.shared

    def stop(self) -> None:
        """Start no other job, and end the running one soon."""
        with self._changed:
            self._is_stopping = True
            while self._waiting:
                self._end(self._waiting.popleft(), JobState.CANCELLED, "the service stops")
            running = self._running
            self._changed.notify_all()
        if running is not None:
            running.cancellation.request()

    def close(self) -> None:
        """Stop, and wait for the running job for a limited time; may be called twice or without `start`."""
        self.stop()
        if self._thread is not None:
            self._thread.join(STOP_S)

    def _use(self, context: JobContext) -> None:
        """Run the next jobs in this context; those that it refuses fail."""
        self._context = context
        for entry in list(self._waiting):
            try:
                entry.job.check(context.shared)
            except IngestError as error:
                self._waiting.remove(entry)
                self._fail(entry, error)

    def _run(self) -> None:
        while (found := self._next()) is not None:
            self._run_one(*found)

    def _run_one(self, entry: _Entry, context: JobContext) -> None:
        started_s = self._clock()
        self._counted_s = 0.0
        _log.info("job started", job=entry.job.kind, subject=entry.job.subject)

        def report(progress: Progress) -> None:
            self._report(entry, started_s, progress)

        try:
            tasks = context.tasks if entry.job.needs_slots else 0
            entry.job.run(JobRun(context, tasks, entry.cancellation, report))
        except Exception as error:  # noqa: BLE001 - this job fails; the pipelines and the other jobs run
            self._finish(entry, started_s, error)
        else:
            self._finish(entry, started_s, None)

    def _next(self) -> tuple[_Entry, JobContext] | None:
        """The next job, now running, and its context; waits for one, and returns None after `stop`."""
        with self._changed:
            while not self._is_stopping:
                for entry in self._waiting:
                    if self._context is not None and not (self._held and entry.job.uses(self._held)):
                        self._waiting.remove(entry)
                        self._running = entry
                        entry.cancellation = Cancellation()
                        self._set(entry, JobState.RUNNING)
                        return entry, self._context
                self._changed.wait()
        return None

    def _report(self, entry: _Entry, started_s: float, progress: Progress) -> None:
        with self._changed:
            entry.status = replace(entry.status, progress=progress, reason=self._hide(progress.blocked))
            self._count(entry, started_s)

    def _finish(self, entry: _Entry, started_s: float, error: Exception | None) -> None:
        with self._changed:
            self._running = None
            self._count(entry, started_s)
            if error is None:
                self._end(entry, JobState.DONE)
            elif entry.is_cancelled:
                self._end(entry, JobState.CANCELLED, "cancelled while it ran")
            elif self._is_stopping:
                self._end(entry, JobState.CANCELLED, "the service stops")
            elif entry.is_held:
                entry.is_held = False
                self._waiting.appendleft(entry)
                self._set(entry, JobState.WAITING, "waits for a reload")
            else:
                self._fail(entry, error)

    def _fail(self, entry: _Entry, error: Exception) -> None:
        failure = Failure.of(error, self._hide)
        entry.status = replace(entry.status, error=failure)
        self._end(entry, JobState.FAILED, failure.message, error)

    def _end(self, entry: _Entry, state: JobState, reason: str = "", error: Exception | None = None) -> None:
        self._ended.append(entry)
        self._set(entry, state, reason)
        self._metrics.job_ended(entry.job.kind, state.value)
        (_log.info if error is None else _log.error)(
            "job ended",
            job=entry.job.kind,
            subject=entry.job.subject,
            state=state.value,
            reason=reason,
            exc_info=None if error is None else traceback_of(error),
        )

    def _set(self, entry: _Entry, state: JobState, reason: str = "") -> None:
        entry.status = replace(entry.status, state=state, reason=reason, since_ms=self._wall_ms())
        self._publish(entry.job.kind)

    def _count(self, entry: _Entry, started_s: float) -> None:
        """Add the time since the last call to the metric, and set the progress."""
        seconds = self._clock() - started_s
        self._metrics.job_progressed(entry.job.kind, seconds - self._counted_s, entry.status.progress.ratio)
        self._counted_s = seconds

    def _publish(self, kind: str) -> None:
        states = [entry.status.state for entry in self._active() if entry.job.kind == kind]
        self._metrics.jobs(kind, {state.value: states.count(state) for state in sorted(JobState) if state.is_active})

    def _active(self) -> list[_Entry]:
        return [*([] if self._running is None else [self._running]), *self._waiting]

    def _find(self, job_id: str) -> _Entry:
        with self._changed:
            for entry in (*self._ended, *self._active()):
                if entry.status.id == job_id:
                    return entry
        raise NotFoundError(f'there is no job "{job_id}"', hint="GET /jobs lists them")
