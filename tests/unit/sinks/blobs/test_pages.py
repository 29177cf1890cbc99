"""Rows of a scan come in pages, each read at once."""

from collections.abc import Generator

import pytest

from ingest.api import FamilySpec, Put, Row, Scan, TableSpec
from sinks.blobs import pages
from sinks.blobs.pages import paged
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


class ScanningStore(MemoryStore):
    """Counts the scans that are open."""

    def __init__(self) -> None:
        super().__init__()
        self.open_scans = 0

    def scan(self, table: str, scan: Scan) -> Generator[Row]:
        self.open_scans += 1
        try:
            yield from super().scan(table, scan)
        finally:
            self.open_scans -= 1


def test_no_scan_is_open_while_the_caller_uses_a_row(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pages, "PAGE_ROWS", 3)
    store = ScanningStore()
    store.open()
    store.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
    store.apply("t", [Put(key, {b"f:q": b"1"}, 1) for key in KEYS])
    assert [(row.key, store.open_scans) for row in paged(store, "t", Scan())] == [(key, 0) for key in KEYS]
