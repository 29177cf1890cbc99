"""Waiting for a condition, with a limit."""

import time
from collections.abc import Callable

import psutil

POLL_S = 0.02


def reached(condition: Callable[[], object], timeout_s: float, poll_s: float = POLL_S) -> bool:
    """Wait for a condition; returns whether it became true in time."""
    end = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() >= end:
            return False
        time.sleep(poll_s)
    return True


def worker_ended(pid: int) -> bool:
    """
    Whether a Python worker of Spark ends within a second.

    Spark counts its task as ended once it has sent the worker's parent process the request to kill it, two seconds
    after the cancellation at the earliest. So a task that is reported as ended too early has a worker that is there for
    longer.
    """
    return reached(lambda: not psutil.pid_exists(pid), 1.0)
