"""How long a call that the cluster cannot serve now is repeated."""

import time
from collections.abc import Callable

PATIENCE_S = 10.0
"""
Within it the client repeats what a move, a split or a merge of a region interrupts; these take about two seconds.

An outage takes longer: the caller blocks, reports it, and repeats the call with its own back-off.
"""
_FIRST_PAUSE_S = 0.05
_MAX_PAUSE_S = 1.0


class Attempts:
    """
    The attempts of one operation.

    Args:
        timeout_s: of the whole operation.
        clock: in seconds.
        sleep: waits so many seconds.

    Attributes:
        deadline_s: a time of the clock, for calls.
    """

    def __init__(
        self,
        timeout_s: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._pause_s = _FIRST_PAUSE_S
        now = clock()
        self.deadline_s = now + timeout_s
        self._patience_s = now + min(timeout_s, PATIENCE_S)

    @property
    def is_in_time(self) -> bool:
        """Whether the deadline has not passed."""
        return self._clock() < self.deadline_s

    def pause(self) -> bool:
        """Wait before the next attempt; returns False if there is none."""
        if self._clock() + self._pause_s > self._patience_s:
            return False
        self._sleep(self._pause_s)
        self._pause_s = min(self._pause_s * 2, _MAX_PAUSE_S)
        return True
