"""Writes and rows by prefix of the row key."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate

from ingest.api import prefix_end

_NEARLY_ALL = 0.95  # of the writes of a prefix: a longer prefix with as many says more


@dataclass(frozen=True, slots=True)
class PrefixCount:
    """
    The rows whose keys have a prefix, and their writes.

    Attributes:
        rows: the number of rows, which a scan of the prefix reads.
    """

    prefix: bytes
    writes: int
    rows: int


@dataclass(slots=True)
class _Open:
    """A prefix whose last row is not reached yet."""

    length: int
    first: int
    most_of_longer: int = 0


class Prefixes:
    """
    Counts of row keys by prefix.

    Args:
        writes: row key -> number of writes.
    """

    def __init__(self, writes: Mapping[bytes, int]) -> None:
        self._keys = sorted(writes)
        self._before = [0, *accumulate(writes[key] for key in self._keys)]

    def count(self, prefix: bytes) -> PrefixCount:
        """The rows and writes of one prefix."""
        end = prefix_end(prefix)
        first = bisect_left(self._keys, prefix)
        return self._between(prefix, first, len(self._keys) if end is None else bisect_left(self._keys, end))

    def hottest(self, most: int, min_fraction: float) -> list[PrefixCount]:
        """
        The prefixes with the most writes, most first; a row key counts as a prefix of itself.

        Only prefixes after which keys differ are returned, each as long as its rows allow. One is left out if a longer
        one has nearly all of its writes.

        Args:
            most: maximum number of prefixes.
            min_fraction: of all writes, that a prefix must have.
        """
        least = min_fraction * self._before[-1]
        found = [count for count, longer in self._branches() if count.writes >= max(least, 1) and longer]
        return sorted(found, key=lambda count: (-count.writes, count.prefix))[:most]

    def _branches(self) -> Iterator[tuple[PrefixCount, bool]]:
        """
        All row keys and all prefixes after which they differ, with whether no longer one has nearly all writes.

        These are the nodes of the radix tree of the keys, found by comparing neighbours of the sorted keys, as the
        intervals of a longest-common-prefix array are.
        """
        opened: list[_Open] = []
        for number, key in enumerate([*self._keys, b""]):
            is_end = number == len(self._keys)
            common = 0 if is_end or not number else _common(self._keys[number - 1], key)
            while opened and opened[-1].length > common:
                node = opened.pop()
                count = self._between(self._keys[node.first][: node.length], node.first, number)
                yield count, node.most_of_longer < _NEARLY_ALL * count.writes
                if common and (not opened or opened[-1].length < common):
                    opened.append(_Open(common, node.first))
                if opened:
                    opened[-1].most_of_longer = max(opened[-1].most_of_longer, count.writes)
            if not is_end:
                opened.append(_Open(len(key), number))

    def _between(self, prefix: bytes, first: int, end: int) -> PrefixCount:
        return PrefixCount(prefix, self._before[end] - self._before[first], end - first)


def _common(one: bytes, other: bytes) -> int:
    """The number of equal leading bytes."""
    for number, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return number
    return min(len(one), len(other))
