"""Reads the update rows of a table in pages, while other threads use the store between two pages."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from functools import partial
from typing import Any, TypeVar

from ingest.api import ALL_TIMES, IntegrityError, Row, Scan, Store, TimeRange, next_key
from ingest.api.notation import shown
from sinks.rowkeys.distribution import Distribution
from sinks.updates.groups import UpdateRow
from sinks.updates.keys import whole_row_start
from sinks.writing.retry import Retry

T = TypeVar("T")
Access = Callable[[], AbstractContextManager[Store[Any]]]
"""Returns the open store, for the block; as `DriverStore.held`."""
Range = tuple[bytes, bytes | None]
"""[start, stop) of stored row keys; a stop of None is the end of the table."""

PAGE_ROWS = 1_000
PAGE_BYTES = 8 << 20


def ranges_of(splits: Iterable[bytes], distribution: Distribution | None) -> list[Range]:
    """
    The ranges of a table with updates, divided at the starts of its regions; none divides an original row.

    Args:
        splits: first stored row keys of the regions.
        distribution: of the table; None if its row keys are stored as they are.
    """
    buckets = [(b"", None)] if distribution is None else distribution.intervals()
    bucket = 0 if distribution is None else 1
    cuts = sorted({split[:bucket] + whole_row_start(split[bucket:]) for split in splits})
    found: list[Range] = []
    for start, stop in buckets:
        inside = [cut for cut in cuts if start < cut and (stop is None or cut < stop)]
        starts = [start, *inside]
        found += zip(starts, [*inside, stop], strict=True)
    return found


class StoreCalls:
    """
    Calls a store, between which other threads may use it; a call is repeated a few times if it is busy or unavailable.

    Args:
        access: to the store.
        retry: how often a call is repeated.
    """

    def __init__(self, access: Access, retry: Retry | None = None) -> None:
        self._access = access
        self._retry = retry or Retry()

    def __call__(self, action: Callable[[Store[Any]], T]) -> T:
        """
        The result of an idempotent action.

        Raises:
            StoreError: as the action, at the last attempt.
        """
        results: list[T] = []

        def call() -> None:
            with self._access() as store:
                results.append(action(store))

        self._retry.run(call, on_attempt=lambda: None, should_continue=lambda: True)
        return results[-1]


def rows_in_pages(
    calls: StoreCalls, table: str, keys: Range, distribution: Distribution | None, times: TimeRange = ALL_TIMES
) -> Iterator[UpdateRow]:
    """
    The update rows of a range, in the order of their keys, with their original row keys.

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
