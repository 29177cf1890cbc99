"""The wall clock; it may jump, so measure durations with `time.monotonic`."""

import time


def now_ms() -> int:
    """Milliseconds since the epoch, by the machine's clock."""
    return time.time_ns() // 1_000_000
