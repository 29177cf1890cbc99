"""Timing of calls in this process."""

import statistics
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LOOPS = 20_000
RUNS = 5


def measured(call: Callable[[T], object], make: Callable[[], T], *, loops: int = LOOPS) -> float:
    """Nanoseconds per call, each with a new argument from `make`; the median of several runs."""
    runs_ns = []
    for _ in range(RUNS):
        arguments = [make() for _ in range(loops)]
        started = time.perf_counter_ns()
        for each in arguments:
            call(each)
        runs_ns.append((time.perf_counter_ns() - started) / loops)
    return statistics.median(runs_ns)
