"""Times of calls: their number, their sum, and a sum that a few very slow calls do not change."""

from collections.abc import Iterable

SLOWEST = 50
"""One of so many calls may be so slow by chance that it says nothing about the others."""


class CallTimes:
    """
    The times of calls as a histogram, whose buckets end at powers of two; those of tasks and micro-batches add up.

    Times are nanoseconds.
    """

    __slots__ = ("_buckets",)

    def __init__(self, buckets: Iterable[tuple[int, int, int]] = ()) -> None:
        self._buckets: dict[int, list[int]] = {bucket: [calls, total] for bucket, calls, total in buckets}

    def add(self, ns: int) -> None:
        """Add a call."""
        self._add(ns.bit_length(), 1, ns)

    def include(self, other: "CallTimes") -> None:
        """Add the calls of another object."""
        for bucket, (calls, total) in other._buckets.items():  # noqa: SLF001 - of this class
            self._add(bucket, calls, total)

    def clear(self) -> None:
        """Forget all calls."""
        self._buckets.clear()

    @property
    def calls(self) -> int:
        """Number of calls."""
        return sum(calls for calls, _ in self._buckets.values())

    @property
    def total_ns(self) -> int:
        """Sum of their times."""
        return sum(total for _, total in self._buckets.values())

    @property
    def usual_ns(self) -> float:
        """
        The sum of their times if the slowest of each `SLOWEST` calls, and at least one, had taken as long as the
        slowest of the others; within a factor of two, since the calls of a bucket are not told apart.

        This is a winsorized sum: a call that loads code, waits for a store or is interrupted by the machine does not
        change it, while a kind of events that is slow and not rare does.
        """
        left = -(-self.calls // SLOWEST)
        capped, usual = 0, 0.0
        for bucket in sorted(self._buckets, reverse=True):
            calls, total = self._buckets[bucket]
            taken = min(left, calls)
            left, capped = left - taken, capped + taken
            if calls > taken:
                usual += total + (capped - taken) * total / calls
                capped = 0
        return usual or float(self.total_ns)

    def buckets(self) -> list[tuple[int, int, int]]:
        """What makes an equal object: the bits of the times of a bucket, the number of its calls, and their sum."""
        return [(bucket, calls, total) for bucket, (calls, total) in self._buckets.items()]

    def _add(self, bucket: int, calls: int, total: int) -> None:
        found = self._buckets.setdefault(bucket, [0, 0])
        found[0] += calls
        found[1] += total
