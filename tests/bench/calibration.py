"""How fast the machine is now: the time of a fixed amount of work."""

import time
from collections.abc import Sequence

ROUNDS = 3
ADDITIONS = 2_000_000
BLOCK_BYTES = 32 << 20
"""More than a processor's cache, so that copies go through the memory."""
COPIES = 8
TOLERANCE = 0.1
"""Relative difference of a time from the median of a run above which the machine was faster or slower than usual."""
FRACTION = 1 / 3
"""Of the times of a turn: with fewer such times the turn counts."""


def seconds() -> float:
    """
    Time of a loop in Python and copies of a block of memory, about half a second; the least of several rounds.

    The least, because a benchmark leaves servers behind that are busy for some seconds. A machine that other guests or
    its clock rate make slow is slow in each round.
    """
    block = bytearray(BLOCK_BYTES)
    return min(_round(block) for _ in range(ROUNDS))


def deviates(times_s: Sequence[float], median_s: float) -> bool:
    """Whether the machine was faster or slower than usual in much of a turn, or while a part of it ran."""
    unusual = sum(abs(each / median_s - 1) > TOLERANCE for each in times_s)
    return unusual >= FRACTION * len(times_s)


def _round(block: bytearray) -> float:
    started = time.perf_counter()
    total = 0
    for number in range(ADDITIONS):
        total += number
    for _ in range(COPIES):
        bytes(block)
    return time.perf_counter() - started
