"""Ranges of row keys, and their division into the partitions of a read."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from contextlib import closing
from math import ceil
from typing import Any

from ingest.api import Scan, Store, next_key, prefix_end
from ingest.api.table_reader import RowKeys
from sinks.rowkeys.distribution import Distribution
from sinks.scanning.physical_keys import ranges_of

Range = tuple[bytes, bytes | None]
"""[start, stop) of logical or physical row keys; a stop of None is the end of the table."""
EVERYTHING: Range = (b"", None)
_CUT_BYTES = 8  # of a cut, after the bytes that all row keys have in common


def point(key: bytes) -> Range:
    """The range of one row key."""
    return key, next_key(key)


def prefixed(prefix: bytes) -> Range:
    """The range of the row keys with a prefix."""
    return prefix, prefix_end(prefix)


def intersection(first: Sequence[Range], second: Sequence[Range]) -> list[Range]:
    """
    The row keys that are in both, without empty ranges.

    Each argument, and the result, has disjoint ranges in byte order.
    """
    found: list[Range] = []
    i = j = 0
    while i < len(first) and j < len(second):
        (a, a_stop), (b, b_stop) = first[i], second[j]
        start, stop = max(a, b), _earlier(a_stop, b_stop)
        if stop is None or start < stop:
            found.append((start, stop))
        if a_stop is not None and (b_stop is None or a_stop <= b_stop):
            i += 1
        else:
            j += 1
    return found


def physical_ranges(ranges: Iterable[Range], buckets: int | None, keys: RowKeys) -> list[Range]:
    """The ranges of physical row keys that contain the given logical row keys, in byte order."""
    distribution = Distribution.of(buckets)
    physical: list[Range] = []
    for start, stop in ranges:
        first, end = keys.range_of(start, stop)
        if distribution is not None and (start, stop) == point(start) and end is not None:
            bucket = distribution.bucket(start)
            physical.append((bucket + first, bucket + end))
        else:
            physical += ranges_of(distribution, first, end)
    return sorted(physical, key=_start)


def whole_rows(cut: bytes, buckets: int | None, keys: RowKeys) -> bytes:
    """A cut between physical row keys, moved to the start of the logical row that it would divide."""
    length = 0 if buckets is None else 1
    return cut[:length] + keys.whole(cut[length:])


def partitions_of(ranges: Sequence[Range], cuts: Iterable[bytes]) -> list[tuple[Range, ...]]:
    """
    The same row keys, divided at each cut.

    Args:
        ranges: disjoint, in byte order.
        cuts: first row keys of regions and buckets.

    Returns:
        The ranges between neighbouring cuts, without those that are empty.
    """
    ordered = sorted(set(cuts) - {b""})
    cells: dict[int, list[Range]] = {}
    for start, stop in ranges:
        first = start
        for number in range(bisect_right(ordered, start), len(ordered) + 1):
            end = _earlier(stop, ordered[number] if number < len(ordered) else None)
            cells.setdefault(number, []).append((first, end))
            if end is None or end == stop:
                break
            first = end
    return [tuple(cells[number]) for number in sorted(cells)]


def divided_table(
    store: Store[Any],
    table: str,
    ranges: Sequence[Range],
    buckets: int | None,
    keys: RowKeys,
    *,
    min_partitions: int,
) -> list[tuple[Range, ...]]:
    """
    The physical row keys of a table, divided at its regions and buckets, and further to reach a number of partitions.

    Args:
        store: open, for reading or writing.
        table: its name.
        ranges: of logical row keys, disjoint and in byte order.
        buckets: number of buckets of the table; None if it has none.
        keys: of the table, without buckets.
        min_partitions: desired number; there may be fewer, if few row keys differ.

    Returns:
        Partitions with ranges of physical row keys, with buckets each in one bucket; none divides a logical row.
    """
    spec = store.describe_table(table)
    distribution = Distribution.of(buckets)
    physical = physical_ranges(ranges, buckets, keys)
    splits = () if spec is None else spec.splits
    cuts = {*(whole_rows(cut, buckets, keys) for cut in splits), *(distribution.prefixes if distribution else ())}
    found = partitions_of(physical, cuts)
    if 0 < len(found) < min_partitions:
        parts = ceil(min_partitions / len(found))
        even = [whole_rows(cut, buckets, keys) for each in found for cut in _cuts(store, table, each, parts)]
        found = partitions_of(physical, cuts.union(even))
    return found


def _cuts(store: Store[Any], table: str, ranges: Sequence[Range], parts: int) -> list[bytes]:
    """Row keys that divide the rows of a partition; the first and the last row are read for it."""
    first = _edge(store, table, ranges, reverse=False)
    last = None if first is None else _edge(store, table, ranges, reverse=True)
    return [] if first is None or last is None else even_cuts(first, last, parts)


def _edge(store: Store[Any], table: str, ranges: Sequence[Range], *, reverse: bool) -> bytes | None:
    # of all columns: a scan for a rare one would read many rows
    scan = Scan(ranges[0][0], ranges[-1][1], limit=1, reverse=reverse)
    with closing(store.scan(table, scan)) as rows:
        row = next(rows, None)
    return None if row is None else row.key


def even_cuts(first: bytes, last: bytes, parts: int) -> list[bytes]:
    """
    Row keys that divide the keys from `first` to `last` into equal parts of the key space.

    The numbers of rows are equal only as far as the row keys are spread evenly.
    """
    common = next(
        (place for place, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last))
    )
    low, high = (int.from_bytes(key[common : common + _CUT_BYTES].ljust(_CUT_BYTES, b"\x00")) for key in (first, last))
    cuts = {low + (high - low) * part // parts for part in range(1, parts)} - {low}
    return [first[:common] + cut.to_bytes(_CUT_BYTES) for cut in sorted(cuts)]


def _earlier(a: bytes | None, b: bytes | None) -> bytes | None:
    if a is None or b is None:
        return b if a is None else a
    return min(a, b)


def _start(keys: Range) -> bytes:
    return keys[0]
