"""What time it is. Spans are measured with `time.monotonic`: this clock may jump."""

import time


def now_ms() -> int:
    """Milliseconds since the epoch, by the machine's clock."""
    return time.time_ns() // 1_000_000
