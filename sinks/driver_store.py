"""A store in the hands of the driver: opened when it can be, used by one thread at a time."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ingest.api import Capabilities, LifecycleError, Store, StoreUnavailableError


class DriverStore:
    """
    A store that the driver alone may write, or makes families in; pipelines of a service share it.

    It is opened when it is first used, and again after it was not reached: one that is away when the service starts
    keeps nobody from starting who does not need it.

    Args:
        store: not open.
        prepare: done once, as soon as the store was opened for the first time.
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
        Reach the store, unless that was done; while somebody uses it, it is theirs to reach.

        Raises:
            StoreUnavailableError: it is not there now.
            IngestError: it can not be had, or not be prepared.
        """
        if self._lock.acquire(blocking=False):
            try:
                self._reach()
            finally:
                self._lock.release()

    @contextmanager
    def held(self) -> Iterator[Store[Any]]:
        """
        The open store, for a block that has it alone.

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
        """Let go of it for good; a call that hangs is not waited for."""
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
