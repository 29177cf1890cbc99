"""Where each pipeline stands, and what that means for a process supervisor."""

import threading
import time
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import NamedTuple


class State(StrEnum):
    """Where a pipeline stands."""

    STARTING = "starting"
    RUNNING = "running"
    BLOCKED = "blocked"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"


class PipelineHealth(NamedTuple):
    """
    One pipeline at one moment.

    Attributes:
        reason: why it is blocked, failed or stopping; "" when there is nothing to say.
        since_s: when it came into this state; a new reason in the same state does not change it.
    """

    pipeline: str
    state: State
    reason: str
    since_s: float


class Health:
    """
    The states of all pipelines of a process.

    `change` is called by whoever runs a pipeline, from any thread; everything else by whoever asks, from any other.
    A pipeline that is blocked is not ready but alive: it goes on by itself when its store does. One that failed does
    not, and a process in which every pipeline failed can only be replaced.

    Args:
        pipelines: names that are `starting` until told otherwise, so that a process is not ready before its first
            batch.
        clock: seconds since the epoch.
        on_change: told each new state of a pipeline, before the call that changes it returns; metrics listen here.
        mask: hides secrets in reasons, which come from the messages of drivers.
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
        """Say where a pipeline stands now; saying the same again is fine."""
        masked = self._mask(reason)
        with self._lock:
            known = self._states.get(pipeline)
            is_same = known is not None and known.state is state
            since_s = known.since_s if known is not None and is_same else self._clock()
            self._states[pipeline] = PipelineHealth(pipeline, state, masked, since_s)
            if not is_same:
                self._on_change(pipeline, state)

    def snapshot(self) -> tuple[PipelineHealth, ...]:
        """All pipelines at one moment, by name."""
        with self._lock:
            return tuple(self._states[pipeline] for pipeline in sorted(self._states))

    def is_live(self) -> bool:
        """Whether the process can still make progress: not every pipeline has failed for good."""
        states = [status.state for status in self.snapshot()]
        return not states or any(state is not State.FAILED for state in states)

    def is_ready(self) -> bool:
        """Whether every pipeline is running."""
        states = [status.state for status in self.snapshot()]
        return bool(states) and all(state is State.RUNNING for state in states)
