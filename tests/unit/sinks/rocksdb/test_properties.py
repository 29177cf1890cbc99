"""Properties of tables: the format of the store, its readers, damage."""

from pathlib import Path

import pytest

from ingest.api import FamilySpec, IntegrityError, LifecycleError, Put, Row, Scan, TableSpec
from sinks.rocksdb import tables
from sinks.rocksdb.database import Database
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.support.rocksdb_files import read_beside


@pytest.fixture
def settings(tmp_path) -> RocksDBSettings:
    return RocksDBSettings(path=str(tmp_path / "store"), sync=False)


@pytest.fixture
def store(settings):
    made = RocksDBStore(settings)
    made.open()
    made.ensure_table(TableSpec("t", (FamilySpec(b"f"),), buckets=4))
    yield made
    made.close()


def format_of(settings: RocksDBSettings) -> bytes | None:
    with read_beside(settings.path) as database:
        found = database.current().root.get(tables.FORMAT_KEY)
        assert isinstance(found, bytes | None)
        return found


def test_first_property_makes_the_format_4(store, settings):
    assert not store.set_property("t", "committed", "1", "2")
    assert store.set_property("t", "committed", None, None)
    assert format_of(settings) == b"3"
    assert store.set_property("t", "committed", None, "1")
    assert format_of(settings) == b"4"
    assert store.set_property("t", "committed", "1", None)
    assert format_of(settings) == b"4"


def test_reader_sees_what_a_writer_wrote_last(store, settings):
    assert store.set_property("t", "committed", None, "1")
    reader = RocksDBStore.reader(settings)
    reader.open()
    assert reader.properties("t")["committed"] == "1"  # in the memory of the reader
    for before, after in (("1", "2"), ("2", "3")):
        assert store.set_property("t", "committed", before, after)
        store.close()
        assert reader.properties("t")["committed"] == after
        store.open()
        assert reader.properties("t")["committed"] == after
    reader.close()


def test_version_that_reads_format_3_alone_refuses_the_store(store, settings, monkeypatch):
    reader = RocksDBStore.reader(settings)
    reader.open()
    store.set_property("u", "committed", None, "1")
    monkeypatch.setattr(tables, "FORMATS", (b"3",))
    with pytest.raises(IntegrityError, match='the store has format "4", this version reads "3"'):
        reader.properties("t")
    reader.close()
    store.close()
    with pytest.raises(IntegrityError, match='the store has format "4", this version reads "3"'):
        store.open()


def test_setting_a_property_reopens_nothing(store, settings):
    reader = Database(Path(settings.path), sync=False, read_only=True)
    reader.open()
    generations = [database.generation for database in (store._database, reader)]
    for number in range(10):
        assert store.set_property("t", "committed", str(number - 1) if number else None, str(number))
        assert reader.properties("t") == {"committed": str(number)}
    assert [database.generation for database in (store._database, reader)] == generations
    reader.close()


def test_table_with_properties_is_written_as_before(store):
    store.set_property("t", "committed", None, "1")
    store.apply("t", [Put(b"r", {b"f:q": b"1"}, 1)])
    store.set_property("t", "committed", "1", "2")
    store.apply("t", [Put(b"s", {b"f:q": b"1"}, 1)])
    assert [row.key for row in store.scan("t", Scan())] == [b"r", b"s"]
    assert isinstance(store.get("t", b"r"), Row)
    assert store.tables() == ("t",)


def test_reader_cannot_set_a_property(store, settings):
    store.set_property("t", "committed", None, "1")
    reader = RocksDBStore.reader(settings)
    reader.open()
    for value in ("1", "2"):
        with pytest.raises(LifecycleError):
            reader.set_property("t", "committed", "1", value)
    reader.close()


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff"])
def test_properties_that_cannot_be_read_are_an_integrity_error(store, settings, content):
    store.close()
    database = Database(Path(settings.path), sync=True, read_only=False)
    database.open()
    database.opened().root.put(b"properties:t", content)
    database.close()
    store.open()
    with pytest.raises(IntegrityError, match='the properties of table "t" cannot be read'):
        store.properties("t")
    assert store.properties("u") == {}
