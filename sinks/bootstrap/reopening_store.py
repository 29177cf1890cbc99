"""Calls a store until it is available."""

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from typing import Any, TypeVar

from ingest.api import NotFoundError, Row, Scan, Store, UpdatesDifferError
from ingest.retry import Retry
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.plain_reader import PlainReader
from sinks.updates.table_updates import UPDATES_HINT
from sinks.writing.retry import store_retry
from sinks.writing.retrying_store import RetryingStore
from sinks.writing.target import Target, store_below

T = TypeVar("T")

LONG_RETRY = store_retry(attempts=120, max_s=5.0)
"""Repeats a call for about five minutes, longer than HBase takes to recover a region server."""
_PAGE_ROWS = 5_000
_PAGE_BYTES = 8 << 20
_CALL_ROWS = 200  # gets that are repeated together


class ReopeningStore:
    """
    A store that is opened when it is first used, and again after it was unavailable.

    Called by one thread.

    Args:
        store: not open; or what is around one, for its mutations.
        retry: how often a call is repeated.
        clock: monotonic seconds.

    Attributes:
        retrying: sends mutations, with the same store.
    """

    def __init__(self, store: Target, retry: Retry = LONG_RETRY, clock: Callable[[], float] = time.monotonic) -> None:
        self.retrying = RetryingStore(store, retry, clock)

    def call(self, request: Callable[[Store[Any]], T]) -> T:
        """
        The result of an idempotent request, which is repeated until the store is available.

        Raises:
            StoreError: as the request, at the last attempt.
        """
        return self.retrying.call(lambda target: request(store_below(target)))

    def rows(self, table: str) -> Generator[Row]:
        """All rows of a table, in the order of their logical keys; none of a table that does not exist."""
        scan = Scan(limit=_PAGE_ROWS)
        page = self.call(lambda store: _page(store, table, scan))
        while page:
            yield from page
            scan = scan.after(page[-1].key)
            page = self.call(lambda store, scan=scan: _page(store, table, scan))  # type: ignore[misc]

    def rows_of(self, table: str, keys: Sequence[bytes]) -> dict[bytes, Row]:
        """The rows of these logical keys that a table has, as they are now; none of a table that does not exist."""
        found: dict[bytes, Row] = {}
        for first in range(0, len(keys), _CALL_ROWS):
            part = keys[first : first + _CALL_ROWS]
            found |= self.call(lambda store, part=part: _rows_of(store, table, part))  # type: ignore[misc]
        return found

    def close(self) -> None:
        """Close the store."""
        self.retrying.close()


def size_of_row(row: Row) -> int:
    """Bytes of the row key and the values."""
    return len(row.key) + sum(len(cell.value) for cell in row.cells)


def _reader(store: Store[Any], table: str) -> PlainReader:
    """The reader of a table of values; whoever uses the store refuses others before (`require_values`)."""
    rows = RowFormat.recorded(store, table)
    if rows.updates:
        raise UpdatesDifferError(table, "", rows.updates, hint=UPDATES_HINT)
    return PlainReader(store, table, rows.buckets)


def _page(store: Store[Any], table: str, scan: Scan) -> list[Row]:
    page: list[Row] = []
    size = 0
    with suppress(NotFoundError), closing(_reader(store, table).scan(scan)) as rows:
        for row in rows:
            page.append(row)
            size += size_of_row(row)
            if size >= _PAGE_BYTES:
                break
    return page


def _rows_of(store: Store[Any], table: str, keys: Sequence[bytes]) -> dict[bytes, Row]:
    with suppress(NotFoundError):
        reader = _reader(store, table)
        return {row.key: row for row in map(reader.get, keys) if row is not None}
    return {}
