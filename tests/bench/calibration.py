"""How fast the machine is now: the time of a fixed amount of work."""

import time

ROUNDS = 3
ADDITIONS = 2_000_000
BLOCK_BYTES = 32 << 20
"""More than a processor's cache, so that copies go through the memory."""
COPIES = 8
TOLERANCE = 0.1
"""Relative difference from the median of a run above which a turn is measured again."""


def seconds() -> float:
    """
    Time of a loop in Python and copies of a block of memory, about half a second; the least of several rounds.

    The least, because a benchmark leaves servers behind that are busy for some seconds. A machine that other guests or
    its clock rate make slow is slow in each round.
    """
    block = bytearray(BLOCK_BYTES)
    return min(_round(block) for _ in range(ROUNDS))


def deviates(measured_s: float, median_s: float) -> bool:
    """Whether the machine was faster or slower than usual."""
    return abs(measured_s / median_s - 1) > TOLERANCE


def _round(block: bytearray) -> float:
    started = time.perf_counter()
    total = 0
    for number in range(ADDITIONS):
        total += number
    for _ in range(COPIES):
        bytes(block)
    return time.perf_counter() - started
