"""Back-pressure: a pipeline writes less while a store is overloaded, and recovers by itself."""

import time
from collections.abc import Callable

DECREASE = 0.5
"""Factor of the ratio after an attempt to which a store answered that it is overloaded."""
RECOVERY_PER_S = 0.01
"""What a second adds to the ratio: a region's flush takes seconds, so a full recovery takes over a minute."""
MIN_RATIO = 1 / 16
MAX_DELAY_S = 30.0
"""Longest pause after a micro-batch, so that a slow one does not stop the pipeline for minutes."""


class BackPressure:
    """
    The fraction of time in which a pipeline writes: 1 at full speed, less after busy answers of a store.

    Additive increase, multiplicative decrease: each attempt with busy answers halves the ratio, and it rises steadily
    until the next one. After an attempt at a micro-batch the pipeline pauses for so long that its tasks run for this
    fraction of the time. The pause needs no figure of the store: tasks of an overloaded store take longer, and so does
    the pause after them.

    `ratio` may be called by any thread, the rest by the thread of the query.

    Source: D. Chiu, R. Jain, "Analysis of the increase and decrease algorithms for congestion avoidance" (1989).

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._cut = 1.0, clock()  # one attribute, since other threads read it
        self._next_s = clock()

    def ratio(self) -> float:
        """The fraction of time in which the pipeline may write now."""
        ratio, since_s = self._cut
        return min(1.0, ratio + RECOVERY_PER_S * (self._clock() - since_s))

    def delay_s(self) -> float:
        """Seconds until the next micro-batch may start; 0 if it may start now."""
        return max(0.0, self._next_s - self._clock())

    def attempted(self, busy: int, seconds: float) -> None:
        """
        An attempt at a micro-batch ended, durable or not.

        Args:
            busy: answers of stores that they are overloaded.
            seconds: for which its tasks ran.
        """
        now = self._clock()
        if busy:
            self._cut = max(MIN_RATIO, self.ratio() * DECREASE), now
        self._next_s = now + min(MAX_DELAY_S, seconds * (1 / self.ratio() - 1))
