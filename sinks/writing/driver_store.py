"""A store of the driver: opened when it is first used, by one thread at a time."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ingest.api import Capabilities, LifecycleError, Store, StoreUnavailableError


class DriverStore:
    """
    A store that only the driver writes, or in which it creates families; the pipelines of a service share it.

    It is opened when it is first used, and again after it was unavailable. So a store that is unavailable when the
    service starts does not delay pipelines that do not use it.

    Args:
        store: not open.
        prepare: called once, after the store has been opened for the first time.
    """

    def __init__(self, store: Store[Any], prepare: Callable[[Store[Any]], None] = lambda _store: None) -> None:
        self._store = store
        self._prepare = prepare
        self._lock = threading.RLock()
        self._is_prepared = False
        self._is_open = False
        self._is_closed = False

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
                self._ensure_open()
            finally:
                self._lock.release()

    @contextmanager
    def held(self) -> Iterator[Store[Any]]:
        """
        The open store, locked for the block, within which the same thread may hold it again.

        Raises:
            IngestError: as `open`.
        """
        with self._lock:
            self._ensure_open()
            try:
                yield self._store
            except StoreUnavailableError:
                self._disconnect()
                raise

    def close(self) -> None:
        """Close it for good, without waiting for a call that hangs."""
        self._is_closed = True
        self._disconnect()

    def _ensure_open(self) -> None:
        if self._is_closed:
            raise LifecycleError("a store of the driver is used after close")
        if self._is_open:
            return
        try:
            self._store.open()
            if not self._is_prepared:
                self._prepare(self._store)
        except BaseException:
            self._disconnect()
            raise
        self._is_open = self._is_prepared = True

    def _disconnect(self) -> None:
        self._is_open = False
        self._store.close()
