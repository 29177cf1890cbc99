"""How long a call takes, again and again: the one way in which everything in this process is measured."""

import statistics
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LOOPS = 20_000
ROUNDS = 5


def measured(call: Callable[[T], object], make: Callable[[], T], *, loops: int = LOOPS) -> float:
    """ns a call with something of its own, an event most often; median of the rounds."""
    rounds = []
    for _ in range(ROUNDS):
        given = [make() for _ in range(loops)]
        started = time.perf_counter_ns()
        for each in given:
            call(each)
        rounds.append((time.perf_counter_ns() - started) / loops)
    return statistics.median(rounds)
