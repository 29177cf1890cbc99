"""Runs the pipelines of a configuration until they end or a signal stops them: states, back-off, restart, drain."""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ingest import failpoint
from ingest.api import Disposition, IngestError, PositionLostError
from ingest.observe.health import State
from ingest.observe.logs import logger
from ingest.service.lifecycle import Stop
from ingest.service.observer import PipelineObserver
from ingest.service.pipeline import LivePipeline
from ingest.spark.streaming.query import PipelineQuery

POLL_S = 0.1  # between looks at the queries: a pipeline that ended is noticed, a signal acted on
RESTART_S = (1.0, 2.0, 5.0, 10.0, 30.0)  # before a query that failed is started again; the last one repeats
ONCE_FAILURES = 3  # starts that a `--once` run without any batch is given: somebody waits for it
SLOW_S = 120.0  # a step of a batch that takes longer is taken for stuck; an unavailable store is reported within 10 s
SILENT_S = 10.0  # without an answer of the JVM: blocked; it collects garbage in less
START_STOP_S = 5.0  # what a start that has not returned gets on a stop
CLOCK_STEP_S = 5.0  # by which a clock has to go back at once, to be more than a correction
BLOCKED_STOP_S = 2.0  # what a blocked batch gets on a stop: it cannot finish, an operator wants the process gone

_log = logger(__name__)


@dataclass(slots=True)
class Member:
    """
    One pipeline under supervision.

    Attributes:
        stuck_at: when a pause between batches has surely been too long, unless there are more than so many `batches` by
            then. Spark waits for a time of day, so a clock that is set back makes the pause longer by as much.
        acknowledged: batches, when it failed last; a query that has made progress since starts its back-off anew.
        has_started: it was started once, so what a start needs was there.
        has_looked: it was started to look at a source that lost something; it is not, for the same loss again.
    """

    pipeline: LivePipeline
    stuck_at: float | None = None
    batches: int = 0
    failures: int = 0
    acknowledged: int = 0
    has_started: bool = False
    has_looked: bool = False
    restart_at: float | None = None
    over: bool = False
    error: BaseException | None = None

    @property
    def name(self) -> str:
        """Of the pipeline."""
        return self.pipeline.name

    @property
    def query(self) -> PipelineQuery:
        """Of the pipeline."""
        return self.pipeline.query

    @property
    def observer(self) -> PipelineObserver:
        """Of the pipeline."""
        return self.pipeline.observer


class Supervisor:
    """
    Keeps pipelines going; each fails, restarts and ends for itself.

    Args:
        once: whether the pipelines read what is there and end; then one that cannot even start is not waited for.
        is_alive: whether Spark's JVM still is; one that does not answer is.
        silent_s: for how long it has not answered.
        wall_s: the clock that may be set.
    """

    def __init__(
        self,
        members: Iterable[Member],
        *,
        once: bool,
        stop: Stop,
        stop_timeout_s: float,
        is_alive: Callable[[], bool],
        silent_s: Callable[[], float] = lambda: 0.0,
        wall_s: Callable[[], float] = time.time,
    ) -> None:
        self._members = list(members)
        self._once = once
        self._stop = stop
        self._stop_timeout_s = stop_timeout_s
        self._is_alive = is_alive
        self._silent_s = silent_s
        self._wall_s = wall_s
        self._ahead_s = wall_s() - time.monotonic()

    def run(self) -> list[BaseException]:
        """Start all, keep them going, and return when all have ended: the errors of those that failed for good."""
        for member in self._members:
            if not self._stop.asked.is_set():
                self._start(member)
        while not self._stop.asked.wait(POLL_S) and not all(member.over for member in self._members):
            if not self._is_alive():
                error = IngestError(
                    "the Java process of Spark has ended",
                    code="jvm_lost",
                    hint="start again: unacknowledged batches run again; see its log lines above for the reason",
                )
                for member in self._members:
                    self._give_up(member, member.error or error)
                break
            self._look_at_clock()
            is_silent = self._silent_s() > SILENT_S
            silence = f"Spark's Java process has not answered for {SILENT_S:g} s" if is_silent else None
            for member in self._members:
                if not member.over:
                    member.observer.silent(silence)
                    if silence is None:
                        self._look_at(member)
        self._end()
        return [member.error for member in self._members if member.error is not None]

    def _start(self, member: Member) -> None:
        member.restart_at = None
        try:
            is_started = self._start_unless_stopped(member.pipeline.start)
        except IngestError as error:
            self._failed(member, error)
        except Exception as error:  # noqa: BLE001 - whatever Spark or a disk says: the other pipelines run
            if member.failures or member.has_started:
                self._failed(member, error)
            else:
                # it never ran, so waiting would not help
                self._give_up(member, error)
        else:
            if is_started:
                member.has_started = True
                _log.info("pipeline started", pipeline=member.name)

    def _start_unless_stopped(self, start: Callable[[], None]) -> bool:
        """
        Start, in a thread of its own: a JVM that hangs must not keep this one from hearing of a stop.

        Returns:
            False when it was not waited for any longer.
        """
        failed: list[Exception] = []

        def run() -> None:
            try:
                start()
            except Exception as error:  # noqa: BLE001 - raised again below
                failed.append(error)

        thread = threading.Thread(target=run, name="start", daemon=True)
        thread.start()
        while thread.is_alive() and not self._stop.asked.is_set():
            thread.join(POLL_S)
        thread.join(START_STOP_S)
        if failed:
            raise failed[0]
        return not thread.is_alive()

    def _look_at_clock(self) -> None:
        ahead_s = self._wall_s() - time.monotonic()
        if ahead_s < self._ahead_s - CLOCK_STEP_S:
            for member in self._members:
                if member.pipeline.every_s:
                    member.stuck_at = time.monotonic() + 2 * member.pipeline.every_s + 1.0
                    # a batch that has begun already ends yet, and waits for a time of before
                    member.batches = member.observer.totals.batches + 1
        self._ahead_s = ahead_s

    def _look_at(self, member: Member) -> None:
        data_loss = member.pipeline.data_loss()
        if data_loss is not None:
            member.query.stop()
            self._give_up(member, data_loss)
            return
        if member.restart_at is not None:
            if time.monotonic() >= member.restart_at:
                self._start(member)
            return
        if member.stuck_at is not None and time.monotonic() >= member.stuck_at and member.query.is_idle():
            member.stuck_at = None
            if member.observer.totals.batches <= member.batches:
                _log.warning("the clock was set back, the query starts again", pipeline=member.name)
                member.query.interrupt()
                member.restart_at = time.monotonic()
                return
        if not member.query.ended():
            self._watch_over(member)
            return
        error = member.query.failure()
        if error is None:
            member.over = True
            member.observer.ends(State.STOPPED)
        else:
            self._failed(member, error)

    def _watch_over(self, member: Member) -> None:
        """Report what a running query does not report itself."""
        is_slow = member.query.stage_s() > SLOW_S
        member.observer.slow(f"a step of the micro-batch has been at work for over {SLOW_S:g} s" if is_slow else None)
        unavailable = member.pipeline.unavailable()
        member.observer.source(unavailable)
        if unavailable is not None:
            return
        if not member.observer.is_blocked:
            if member.query.is_reading():
                member.observer.reading()
        elif member.query.is_waiting():
            # started again, and no record has come that could show it
            member.observer.running()

    def _failed(self, member: Member, error: BaseException) -> None:
        acknowledged = member.observer.totals.batches
        if acknowledged > member.acknowledged:
            member.acknowledged, member.failures, member.has_looked = acknowledged, 0, False
        if isinstance(error, PositionLostError) and not member.has_looked:
            # a start looks at the source itself, and names what is lost better than Spark's text does
            member.has_looked = True
            self._start(member)
            return
        if isinstance(error, IngestError) and error.disposition is not Disposition.RETRY:
            self._give_up(member, error)
            return
        if self._once and member.failures + 1 >= ONCE_FAILURES and not member.observer.totals.batches:
            self._give_up(member, error)
            return
        wait_s = RESTART_S[min(member.failures, len(RESTART_S) - 1)]
        member.failures += 1
        member.restart_at = time.monotonic() + wait_s
        code = error.code if isinstance(error, IngestError) else "query_failed"
        member.observer.blocked(code, f"{error}; the query starts again in {wait_s:g} s")

    def _give_up(self, member: Member, error: BaseException) -> None:
        member.over = True
        member.error = error
        member.observer.ends(State.FAILED, str(error))
        _log.error("pipeline failed", pipeline=member.name, reason=str(error))

    def _end(self) -> None:
        running = [member for member in self._members if not member.over]
        for member in running:
            member.observer.ends(State.STOPPING)
            _log.info("pipeline stops", pipeline=member.name)
        deadline = time.monotonic() + self._stop_timeout_s
        for member in running:
            member.query.refuse_batches()
        failpoint.point("drain")()
        for member in running:
            while not member.query.drained() and time.monotonic() < deadline and not self._stop.at_once.is_set():
                if member.observer.is_blocked and not member.query.wait_drained(BLOCKED_STOP_S):
                    break
                member.query.wait_drained(POLL_S)
            if not member.query.drained():
                _log.warning("batch abandoned, it runs again after a restart", pipeline=member.name)
        threads = [threading.Thread(target=member.pipeline.stop, daemon=True) for member in self._members]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for member in running:
            member.observer.ends(State.STOPPED)
