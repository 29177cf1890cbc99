"""Regions of a table, and how writes spread over them."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from ingest.api import prefix_end
from sinks.rowkeys.distribution import Distribution


@dataclass(frozen=True, slots=True)
class Layout:
    """
    The regions of a table.

    Attributes:
        splits: physical keys at which all regions but the first start, in byte order.
        distribution: of a salted table; None if the table stores the logical keys.
    """

    splits: tuple[bytes, ...] = ()
    distribution: Distribution | None = None

    @classmethod
    def salted(cls, buckets: int) -> Self:
        """One region for each bucket."""
        distribution = Distribution(buckets)
        return cls(distribution.splits(), distribution)

    @property
    def regions(self) -> int:
        """The number of regions."""
        return len(self.splits) + 1

    def bounds(self, region: int) -> tuple[bytes, bytes | None]:
        """The physical keys [start, stop) of a region; None for the end of the table."""
        start = self.splits[region - 1] if region else b""
        return start, self.splits[region] if region < len(self.splits) else None

    def region_of(self, key: bytes) -> int:
        """The region, from 0, that holds the row of a logical key."""
        return bisect_right(self.splits, key if self.distribution is None else self.distribution.physical(key))

    def regions_of_prefix(self, prefix: bytes) -> int:
        """The number of regions that a scan of all logical keys with a prefix reads."""
        ranges = (
            [(prefix, prefix_end(prefix))]
            if self.distribution is None
            else self.distribution.intervals(prefix, prefix_end(prefix))
        )
        return len({region for start, stop in ranges for region in self._regions_between(start, stop)})

    def spread(self, writes: Mapping[bytes, int], newest: Mapping[bytes, int]) -> "Spread":
        """
        Count writes by region.

        Args:
            writes: logical key -> number of writes.
            newest: the same of the newest writes alone.
        """
        of_regions, newest_of_regions = [0] * self.regions, [0] * self.regions
        for key, number in writes.items():
            region = self.region_of(key)
            of_regions[region] += number
            newest_of_regions[region] += newest.get(key, 0)
        return Spread(self, tuple(of_regions), tuple(newest_of_regions))

    def _regions_between(self, start: bytes, stop: bytes | None) -> range:
        end = self.regions if stop is None else bisect_left(self.splits, stop) + 1
        return range(bisect_right(self.splits, start), end)


@dataclass(frozen=True, slots=True)
class Spread:
    """
    Writes by region of a layout.

    Attributes:
        writes: of each region.
        newest: those among the newest writes.
    """

    layout: Layout
    writes: tuple[int, ...]
    newest: tuple[int, ...]

    @property
    def busiest(self) -> float:
        """The fraction of all writes that the busiest region receives; 0 without writes."""
        return max(self.writes) / (sum(self.writes) or 1)

    @property
    def busiest_of_newest(self) -> float:
        """The fraction of the newest writes that one region receives, the busiest one of them."""
        return max(self.newest) / (sum(self.newest) or 1)

    @property
    def empty(self) -> int:
        """The number of regions without a write."""
        return self.writes.count(0)
