"""How long a call takes, again and again."""

import statistics
import time
from collections.abc import Callable

from ingest.api import Event

LOOPS = 20_000
ROUNDS = 5


def measured(call: Callable[[Event], object], make: Callable[[], Event], *, loops: int = LOOPS) -> float:
    """ns a call with an event of its own, median of the rounds."""
    rounds = []
    for _ in range(ROUNDS):
        events = [make() for _ in range(loops)]
        started = time.perf_counter_ns()
        for event in events:
            call(event)
        rounds.append((time.perf_counter_ns() - started) / loops)
    return statistics.median(rounds)
