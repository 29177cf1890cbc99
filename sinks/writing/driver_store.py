"""A store that the driver opens when it is first used; one thread at a time uses it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ingest.api import Capabilities, LifecycleError, Store, StoreUnavailableError


class DriverStore:
    """
    A store that only the driver may write, or creates families in; pipelines of a service share it.

    It is opened when it is first used, and again after it was unavailable. So a store that is unavailable when the
    service starts does not delay pipelines that do not need it.

    Args:
        store: not open.
        prepare: called once, after the store was opened for the first time.
    """

    def __init__(self, store: Store[Any], prepare: Callable[[Store[Any]], None] = lambda _store: None) -> None:
        self._store = store
        self._prepare = prepare
        self._lock = threading.Lock()
        self._is_prepared = False
        self._is_open = False
        self._is_over = False

    @property
    def capabilities(self) -> Capabilities:
        """What the store can do."""
        return self._store.capabilities

    def open(self) -> None:
        """
        Open the store, unless it is open or another thread is using it.

        Raises:
            StoreUnavailableError: it cannot be reached now.
            IngestError: it cannot be opened or prepared.
        """
        if self._lock.acquire(blocking=False):
            try:
                self._reach()
            finally:
                self._lock.release()

    @contextmanager
    def held(self) -> Iterator[Store[Any]]:
        """
        The open store, for a block with exclusive use of it.

        Raises:
            IngestError: as `open`.
        """
        with self._lock:
            self._reach()
            try:
                yield self._store
            except StoreUnavailableError:
                self._let_go()
                raise

    def close(self) -> None:
        """Close it for good, without waiting for a call that hangs."""
        self._is_over = True
        self._let_go()

    def _reach(self) -> None:
        if self._is_over:
            raise LifecycleError("a store of the driver is used after it was closed")
        if self._is_open:
            return
        try:
            self._store.open()
            if not self._is_prepared:
                self._prepare(self._store)
        except BaseException:
            self._let_go()
            raise
        self._is_open = self._is_prepared = True

    def _let_go(self) -> None:
        self._is_open = False
        self._store.close()
