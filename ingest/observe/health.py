"""The state of each pipeline, and whether the process is live and ready."""

import threading
import time
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import NamedTuple

MAX_REASON_CHARS = 4_000
"""Of a reason; Spark appends the plan of the query to its messages, which may have hundreds of lines."""


class State(StrEnum):
    """
    State of a pipeline.

    It is blocked while a store, the source or Spark is unavailable, backing off while its query waits to be restarted
    after a failure, and paused while an operator wants it so.
    """

    STARTING = "starting"
    RUNNING = "running"
    BLOCKED = "blocked"
    BACKING_OFF = "backing_off"
    PAUSED = "paused"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"


class PipelineHealth(NamedTuple):
    """
    The health of one pipeline.

    Attributes:
        reason: why it is blocked, backing off or failed; "" otherwise. A longer one ends with "…".
        since_s: when it entered this state, seconds since the epoch; a new reason in the same state does not change it.
    """

    pipeline: str
    state: State
    reason: str
    since_s: float


class Health:
    """
    The states of all pipelines of a process.

    Thread-safe. A blocked pipeline is live but not ready: it resumes when its store does. A failed pipeline does not
    resume; a process whose pipelines have all failed must be restarted.

    Args:
        pipelines: names that are `starting` until the first `change`, so the process is not ready before its first
            batch.
        clock: seconds since the epoch.
        on_change: called with each new state of a pipeline before `change` returns; updates the metrics.
        mask: hides secrets in reasons, which contain messages of client libraries.
    """

    def __init__(
        self,
        pipelines: Iterable[str] = (),
        *,
        clock: Callable[[], float] = time.time,
        on_change: Callable[[str, State], None] = lambda _pipeline, _state: None,
        mask: Callable[[str], str] = str,
    ) -> None:
        self._clock = clock
        self._on_change = on_change
        self._mask = mask
        self._lock = threading.Lock()
        self._states: dict[str, PipelineHealth] = {}
        for pipeline in pipelines:
            self.change(pipeline, State.STARTING)

    def change(self, pipeline: str, state: State, reason: str = "") -> None:
        """Set the state of a pipeline; the same state may be set again."""
        masked = self._mask(reason)
        if len(masked) > MAX_REASON_CHARS:
            masked = masked[: MAX_REASON_CHARS - 1] + "…"
        with self._lock:
            known = self._states.get(pipeline)
            is_same = known is not None and known.state is state
            since_s = known.since_s if known is not None and is_same else self._clock()
            self._states[pipeline] = PipelineHealth(pipeline, state, masked, since_s)
            if not is_same:
                self._on_change(pipeline, state)

    def remove(self, pipeline: str) -> None:
        """Forget a pipeline that the service does not have any more."""
        with self._lock:
            self._states.pop(pipeline, None)

    def snapshot(self) -> tuple[PipelineHealth, ...]:
        """The health of all pipelines, sorted by name."""
        with self._lock:
            return tuple(self._states[pipeline] for pipeline in sorted(self._states))

    def is_live(self) -> bool:
        """Whether the process can still make progress: not every pipeline has failed."""
        states = [status.state for status in self.snapshot()]
        return not states or any(state is not State.FAILED for state in states)

    def is_ready(self) -> bool:
        """Whether every pipeline is running, or paused."""
        states = [status.state for status in self.snapshot()]
        return bool(states) and all(state in (State.RUNNING, State.PAUSED) for state in states)
