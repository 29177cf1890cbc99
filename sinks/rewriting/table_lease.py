"""
The right to rewrite the update rows of a table, for one process at a time: a lease in a property of the table.

Two processes that rewrote the same rows could write merged rows of intervals that overlap, and one could restore what
the other has rolled back. So a compaction or rollback has the lease while it works, and each process that writes for it
checks it before each write.

A process that takes over waits for the longest time of a call: what the last owner has checked has happened then. In a
store that only one process may write, an owner in another process has ended: the lock of the store excludes it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ingest.api import Store
from ingest.durable.lease import Lease, Timing, require_grant
from ingest.durable.property_register import Calls, PropertyRegister, calls_of

LEASE = "lease"
"""Name of the property."""


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
        require_grant(PropertyRegister(calls_of(store), self.table, LEASE), self.id)


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
    capabilities = calls(lambda store: store.capabilities)
    with Lease(
        PropertyRegister(calls, table, LEASE),
        what=f'table "{table}"',
        hint="wait until it has ended",
        activity=activity,
        is_only_writer=capabilities.written_by_driver,
        on_wait=on_wait,
        timing=Timing(late_s=capabilities.call_s, wait=wait),
    ) as lease:
        yield LeaseCheck(table, lease.id)
