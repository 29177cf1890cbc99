"""Publishes the progress of one pipeline to health, metrics, the log and the display of a run."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ingest.observe.health import Health, State
from ingest.observe.logs import logger
from ingest.observe.metrics import Metrics
from ingest.receipt import Counts

_log = logger(__name__)


@dataclass(slots=True)
class Totals:
    """
    The durable batches of a pipeline since this process started.

    Attributes:
        counts: sums over the batches.
        batches: their number.
        seconds: from the start of the first batch to the end of the last.
    """

    counts: Counts = field(default_factory=Counts)
    batches: int = 0
    seconds: float = 0.0


class PipelineObserver:
    """
    Publishes the state and the batches of a pipeline.

    Thread-safe; called by the query (`ingest.spark.streaming.job.BatchObserver`) and by the supervisor.

    Args:
        follow: called with the totals after each durable batch.
    """

    def __init__(self, pipeline: str, health: Health, metrics: Metrics, follow: Callable[[str, Totals], None]) -> None:
        self._pipeline = pipeline
        self._health = health
        self._metrics = metrics
        self._follow = follow
        self._lock = threading.Lock()
        # code and message of each obstacle; the first one set is published
        self._unresponsive: tuple[str, str] | None = None
        self._start_slow: tuple[str, str] | None = None
        self._unavailable: tuple[str, str] | None = None
        self._blocked: tuple[str, str] | None = None
        self._slow: tuple[str, str] | None = None
        self._published = ""
        self._unblocked_state = State.STARTING
        self._is_ended = False
        self._started: float | None = None
        self.totals = Totals()

    def running(self) -> None:
        """The pipeline makes progress."""
        with self._lock:
            self._blocked = None
            self._unblocked_state = State.RUNNING
            self._publish()

    def reading(self) -> None:
        """The query reads its source; a blocked batch stays blocked."""
        with self._lock:
            self._unblocked_state = State.RUNNING
            self._publish()

    def end(self, state: State, reason: str = "") -> None:
        """Set `stopping`, `stopped` or `failed`; later reports of a batch do not change the state."""
        with self._lock:
            self._is_ended = True
            self._health.change(self._pipeline, state, reason)

    def blocked(self, code: str, message: str) -> None:
        """The batch cannot be made durable now."""
        with self._lock:
            self._blocked = code, message
            self._publish()

    def source(self, unavailable: str | None) -> None:
        """Set why the source does not answer, or None; a batch blocked by a store stays blocked."""
        with self._lock:
            if unavailable is not None or self._unavailable is not None:
                self._unavailable = None if unavailable is None else ("source_unavailable", unavailable)
                self._publish()

    def slow(self, reason: str | None) -> None:
        """Set why a stage of the batch counts as stuck, or None."""
        with self._lock:
            if reason is not None or self._slow is not None:
                self._slow = None if reason is None else ("batch_slow", reason)
                self._publish()

    def start_slow(self, reason: str | None) -> None:
        """Set why the start counts as hung, or None."""
        with self._lock:
            if reason is not None or self._start_slow is not None:
                self._start_slow = None if reason is None else ("start_slow", reason)
                self._publish()

    def unresponsive(self, reason: str | None) -> None:
        """Set why Spark's JVM counts as hung, or None; the batch resumes once the JVM answers."""
        with self._lock:
            if reason is not None or self._unresponsive is not None:
                self._unresponsive = None if reason is None else ("jvm_unresponsive", reason)
                self._publish()

    @property
    def is_blocked(self) -> bool:
        """Whether Spark, a store or the source is unavailable; not for a slow stage, which may still finish."""
        return any(obstacle is not None for obstacle in (self._unresponsive, self._unavailable, self._blocked))

    def _publish(self) -> None:
        # a start comes before what stopped the query that ran earlier
        obstacles = (self._unresponsive, self._start_slow, self._unavailable, self._blocked, self._slow)
        code, message = next(filter(None, obstacles), ("", ""))
        if code != self._published:
            if code:
                _log.error("pipeline is blocked", pipeline=self._pipeline, code=code, reason=message)
            else:
                _log.warning("pipeline resumes", pipeline=self._pipeline)
            self._published = code
        if self._is_ended:
            return
        if code:
            self._health.change(self._pipeline, State.BLOCKED, f"{code}: {message}")
        else:
            self._health.change(self._pipeline, self._unblocked_state)

    def attempted(self, counts: Counts) -> None:
        """One attempt at a batch ended."""
        self._metrics.attempted(self._pipeline, counts)

    def durable(self, batch_id: int, batch_time_ms: int, counts: Counts, seconds: float) -> None:
        """A batch and its dead letters are durable; Spark acknowledges it next, without a notification."""
        now = time.monotonic()
        if self._started is None:
            self._started = now - seconds
        self.totals.counts.add(counts)
        self.totals.counts.flush_s.clear()
        self.totals.batches += 1
        self.totals.seconds = now - self._started
        self._metrics.observe_batch(self._pipeline, counts, seconds)
        self._metrics.acknowledged(self._pipeline, time.time(), batch_time_ms)
        _log.info(
            "batch is durable",
            pipeline=self._pipeline,
            batch=batch_id,
            read=counts.read,
            stored=counts.stored,
            dropped=counts.dropped.total(),
            dead_lettered=counts.dead_lettered.total(),
            seconds=round(seconds, 3),
        )
        self.running()
        try:
            self._follow(self._pipeline, self.totals)
        except Exception:  # noqa: BLE001 - a display must not prevent the acknowledgement
            _log.error("the progress display has failed", pipeline=self._pipeline, exc_info=True)
            self._follow = lambda _pipeline, _totals: None
