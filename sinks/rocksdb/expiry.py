"""When cells of a table expire, by key range: a sweep for expired cells reads only ranges that have some."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

NEVER = 1 << 62
RANGE_CELLS = 100_000
"""Cells after which a new range starts, if row keys rise."""


class ExpiryIndex:
    """
    Adjacent key ranges, each with the time at which its first cell expires.

    Rows appended at the end of the table create ranges, and a sweep creates those of the rows it has read. A cell that
    is older than the others of its range, and written after them, may be found one time to live too late.

    Args:
        earliest_ms: when the first cell of the table expires.
        last_row: the last known row of the table, as encoded in keys.
    """

    def __init__(self, earliest_ms: int = NEVER, last_row: bytes = b"") -> None:
        self.last_row = last_row
        self._starts = [b""]
        self._expire_ms = [earliest_ms]
        self._in_last = 0

    @property
    def range_count(self) -> int:
        """Number of key ranges."""
        return len(self._starts)

    @property
    def earliest_ms(self) -> int:
        """When the first cell of the table expires."""
        return min(self._expire_ms)

    def add_written(self, cells: int, rows: Iterable[tuple[bytes, int]]) -> None:
        """
        Record a write.

        Args:
            cells: number of cells.
            rows: samples of the rows: the row as encoded in keys, and when its first cell expires.
        """
        samples = sorted(rows)
        # a new range must not contain earlier rows, so it starts after all known rows
        if samples and self._in_last >= RANGE_CELLS and samples[0][0] > max(self.last_row, self._starts[-1]):
            self._starts.append(samples[0][0])
            self._expire_ms.append(NEVER)
            self._in_last = 0
        for row, expires_ms in samples:
            at = bisect_right(self._starts, row) - 1
            self._expire_ms[at] = min(self._expire_ms[at], expires_ms)
        if samples:
            self.last_row = max(self.last_row, samples[-1][0])
        self._in_last += cells

    def add_swept(self, first: bytes, after: bytes | None, expires_ms: int) -> None:
        """Record the first expiry in the keys [first, after), as a sweep has found it; None is the end."""
        low = bisect_left(self._starts, first)
        high = len(self._starts) if after is None else bisect_left(self._starts, after)
        starts, expire_ms = [first], [expires_ms]
        if after is not None and after not in self._starts[high : high + 1]:
            # the rest of the last range
            starts.append(after)
            expire_ms.append(self._expire_ms[high - 1])
        if low and expires_ms == NEVER == self._expire_ms[low - 1]:
            del starts[0], expire_ms[0]
        self._starts[low:high] = starts
        self._expire_ms[low:high] = expire_ms

    def expired(self, key: bytes, now_ms: int) -> tuple[bytes, bytes | None] | None:
        """The next keys [start, stop) from a key on with expired cells; the stop is None at the end of the table."""
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
