"""Waiting for a condition, with a limit."""

import time
from collections.abc import Callable

import psutil

POLL_S = 0.02
LONGEST_POLL_S = 0.5
PAUSES = 40
"""A pause is this many times as long as the CPU time of the check before it, so that waiting takes little CPU."""


def reached(condition: Callable[[], object], timeout_s: float, poll_s: float = POLL_S) -> bool:
    """
    Wait for a condition; returns whether it became true in time.

    A condition that costs more, as a page of a service does, is checked less often than each `poll_s`.
    """
    end = time.monotonic() + timeout_s
    while True:
        began = time.thread_time()
        if condition():
            return True
        if time.monotonic() >= end:
            return False
        time.sleep(max(poll_s, min(LONGEST_POLL_S, PAUSES * (time.thread_time() - began))))


def worker_ended(pid: int) -> bool:
    """
    Whether a Python worker of Spark ends within a second.

    Spark counts its task as ended once it has sent the worker's parent process the request to kill it, two seconds
    after the cancellation at the earliest. So a task that is reported as ended too early has a worker that is there for
    longer.
    """
    return reached(lambda: not psutil.pid_exists(pid), 1.0)
