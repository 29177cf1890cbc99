"""
The right to rewrite the update rows of a table, for one process at a time: a property of the table.

Two processes that rewrote the same rows could write merged rows of intervals that overlap, and one could restore what
the other has rolled back. So a compaction or rollback takes the lease, renews it while it works, and each process that
writes for it checks it before each write.

The owner of a lease that remains after `kill -9` is known to be gone

- in a store that only one process may write: the lock of the store excludes the owner, so another process that has
  opened the store for writing takes the lease over at once;
- in every store, once the last renewal is two minutes old. Whoever writes for the owner stops after one minute without
  a renewal, and no call to a store takes that long. The clocks of the machines may differ by 30 s, as those of HBase's
  region servers (`hbase.master.maxclockskew`).
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import orjson

from ingest.api import ConflictError, IntegrityError, LifecycleError, Store
from ingest.clock import now_ms
from ingest.durable.lock import this_process
from ingest.formats.times import moment

LEASE = "lease"
"""Name of the property."""
VALID_MS = 120_000
"""A lease without a renewal for so long may be taken over."""
WRITES_MS = VALID_MS // 2
"""A lease without a renewal for so long allows no write."""


class StoredLease(NamedTuple):
    """
    A lease as it is stored.

    Attributes:
        id: unique.
        process: unique to the process that has taken it.
        owner: the process, for messages.
        work: what it does with the table, as in "compaction".
        renewed_ms: time of the last renewal, ms since the epoch.
    """

    id: str
    process: str
    owner: str
    work: str
    renewed_ms: int

    def to_text(self) -> str:
        """The value of the property."""
        return orjson.dumps(self._asdict(), option=orjson.OPT_SORT_KEYS).decode()

    @classmethod
    def from_text(cls, text: str, table: str) -> "StoredLease":
        """
        The lease of a text that `to_text` wrote.

        Raises:
            IntegrityError: it is none.
        """
        try:
            return cls(**orjson.loads(text))
        except (ValueError, TypeError) as error:
            raise IntegrityError(
                f'the lease of table "{table}" cannot be read', hint="use the version that wrote it, or a later one"
            ) from error


@dataclass(frozen=True, slots=True)
class LeaseCheck:
    """
    Checks a lease in any process that writes for its owner; can be pickled.

    Attributes:
        id: of the stored lease.
    """

    table: str
    id: str

    def __call__(self, store: Store[Any], clock_ms: Callable[[], int] = now_ms) -> None:
        """
        Check, before a write, that the lease is valid.

        Raises:
            ConflictError: another process has taken it, or its owner has not renewed it for a minute.
            StoreError: the store is unavailable.
        """
        stored = _read(store, self.table)[1]
        if stored is None or stored.id != self.id or clock_ms() - stored.renewed_ms > WRITES_MS:
            raise _lost(self.table, stored, self.id)


class TableLease:
    """
    The lease of one table, in the process that rewrites its rows.

    Called by one thread at a time. Order: `take`, then `renew` several times a minute, then `release`.

    Args:
        table: its name; it exists.
        work: for messages, as in "compaction".
        process: unique to this process.
        clock_ms: milliseconds since the epoch.
    """

    def __init__(
        self, table: str, work: str, *, process: str | None = None, clock_ms: Callable[[], int] = now_ms
    ) -> None:
        self._table = table
        self._clock_ms = clock_ms
        self._new = StoredLease(secrets.token_hex(8), process or _process(), this_process(), work, 0)
        self._is_taken = False

    @property
    def check(self) -> LeaseCheck:
        """Checks this lease."""
        return LeaseCheck(self._table, self._new.id)

    def take(self, store: Store[Any]) -> None:
        """
        Take the lease; it is durable when this returns.

        Args:
            store: open for writing.

        Raises:
            ConflictError: another compaction or rollback of the table runs, or its owner may be alive.
            StoreError: the store is unavailable.
        """
        text, stored = _read(store, self._table)
        # its own if the answer to an earlier call was lost
        if stored is not None and stored.id != self._new.id and not self._is_gone(store, stored):
            raise self._refused(stored)
        if not self._set(store, text):
            raise self._refused(_read(store, self._table)[1])

    def renew(self, store: Store[Any]) -> None:
        """
        Renew the lease.

        Raises:
            ConflictError: another process has taken it.
            StoreError: the store is unavailable; the caller may repeat the call.
        """
        if not self._is_taken:
            raise LifecycleError("a lease is renewed before it is taken")
        text, stored = _read(store, self._table)  # not as this process knows it: the answer to a call may be lost
        if stored is None or stored.id != self._new.id or not self._set(store, text):
            raise _lost(self._table, stored, self._new.id)

    def release(self, store: Store[Any]) -> None:
        """End the lease; nothing if it was not taken or is lost."""
        text, stored = _read(store, self._table)
        if stored is not None and stored.id == self._new.id:
            store.set_property(self._table, LEASE, text, None)
        self._is_taken = False

    def _set(self, store: Store[Any], before: str | None) -> bool:
        text = self._new._replace(renewed_ms=self._clock_ms()).to_text()
        if not store.set_property(self._table, LEASE, before, text):
            return False
        self._is_taken = True
        return True

    def _is_gone(self, store: Store[Any], stored: StoredLease) -> bool:
        is_locked_out = store.capabilities.written_by_driver and stored.process != self._new.process
        return is_locked_out or self._clock_ms() - stored.renewed_ms > VALID_MS

    def _refused(self, stored: StoredLease | None) -> ConflictError:
        by = ""
        if stored is not None:
            by = f": a {stored.work} by {stored.owner}, last active at {moment(stored.renewed_ms)}"
        return ConflictError(
            f'the updates of table "{self._table}" are being rewritten{by}',
            code="table_in_use",
            hint=f"wait until it has ended; if that process was killed, run the command again after "
            f"{VALID_MS // 1000} s",
        )


def _lost(table: str, stored: StoredLease | None, lease_id: str) -> ConflictError:
    """The error of a process whose lease has ended."""
    is_old = stored is not None and stored.id == lease_id
    why = "it was not renewed in time" if is_old else "another process has taken it"
    return ConflictError(
        f'the lease of table "{table}" is lost: {why}',
        code="table_lease_lost",
        hint="run the command again; what is written is complete",
    )


def _read(store: Store[Any], table: str) -> tuple[str | None, StoredLease | None]:
    text = store.properties(table).get(LEASE)
    return text, None if text is None else StoredLease.from_text(text, table)


@cache
def _process() -> str:
    """A text that no other process has; a pid is used again."""
    return secrets.token_hex(8)
