"""Calls to a store that other threads use as well."""

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from itertools import islice
from typing import Any, TypeVar, cast

from ingest.api import Store
from ingest.retry import Retry
from sinks.writing.retry import store_retry

T = TypeVar("T")
_ROWS_TOGETHER = 100
"""Of a scan, which may have large values."""
Access = Callable[[], AbstractContextManager[Store[Any]]]
"""Returns the open store, for the block; as `DriverStore.held`."""


class StoreCalls:
    """
    Calls a store, between which other threads may use it; a call is repeated a few times if it is busy or unavailable.

    Args:
        access: to the store.
        retry: how often a call is repeated.
    """

    def __init__(self, access: Access, retry: Retry | None = None) -> None:
        self._access = access
        self._retry = retry or store_retry()

    def __call__(self, action: Callable[[Store[Any]], T]) -> T:
        """
        The result of an idempotent action.

        Raises:
            StoreError: as the action, at the last attempt.
        """

        def call() -> T:
            with self._access() as store:
                return action(store)

        return self._retry.run(call)


def one_at_a_time(store: Store[Any]) -> Access:
    """Access to an open store for several threads."""
    lock = threading.Lock()

    @contextmanager
    def held() -> Iterator[Store[Any]]:
        with lock:
            yield store

    return held


def each_call(access: Access) -> Store[Any]:
    """
    A store that other threads use as well: each call has access for itself, and each part of a scan.

    Its holder opens and closes it.
    """
    return cast("Store[Any]", _EachCall(access))


class _EachCall:
    """As `each_call`."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        with self._access() as store:
            found = getattr(store, name)
        return partial(self._call, name) if callable(found) else found

    def _call(self, name: str, *arguments: Any, **named: Any) -> Any:
        with self._access() as store:
            result = getattr(store, name)(*arguments, **named)
        return self._parts(result) if isinstance(result, Generator) else result

    def _parts(self, rows: Generator[T]) -> Generator[T]:
        with closing(rows):
            while True:
                with self._access():
                    part = list(islice(rows, _ROWS_TOGETHER))
                if not part:
                    return
                yield from part
