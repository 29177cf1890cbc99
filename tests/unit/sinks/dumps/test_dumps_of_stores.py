"""Dumps of the rows that a store reads."""

from contextlib import closing

import pytest

from ingest.api import FamilySpec, Put, Scan, TableSpec
from sinks.dumps.layout import FileFormat
from sinks.dumps.reader import DumpReader
from sinks.files.local_root import LocalRoot
from sinks.memory import MemorySettings, MemoryStore
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rowkeys.mutations import with_physical_keys
from sinks.scanning.plain_reader import PlainReader
from tests.support.dumps import make_dump
from tests.support.memory_root import MemoryRoot

VALUES = {
    b"f:bytes": b"\xff\xfe",
    b"f:": b"",
    b"f:emoji": "😀".encode(),
    b'f:"quoted"': b'"',
    b"f:\xff\\x41": b"line 1\nline 2",
}


@pytest.fixture(params=["memory", "rocksdb"])
def store(request, tmp_path):
    found = (
        MemoryStore(MemorySettings())
        if request.param == "memory"
        else RocksDBStore(RocksDBSettings(path=str(tmp_path / "store")))
    )
    found.open()
    with closing(found):
        yield found


def fill(store, table, rows, buckets=None):
    store.ensure_table(TableSpec(table, (FamilySpec(b"f", versions=3),), buckets=buckets))
    reader = PlainReader.of(store, table)
    for number, row in enumerate(rows):
        put, later = Put(row, dict(VALUES), 1_000 + number), Put(row, {b"f:emoji": b"new"}, 9_000)
        mutations = [put, later] if number % 2 else [put]
        if reader.distribution is not None:
            mutations = with_physical_keys(mutations, reader.distribution.physical)
        store.apply(table, mutations)
    return reader


@pytest.mark.parametrize("file_format", FileFormat)
@pytest.mark.parametrize("buckets", [None, 4])
def test_1c_13_every_cell_comes_back_with_its_time(store, file_format, buckets):
    keys = [b"a", b"b\n", b"c\xff\xfe", "d😀".encode(), b'e"', b"f\x00"]
    reader = fill(store, "ns:t" if buckets is None else "salted", keys, buckets)
    with closing(reader.scan(Scan())) as rows:
        expected = list(rows)
    root = MemoryRoot()
    make_dump(root, {"t": [expected[:3], expected[3:]]}, file_format=file_format)
    with DumpReader(root).scan("t") as rows:
        assert [row.to_row() for row in rows] == expected
    assert [row.key for row in expected] == keys
    columns = {cell.family + b":" + cell.qualifier: cell.value for cell in expected[0].cells}
    assert columns == VALUES


def test_only_the_newest_versions_are_dumped(store):
    reader = fill(store, "t", [b"a", b"b"])
    root = MemoryRoot()
    with closing(reader.scan(Scan(versions=3))) as rows:
        make_dump(root, {"t": [rows]})
    with closing(reader.scan(Scan())) as rows, DumpReader(root).scan("t") as dumped:
        assert [row.to_row() for row in dumped] == list(rows)


def test_1c_15_same_content_of_rocksdb_gives_equal_files(tmp_path):
    files = []
    for number in range(2):
        with closing(RocksDBStore(RocksDBSettings(path=str(tmp_path / f"store{number}")))) as store:
            store.open()
            reader = fill(store, "t", [b"%04d" % row for row in range(500)])
            root = LocalRoot(tmp_path / f"dumps{number}")
            with closing(reader.scan(Scan())) as rows:
                make_dump(root, {"t": [rows]})
        files.append({path: root.read(path) for path, _ in root.files_below("2015-02-24-00-00-00")})
    assert files[0] == files[1]
    assert len(files[0]) == 3
