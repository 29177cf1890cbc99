"""Runs the pipelines of a service until they end or a signal stops them: state, back-off, restart, pause, drain."""

import math
import threading
import time
from collections.abc import Callable, Iterable

from ingest import failpoint
from ingest.api import Disposition, IngestError, PositionLostError
from ingest.observe.health import State
from ingest.observe.logs import logger
from ingest.service.control import Control, Phase
from ingest.service.jobs.loans import Loans
from ingest.service.jobs.scheduler import Jobs
from ingest.service.lifecycle import Stop
from ingest.service.member import Draining, Ended, Failures, Leaving, Member, Paused, Running, Starting, Waiting
from ingest.service.observer import with_note
from ingest.service.pipeline import LivePipeline
from ingest.service.reload import Reloader
from ingest.service.systemd import ServiceManager
from ingest.spark.errors import JvmLostError, JvmUnresponsiveError, WorkerLateError
from ingest.spark.streaming.batch_errors import code_of

POLL_S = 0.1  # between polls of queries and signals
ONCE_FAILURES = 3  # attempts to start a `--once` run that has no batch yet; a user waits for it
LATE_FAILURES = 10  # the same on a machine so busy that Spark does not wait for its Python processes
SLOW_S = 120.0  # a batch stage that takes longer counts as stuck; an unavailable store is reported within 10 s
UNRESPONSIVE_S = 10.0  # without an answer of the JVM; longer than its garbage collection
START_STOP_S = 5.0  # on a stop, time for starts that have not returned
CLOCK_STEP_S = 5.0  # a clock set back by less is a correction, such as NTP makes
BLOCKED_STOP_S = 2.0  # on a stop, time for a blocked batch, which probably cannot finish

_log = logger(__name__)


class Supervisor:
    """
    Runs pipelines; each starts, fails, restarts and ends independently of the others.

    Args:
        members: the pipelines.
        control: which of them are to be paused or flushed.
        reloader: replaces them when the file has changed; None if it cannot be reloaded.
        once: whether the pipelines read the existing records and end; a failing start is then retried a few times only.
        jobs: background jobs; those of a pipeline do not run while a reload replaces it.
        stop: ends the run.
        stop_timeout_s: time for running batches to finish after a stop.
        loans: pipelines that jobs borrow.
        is_alive: whether Spark's JVM runs; True for one that does not answer.
        unresponsive_s: for how many seconds the JVM has not answered.
        wall_s: the wall clock, which may be set back.
        service_manager: receives readiness, keep-alive pings and the stop.
    """

    def __init__(  # noqa: PLR0913 - what it watches besides the pipelines
        self,
        members: Iterable[Member],
        control: Control,
        reloader: Reloader | None = None,
        *,
        once: bool,
        jobs: Jobs,
        stop: Stop,
        stop_timeout_s: float,
        loans: Loans[LivePipeline] | None = None,
        is_alive: Callable[[], bool],
        unresponsive_s: Callable[[], float] = lambda: 0.0,
        wall_s: Callable[[], float] = time.time,
        service_manager: ServiceManager | None = None,
    ) -> None:
        self._members = list(members)
        self._control = control
        self._reloader = reloader
        self._jobs = jobs
        self._loans = loans or Loans()
        self._hang_ups = 0  # not those of now: a SIGHUP while Spark starts reloads the file too
        self._once = once
        self._stop = stop
        self._stop_timeout_s = stop_timeout_s
        self._is_alive = is_alive
        self._unresponsive_s = unresponsive_s
        self._wall_s = wall_s
        self._wall_offset_s = wall_s() - time.monotonic()
        self._service_manager = service_manager or ServiceManager()

    def run(self) -> list[BaseException]:
        """Start all pipelines and return when all have ended, with the errors of those that failed."""
        for member in self._members:
            self._begin(member)
        self._service_manager.ready()
        while not self._stop.requested.wait(POLL_S) and not self._is_done():
            if not self._is_alive():
                error = JvmLostError(
                    "the Java process of Spark has ended",
                    hint="start the service again: unacknowledged batches are repeated; its log shows the reason",
                )
                for member in self._members:
                    if not member.is_done:
                        member.fail(error)
                break
            self._service_manager.alive()
            self._check_clock()
            wanted, leaving = self._lend(), self._reload()
            reason = None
            if self._unresponsive_s() > UNRESPONSIVE_S:
                reason = f"Spark's Java process has not answered for {UNRESPONSIVE_S:g} s"
            for member in list(self._members):
                if not member.is_done:
                    member.observer.unresponsive(reason)
                if member.name == wanted:
                    self._retire(member, lambda pipeline: pipeline.lend(self._loans.lend))
                elif member.name in leaving or isinstance(member.state, Leaving):
                    self._retire(member, lambda pipeline: pipeline.close())
                elif reason is None:
                    self._check(member)
        self._shut_down()
        return [member.error for member in self._members if member.error is not None]

    @property
    def pipelines(self) -> list[LivePipeline]:
        """The pipelines, also those that have ended."""
        return [member.pipeline for member in self._members]

    def _is_done(self) -> bool:
        is_reloading = self._reloader is not None and self._reloader.is_active
        return not is_reloading and not self._loans.name and all(member.is_done for member in self._members)

    def _add(self, pipeline: LivePipeline | None) -> None:
        if pipeline is not None:
            self._members.append(Member(pipeline))
            self._begin(self._members[-1])

    def _lend(self) -> str:
        """Start a pipeline that a job has given back; returns the name of one that a job waits for, or ""."""
        self._add(self._loans.take())
        if (wanted := self._loans.wanted) and all(member.name != wanted for member in self._members):
            self._loans.lend(None)  # it could not be built
        return wanted

    def _begin(self, member: Member) -> None:
        if not self._control.is_paused(member.name):
            self._start(member)
            return
        member.enter(Ended() if self._once else Paused())
        member.observer.paused()
        _log.warning("pipeline is paused", pipeline=member.name, hint="'attr2hbase resume PIPELINE' starts it")

    def _reload(self) -> frozenset[str]:
        """Take the next step of a reload; returns the names of the pipelines that must end for it."""
        reloader = self._reloader
        if self._stop.hang_ups != self._hang_ups:
            self._hang_ups = self._stop.hang_ups
            _log.info("SIGHUP: the file is reloaded" if reloader is not None else "SIGHUP is ignored")
            if reloader is not None:
                self._control.reload()
        if reloader is None or reloader.is_working:
            return frozenset()
        if not reloader.is_active:
            if self._control.pop_reload():
                running = (member.name for member in self._members if member.error is None)
                reloader.begin((*running, self._loans.name))
            return frozenset()
        if reloader.status.phase is Phase.BUILDING:
            for pipeline in reloader.take():
                self._add(pipeline)
            self._jobs.release(reloader.shared)
            return frozenset()
        # a job of a pipeline ends before the pipeline, whose checkpoint and stores it uses
        if not self._jobs.hold(reloader.leaving) or self._loans.name in reloader.leaving:
            return frozenset()
        leaving = reloader.leaving.intersection(member.name for member in self._members)
        if not leaving:
            reloader.build()
        return leaving

    def _retire(self, member: Member, close: Callable[[LivePipeline], object]) -> None:
        """End a pipeline after its running batch, and close it."""
        state = member.state
        if isinstance(state, Leaving):
            if state.has_left():
                self._members.remove(member)
        elif isinstance(state, Starting) and not state.has_returned():
            state.report_if_slow()
        elif isinstance(state, Paused | Ended) or self._drain(member):
            member.enter(Leaving(member.pipeline, close, has_ended=member.is_done))

    def _start(self, member: Member) -> None:
        if not self._stop.requested.is_set():
            member.enter(Starting(member.pipeline))

    def _check_start(self, member: Member, start: Starting, timeout_s: float = 0.0) -> None:
        """Handle the result of a start; report a start that takes long."""
        if not start.has_returned(timeout_s):
            start.report_if_slow()
            return
        if start.error is None:
            member.has_started = True
            member.enter(Running())
            _log.info("pipeline started", pipeline=member.name)
        elif isinstance(start.error, IngestError) or member.failures.count or member.has_started:
            self._handle_failure(member, start.error)
        else:
            # any error of Spark or a disk; it has never run, so the cause is not temporary
            member.fail(start.error)
        if not member.is_done:
            member.observer.start_slow(None)

    def _check_clock(self) -> None:
        offset_s = self._wall_s() - time.monotonic()
        if offset_s < self._wall_offset_s - CLOCK_STEP_S:
            for member in self._members:
                if member.pipeline.every_s:
                    member.stuck_at = time.monotonic() + 2 * member.pipeline.every_s + 1.0
                    # a running batch still ends, but the pause after it refers to the old time
                    member.batches = member.observer.totals.batches + 1
        self._wall_offset_s = offset_s

    def _check(self, member: Member) -> None:
        if isinstance(member.state, Ended):
            return
        if isinstance(member.state, Starting):
            self._check_start(member, member.state)
            return
        if (fatal := member.pipeline.fatal()) is not None:
            member.query.stop()
            member.fail(fatal)
            return
        match member.state:
            case Paused():
                if not self._control.is_paused(member.name):
                    self._resume(member)
            case Draining():  # to its end, also if the pause was withdrawn since
                self._pause(member)
            case _ if self._control.is_paused(member.name):
                self._pause(member)
            case Waiting(until_s) if time.monotonic() >= until_s:
                self._start(member)
            case Running() as running:
                self._check_query(member, running)

    def _check_query(self, member: Member, running: Running) -> None:
        if time.monotonic() >= member.stuck_at and member.query.is_idle():
            member.stuck_at = math.inf
            if member.observer.totals.batches <= member.batches:
                _log.warning("the clock was set back; the query is restarted", pipeline=member.name)
                self._restart(member)
                return
        if not member.query.ended():
            self._report_state(member)
            self._flush(member, running)
            return
        error = member.query.failure()
        if error is None:
            member.enter(Ended())
            member.observer.end(State.STOPPED)
        elif not isinstance(error, JvmUnresponsiveError):  # else it is asked again
            self._handle_failure(member, error)

    def _restart(self, member: Member) -> None:
        member.query.stop()
        member.wait()

    def _pause(self, member: Member) -> None:
        """Pause after the running batch; a blocked one is abandoned, and runs again after the pause."""
        if not self._drain(member):
            return
        has_failed = self._check_last_batch(member)
        member.query.stop()
        if has_failed:
            return
        member.enter(Ended() if self._once else Paused())
        member.observer.paused()
        _log.info("pipeline is paused", pipeline=member.name)
        if self._once:
            _log.warning(
                "the pause ends this run of the pipeline (--once); the next run continues where it stopped",
                pipeline=member.name,
                hint="'attr2hbase resume PIPELINE', then 'attr2hbase run --once'",
            )

    def _check_last_batch(self, member: Member) -> bool:
        """Whether the batch that a pause or a stop has waited for failed for good; then its pipeline has failed."""
        if not member.has_batch:
            return False
        error = member.query.failure_of_batch()
        if isinstance(error, IngestError) and error.disposition is not Disposition.RETRY:
            member.fail(error)
            return True
        if error is not None:
            _log.warning("the last batch failed; it runs again", pipeline=member.name, reason=str(error))
        return False

    def _drain(self, member: Member) -> bool:
        """Whether the running batch has ended, or is blocked and not waited for; no other one starts."""
        state = member.state
        if not isinstance(state, Draining):
            state = Draining(has_batch=member.has_batch)
            member.enter(state)
            member.query.refuse_batches()
        waited_s = time.monotonic() - state.since_s
        if member.query.drained() or (member.observer.is_blocked and waited_s > BLOCKED_STOP_S):
            return True
        self._report_state(member)
        return False

    def _resume(self, member: Member) -> None:
        member.query.accept_batches()
        member.observer.resumed()
        _log.info("pipeline resumes after a pause", pipeline=member.name)
        member.wait()

    def _flush(self, member: Member, running: Running) -> None:
        """Start the next batch of a pipeline that waits for its interval: a restarted query runs one at once."""
        running.must_flush |= self._control.pop_flush(member.name)
        if not running.must_flush:
            return
        if not member.pipeline.every_s:
            running.must_flush = False  # it never waits
        elif member.query.is_waiting():
            self._restart(member)

    def _report_state(self, member: Member) -> None:
        """Report the state of a running query where it does not do so itself."""
        is_slow = member.query.stage_s() > SLOW_S
        member.observer.slow(f"a stage of the micro-batch has run for over {SLOW_S:g} s" if is_slow else None)
        unavailable = member.pipeline.unavailable()
        member.observer.source(unavailable)
        if unavailable is not None:
            return
        if not member.observer.is_blocked:
            if member.query.is_reading():
                member.observer.reading()
        elif member.query.is_waiting():
            # restarted, and no record has arrived yet
            member.observer.running()

    def _handle_failure(self, member: Member, error: BaseException) -> None:
        failures, batches = member.failures, member.observer.totals.batches
        if batches > failures.batches:
            failures = member.failures = Failures(batches=batches)
        if isinstance(error, PositionLostError) and not failures.has_rechecked:
            # a start checks the source, whose error names the lost positions; Spark's text does not always
            failures.has_rechecked = True
            self._start(member)
            return
        if isinstance(error, IngestError) and error.disposition is not Disposition.RETRY:
            member.fail(error)
            return
        limit = LATE_FAILURES if isinstance(error, WorkerLateError) else ONCE_FAILURES
        if self._once and failures.count + 1 >= limit and not batches:
            member.fail(error)
            return
        wait_s = failures.back_off_s()
        member.wait(wait_s)
        report = member.observer.blocked if isinstance(error, IngestError) else member.observer.backing_off
        report(code_of(error), with_note(str(error), f"the query is restarted in {wait_s:g} s"))

    def _shut_down(self) -> None:
        self._service_manager.stopping()
        self._loans.stop()
        self._jobs.stop()
        if self._reloader is not None:
            self._reloader.stop()
        self._wait_for_starts()
        running = [member for member in self._members if not member.is_done]
        for member in running:
            member.observer.end(State.STOPPING)
            _log.info("pipeline stops", pipeline=member.name)
            member.query.refuse_batches()
        deadline = time.monotonic() + self._stop_timeout_s
        failpoint.point("drain")()
        for member in running:
            self._wait_for_batch(member, deadline)
        threads = [threading.Thread(target=member.pipeline.stop, daemon=True) for member in self._members]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for member in running:
            if member.error is None:
                member.observer.end(State.STOPPED)

    def _wait_for_batch(self, member: Member, deadline: float) -> None:
        while not member.query.drained() and time.monotonic() < deadline and not self._stop.at_once.is_set():
            if member.observer.is_blocked and not member.query.wait_drained(BLOCKED_STOP_S):
                break
            member.query.wait_drained(POLL_S)
        if not member.query.drained():
            _log.warning("batch abandoned; it runs again after a restart", pipeline=member.name)
        elif member.has_started:
            self._check_last_batch(member)

    def _wait_for_starts(self) -> None:
        deadline = time.monotonic() + START_STOP_S
        for member in self._members:
            if isinstance(member.state, Starting):
                self._check_start(member, member.state, max(0.0, deadline - time.monotonic()))
