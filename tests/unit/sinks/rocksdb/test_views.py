"""Frozen views of the embedded store: their files, their time, and what a killed process leaves."""

from pathlib import Path

import pytest

from ingest.api import FamilySpec, IntegrityError, LifecycleError, Put, Scan, TableSpec
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rocksdb.views import VIEWS

HOUR_MS = 3_600_000


@pytest.fixture
def settings(tmp_path) -> RocksDBSettings:
    return RocksDBSettings(path=str(tmp_path / "store"), sync=False)


@pytest.fixture
def now() -> list[int]:
    return [10 * HOUR_MS]


@pytest.fixture
def store(settings, now):
    made = RocksDBStore(settings, clock_ms=lambda: now[0])
    made.open()
    made.ensure_table(TableSpec("t", (FamilySpec(b"f", ttl_s=3600),)))
    yield made
    made.close()


def keys(settings: RocksDBSettings) -> list[bytes]:
    reader = RocksDBStore.reader(settings)
    reader.open()
    try:
        return [row.key for row in reader.scan("t", Scan())]
    finally:
        reader.close()


def test_files_are_linked(store, tmp_path):
    store.apply("t", [Put(b"a", {b"f:q": b"1"}, 10 * HOUR_MS)])
    view = store.freeze()
    (folder,) = (tmp_path / "store" / VIEWS).iterdir()
    assert view.settings.path == str(folder)
    assert [file.stat().st_nlink for file in folder.glob("*.sst") if file.stat().st_nlink != 2] == []
    view.remove()
    assert not folder.exists()


def test_cells_expire_at_the_time_of_the_view(store, now):
    store.apply("t", [Put(b"old", {b"f:q": b"1"}, 9 * HOUR_MS - 1), Put(b"new", {b"f:q": b"1"}, 9 * HOUR_MS)])
    view = store.freeze()
    now[0] += HOUR_MS
    assert view.at_ms == 10 * HOUR_MS
    assert keys(view.settings) == [b"new"]  # the clock of the machine is decades later
    assert [row.key for row in store.scan("t", Scan())] == []


def test_rows_without_the_log_are_in_the_view(store):
    store.apply("t", [Put(b"a", {b"f:q": b"1"}, 10 * HOUR_MS, "skip")])
    assert keys(store.freeze().settings) == [b"a"]


def test_next_writer_removes_what_a_killed_one_left(store, settings, tmp_path, monkeypatch):
    store.freeze()
    views = tmp_path / "store" / VIEWS
    store.close()
    store.open()  # in the same process, a reader may use the view
    assert len(list(views.iterdir())) == 1
    store.close()
    monkeypatch.setattr("sinks.rocksdb.views._PROCESS", "another")
    reader = RocksDBStore.reader(settings)
    reader.open()
    reader.close()
    assert len(list(views.iterdir())) == 1
    store.open()
    assert list(views.iterdir()) == []


def test_reader_makes_no_view(store, settings):
    reader = RocksDBStore.reader(settings)
    reader.open()
    with pytest.raises(LifecycleError):
        reader.freeze()
    reader.close()


def test_view_that_lacks_a_file_is_not_opened(store):
    for row in (b"a", b"b"):
        store.apply("t", [Put(row, {b"f:q": b"1"}, 10 * HOUR_MS, "skip")])
    view = store.freeze()
    assert keys(view.settings) == [b"a", b"b"]
    files = sorted(Path(view.settings.path).glob("*.sst"))
    files[-1].unlink()
    with pytest.raises(IntegrityError, match=rf"lacks 1 of its {len(files)} files"):
        keys(view.settings)


def test_view_that_is_removed_while_it_is_read_is_no_empty_table(store):
    store.apply("t", [Put(b"%d" % number, {b"f:q": b"1"}, 10 * HOUR_MS, "skip") for number in range(9)])
    view = store.freeze()
    reader = RocksDBStore.reader(view.settings)
    reader.open()
    rows = reader.scan("t", Scan(page_rows=3))
    assert next(rows).key == b"0"
    view.remove()
    with pytest.raises(IntegrityError):
        list(rows)
    reader.close()


def test_killed_removal_leaves_no_view_that_is_opened(store, monkeypatch, tmp_path):
    view = store.freeze()
    with monkeypatch.context() as killed:
        killed.setattr("sinks.rocksdb.views.shutil.rmtree", lambda *_args, **_options: None)
        view.remove()
    assert not Path(view.settings.path).exists()
    store.close()
    store.open()
    assert list((tmp_path / "store" / VIEWS).iterdir()) == []
