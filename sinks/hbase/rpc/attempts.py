"""How long a call that the cluster cannot serve now is repeated."""

import time
from collections.abc import Callable

from ingest.api import BusyWait

RETRY_TIMEOUT_S = 10.0
"""
Within it the client repeats what a move, a split or a merge of a region interrupts; these take about two seconds.

An outage takes longer: the caller blocks, reports it, and repeats the call with its own back-off.
"""
BUSY_TIMEOUT_S = 5.0
"""
Within it the client waits for a server that is overloaded or throttles; then its caller writes less.

It is shorter than the time after which a sender reports a call as blocked, so that the report has the server's reason.
"""
_FIRST_PAUSE_S = 0.05
_FIRST_BUSY_PAUSE_S = 0.5
"""As `hbase.client.pause.server.overloaded` of HBase's client."""
_MAX_PAUSE_S = 1.0


class Attempts:
    """
    The attempts of one operation.

    Args:
        timeout_s: of the whole operation.
        clock: in seconds.
        sleep: waits so many seconds.
        on_busy: called before each wait for a busy server.

    Attributes:
        deadline_s: a time of the clock, for calls.
    """

    def __init__(
        self,
        timeout_s: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        on_busy: Callable[[BusyWait], None] = lambda _wait: None,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._on_busy = on_busy
        self._pause_s = _FIRST_PAUSE_S
        self._busy_pause_s = _FIRST_BUSY_PAUSE_S
        now = clock()
        self.deadline_s = now + timeout_s
        self._retry_end_s = now + min(timeout_s, RETRY_TIMEOUT_S)
        self._busy_end_s = now + min(timeout_s, BUSY_TIMEOUT_S)

    @property
    def is_in_time(self) -> bool:
        """Whether the deadline has not passed."""
        return self._clock() < self.deadline_s

    def pause(self) -> bool:
        """Wait before the next attempt; returns False if there is none."""
        if self._clock() + self._pause_s > self._retry_end_s:
            return False
        self._sleep(self._pause_s)
        self._pause_s = min(self._pause_s * 2, _MAX_PAUSE_S)
        return True

    def wait_for_busy(self, reason: str, requested_s: float | None) -> bool:
        """
        Wait before the next attempt at a call that a busy server refused; returns False, at once, if there is none.

        Args:
            reason: for the metric.
            requested_s: how long the server says to wait; None if it does not say.
        """
        pause_s = self._busy_pause_s if requested_s is None else max(requested_s, _FIRST_PAUSE_S)
        if self._clock() + pause_s > self._busy_end_s:
            return False
        self._on_busy(BusyWait(reason, pause_s))
        self._sleep(pause_s)
        if requested_s is None:
            self._busy_pause_s = min(self._busy_pause_s * 2, _MAX_PAUSE_S)
        return True
