"""Publishes what happens to one pipeline, to health, metrics, log and whoever follows a run."""

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
    What a pipeline has acknowledged since this process started.

    Attributes:
        counts: sums over the acknowledged batches.
        batches: how many.
        seconds: from the start of the first batch to the end of the last.
    """

    counts: Counts = field(default_factory=Counts)
    batches: int = 0
    seconds: float = 0.0


class PipelineObserver:
    """
    Publishes where a pipeline stands, to health and metrics.

    Called from the thread of the query (`ingest.spark.streaming.job.BatchObserver`) and by the supervisor.

    Args:
        follow: called with the totals after each acknowledged batch.
    """

    def __init__(self, pipeline: str, health: Health, metrics: Metrics, follow: Callable[[str, Totals], None]) -> None:
        self._pipeline = pipeline
        self._health = health
        self._metrics = metrics
        self._follow = follow
        self._lock = threading.Lock()
        # code and message of what holds it up; the first of them is published
        self._silent: tuple[str, str] | None = None
        self._unavailable: tuple[str, str] | None = None
        self._blocked: tuple[str, str] | None = None
        self._slow: tuple[str, str] | None = None
        self._published = ""
        self._otherwise = State.STARTING
        self._ends = False
        self._started: float | None = None
        self.totals = Totals()

    def running(self) -> None:
        """The pipeline makes progress."""
        with self._lock:
            self._blocked = None
            self._otherwise = State.RUNNING
            self._publish()

    def reading(self) -> None:
        """The query reads its source, which says nothing of a batch that waits."""
        with self._lock:
            self._otherwise = State.RUNNING
            self._publish()

    def ends(self, state: State, reason: str = "") -> None:
        """It is stopping, has stopped or failed; what a last batch says changes that no more."""
        with self._lock:
            self._ends = True
            self._health.change(self._pipeline, state, reason)

    def blocked(self, code: str, message: str) -> None:
        """The batch cannot be made durable now."""
        with self._lock:
            self._blocked = code, message
            self._publish()

    def source(self, unavailable: str | None) -> None:
        """Why the source does not answer, None when it does; a batch that waits for a store still waits then."""
        with self._lock:
            if unavailable is not None or self._unavailable is not None:
                self._unavailable = None if unavailable is None else ("source_unavailable", unavailable)
                self._publish()

    def slow(self, reason: str | None) -> None:
        """Why a step of the batch is taken for stuck; None when it is not."""
        with self._lock:
            if reason is not None or self._slow is not None:
                self._slow = None if reason is None else ("batch_slow", reason)
                self._publish()

    def silent(self, reason: str | None) -> None:
        """Why Spark is taken for hung, None when it is not; the batch may resume when it answers again."""
        with self._lock:
            if reason is not None or self._silent is not None:
                self._silent = None if reason is None else ("jvm_unresponsive", reason)
                self._publish()

    @property
    def is_blocked(self) -> bool:
        """Whether Spark, store or source are known to be unavailable; a slow step may still come to its end."""
        return any(held is not None for held in (self._silent, self._unavailable, self._blocked))

    def _publish(self) -> None:
        code, message = self._silent or self._unavailable or self._blocked or self._slow or ("", "")
        if code != self._published:
            if code:
                _log.error("pipeline is blocked", pipeline=self._pipeline, code=code, reason=message)
            else:
                _log.warning("pipeline resumes", pipeline=self._pipeline)
            self._published = code
        if self._ends:
            return
        if code:
            self._health.change(self._pipeline, State.BLOCKED, f"{code}: {message}")
        else:
            self._health.change(self._pipeline, self._otherwise)

    def attempted(self, counts: Counts) -> None:
        """One attempt at a batch ended."""
        self._metrics.attempted(self._pipeline, counts)

    def acknowledged(self, batch_id: int, batch_time_ms: int, counts: Counts, seconds: float) -> None:
        """A batch is durable."""
        now = time.monotonic()
        if self._started is None:
            self._started = now - seconds
        self.totals.counts.add(counts)
        self.totals.counts.flush_s.clear()
        self.totals.batches += 1
        self.totals.seconds = now - self._started
        self._metrics.observe_batch(self._pipeline, counts, seconds)
        self._metrics.acknowledged(self._pipeline, time.time(), batch_time_ms)
        # not yet acknowledged: Spark commits it when we have returned, and reports that to nobody
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
        except Exception:  # noqa: BLE001 - the batch is durable: nobody who only looks on may keep it from being acknowledged
            _log.error("the progress shown for this run has ended", pipeline=self._pipeline, exc_info=True)
            self._follow = lambda _pipeline, _totals: None
