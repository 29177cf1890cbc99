"""The wall clock; it may jump, so measure durations with `time.monotonic`."""

import time

MAX_AHEAD_MS = 86_400_000
"""More ahead of another clock is no drift: a wrong date, zone or unit."""


def now_ms() -> int:
    """Milliseconds since the epoch, by the machine's clock."""
    return time.time_ns() // 1_000_000
