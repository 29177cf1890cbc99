"""The table that a bootstrap writes: families, buckets, times, retries; in memory and in RocksDB."""

from collections import Counter

import pytest

from ingest.api import (
    Cell,
    ConfigError,
    ConflictError,
    Delete,
    FamilySpec,
    Put,
    Row,
    Scan,
    StoreUnavailableError,
    TableSpec,
    WriteRejectedError,
)
from sinks.bootstrap.puts import puts_of
from sinks.bootstrap.target import TargetTable
from sinks.memory import MemoryStore
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rowkeys.row_format import UPDATES
from sinks.scanning.plain_reader import PlainReader
from sinks.writing.retry import store_retry
from sinks.writing.target import TargetLayer

ROW = Row(b"r", (Cell(b"f", b"", 7, b""), Cell(b"f", b"a:b", 5, b"\xff\xfe"), Cell(b"g", b"\xff", 7, b"x")))


@pytest.fixture(params=["memory", "rocksdb"])
def store(request, tmp_path):
    if request.param == "memory":
        return MemoryStore()
    return RocksDBStore(RocksDBSettings(path=str(tmp_path / "db")))


class Noted(TargetLayer):
    """Notes the values of each chunk, and whether cells of its time may be in files."""

    def __init__(self, store) -> None:
        super().__init__(store)
        self.chunks = []
        self._times_ms = ()

    def begin(self, messages, on_progress, new_times_ms=()) -> None:
        self._times_ms = new_times_ms

    def apply(self, table, mutations) -> None:
        self.target.apply(table, mutations)
        values = [value for one in mutations for value in getattr(one, "columns", {}).values()]
        self.chunks.append((values, all(one.timestamp_ms in self._times_ms for one in mutations)))

    def take_counted(self):
        return Counter({("bulk_load_rows", "t"): 1})


def target(store, **options) -> TargetTable:
    return TargetTable(store, "t", retry=store_retry(attempts=3, sleep=lambda _seconds: None), **options)


def rows_of(found: TargetTable) -> list[Row]:
    return list(found.store.rows("t"))


def test_cells_keep_their_times_and_families_are_created(store):
    found = target(store)
    found.create(None, {b"g": FamilySpec(b"g", versions=3)})
    found.add(puts_of(ROW))
    found.flush()
    assert rows_of(found) == [ROW]
    spec = found.store.call(lambda opened: opened.describe_table("t"))
    assert spec.families == (FamilySpec(b"f"), FamilySpec(b"g", versions=3))
    found.close()


def test_puts_of_a_row_are_one_for_each_time():
    assert list(puts_of(ROW)) == [Put(b"r", {b"f:": b"", b"g:\xff": b"x"}, 7), Put(b"r", {b"f:a:b": b"\xff\xfe"}, 5)]


def test_rows_are_stored_in_the_declared_buckets(store):
    found = target(store)
    found.create(TableSpec("t", (FamilySpec(b"f"),), buckets=4))
    found.add(Put(b"row%d" % number, {b"f:q": b""}, 1) for number in range(20))
    found.flush()
    assert [row.key for row in rows_of(found)] == sorted(b"row%d" % number for number in range(20))
    assert found.store.rows_of("t", [b"row3", b"no"]) == {b"row3": Row(b"row3", (Cell(b"f", b"q", 1, b""),))}
    assert found.store.call(lambda opened: opened.buckets("t")) == 4
    found.close()


def test_existing_table_keeps_its_buckets_without_a_declaration(store):
    store.open()
    store.ensure_table(TableSpec("t", (FamilySpec(b"f"),), buckets=2))
    store.close()
    found = target(store)
    found.create(None)
    found.add([Put(b"r", {b"f:q": b"", b"g:q": b""}, 1)])
    found.flush()
    assert [len(row.cells) for row in rows_of(found)] == [2]
    assert found.has_rows()
    found.close()


def test_order_of_calls_does_not_matter(store):
    """A delete hides cells that are loaded later, and a newer cell is not replaced by an older one."""
    found = target(store)
    found.create(TableSpec("t", (FamilySpec(b"f"),)))
    found.add([Delete(b"r", 5), Put(b"s", {b"f:q": b"new"}, 9)])
    found.flush()
    found.add([Put(b"r", {b"f:q": b"old"}, 5), Put(b"r", {b"f:p": b"later"}, 6), Put(b"s", {b"f:q": b"old"}, 8)])
    found.flush()
    assert rows_of(found) == [Row(b"r", (Cell(b"f", b"p", 6, b"later"),)), Row(b"s", (Cell(b"f", b"q", 9, b"new"),))]
    found.close()


def test_rows_of_the_dump_may_be_in_files_and_changes_may_not(store):
    """Whatever their times; each is sent before what was added after it."""
    loads = Noted(store)
    found = target(store, loads=loads)
    assert found.loads_files
    found.create(TableSpec("t", (FamilySpec(b"f"),)))
    for number in (1, 1 << 50):
        found.load([Put(b"r", {b"f:q": b"dump %d" % number}, number)])
    found.add([Put(b"r", {b"f:q": b"change"}, 1 << 50)])
    found.load([Put(b"s", {b"f:q": b"dump"}, 7)])
    found.flush()
    assert loads.chunks == [([b"dump 1", b"dump 1125899906842624"], True), ([b"change"], False), ([b"dump"], True)]
    assert found.counted == {("bulk_load_rows", "t"): 3}
    found.load([Put(b"s", {b"f:q": b"more"}, 8)])
    found.close()
    assert len(loads.chunks) == 3


def test_deferred_updates_are_refused(store):
    store.open()
    assert store.set_property("t", UPDATES, None, '{"processor": "sum"}')
    store.close()
    with pytest.raises(ConfigError, match="deferred updates"):
        target(store).create(None)


def test_table_that_is_missing_has_no_rows(store):
    found = target(store)
    found.create(None)
    assert not found.has_rows()
    assert found.store.rows_of("t", [b"r"]) == {}
    found.close()


def test_delete_in_a_table_that_is_missing_has_no_effect(store):
    found = target(store)
    found.create(None)
    found.add([Delete(b"r", 5)])
    found.flush()
    found.add([Delete(b"r", 5, b"f"), Delete(b"r", 5), Put(b"r", {b"f:q": b""}, 6)])
    found.flush()
    assert rows_of(found) == [Row(b"r", (Cell(b"f", b"q", 6, b""),))]
    found.close()


def test_row_that_the_store_refuses_is_an_error(store):
    found = target(store)
    found.create(TableSpec("t", (FamilySpec(b"f"),)))
    found.add([Put(b"x" * 40_000, {b"f:q": b""}, 1), Put(b"r", {b"f:q": b""}, 1)])
    with pytest.raises(WriteRejectedError, match="32767"):
        found.flush()
    found.close()


def test_property_that_another_process_changed_is_a_conflict(store):
    found = target(store)
    found.set_property("bootstrap", None, "one")
    with pytest.raises(ConflictError, match="another bootstrap"):
        found.set_property("bootstrap", None, "two")
    assert found.property("bootstrap") == "one"
    found.close()


class Failing(MemoryStore):
    """A memory store whose first calls of apply fail."""

    failures = 2
    opened = 0

    def open(self) -> None:
        self.opened += 1
        super().open()

    def apply(self, table, mutations) -> None:
        if self.failures:
            self.failures -= 1
            raise StoreUnavailableError("away")
        super().apply(table, mutations)


def test_call_is_repeated_after_the_store_is_opened_again():
    store = Failing()
    found = target(store)
    found.create(TableSpec("t", (FamilySpec(b"f"),)))
    found.add([Put(b"r", {b"f:q": b""}, 1)])
    found.flush()
    assert len(rows_of(found)) == 1
    assert store.opened == 3


def test_call_fails_after_the_last_attempt():
    store = Failing()
    store.failures = 9
    found = target(store)
    found.create(TableSpec("t", (FamilySpec(b"f"),)))
    found.add([Put(b"r", {b"f:q": b""}, 1)])
    with pytest.raises(StoreUnavailableError):
        found.flush()


def test_reader_of_the_store_sees_logical_keys(store):
    found = target(store)
    found.create(TableSpec("t", (FamilySpec(b"f"),), buckets=3))
    found.add(puts_of(ROW))
    found.flush()
    found.close()
    store.open()
    assert list(PlainReader.of(store, "t").scan(Scan())) == [ROW]
    store.close()
