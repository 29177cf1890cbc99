"""Updates that are rolled back, and calls of an earlier process that are executed after that."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ingest.api import ConflictError, FamilySpec, Put, Scan, Store, TableSpec
from sinks.memory import MemoryStore
from sinks.rewriting.incomplete_updates import remove_updates, remove_updates_after
from sinks.rewriting.leased_writes import delete_of
from sinks.rewriting.update_readers import MergedReader
from sinks.rewriting.withdrawn_times import withdrawn_times
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.mutations import with_physical_keys
from sinks.rowkeys.row_format import UPDATES, RowFormat
from sinks.scanning.raw_rows import RawRows
from sinks.scanning.update_rows import update_rows
from sinks.updates.intervals import Interval
from sinks.updates.keys import UpdateKey, update_id_of
from tests.support.update_rows import SUM

TABLE = "counters"


class Updated:
    """A table with updates."""

    def __init__(self, store: Store[Any], buckets: int | None) -> None:
        self.store = store
        store.open()
        splits = () if buckets is None else Distribution(buckets).splits()
        store.ensure_table(TableSpec(TABLE, (FamilySpec(b"f"), FamilySpec(b"g")), splits, buckets))
        store.set_property(TABLE, UPDATES, None, '{"processor": "sum"}')
        self.rows = RowFormat.recorded(store, TABLE)

    def write(self, row: bytes, time_ms: int, end_ms: int = 0) -> UpdateKey:
        """Write an update of a batch time, or a merged row, as a task does: always with these timestamps."""
        key = UpdateKey(row, update_id_of(time_ms, 1), update_id_of(end_ms, 1) if end_ms else 0)
        put = Put(key.encoded(), {b"f:v": b"1", b"g:v": b"1"}, end_ms or time_ms)
        physical_key = self.rows.physical_key()
        self.store.apply(TABLE, [put] if physical_key is None else with_physical_keys([put], physical_key))
        return key

    def found(self) -> list[bytes]:
        return sorted(row.key.row for row in update_rows(self.store, TABLE, self.rows))


@pytest.fixture(params=["memory", "rocksdb"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store[Any]]:
    made: Store[Any] = MemoryStore() if request.param == "memory" else RocksDBStore(RocksDBSettings(path=str(tmp_path)))
    with closing(made):
        yield made


def test_all_updates_are_removed_in_calls_of_a_few(store: Store[Any], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sinks.rewriting.incomplete_updates.CALL_ROWS", 2)
    table, newest = Updated(store, None), []
    for number in range(5):
        table.write(b"%d" % number, 5 + number)

    def start_after(newest_ms: int) -> int:
        assert len(table.found()) == (5 if newest_ms else 0)  # before anything is deleted
        newest.append(newest_ms)
        return 20

    remove_updates_after(store, TABLE, 4, start_after)
    assert (table.found(), newest) == ([], [9])
    remove_updates_after(store, TABLE, 4, start_after)
    assert newest == [9, 0]
    assert withdrawn_times(store, TABLE).intervals == (Interval(5, 20),)


@pytest.mark.parametrize("buckets", [None, 2])
def test_updates_of_an_interval_are_rolled_back(store: Store[Any], buckets: int | None):
    table = Updated(store, buckets)
    for row, time_ms in ((b"a", 4), (b"b", 5), (b"c", 6), (b"d", 7)):
        table.write(row, time_ms)
    remove_updates(store, TABLE, 5, 6)
    assert table.found() == [b"a", b"d"]
    remove_updates_after(store, TABLE, 6, lambda newest_ms: newest_ms)
    assert table.found() == [b"a"]
    assert withdrawn_times(store, TABLE).intervals == (Interval(5, 7),)


@pytest.mark.parametrize("buckets", [None, 2])
def test_late_call_of_a_row_that_was_rolled_back_is_hidden(store: Store[Any], buckets: int | None):
    table = Updated(store, buckets)
    table.write(b"a", 5)
    remove_updates(store, TABLE, 5, 5)
    table.write(b"a", 5)
    assert table.found() == []


@pytest.mark.parametrize("buckets", [None, 2])
def test_late_call_of_a_row_that_was_not_there_does_not_count(store: Store[Any], buckets: int | None):
    table = Updated(store, buckets)
    table.write(b"a", 4)
    table.write(b"b", 4)
    remove_updates(store, TABLE, 5, 5)
    table.write(b"b", 5)
    table.write(b"c", 5)
    table.write(b"b", 6)
    reader = MergedReader.of(store, TABLE, SUM)
    counted = {row.key: row.cells[0].value for row in reader.scan(Scan())}
    assert counted == {b"a": b"1", b"b": b"2"}
    assert [row.key for row in reader.scan(Scan(reverse=True))] == [b"b", b"a"]
    assert reader.get(b"c") is None
    assert reader.get(b"b") == next(row for row in reader.scan(Scan(start=b"b")))
    raw = RawRows(store, TABLE, table.rows, withdrawn_times(store, TABLE))
    shown = [(row.key.row, is_orphaned) for row, is_orphaned in raw.scan(Scan())]
    assert shown == [(b"a", False), (b"b", False), (b"b", True), (b"b", False), (b"c", True)]
    assert [entry.is_orphaned for entry in reader.rows.history(b"b")] == [False, True, False]


def test_nothing_is_withdrawn_where_a_merged_row_has_earlier_updates(store: Store[Any]):
    table = Updated(store, None)
    table.write(b"a", 4, 5)
    with pytest.raises(ConflictError, match="not complete in merged rows"):
        remove_updates_after(store, TABLE, 4, lambda newest_ms: newest_ms)
    assert not withdrawn_times(store, TABLE).intervals


def test_late_call_of_a_removed_row_needs_a_store_without_other_writers(store: Store[Any]):
    """Compaction and rollback use `remove_rows`; RocksDB leaves no delete behind, and only its owner can write."""
    table = Updated(store, None)
    store.remove_rows(TABLE, [delete_of(table.write(b"a", 5))])
    table.write(b"a", 5)
    assert table.found() == ([] if isinstance(store, MemoryStore) else [b"a"])


def test_merged_row_with_earlier_updates_is_refused(store: Store[Any]):
    table = Updated(store, None)
    table.write(b"a", 4, 5)
    with pytest.raises(ConflictError, match="not complete in merged rows"):
        remove_updates(store, TABLE, 5, 5)
    assert table.found() == [b"a"]
