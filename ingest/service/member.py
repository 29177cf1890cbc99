"""A pipeline under supervision, and a start of it that may hang."""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from ingest.api import IngestError
from ingest.observe.health import State
from ingest.observe.logs import logger
from ingest.service.observer import PipelineObserver
from ingest.service.pipeline import LivePipeline
from ingest.spark.errors import translated
from ingest.spark.streaming.query import PipelineQuery

_log = logger(__name__)
TASKS_SLOW_S = 20.0  # tasks that outlive their pipeline for longer are reported; Spark kills them within seconds
START_SLOW_S = 20.0  # a start that takes longer is reported; that of Spark takes up to 15 s on a busy machine


class Start:
    """A start of a pipeline in a thread of its own, because a store, a disk or Spark's JVM may hang."""

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

    def seconds(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self._started_at

    def _run(self) -> None:
        try:
            self._pipeline.start()
        except IngestError as error:
            self.error = error
        except BaseException as error:  # noqa: BLE001 - the supervisor handles it
            self.error = translated(error) or error


@dataclass(slots=True)
class Member:
    """
    One pipeline under supervision.

    Attributes:
        start: a start that was not seen to return; nothing else is called on the pipeline meanwhile, except `stop`.
        stuck_at: deadline, after the clock was set back, for more than `batches` batches; past it the query is
            restarted. Spark waits for a time of day, so the pause between batches grows by the same amount.
        batches_at_failure: number of durable batches at the last failure; progress since then resets the back-off.
        has_started: an earlier start succeeded, so a later failure to start is retried.
        has_rechecked: the query was restarted so that the source reports lost positions; once for each loss.
        pausing_since: when a pause, a reload or a job was requested that waits for the running batch.
        ending: stops it for a reload or a job.
        report_at: when to report that tasks of it still run after that.
        closing: closes it after that.
        must_flush: the next batch is to start as soon as none runs.
    """

    pipeline: LivePipeline
    start: Start | None = None
    stuck_at: float | None = None
    batches: int = 0
    failures: int = 0
    batches_at_failure: int = 0
    has_started: bool = False
    has_rechecked: bool = False
    restart_at: float | None = None
    pausing_since: float | None = None
    is_paused: bool = False
    must_flush: bool = False
    ending: threading.Thread | None = None
    report_at: float | None = None
    closing: threading.Thread | None = None
    is_done: bool = False
    error: BaseException | None = None

    @property
    def name(self) -> str:
        """Name of the pipeline."""
        return self.pipeline.name

    def report_slow_start(self, start: Start) -> None:
        """Report a start that has not returned for long."""
        if start.seconds() > START_SLOW_S:
            self.observer.start_slow(
                f"the start has run for over {START_SLOW_S:g} s; a store, a sink, the source or Spark may hang"
            )

    def has_left(self, close: Callable[[LivePipeline], object]) -> bool:
        """
        Take the next step to end the pipeline, which runs no batch: stop it, then close it; whether that is done.

        Both run in threads: what is closed may be on a file system that does not answer.
        """
        if self.ending is None:
            self.ending = threading.Thread(target=self.pipeline.stop, daemon=True)
            self.ending.start()
        elif self.closing is not None:
            return not self.closing.is_alive()
        elif self.ending.is_alive():
            pass
        elif self.pipeline.has_stopped():
            self.closing = threading.Thread(target=close, args=(self.pipeline,), daemon=True)
            self.closing.start()
        elif self.report_at is None:
            self.report_at = time.monotonic() + TASKS_SLOW_S
        elif time.monotonic() >= self.report_at:
            self.report_at = math.inf
            _log.warning("a task of the stopped pipeline still runs, and is waited for", pipeline=self.name)
        return False

    def fail(self, error: BaseException) -> None:
        """The pipeline has failed, and is not started again."""
        self.is_done = True
        self.error = error
        code = error.code if isinstance(error, IngestError) else "query_failed"
        self.observer.end(State.FAILED, str(error), code)
        _log.error("pipeline failed", pipeline=self.name, reason=str(error))

    @property
    def query(self) -> PipelineQuery:
        """Query of the pipeline."""
        return self.pipeline.query

    @property
    def observer(self) -> PipelineObserver:
        """Observer of the pipeline."""
        return self.pipeline.observer
