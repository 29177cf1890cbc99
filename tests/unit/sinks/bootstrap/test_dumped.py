"""A table of a dump, and rows with all kinds of bytes through a dump into a store."""

import pytest

from ingest.api import Cell, ConfigError, FamilySpec, IntegrityError, Row
from sinks.bootstrap.dumped import DumpTableReader, positions_of
from sinks.dumps.errors import DumpCorruptError, TableNotInDumpError
from sinks.dumps.layout import FileFormat
from sinks.dumps.reader import DumpReader
from sinks.files.local_root import LocalRoot
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.support.bootstraps import bootstrap, completed, load_all, rows_of
from tests.support.dumps import make_dump

ROWS = [
    Row(b"a", (Cell(b"f", b"", 5, b""), Cell(b"f", b"bytes", 7, b"\xff\xfe"))),
    Row(b'a"\n', (Cell(b"f", b'say "hi"', 7, "\U0001f375".encode()), Cell(b"f", b"\\x41", 7, b"\\x41"))),
    Row("é\U0001f375".encode(), (Cell(b"f", b"\xff:\x00", 9, b"\x00"),)),
    Row(b"\xff\xfe", (Cell(b"f", b"b64", 9, b'{"b64": "AA=="}'),)),
]


@pytest.fixture
def root(tmp_path):
    return LocalRoot(tmp_path / "dumps")


@pytest.mark.parametrize("file_format", list(FileFormat))
def test_1c_13_bytes_are_the_same_after_a_dump_and_a_bootstrap(root, tmp_path, file_format):
    make_dump(root, {"t": [ROWS[:2], ROWS[2:]]}, file_format=file_format)
    store = RocksDBStore(RocksDBSettings(path=str(tmp_path / "db")))
    with DumpReader(root).locked_view() as reader:
        run = completed(bootstrap(DumpTableReader(reader, "t"), store))
        found = run.verify()
    assert found is not None
    assert found.is_equal
    assert rows_of(store, "copy") == [Row(row.key, tuple(sorted(row.cells))) for row in ROWS]
    store.close()


def test_what_a_dump_says_about_a_table(root):
    make_dump(root, {"t": [ROWS[:2], ROWS[2:]], "empty": []})
    with DumpReader(root).locked_view() as reader:
        found = DumpTableReader(reader, "t")
        assert (found.files, found.rows_total, found.feed) == (2, 4, None)
        assert found.families == {b"f": FamilySpec(b"f")}
        assert [row.key for row in found.rows(1)] == [row.key for row in ROWS[2:]]
        assert DumpTableReader(reader, "empty").files == 0
        with pytest.raises(TableNotInDumpError):
            DumpTableReader(reader, "other")


def test_columns_without_times_cannot_be_loaded(root):
    make_dump(root, {"t": [[ROWS[1]]]}, file_format=FileFormat.PARQUET, columns={"say": "f:say utf8"})
    with DumpReader(root).locked_view() as reader, pytest.raises(ConfigError, match="without the times"):
        DumpTableReader(reader, "t")


def test_damaged_file_names_the_place_and_the_load_resumes_with_a_copy_of_it(root, tmp_path):
    make_dump(root, {"t": [ROWS[:2], ROWS[2:]]})
    file = sorted((tmp_path / "dumps").rglob("*.json.gz"))[1]
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    store = RocksDBStore(RocksDBSettings(path=str(tmp_path / "db")))
    with DumpReader(root).locked_view() as reader:
        with pytest.raises(DumpCorruptError, match=file.name):
            load_all(bootstrap(DumpTableReader(reader, "t"), store))
        file.write_bytes(content)
        run = completed(bootstrap(DumpTableReader(reader, "t"), store))
        assert run.progress.checksum.rows == len(ROWS)
        found = run.verify()
    assert found is not None
    assert found.is_equal
    store.close()


def test_positions_of_a_feed():
    assert positions_of({"1": "a", "2": "b"}, "t") == {1: "a", 2: "b"}


@pytest.mark.parametrize("recorded", [{"one": "a"}, {"1": 5}])
def test_unknown_positions_are_refused(recorded):
    with pytest.raises(IntegrityError, match='feed of table "t"'):
        positions_of(recorded, "t")
