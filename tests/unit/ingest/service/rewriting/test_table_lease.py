"""The lease of a table for the time of a block, and access to its store for several threads."""

import threading

from ingest.service.rewriting.table_lease import leased
from sinks.rewriting.store_calls import one_at_a_time
from sinks.rewriting.table_lease import LEASE, TableLease
from tests.support.updated_table import TABLE, UpdatedTable, unavailable


def test_released_lease_that_cannot_be_reached_ends_by_itself():
    table = UpdatedTable()
    calls = table.calls
    lease = TableLease(TABLE, "compaction")
    with leased(calls, lease):
        table.store.set_property = _raise


def test_lease_is_renewed_in_the_meantime():
    table, renewed = UpdatedTable(), threading.Event()
    lease = TableLease(TABLE, "compaction")
    renew, failures = lease.renew, [unavailable()]

    def renewing(store) -> None:
        if failures:
            raise failures.pop()
        renew(store)
        renewed.set()

    lease.renew = renewing
    with leased(table.calls, lease, renew_s=0.001) as check:
        assert renewed.wait(10)
        check(table.store)
    assert LEASE not in table.store.properties(TABLE)


def test_store_is_used_by_one_thread_at_a_time():
    access = one_at_a_time(UpdatedTable().store)
    with access():
        waiting = threading.Thread(target=lambda: access().__enter__(), daemon=True)
        waiting.start()
        waiting.join(0.05)
        assert waiting.is_alive()
    waiting.join(10)
    assert not waiting.is_alive()


def _raise(*_arguments: object) -> bool:
    raise unavailable()
