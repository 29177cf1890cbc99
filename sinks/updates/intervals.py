"""Intervals of batch times."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple


class Interval(NamedTuple):
    """Batch times, both inclusive, in ms since the epoch."""

    first_ms: int
    last_ms: int


def is_in(intervals: Sequence[Interval], time_ms: int) -> bool:
    """Whether a batch time is in one of the intervals, which are disjoint and in order."""
    at = bisect_right(intervals, time_ms, key=attrgetter("first_ms")) - 1
    return at >= 0 and time_ms <= intervals[at].last_ms


def without(intervals: Iterable[Interval], removed: Iterable[Interval]) -> list[Interval]:
    """The batch times of intervals that are in none of the removed ones; disjoint and in order."""
    found: list[Interval] = []
    cuts = joined(removed)
    for first_ms, last_ms in joined(intervals):
        start_ms = first_ms
        for cut in cuts:
            if cut.last_ms < start_ms or cut.first_ms > last_ms:
                continue
            if cut.first_ms > start_ms:
                found.append(Interval(start_ms, cut.first_ms - 1))
            start_ms = cut.last_ms + 1
        if start_ms <= last_ms:
            found.append(Interval(start_ms, last_ms))
    return found


@dataclass(slots=True)
class Spans:
    """
    Disjoint intervals: those that overlap become one, those that only touch do not.

    Attributes:
        found: in order.
    """

    found: list[Interval] = field(default_factory=list)

    def add(self, interval: Interval) -> None:
        """Add an interval."""
        first = bisect_left(self.found, interval.first_ms, key=lambda each: each.last_ms)
        last = bisect_right(self.found, interval.last_ms, key=lambda each: each.first_ms)
        overlapped = self.found[first:last]
        if overlapped:
            interval = Interval(
                min(interval.first_ms, overlapped[0].first_ms), max(interval.last_ms, overlapped[-1].last_ms)
            )
        self.found[first:last] = [interval]


def joined(intervals: Iterable[Interval]) -> list[Interval]:
    """The same batch times as disjoint intervals in order."""
    found: list[Interval] = []
    for each in sorted(intervals):
        if found and each.first_ms <= found[-1].last_ms + 1:
            found[-1] = Interval(found[-1].first_ms, max(found[-1].last_ms, each.last_ms))
        else:
            found.append(each)
    return found
