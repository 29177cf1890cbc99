"""
The right to rewrite the update rows of a table, for one process at a time: a lease in a property of the table.

Two processes that rewrote the same rows could write merged rows of intervals that overlap, and one could restore what
the other has rolled back. So a compaction or rollback has the lease while it works, and each process that writes for it
checks it before each write.

In a store that only one process may write, an owner in another process has ended: the lock of the store excludes it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from ingest.api import Store
from ingest.durable.lease import Lease, Timing, require_grant
from ingest.durable.register import Register

LEASE = "lease"
"""Name of the property."""
LATE_S = 60.0
"""No call to a store takes longer: what the last owner has checked has happened then."""
_T = TypeVar("_T")


class Calls(Protocol):
    """Calls a store; as `StoreCalls`."""

    def __call__(self, action: Callable[[Store[Any]], _T]) -> _T:
        """The result of an idempotent action; raises StoreError as the action does."""


class PropertyRegister(Register):
    """A register in a property of a table, which exists."""

    def __init__(self, calls: Calls, table: str, name: str) -> None:
        self._calls = calls
        self._table = table
        self._name = name

    def __str__(self) -> str:
        return f"{self._name} of table {self._table}"

    def read(self) -> str | None:
        """The property."""
        return self._calls(lambda store: store.properties(self._table).get(self._name))

    def replace(self, before: str | None, after: str | None) -> bool:
        """Replace the property."""
        return self._calls(lambda store: store.set_property(self._table, self._name, before, after))


@dataclass(frozen=True, slots=True)
class LeaseCheck:
    """
    Checks a lease in any process that writes for its owner; can be pickled.

    Attributes:
        id: of the grant.
    """

    table: str
    id: str

    def __call__(self, store: Store[Any]) -> None:
        """
        Check, before a write, that the lease is valid.

        Raises:
            ConflictError: `lease_lost`: another process has taken it.
            StoreError: the store is unavailable.
        """

        def call(action: Callable[[Store[Any]], _T]) -> _T:
            return action(store)

        require_grant(PropertyRegister(call, self.table, LEASE), self.id)


@contextmanager
def leased(
    calls: Calls,
    table: str,
    activity: str,
    *,
    wait: Callable[[float], object],
    on_wait: Callable[[str], None] = lambda _message: None,
) -> Iterator[LeaseCheck]:
    """
    Have the lease of a table within the block; yields what checks it before a write.

    Args:
        calls: of the store, which is open for writing; several threads may call.
        table: its name; it exists.
        activity: for messages, as in "compaction".
        wait: waits for a number of seconds; raises to end a wait for the lease.
        on_wait: called with a message when it waits.

    Raises:
        ConflictError: another compaction or rollback of the table runs.
        StoreError: the store is unavailable.
    """
    with Lease(
        PropertyRegister(calls, table, LEASE),
        what=f'table "{table}"',
        hint="wait until it has ended",
        activity=activity,
        is_only_writer=calls(lambda store: store.capabilities.written_by_driver),
        on_wait=on_wait,
        timing=Timing(late_s=LATE_S, wait=wait),
    ) as lease:
        yield LeaseCheck(table, lease.id)
