"""Publishes the progress of one pipeline to health, metrics, the log and the display of a run."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from ingest.api import SourceUnavailableError
from ingest.api.reasons import blocked_reason
from ingest.observe.activity import Activity
from ingest.observe.health import Health, State
from ingest.observe.logs import logger
from ingest.observe.metrics import Metrics
from ingest.receipt import Counts
from ingest.service.load_warnings import LoadWarnings
from ingest.spark.errors import JvmUnresponsiveError

MAX_FIRST_LINE_CHARS = 1_000
"""Of an error before a note about it; a longer one is shortened."""

_OBSTACLES = ("jvm", "start", "source", "restart", "batch", "stage")
"""What may block a pipeline; of several, the first is published: a start precedes what stopped the earlier query."""

_BATCH_SLOW = blocked_reason(
    "batch_slow",
    "A stage of a batch has been running for more than two minutes: a worker or a disk is slow or hangs.",
    "Check the machine's disks and the workers; the batch resumes by itself.",
)
_START_SLOW = blocked_reason(
    "start_slow",
    "A pipeline has been starting for more than 20 seconds: a store, a sink, the source or Spark hangs.",
    "Check that the stores, the sink and the source answer; the pipeline runs as soon as they do.",
)
_WORDS = {State.BLOCKED: "blocked", State.BACKING_OFF: "backing off"}

_log = logger(__name__)


@dataclass(slots=True)
class Totals:
    """
    The durable batches of a pipeline since this process started.

    Attributes:
        counts: sums over the batches.
        batches: their number.
        seconds: from the start of the first batch to the end of the last.
        started_s: when the first batch started; monotonic seconds.
    """

    counts: Counts = field(default_factory=Counts)
    batches: int = 0
    seconds: float = 0.0
    started_s: float | None = None

    def add(self, counts: Counts, now_s: float, seconds: float) -> None:
        """Add a batch that took `seconds` until now."""
        if self.started_s is None:
            self.started_s = now_s - seconds
        self.counts.add(counts)
        self.counts.flush_s.clear()
        self.batches += 1
        self.seconds = now_s - self.started_s


class PipelineObserver:
    """
    Publishes the state and the batches of a pipeline.

    Thread-safe; called by the query (`ingest.spark.streaming.batch_observer.BatchObserver`) and by the supervisor.

    Args:
        follow: called with the totals after each durable batch.
        totals: of the batches before, such as those until a reload; this object adds to them.
    """

    def __init__(
        self,
        pipeline: str,
        health: Health,
        metrics: Metrics,
        activity: Activity,
        follow: Callable[[str, Totals], None],
        totals: Totals,
    ) -> None:
        self._pipeline = pipeline
        self._health = health
        self._metrics = metrics
        self._activity = activity
        self._follow = follow
        self._lock = threading.Lock()
        self._obstacles: dict[str, tuple[str, str]] = {}  # by what is blocked: code and message
        self._published = ""
        self._unblocked_state = State.STARTING
        self._is_ended = False
        self._load_warnings = LoadWarnings(pipeline)
        self.totals = totals

    def running(self) -> None:
        """The pipeline makes progress."""
        with self._lock:
            self._obstacles.pop("batch", None)
            self._obstacles.pop("restart", None)
            self._unblocked_state = State.RUNNING
            self._publish()

    def paused(self) -> None:
        """The query has ended because an operator pauses the pipeline; what blocked it no longer counts."""
        with self._lock:
            self._obstacles.clear()
            self._unblocked_state = State.PAUSED
            self._publish()

    def resumed(self) -> None:
        """The pipeline starts again after a pause."""
        self._metrics.resumed(self._pipeline)
        with self._lock:
            self._unblocked_state = State.STARTING
            self._publish()

    def reading(self) -> None:
        """The query reads its source; a blocked batch stays blocked."""
        with self._lock:
            self._unblocked_state = State.RUNNING
            self._publish()

    def end(self, state: State, reason: str = "", code: str = "") -> None:
        """Set `stopping`, `stopped` or `failed`; later reports of a batch do not change the state."""
        with self._lock:
            self._is_ended = True
            self._health.change(self._pipeline, state, reason)
        if state is State.FAILED:
            self._activity.failed(self._pipeline, code, reason)

    def blocked(self, code: str, message: str) -> None:
        """The batch cannot be made durable now."""
        self._set("batch", code, message)

    def backing_off(self, code: str, message: str) -> None:
        """The query failed and is restarted later."""
        self._set("restart", code, message)

    def source(self, unavailable: str | None) -> None:
        """Set why the source does not answer, or None; a batch blocked by a store stays blocked."""
        self._set("source", SourceUnavailableError.code, unavailable)

    def slow(self, reason: str | None) -> None:
        """Set why a stage of the batch counts as stuck, or None."""
        self._set("stage", _BATCH_SLOW, reason)

    def start_slow(self, reason: str | None) -> None:
        """Set why the start counts as hung, or None."""
        self._set("start", _START_SLOW, reason)

    def unresponsive(self, reason: str | None) -> None:
        """Set why Spark's JVM counts as hung, or None; the batch resumes once the JVM answers."""
        self._set("jvm", JvmUnresponsiveError.code, reason)

    def _set(self, obstacle: str, code: str, message: str | None) -> None:
        with self._lock:
            if message is not None:
                self._obstacles[obstacle] = code, message
            elif self._obstacles.pop(obstacle, None) is None:
                return
            self._publish()

    @property
    def is_blocked(self) -> bool:
        """Whether Spark, a store or the source is unavailable; not for a slow stage, which may still finish."""
        return not self._obstacles.keys().isdisjoint({"jvm", "source", "restart", "batch"})

    def _publish(self) -> None:
        obstacle = next((each for each in _OBSTACLES if each in self._obstacles), "")
        code, message = self._obstacles.get(obstacle, ("", ""))
        state = State.BACKING_OFF if obstacle == "restart" else State.BLOCKED
        if code != self._published:
            if code:
                _log.error(f"pipeline is {_WORDS[state]}", pipeline=self._pipeline, code=code, reason=message)
                self._activity.failed(self._pipeline, code, message)
            elif self._unblocked_state is not State.PAUSED:
                _log.warning("pipeline resumes", pipeline=self._pipeline)
            self._published = code
        if self._is_ended:
            return
        if code:
            self._health.change(self._pipeline, state, f"{code}: {message}")
        else:
            self._health.change(self._pipeline, self._unblocked_state)

    def attempted(self, counts: Counts) -> None:
        """One attempt at a batch ended."""
        self._metrics.attempted(self._pipeline, counts)
        self._activity.attempted(self._pipeline, counts)

    def durable(self, batch_id: int, batch_time_ms: int, counts: Counts, seconds: float) -> None:
        """A batch and its dead letters are durable; Spark acknowledges it next, without a notification."""
        now = time.monotonic()
        self.totals.add(counts, now, seconds)
        self._metrics.observe_batch(self._pipeline, counts, seconds)
        self._metrics.acknowledged(self._pipeline, time.time(), batch_time_ms)
        self._activity.durable(self._pipeline, batch_id, batch_time_ms, counts, seconds)
        _log.info(
            "batch is durable",
            pipeline=self._pipeline,
            batch=batch_id,
            read=counts.read,
            stored=counts.stored,
            dropped=counts.dropped.total(),
            dead_lettered=counts.dead_lettered.total(),
            seconds=round(seconds, 3),
            **counted_by_name(counts),
        )
        self._load_warnings.durable(counts)
        self.running()
        try:
            self._follow(self._pipeline, self.totals)
        except Exception:  # noqa: BLE001 - a display must not prevent the acknowledgement
            _log.error("the progress display has failed", pipeline=self._pipeline, exc_info=True)
            self._follow = lambda _pipeline, _totals: None


def counted_by_name(counts: Counts) -> dict[str, float]:
    """What features of all tables have counted, by name: such as rows that were loaded as files."""
    totals: Counter[str] = Counter()
    for (name, _), amount in counts.counted.items():
        totals[name] += amount
    return {name: round(total, 3) for name, total in sorted(totals.items())}


def with_note(text: str, note: str) -> str:
    """
    The text of an error with a note after its first line, which is the line that `attr2hbase status` shows.

    The lines after it, such as Spark's stack traces and plan, may be cut off.
    """
    first, newline, rest = text.strip().partition("\n")
    if len(first) > MAX_FIRST_LINE_CHARS:
        first = first[: MAX_FIRST_LINE_CHARS - 1] + "…"
    return f"{first}; {note}{newline}{rest}"
