"""
Scans that jump over rows which cannot match: the algorithm of HBase's `FuzzyRowFilter`.

A row that matches no pattern determines the next row key that can match. A scan moves there instead of reading the rows
between.

Source: `FuzzyRowFilter` of HBase 2 (`getNextForFuzzyRule`). It differs from HBase where HBase loses rows or makes no
progress:

- A row that lacks a fixed position does not match. HBase compares only the bytes that a row has, so whether it returns
  such a row depends on the rows before it.
- A candidate ends at its last significant byte; padded with zeros it would skip shorter rows (HBASE-14782).
- In a reverse scan the bound is exclusive and never above the row, so no row is lost (HBASE-28634), and a scan always
  makes progress (HBASE-30226).
- A pattern without positions of any byte is a prefix like all others (HBASE-15676).
- Candidates are computed from the row alone, so patterns can be used for any number of scans.
"""

from ingest.api import FuzzyPattern, Scan, next_key, prefix_end


class RemainingRange:
    """
    The part of a scan's range that was not read yet, for a scan with or without patterns.

    A scan reads the first row of the range, with `reverse` the last one, and passes its key to `take`, until the range
    is empty or has no more rows. A store that reads pages ignores the rows that the range does not contain any more.

    Attributes:
        start: inclusive.
        stop: exclusive; None for the end of the table.
        is_reverse: the scan reads the last row first.
    """

    def __init__(self, scan: Scan) -> None:
        self.start, self.stop = scan.bounds()
        self.is_reverse = scan.reverse
        self._patterns = scan.fuzzy
        self._has_ended = False
        if self._patterns and not self.is_empty:
            self._move_to_first()

    @property
    def is_empty(self) -> bool:
        """Whether no further row can match."""
        return self._has_ended or (self.stop is not None and self.stop <= self.start)

    def __contains__(self, row: bytes) -> bool:
        return not self._has_ended and self.start <= row and (self.stop is None or row < self.stop)

    def ends_before(self, row: bytes) -> bool:
        """Whether a scan of this range is over when it reads this row."""
        if self.is_reverse:
            return row < self.start
        return self.stop is not None and row >= self.stop

    def take(self, row: bytes) -> bool:
        """Whether a row of the range matches; the range then begins after the row, or at the next candidate."""
        if self._patterns and not self._matches(row):
            self._move(row)
            return False
        if self.is_reverse:
            self.stop = row
        else:
            self.start = next_key(row)
        return True

    def continue_at(self, edge: bytes) -> None:
        """Skip the row keys before an edge, with `reverse` those from the edge on: they were read."""
        if self.is_reverse:
            self.stop = edge if self.stop is None else min(self.stop, edge)
        else:
            self.start = max(self.start, edge)
        if self._patterns and not self.is_empty:
            self._move_to_first()

    def end(self) -> None:
        """Make the range empty: the table has no more rows in it."""
        self._has_ended = True

    def _matches(self, row: bytes) -> bool:
        return any(pattern.matches(row) for pattern in self._patterns)

    def _move_to_first(self) -> None:
        if not self.is_reverse:
            if not self._matches(self.start):
                self._move(self.start)
        elif self.stop is not None:
            if not self._matches(self.stop):
                self._move(self.stop)
        else:
            bounds = [last_bound(pattern) for pattern in self._patterns]
            self.stop = None if None in bounds else max(bound for bound in bounds if bound is not None)

    def _move(self, row: bytes) -> None:
        """Skip the row keys that no pattern matches, from a row that does not match."""
        find = previous_bound if self.is_reverse else next_candidate
        found = [candidate for pattern in self._patterns if (candidate := find(pattern, row)) is not None]
        if not found:
            self.end()
        elif self.is_reverse:
            self.stop = max(found)
        else:
            self.start = min(found)


def next_candidate(pattern: FuzzyPattern, row: bytes) -> bytes | None:
    """
    The smallest row key that matches a pattern and is greater than a row; None if there is none.

    Args:
        pattern: one that the row does not match. If the row matches, the result skips the row keys that begin with it.
        row: a row key; may be empty.
    """
    return _neighbour(pattern, row, is_reverse=False)


def previous_bound(pattern: FuzzyPattern, row: bytes) -> bytes | None:
    """
    An exclusive upper bound of the row keys that match a pattern and are smaller than a row; None if there are none.

    The bound is not greater than the row.

    Args:
        pattern: one that the row does not match.
        row: a row key.
    """
    found = _neighbour(pattern, row, is_reverse=True)
    return None if found is None else prefix_end(found)


def last_bound(pattern: FuzzyPattern) -> bytes | None:
    """An exclusive upper bound of all row keys that match a pattern; None for the end of the table."""
    highest = bytes(0xFF if is_any else byte for byte, is_any in zip(pattern.key, pattern.mask, strict=True))
    return prefix_end(highest[: pattern.fixed_length])


def _neighbour(pattern: FuzzyPattern, row: bytes, *, is_reverse: bool) -> bytes | None:
    """
    The row key nearest to a row in the direction of the scan that matches; in reverse, a prefix of the nearest ones.

    The bytes before the first fixed position that differs stay as they are. If the pattern's byte there lies ahead of
    the row's, the positions after it begin anew. Else the last byte before it that can moves on by one.
    """
    move, first, last = (-1, 0xFF, 0x00) if is_reverse else (1, 0x00, 0xFF)
    key, mask = pattern.key, pattern.mask
    length = max(len(row), len(key))
    is_free = [at >= len(key) or mask[at] == 1 for at in range(length)]
    found = bytearray(first if is_free[at] else key[at] for at in range(length))
    moving = -1
    is_ahead = False
    for at in range(length):
        byte = row[at] if at < len(row) else -1  # the end of a row sorts before all bytes
        if is_free[at]:
            if byte >= 0:
                found[at] = byte
                if byte != last:
                    moving = at
        elif byte != key[at]:
            is_ahead = (byte < key[at]) is not is_reverse
            break
    if not is_ahead:
        if moving < 0:
            return None
        found[moving] += move
        for at in range(moving + 1, length):
            if is_free[at]:
                found[at] = first
    return bytes(found[: max(pattern.fixed_length, moving + 1)])
