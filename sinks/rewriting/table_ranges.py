"""Ranges of a table with updates: cuts that divide no logical row, and their rows in pages."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any

from ingest.api import ALL_TIMES, IntegrityError, Row, Scan, Store, TimeRange, next_key
from ingest.api.notation import shown
from sinks.rewriting.store_calls import StoreCalls
from sinks.rowkeys.distribution import Distribution
from sinks.scanning.partitions import EVERYTHING, Range, partitions_of
from sinks.updates.groups import UpdateRow
from sinks.updates.keys import whole_row_start

PAGE_ROWS = 1_000
PAGE_BYTES = 8 << 20


def whole_row_ranges(splits: Iterable[bytes], distribution: Distribution | None) -> list[Range]:
    """
    The ranges of a table with updates, divided at the starts of its regions; none divides a logical row.

    Args:
        splits: first physical row keys of the regions.
        distribution: of the table; None if its row keys are stored as they are.
    """
    buckets = [EVERYTHING] if distribution is None else distribution.intervals()
    bucket = 0 if distribution is None else 1
    cuts = {split[:bucket] + whole_row_start(split[bucket:]) for split in splits}
    return [keys for partition in partitions_of(buckets, cuts) for keys in partition]


def rows_in_pages(
    calls: StoreCalls, table: str, keys: Range, distribution: Distribution | None, times: TimeRange = ALL_TIMES
) -> Iterator[UpdateRow]:
    """
    The update rows of a range, in the order of their keys, with their logical row keys.

    Other threads may use the store between two pages.

    Args:
        calls: of the store.
        table: its name.
        keys: the range, of a salted table in one bucket.
        distribution: of the table.
        times: of the cells; a row without any of these is left out.

    Raises:
        IntegrityError: a row is no update row.
        StoreError: the store is unavailable.
    """
    start, stop = keys
    bucket = b"" if distribution is None else start[:1]
    while True:
        page, is_last = calls(partial(_page, table=table, keys=(start, stop), times=times))
        for row in page:
            try:
                yield UpdateRow.of(Row(row.key[len(bucket) :], row.cells))
            except ValueError as error:
                raise IntegrityError(
                    f'row {shown(row.key)} of table "{table}" is no update row',
                    hint="another program has written it; delete it in the store",
                ) from error
        if is_last:
            return
        start = next_key(page[-1].key)


def _page(store: Store[Any], table: str, keys: Range, times: TimeRange) -> tuple[Sequence[Row], bool]:
    """The next rows, bounded by number and size, and whether the range ends after them."""
    page: list[Row] = []
    size = 0
    scan = Scan(start=keys[0], stop=keys[1], limit=PAGE_ROWS, page_rows=PAGE_ROWS, times=times)
    with closing(store.scan(table, scan)) as rows:
        for row in rows:
            page.append(row)
            size += sum(len(cell.value) for cell in row.cells)
            if size >= PAGE_BYTES:
                return page, False
    return page, len(page) < PAGE_ROWS
