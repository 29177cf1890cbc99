"""Scans of several buckets that are read ahead over several connections."""

import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from itertools import islice
from types import TracebackType
from typing import Any, Self

from ingest.api import LifecycleError, Row, Scan, ScanCounts, Store

PAGES_AHEAD = 2
"""Pages of a bucket that wait for the reader: one that it merges, and one that arrives meanwhile."""

CLOSE_S = 5.0
"""How long the end of a scan waits for calls that are running; their threads end with the calls."""


class ReadAhead:
    """
    Reads several scans of one table ahead, over a bounded number of connections, each in its own thread.

    Use it as a context manager; leaving it ends the threads, and closes their scanners and connections. The first error
    of a connection is raised by all iterators. Each scan belongs to one connection, so the order of its rows is kept.

    Args:
        new_store: creates a store for reading, not open.
        table: its name.
        scans: to be read.
        connections: maximum number of them.
    """

    def __init__(
        self, new_store: Callable[[], Store[Any]], table: str, scans: Sequence[Scan], connections: int
    ) -> None:
        self._new_store = new_store
        self._table = table
        self._scans = scans
        self._pages: list[deque[list[Row]]] = [deque() for _ in scans]
        self._has_ended = [False] * len(scans)
        self._error: BaseException | None = None
        self._closing = False
        self._changed = threading.Condition()
        count = min(connections, len(scans))
        self._counts = [ScanCounts() for _ in range(count)]
        # daemon: a call that never returns must not keep the process alive
        self._threads = [
            threading.Thread(target=self._work, args=(range(number, len(scans), count), counts), daemon=True)
            for number, counts in enumerate(self._counts)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(CLOSE_S)

    def rows(self, number: int) -> Generator[Row]:
        """
        The rows of a scan.

        Raises:
            IngestError: a connection failed.
        """
        while True:
            with self._changed:
                while not self._pages[number] and not self._has_ended[number] and self._error is None:
                    if self._closing:
                        raise LifecycleError("a scan is read after its end")
                    self._changed.wait()
                if self._error is not None:
                    raise self._error
                if not self._pages[number]:
                    return
                page = self._pages[number].popleft()
                self._changed.notify_all()
            yield from page

    def add_counts(self, counts: ScanCounts) -> None:
        """Add the work of all scans; after the context has been left."""
        for each in self._counts:
            counts.add(each)

    def _work(self, numbers: Sequence[int], counts: ScanCounts) -> None:
        store = self._new_store()
        scans: dict[int, Generator[Row]] = {}
        try:
            store.open()
            scans = {number: store.scan(self._table, self._scans[number], counts) for number in numbers}
            while (number := self._next(numbers)) is not None:
                page = list(islice(scans[number], self._scans[number].page_rows))
                with self._changed:
                    self._pages[number].append(page)
                    self._has_ended[number] = len(page) < self._scans[number].page_rows
                    self._changed.notify_all()
        except BaseException as error:  # noqa: BLE001 - raised in the thread of the reader
            with self._changed:
                self._error = self._error or error
                self._changed.notify_all()
        finally:
            for scan in scans.values():
                scan.close()
            store.close()

    def _next(self, numbers: Sequence[int]) -> int | None:
        """The scan of which the fewest pages wait; None once all have ended, or at the end."""
        with self._changed:
            while not self._closing and self._error is None:
                open_scans = [number for number in numbers if not self._has_ended[number]]
                if not open_scans:
                    return None
                number = min(open_scans, key=lambda each: len(self._pages[each]))
                if len(self._pages[number]) < PAGES_AHEAD:
                    return number
                self._changed.wait()
            return None
