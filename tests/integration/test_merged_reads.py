"""Merged reads of tables with deferred updates in a real HBase, while compactions change them."""

from collections.abc import Iterator

import pytest

from ingest.api import Scan
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.rewriting.incomplete_updates import apply_to_updates
from sinks.rewriting.update_readers import MergedReader
from sinks.rowkeys.row_format import RowFormat
from sinks.updates.compaction import CompactionRules
from sinks.updates.keys import UpdateKey, update_id_of
from tests.support.names import unique
from tests.support.servers import HBase, Protocol
from tests.support.stored_updates import BetweenPages, compact, create, update
from tests.support.update_rows import SUM

KEYS = [b"a", b"a\x00", b"ab", b"b\xff", b"c"]
UPDATES = 7


@pytest.fixture(scope="module")
def store(hbase: HBase, protocol: Protocol) -> Iterator[HBaseStore]:
    made = HBaseStore.of(HBaseSettings(**{"timeout": "60s"} | hbase.store_options(protocol, thrift2=True)))
    made.open()
    yield made
    made.close()


@pytest.fixture(params=[None, 3], ids=["plain", "salted"])
def table(request: pytest.FixtureRequest, store: HBaseStore) -> str:
    """A table with seven update rows of each row; a region starts within those of the row "ab"."""
    name = unique("merged")
    split = UpdateKey(b"ab", update_id_of(4, 0)).encoded()
    create(store, name, buckets=request.param, splits=(split,) if request.param is None else (b"\x01", b"\x02"))
    values = {b"f:v": b"1", b"g:w": b"2"}
    puts = [update(row, time_ms, values) for time_ms in range(1, UPDATES + 1) for row in KEYS]
    apply_to_updates(store, name, RowFormat.recorded(store, name), puts)
    return name


def values(store: HBaseStore, table: str, scan: Scan) -> dict[bytes, dict[bytes, bytes]]:
    found = MergedReader.of(store, table, SUM).scan(scan)
    return {row.key: {cell.qualifier: cell.value for cell in row.cells} for row in found}


def test_rows_are_merged_by_logical_keys(store: HBaseStore, table: str) -> None:
    for reverse in (False, True):
        found = values(store, table, Scan(page_rows=3, reverse=reverse))
        assert found == {row: {b"v": b"7", b"w": b"14"} for row in KEYS}
        assert list(found) == (KEYS[::-1] if reverse else KEYS)
        limited = Scan(start=b"a\x00", stop=b"b\xff", reverse=reverse, limit=1)
        assert list(values(store, table, limited)) == [b"ab" if reverse else b"a\x00"]
    reader = MergedReader.of(store, table, SUM)
    assert [row and row.cells for row in map(reader.get, (b"ab", b"b"))] == [
        ((b"f", b"v", UPDATES, b"7"), (b"g", b"w", UPDATES, b"14")),
        None,
    ]


@pytest.mark.parametrize(("page_rows", "reverse"), [(3, False), (2, True)])
def test_compaction_between_two_pages_of_one_row(store: HBaseStore, table: str, page_rows: int, reverse: bool) -> None:
    bounds = iter(range(2, UPDATES + 3))

    def between() -> None:
        if (bound := next(bounds, None)) is not None:
            compact(store, table, rules=CompactionRules(update_id_of(bound, 0)))

    with BetweenPages(store, between) as pages:
        found = values(store, table, Scan(page_rows=page_rows, reverse=reverse))
    assert found == {row: {b"v": b"7", b"w": b"14"} for row in KEYS}
    assert pages.pages
