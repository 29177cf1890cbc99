"""Rows of a scan come in pages, each read at once."""

import pytest

from ingest.api import FamilySpec, Put, Scan, TableSpec
from sinks.bodies import pages
from sinks.bodies.pages import paged
from sinks.memory import MemoryStore

KEYS = [b"%02d" % number for number in range(10)]


@pytest.mark.parametrize("page", [1, 3, 5, 10, 11])
@pytest.mark.parametrize("limit", [None, 0, 1, 3, 4, 10, 20])
def test_rows_are_those_of_the_scan(monkeypatch: pytest.MonkeyPatch, page: int, limit: int | None):
    monkeypatch.setattr(pages, "PAGE_ROWS", page)
    store = MemoryStore()
    store.open()
    store.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
    store.apply("t", [Put(key, {b"f:q": b"1"}, 1) for key in KEYS])
    for scan in (Scan(limit=limit), Scan(b"02", b"08", limit=limit), Scan(prefix=b"0", limit=limit)):
        assert list(paged(store, "t", scan)) == list(store.scan("t", scan))


def test_caller_may_delete_rows_while_it_reads(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pages, "PAGE_ROWS", 3)
    store = MemoryStore()
    store.open()
    store.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
    store.apply("t", [Put(key, {b"f:q": b"1"}, 1) for key in KEYS])
    found = []
    for row in paged(store, "t", Scan()):
        found.append(row.key)
        store.apply("t", [Put(row.key + b"x", {b"f:q": b"1"}, 1)])
    assert [key for key in found if len(key) == 2] == KEYS
