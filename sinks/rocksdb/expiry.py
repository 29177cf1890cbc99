"""When cells of a table expire, by key range, so a sweep for expired cells skips the other ranges."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

NEVER = 1 << 62
STRETCH_CELLS = 100_000
"""Cells after which a range ends, if keys rise."""


class ExpiryIndex:
    """
    Adjacent key ranges, each with the time at which its first cell expires.

    Rows that are added at the end create ranges as they are written, and a sweep creates those of the rows it has read.
    A cell written late into a range, and older than all in it, may be reported one time to live too late.

    Args:
        earliest_ms: when the first cell of the table expires.
        top: the last row known of the table, as it stands in keys: that at the start, then of those looked at.
    """

    def __init__(self, earliest_ms: int = NEVER, top: bytes = b"") -> None:
        self.top = top
        self._starts = [b""]
        self._expire_ms = [earliest_ms]
        self._in_last = 0

    @property
    def earliest_ms(self) -> int:
        """When the first cell of the table expires."""
        return min(self._expire_ms)

    def wrote(self, cells: int, rows: Iterable[tuple[bytes, int]]) -> None:
        """
        Take note of what was written.

        Args:
            cells: how many.
            rows: some of their rows, as they stand in keys, and when the first cell of each expires.
        """
        known = sorted(rows)
        # a new stretch knows of no cell yet, so it begins behind all rows that are known
        if known and self._in_last >= STRETCH_CELLS and known[0][0] > max(self.top, self._starts[-1]):
            self._starts.append(known[0][0])
            self._expire_ms.append(NEVER)
            self._in_last = 0
        for row, expires_ms in known:
            at = bisect_right(self._starts, row) - 1
            self._expire_ms[at] = min(self._expire_ms[at], expires_ms)
        if known:
            self.top = max(self.top, known[-1][0])
        self._in_last += cells

    def walked(self, first: bytes, after: bytes | None, expires_ms: int) -> None:
        """Take note of the result of a sweep from one key up to another; None is the end."""
        low = bisect_left(self._starts, first)
        high = len(self._starts) if after is None else bisect_left(self._starts, after)
        starts, expire_ms = [first], [expires_ms]
        if after is not None and after not in self._starts[high : high + 1]:
            # what is left of the last stretch
            starts.append(after)
            expire_ms.append(self._expire_ms[high - 1])
        if low and expires_ms == NEVER == self._expire_ms[low - 1]:
            del starts[0], expire_ms[0]
        self._starts[low:high] = starts
        self._expire_ms[low:high] = expire_ms

    def expired(self, key: bytes, now_ms: int) -> tuple[bytes, bytes | None] | None:
        """The next keys, from one on, where something has expired: the first and, unless it is the end, the stop."""
        number, count = bisect_right(self._starts, key) - 1, len(self._starts)
        first = key
        while self._expire_ms[number] >= now_ms:
            number += 1
            if number == count:
                return None
            first = self._starts[number]
        while number < count and self._expire_ms[number] < now_ms:
            number += 1
        return first, self._starts[number] if number < count else None
