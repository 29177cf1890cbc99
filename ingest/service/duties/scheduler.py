"""The scheduler of a service's duties: one after the other, beside the pipelines."""

import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from ingest.api import ConflictError, IngestError, NotFoundError
from ingest.clock import now_ms
from ingest.observe.logs import logger, traceback_of
from ingest.observe.metrics import Metrics
from ingest.service.duties.cancellation import Cancellation
from ingest.service.duties.duty import Duty, DutyContext, DutyRun, DutyState, DutyStatus, Failure, Progress
from ingest.service.shared import Shared

MAX_WAITING = 100
"""Duties in the queue; more are refused."""
MAX_ENDED = 20
"""Newest duties that have ended and are kept for the status."""
STOP_S = 5.0
"""How long `close` waits for the running duty: Spark cancels tasks in milliseconds, unless its JVM hangs."""

_log = logger(__name__)


@dataclass(slots=True, eq=False)
class _Entry:
    """
    A duty with its status.

    Attributes:
        is_cancelled: an operator has cancelled it.
        is_held: a reload ends its run; it then waits again.
    """

    duty: Duty
    status: DutyStatus
    cancellation: Cancellation = field(default_factory=Cancellation)
    is_cancelled: bool = False
    is_held: bool = False


class Duties:
    """
    Runs the duties of a service one after the other, in the order in which they were submitted.

    Thread-safe. The queue is in memory: a duty that must survive a restart keeps its progress itself, and is submitted
    again.

    Args:
        metrics: of the service.
        hide: masks secrets in reasons.
        refusal: why this service takes no duties; "" if it does.
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
        self._context: DutyContext | None = None
        self._held: frozenset[str] = frozenset()
        self._is_stopping = False
        self._thread: threading.Thread | None = None
        self._counted_s = 0.0

    def submit(self, duty: Duty) -> DutyStatus:
        """
        Add a duty to the queue, unless the same one waits or runs; returns its status.

        Raises:
            ConflictError: this service takes no duties, its queue is full, or as `Duty.check`.
            ConfigError: it can never run.
        """
        with self._changed:
            if self._context is not None:
                duty.check(self._context.shared)
            for entry in self._active():
                if entry.duty.is_same(duty) and not entry.is_cancelled:
                    return entry.status
            if self._refusal or self._is_stopping:
                raise ConflictError(self._refusal or "the service stops", code="no_duties")
            if len(self._waiting) >= MAX_WAITING:
                raise ConflictError(f"{MAX_WAITING} duties wait already", code="no_duties", hint="try again later")
            status = DutyStatus(
                secrets.token_hex(8), duty.kind, duty.subject, DutyState.WAITING, "", since_ms=self._wall_ms()
            )
            self._waiting.append(_Entry(duty, status))
            self._publish(duty.kind)
            self._changed.notify_all()
            return status

    def statuses(self) -> list[DutyStatus]:
        """The newest duties that have ended, the running one, and those that wait, in this order."""
        with self._changed:
            return [entry.status for entry in (*self._ended, *self._active())]

    def active_of(self, pipeline: str) -> list[DutyStatus]:
        """The running duty and those that wait, if they use a pipeline."""
        with self._changed:
            return [entry.status for entry in self._active() if entry.duty.uses([pipeline])]

    def status(self, duty_id: str) -> DutyStatus:
        """
        The status of a duty.

        Raises:
            NotFoundError: there is no such duty, or it ended long ago.
        """
        return self._find(duty_id).status

    def cancel(self, duty_id: str) -> DutyStatus:
        """
        End a duty, or take it out of the queue; one that has ended stays as it is.

        Raises:
            NotFoundError: there is no such duty, or it ended long ago.
        """
        with self._changed:
            entry = self._find(duty_id)
            entry.is_cancelled = entry.status.state.is_active
            if entry in self._waiting:
                self._waiting.remove(entry)
                self._end(entry, DutyState.CANCELLED, "cancelled while it waited")
        if entry.is_cancelled:
            entry.cancellation.request()
        return entry.status

    def start(self, context: DutyContext) -> None:
        """Run the duties, from now on, in a thread."""
        with self._changed:
            self._use(context)
            self._thread = threading.Thread(target=self._run, name="duties", daemon=True)
            self._thread.start()

    def hold(self, pipelines: Collection[str]) -> bool:
        """
        Run no duty that uses these pipelines until `release`; returns whether none runs now.

        A running one ends soon, and waits again.
        """
        with self._changed:
            self._held = frozenset(pipelines)
            running = self._running
            if running is None or not running.duty.uses(self._held):
                return True
            running.is_held = True
        running.cancellation.request()
        return False

    def release(self, shared: Shared) -> None:
        """End a `hold`; runs of duties use another configuration from now on."""
        with self._changed:
            self._held = frozenset()
            if self._context is not None:
                self._use(replace(self._context, shared=shared))
            self._changed.notify_all()

    @property
    def shared(self) -> Shared | None:
        """What the next run of a duty uses; None before `start`."""
        with self._changed:
            return None if self._context is None else self._context.shared

    def stop(self) -> None:
        """Start no other duty, and end the running one soon."""
        with self._changed:
            self._is_stopping = True
            while self._waiting:
                self._end(self._waiting.popleft(), DutyState.CANCELLED, "the service stops")
            running = self._running
            self._changed.notify_all()
        if running is not None:
            running.cancellation.request()

    def close(self) -> None:
        """Stop, and wait for the running duty for a limited time; may be called twice or without `start`."""
        self.stop()
        if self._thread is not None:
            self._thread.join(STOP_S)

    def _use(self, context: DutyContext) -> None:
        """Run the next duties in this context; those that it refuses fail."""
        self._context = context
        for entry in list(self._waiting):
            try:
                entry.duty.check(context.shared)
            except IngestError as error:
                self._waiting.remove(entry)
                self._fail(entry, error)

    def _run(self) -> None:
        while (found := self._next()) is not None:
            self._run_one(*found)

    def _run_one(self, entry: _Entry, context: DutyContext) -> None:
        started_s = self._clock()
        self._counted_s = 0.0
        _log.info("duty started", duty=entry.duty.kind, subject=entry.duty.subject)

        def report(progress: Progress) -> None:
            self._report(entry, started_s, progress)

        try:
            tasks = context.tasks if entry.duty.needs_slots else 0
            entry.duty.run(DutyRun(context, tasks, entry.cancellation, report))
        except Exception as error:  # noqa: BLE001 - this duty fails; the pipelines and the other duties run
            self._finish(entry, started_s, error)
        else:
            self._finish(entry, started_s, None)

    def _next(self) -> tuple[_Entry, DutyContext] | None:
        """The next duty, now running, and its context; waits for one, and returns None after `stop`."""
        with self._changed:
            while not self._is_stopping:
                for entry in self._waiting:
                    if self._context is not None and not (self._held and entry.duty.uses(self._held)):
                        self._waiting.remove(entry)
                        self._running = entry
                        entry.cancellation = Cancellation()
                        self._set(entry, DutyState.RUNNING)
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
                self._end(entry, DutyState.DONE)
            elif entry.is_cancelled:
                self._end(entry, DutyState.CANCELLED, "cancelled while it ran")
            elif self._is_stopping:
                self._end(entry, DutyState.CANCELLED, "the service stops")
            elif entry.is_held:
                entry.is_held = False
                self._waiting.appendleft(entry)
                self._set(entry, DutyState.WAITING, "waits for a reload")
            else:
                self._fail(entry, error)

    def _fail(self, entry: _Entry, error: Exception) -> None:
        failure = Failure.of(error, self._hide)
        entry.status = replace(entry.status, error=failure)
        self._end(entry, DutyState.FAILED, failure.message, error)

    def _end(self, entry: _Entry, state: DutyState, reason: str = "", error: Exception | None = None) -> None:
        self._ended.append(entry)
        self._set(entry, state, reason)
        self._metrics.duty_ended(entry.duty.kind, state.value)
        (_log.info if error is None else _log.error)(
            "duty ended",
            duty=entry.duty.kind,
            subject=entry.duty.subject,
            state=state.value,
            reason=reason,
            exc_info=None if error is None else traceback_of(error),
        )

    def _set(self, entry: _Entry, state: DutyState, reason: str = "") -> None:
        entry.status = replace(entry.status, state=state, reason=reason, since_ms=self._wall_ms())
        self._publish(entry.duty.kind)

    def _count(self, entry: _Entry, started_s: float) -> None:
        """Add the time since the last call to the metric, and set the progress."""
        seconds = self._clock() - started_s
        self._metrics.duty_progressed(entry.duty.kind, seconds - self._counted_s, entry.status.progress.ratio)
        self._counted_s = seconds

    def _publish(self, kind: str) -> None:
        states = [entry.status.state for entry in self._active() if entry.duty.kind == kind]
        self._metrics.duties(kind, {state.value: states.count(state) for state in sorted(DutyState) if state.is_active})

    def _active(self) -> list[_Entry]:
        return [*([] if self._running is None else [self._running]), *self._waiting]

    def _find(self, duty_id: str) -> _Entry:
        with self._changed:
            for entry in (*self._ended, *self._active()):
                if entry.status.id == duty_id:
                    return entry
        raise NotFoundError(f'there is no duty "{duty_id}"', hint="GET /duties lists them")
