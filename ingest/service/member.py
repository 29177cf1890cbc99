"""A pipeline under supervision: the states that it can be in, and which follow each other."""

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ingest.api import IngestError, LifecycleError
from ingest.observe.health import State
from ingest.observe.logs import logger
from ingest.service.observer import PipelineObserver
from ingest.service.pipeline import LivePipeline
from ingest.spark.errors import translated
from ingest.spark.streaming.batch_errors import code_of
from ingest.spark.streaming.query import PipelineQuery

_log = logger(__name__)
RESTART_S = (1.0, 2.0, 5.0, 10.0, 30.0)  # back-off before a failed query is restarted; the last value repeats
TASKS_SLOW_S = 20.0  # tasks that outlive their pipeline for longer are reported; Spark kills them within seconds
START_SLOW_S = 20.0  # a start that takes longer is reported; that of Spark takes up to 15 s on a busy machine


@dataclass(frozen=True, slots=True)
class Waiting:
    """
    It starts at a time: at once, or after a failure.

    Attributes:
        until_s: by the monotonic clock.
    """

    until_s: float


class Starting:
    """
    A start in a thread of its own, because a store, a disk or Spark's JVM may hang; nothing else is called on the
    pipeline meanwhile, except `stop`.
    """

    def __init__(self, pipeline: LivePipeline) -> None:
        self._pipeline = pipeline
        self._started_at = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f"start-{pipeline.name}", daemon=True)
        self.error: BaseException | None = None
        self._thread.start()

    def has_returned(self, timeout_s: float = 0.0) -> bool:
        """Whether the start has succeeded or failed with `error`; waits for it until the timeout."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def report_if_slow(self) -> None:
        """Report a start that has not returned for long."""
        if time.monotonic() - self._started_at > START_SLOW_S:
            self._pipeline.observer.start_slow(
                f"the start has run for over {START_SLOW_S:g} s; a store, a sink, the source or Spark may hang"
            )

    def _run(self) -> None:
        try:
            self._pipeline.start()
        except IngestError as error:
            self.error = error
        except BaseException as error:  # noqa: BLE001 - the supervisor handles it
            self.error = translated(error) or error


@dataclass(slots=True)
class Running:
    """
    Its query runs.

    Attributes:
        must_flush: the next batch is to start as soon as none runs.
    """

    must_flush: bool = False


@dataclass(frozen=True, slots=True)
class Draining:
    """
    No batch begins, and the running one may end; for a pause, a reload or a job.

    Attributes:
        has_batch: whether the result of its last batch was not looked at.
    """

    has_batch: bool
    since_s: float = field(default_factory=time.monotonic)


@dataclass(frozen=True, slots=True)
class Paused:
    """It reads nothing until it is resumed."""


class Leaving:
    """
    It is stopped, then closed; for a reload or a job.

    Both run in threads: what is closed may be on a file system that does not answer.

    Args:
        pipeline: which runs no batch.
        close: closes it.
        has_ended: whether it had ended before.
    """

    def __init__(self, pipeline: LivePipeline, close: Callable[[LivePipeline], object], *, has_ended: bool) -> None:
        self._pipeline = pipeline
        self._close = close
        self.has_ended = has_ended
        self._stopping = threading.Thread(target=pipeline.stop, daemon=True)
        self._stopping.start()
        self._closing: threading.Thread | None = None
        self._report_at: float | None = None

    def has_left(self) -> bool:
        """Take the next step; whether the last one is done."""
        if self._closing is not None:
            return not self._closing.is_alive()
        if self._stopping.is_alive():
            return False
        if self._pipeline.has_stopped():
            self._closing = threading.Thread(target=self._close, args=(self._pipeline,), daemon=True)
            self._closing.start()
        elif self._report_at is None:
            self._report_at = time.monotonic() + TASKS_SLOW_S
        elif time.monotonic() >= self._report_at:
            self._report_at = math.inf
            name = self._pipeline.name
            _log.warning("a task of the stopped pipeline still runs, and is waited for", pipeline=name)
        return False


@dataclass(frozen=True, slots=True)
class Ended:
    """It has read all records, has failed for good, or is paused in a run that ends with it."""


MemberState = Waiting | Starting | Running | Draining | Paused | Leaving | Ended

TRANSITIONS: Mapping[type[MemberState], tuple[type[MemberState], ...]] = {
    Waiting: (Starting, Draining, Paused, Ended),
    Starting: (Starting, Running, Waiting, Draining, Ended),
    Running: (Starting, Waiting, Draining, Ended),
    Draining: (Paused, Leaving, Ended),
    Paused: (Waiting, Leaving, Ended),
    Leaving: (Ended,),
    Ended: (Leaving,),
}
"""The states that follow each state."""


@dataclass(slots=True)
class Failures:
    """
    Failures since the last progress, which resets the back-off.

    Attributes:
        batches: number of durable batches at the last failure.
        has_rechecked: the query was restarted so that the source reports lost positions; once for each loss.
    """

    count: int = 0
    batches: int = 0
    has_rechecked: bool = False

    def back_off_s(self) -> float:
        """Count a failure; returns the time until the next start, in seconds."""
        self.count += 1
        return RESTART_S[min(self.count, len(RESTART_S)) - 1]


@dataclass(slots=True)
class Member:
    """
    One pipeline under supervision.

    Attributes:
        state: change it with `enter`.
        has_started: an earlier start succeeded, so a later failure to start is retried.
        stuck_at: deadline, after the clock was set back, for more than `batches` batches; past it the query is
            restarted. Spark waits for a time of day, so the pause between batches grows by the same amount.
        error: why it has failed for good.
    """

    pipeline: LivePipeline
    state: MemberState = field(default=Waiting(0.0))
    failures: Failures = field(default_factory=Failures)
    has_started: bool = False
    stuck_at: float = math.inf
    batches: int = 0
    error: BaseException | None = None

    @property
    def name(self) -> str:
        """Name of the pipeline."""
        return self.pipeline.name

    def enter(self, state: MemberState) -> None:
        """
        Change the state.

        Raises:
            LifecycleError: it does not follow the present one.
        """
        if type(state) not in TRANSITIONS[type(self.state)]:
            raise LifecycleError(
                f'pipeline "{self.name}": {type(state).__name__} does not follow {type(self.state).__name__}'
            )
        self.state = state

    def wait(self, seconds: float = 0.0) -> None:
        """Start it again after some time."""
        self.enter(Waiting(time.monotonic() + seconds))

    def fail(self, error: BaseException) -> None:
        """The pipeline has failed, and is not started again."""
        self.enter(Ended())
        self.error = error
        self.observer.end(State.FAILED, str(error), code_of(error))
        _log.error("pipeline failed", pipeline=self.name, reason=str(error))

    @property
    def is_done(self) -> bool:
        """Whether it has ended."""
        return isinstance(self.state, Ended) or (isinstance(self.state, Leaving) and self.state.has_ended)

    @property
    def has_batch(self) -> bool:
        """Whether the result of its last batch was not looked at: its query was not stopped, and has not failed."""
        return isinstance(self.state, Running) or (isinstance(self.state, Draining) and self.state.has_batch)

    @property
    def query(self) -> PipelineQuery:
        """Query of the pipeline."""
        return self.pipeline.query

    @property
    def observer(self) -> PipelineObserver:
        """Observer of the pipeline."""
        return self.pipeline.observer
