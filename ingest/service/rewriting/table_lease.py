"""The lease of a table, for the time of a block."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ingest.api import IngestError
from ingest.observe.logs import logger
from sinks.rewriting.store_calls import StoreCalls
from sinks.rewriting.table_lease import LeaseCheck, TableLease

RENEW_S = 20.0
"""A third of the time after which nothing may be written without a renewal."""
_log = logger(__name__)


@contextmanager
def leased(calls: StoreCalls, lease: TableLease, *, renew_s: float = RENEW_S) -> Iterator[LeaseCheck]:
    """
    Take a lease, renew it in a thread, and release it after the block; yields what checks it before a write.

    If it cannot be renewed, the check fails; the block need not look at anything else.

    Args:
        calls: of the store; several threads may call.
        lease: of the table.
        renew_s: seconds between two renewals.

    Raises:
        ConflictError: another compaction or rollback of the table runs.
        StoreError: the store is unavailable.
    """
    calls(lease.take)
    ended = threading.Event()

    def renew() -> None:
        while not ended.wait(renew_s):
            try:
                calls(lease.renew)
            except IngestError as error:  # the next check of the lease fails, unless a later renewal succeeds
                _log.warning("the lease of a table was not renewed", reason=str(error))

    thread = threading.Thread(target=renew, name="lease", daemon=True)
    thread.start()
    try:
        yield lease.check
    finally:
        ended.set()
        thread.join()
        try:
            calls(lease.release)
        except IngestError as error:  # it ends by itself
            _log.warning("the lease of a table was not released", reason=str(error))
