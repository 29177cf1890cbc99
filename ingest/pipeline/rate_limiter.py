"""The maximum rate of a pipeline: how many records a micro-batch takes, and when the next one may start."""

import math
import time
from collections.abc import Callable

BATCH_S = 2.0
"""Seconds of records at the maximum rate in a micro-batch; with fewer, the fixed cost of each limits the rate."""


class RateLimiter:
    """
    Delays micro-batches, so that the average rate of records stays below a maximum.

    A micro-batch runs at full speed. The next one may start once the records of the last one have taken as long as
    they take at the maximum rate, counted from its start. Time without records earns no credit, so in any period the
    rate is exceeded by at most one micro-batch.

    Source: the delay that Kafka's brokers compute for a client above its quota (KIP-13).

    Args:
        per_second: the maximum; None without a limit.
        clock: monotonic seconds.
    """

    def __init__(self, per_second: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._clock = clock
        self._started_s = clock()
        self._next_s = self._started_s

    def delay_s(self) -> float:
        """Seconds until the next micro-batch may start; 0 if it may start now."""
        return max(0.0, self._next_s - self._clock())

    def start(self) -> None:
        """A micro-batch starts."""
        self._started_s = self._clock()

    def finish(self, records: int) -> None:
        """The micro-batch that started last is durable, with this number of records."""
        if self._per_second is not None:
            self._next_s = self._started_s + records / self._per_second


def records_per_batch(max_rate: int | None, every_s: float) -> int | None:
    """
    Maximum number of records of a micro-batch under a maximum rate; None without one.

    Args:
        max_rate: records per second.
        every_s: interval between the starts of micro-batches.
    """
    return None if max_rate is None else math.ceil(max_rate * max(every_s, BATCH_S))
