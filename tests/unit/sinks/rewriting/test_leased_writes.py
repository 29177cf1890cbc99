"""Writes to update rows under a lease."""

import pytest

from ingest.api import ConflictError, Put, Store
from sinks.rewriting.leased_writes import LeasedWrites
from sinks.updates.keys import UpdateKey
from tests.support.update_rows import VALUE
from tests.support.updated_table import TABLE, UpdateWriter

KEYS = [UpdateKey(b"%d" % number, 1) for number in range(5)]
PUTS = [Put(key.encoded(), {VALUE: b"1"}, 0) for key in KEYS]


@pytest.mark.parametrize("buckets", [None, 4])
def test_rows_are_written_in_one_call_and_removed_in_several(buckets: int | None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sinks.rewriting.leased_writes.CALL_ROWS", 2)
    table, events = UpdateWriter(buckets=buckets), []
    table.store.checks_deletes = False
    writes = LeasedWrites(table.calls, TABLE, table.rows, lambda _store: events.append("check"))
    writes.put(PUTS)
    assert (table.update_keys(), table.store.calls, events) == ({*KEYS}, ["apply"], ["check"])
    writes.remove(KEYS, lambda: events.append("removed"))
    assert (table.update_keys(), table.store.calls[1:]) == (set(), ["remove_rows"] * 3)
    assert events[1:] == ["check", "removed"] * 3
    writes.put([])
    writes.remove([])
    assert len(table.store.calls) == 4


def test_lost_lease_writes_nothing():
    table = UpdateWriter()

    def check(_store: Store) -> None:
        raise ConflictError("lost")

    writes = LeasedWrites(table.calls, TABLE, table.rows, check)
    for write in (lambda: writes.put(PUTS), lambda: writes.remove(KEYS)):
        with pytest.raises(ConflictError):
            write()
    assert table.store.calls == []
