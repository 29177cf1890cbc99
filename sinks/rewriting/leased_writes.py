"""Writes to the update rows of a table, by the process that has its lease."""

from collections.abc import Callable, Sequence
from typing import Any

from ingest.api import Delete, Put, Store
from sinks.rewriting.store_calls import StoreCalls
from sinks.rowkeys.mutations import with_physical_keys
from sinks.rowkeys.row_format import RowFormat
from sinks.updates.keys import UpdateKey, time_of

CALL_ROWS = 1_000
"""Rows that one call deletes."""


def delete_of(key: UpdateKey) -> Delete:
    """The delete of an update row, whose cells have the batch time of its last update id."""
    return Delete(key.encoded(), time_of(key.last))


class LeasedWrites:
    """
    Writes and removes update rows of one table; checks the lease before each call.

    Args:
        calls: of the store.
        table: its name.
        row_format: of the table.
        check: called with the store before each write; raises if this process may not write any more.
    """

    def __init__(
        self, calls: StoreCalls, table: str, row_format: RowFormat, check: Callable[[Store[Any]], None]
    ) -> None:
        self._calls = calls
        self._table = table
        self._check = check
        self._physical_key = row_format.physical_key()

    def put(self, puts: Sequence[Put]) -> None:
        """
        Write rows in one call; durable when this returns.

        Raises:
            WriteRejectedError: the store rejects a row.
            StoreError: the store is unavailable.
        """
        stored = puts if self._physical_key is None else with_physical_keys(puts, self._physical_key)

        def apply(store: Store[Any]) -> None:
            self._check(store)
            store.apply(self._table, stored)

        if puts:
            self._calls(apply)

    def remove(self, keys: Sequence[UpdateKey], on_call: Callable[[], None] = lambda: None) -> None:
        """
        Remove rows that are never written again; durable when this returns.

        Args:
            keys: of the rows.
            on_call: called after each call, of up to 1,000 rows.

        Raises:
            StoreError: the store is unavailable.
        """
        for first in range(0, len(keys), CALL_ROWS):
            self._remove([delete_of(key) for key in keys[first : first + CALL_ROWS]])
            on_call()

    def _remove(self, deletes: Sequence[Delete]) -> None:
        mutations = deletes if self._physical_key is None else with_physical_keys(deletes, self._physical_key)
        stored = [one for one in mutations if isinstance(one, Delete)]

        def remove(store: Store[Any]) -> None:
            self._check(store)
            store.remove_rows(self._table, stored)

        self._calls(remove)
