"""Calls that are repeated until the store is available."""

import pytest

from ingest.api import Cell, FamilySpec, NotFoundError, Put, Row, StoreUnavailableError, TableSpec
from sinks.bootstrap import reopening_store
from sinks.bootstrap.reopening_store import ReopeningStore
from sinks.memory import MemoryStore
from sinks.rowkeys.distribution import physical_key
from sinks.writing.retry import store_retry
from tests.support.bootstraps import SHORT

KEYS = sorted(b"%d" % number for number in range(10))


class Failing(MemoryStore):
    """Fails at some calls of `record`, with which each read begins."""

    calls = 0
    failures = frozenset[int]()
    opened = 0

    def open(self) -> None:
        self.opened += 1
        super().open()

    def record(self, table):
        self.calls += 1
        if self.calls in self.failures:
            raise StoreUnavailableError("away")
        return super().record(table)


@pytest.fixture(params=[None, 3])
def store(request, monkeypatch):
    monkeypatch.setattr(reopening_store, "_PAGE_ROWS", 4)
    monkeypatch.setattr(reopening_store, "_CALL_ROWS", 4)
    made = Failing()
    made.open()
    made.ensure_table(TableSpec("t", (FamilySpec(b"f"),), buckets=request.param))
    made.apply("t", [Put(physical_key(key, request.param), {b"f:q": key}, 1) for key in KEYS])
    made.close()
    made.opened = 0
    return made


def row(key: bytes) -> Row:
    return Row(key, (Cell(b"f", b"q", 1, key),))


def test_rows_of_all_pages_come_in_the_order_of_logical_keys(store):
    store.failures = {2, 3}
    found = ReopeningStore(store, SHORT)
    assert list(found.rows("t")) == [row(key) for key in KEYS]
    assert store.opened == 3
    found.close()


def test_pages_are_bounded_by_bytes(store, monkeypatch):
    monkeypatch.setattr(reopening_store, "_PAGE_BYTES", 4)
    assert list(ReopeningStore(store, SHORT).rows("t")) == [row(key) for key in KEYS]
    assert store.calls == 6  # two rows each


def test_rows_of_keys(store):
    store.failures = {2}
    found = ReopeningStore(store, SHORT).rows_of("t", [*KEYS, b"missing"])
    assert found == {key: row(key) for key in KEYS}


def test_missing_table_has_no_rows(store):
    found = ReopeningStore(store, SHORT)
    assert list(found.rows("other")) == []
    assert found.rows_of("other", [b"1"]) == {}


def test_last_attempt_fails(store):
    store.failures = frozenset(range(1, 9))
    pauses = []
    with pytest.raises(StoreUnavailableError):
        ReopeningStore(store, store_retry(attempts=4, sleep=pauses.append)).rows_of("t", KEYS)
    assert (store.opened, len(pauses)) == (4, 3)


def test_other_errors_are_not_repeated(store):
    calls = []

    def request(_store):
        calls.append(1)
        raise NotFoundError("no")

    with pytest.raises(NotFoundError):
        ReopeningStore(store, SHORT).call(request)
    assert len(calls) == 1
