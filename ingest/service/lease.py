"""The lease of a table, for the time of a block."""

from collections.abc import Iterator
from contextlib import contextmanager

from ingest.api import IngestError
from ingest.observe.logs import logger
from sinks.rewriting.groups_of_table import StoreCalls
from sinks.rewriting.table_lease import TableLease

_log = logger(__name__)


@contextmanager
def leased(calls: StoreCalls, lease: TableLease) -> Iterator[TableLease]:
    """
    Take a lease, and release it after the block, which renews it.

    Raises:
        ConflictError: another compaction or rollback of the table runs.
        StoreError: the store is unavailable.
    """
    calls(lease.take)
    try:
        yield lease
    finally:
        try:
            calls(lease.release)
        except IngestError as error:  # it ends by itself
            _log.warning("the lease of a table was not released", reason=str(error))
