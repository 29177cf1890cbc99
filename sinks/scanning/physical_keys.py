"""Reads of a table by physical row keys, which return rows with their logical keys."""

import heapq
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

from ingest.api import ALL_TIMES, Row, Scan, ScanCounts, Store, TimeRange
from sinks.rowkeys.distribution import Distribution

R = TypeVar("R")


def get_physical(
    store: Store[Any],
    table: str,
    key: bytes,
    distribution: Distribution | None,
    *,
    columns: Sequence[bytes] | None = None,
    versions: int = 1,
    times: TimeRange = ALL_TIMES,
) -> Row | None:
    """
    One row, or None if it has no such cells.

    Args:
        store: open, for reading or writing.
        table: its name.
        key: the physical row key.
        distribution: of the table; None if its row keys are stored as they are.
        columns: as in `Store.get`.
        versions: as in `Store.get`.
        times: as in `Store.get`.

    Raises:
        NotFoundError: there is no such table.
    """
    found = store.get(table, key, columns=columns, versions=versions, times=times)
    return found if found is None or distribution is None else Row(distribution.logical(key), found.cells)


def scan_physical(
    store: Store[Any],
    table: str,
    scan: Scan,
    distribution: Distribution | None,
    counts: ScanCounts | None = None,
) -> Generator[Row]:
    """
    Rows of a range of physical row keys, in byte order. Whoever iterates must exhaust or close it.

    Args:
        store: open, for reading or writing.
        table: its name.
        scan: start and stop are physical keys, of a salted table all in one bucket; patterns are of logical keys, and
            there is no prefix.
        distribution: of the table; None if its row keys are stored as they are.
        counts: the work of the scan is added to it.

    Raises:
        NotFoundError: there is no such table.
    """
    if distribution is None:
        return store.scan(table, scan, counts)
    bucket = scan.start[:1]
    physical = replace(scan, fuzzy=tuple(pattern.prefixed(bucket) for pattern in scan.fuzzy))
    return _logical(store.scan(table, physical, counts), distribution)


def ranges_of(distribution: Distribution | None, start: bytes, stop: bytes | None) -> list[tuple[bytes, bytes | None]]:
    """The ranges of physical row keys of a range of row keys without buckets: one, or one for each bucket."""
    return [(start, stop)] if distribution is None else distribution.intervals(start, stop)


def side_by_side(
    parts: Iterable[Generator[R]], key: Callable[[R], Any], *, reverse: bool, limit: int | None
) -> Generator[R]:
    """
    The rows of several scans in one order; all scans are closed with it.

    Args:
        parts: the scans, not yet started, each in the order of the key.
        key: of a row.
        reverse: the order is that from the largest key to the smallest.
        limit: maximum number of rows; None for all.
    """
    with ExitStack() as opened:
        scans = [opened.enter_context(closing(part)) for part in parts]
        yield from islice(heapq.merge(*scans, key=key, reverse=reverse), limit)


def _logical(rows: Generator[Row], distribution: Distribution) -> Generator[Row]:
    logical = distribution.logical
    with closing(rows):
        for row in rows:
            yield Row(logical(row.key), row.cells)
