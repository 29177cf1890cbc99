"""Waiting for a condition, with a limit."""

import time
from collections.abc import Callable

POLL_S = 0.02


def reached(condition: Callable[[], object], timeout_s: float, poll_s: float = POLL_S) -> bool:
    """Wait for a condition; returns whether it became true in time."""
    end = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() >= end:
            return False
        time.sleep(poll_s)
    return True
