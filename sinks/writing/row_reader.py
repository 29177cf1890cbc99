"""Reads rows in a task, through the store itself or, where tasks stage their mutations, through a reader of it."""

from collections.abc import Callable
from typing import Any, TypeVar

from ingest.api import Store, StoreUnavailableError
from ingest.api.table_writer import RowReader
from sinks.writing.sending import Sender
from sinks.writing.target import store_below

T = TypeVar("T")


class SenderReader(RowReader):
    """Reads through the connection that also writes."""

    reads_own_writes = True

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def read(self, request: Callable[[Store[Any]], T]) -> T:
        """Call the store on the thread of its connection."""
        return self._sender.call(lambda target: request(store_below(target)))

    def close(self) -> None:
        """Do nothing: the connection belongs to its sender."""


class SeparateReader(RowReader):
    """
    Reads a store that only the driver writes.

    Args:
        store: from `Store.reader`, not open.
    """

    reads_own_writes = False

    def __init__(self, store: Store[Any]) -> None:
        self._store = store
        self._is_open = False

    def read(self, request: Callable[[Store[Any]], T]) -> T:
        """Call the store, after opening it if needed."""
        try:
            if not self._is_open:
                self._store.open()
                self._is_open = True
            return request(self._store)
        except StoreUnavailableError:
            self.close()
            raise

    def close(self) -> None:
        """Close the store; the next call opens it again."""
        self._is_open = False
        self._store.close()
