"""Dumps as Parquet files."""

import pyarrow.parquet as pq
import pytest

from ingest.api import Cell, ConfigError, DecodeError, Row
from ingest.formats.cell_types import CellType
from sinks.dumps.errors import DumpCorruptError
from sinks.dumps.layout import FileFormat
from sinks.dumps.parquet import ParquetColumn
from sinks.dumps.reader import DumpReader
from sinks.files.local_root import LocalRoot
from tests.support.dumps import DUMP, make_dump, rows_of

ROW = Row(
    b"k\xff",
    (
        Cell(b"f", b"", 5, b""),
        Cell(b"f", b'"\xff', 6, b"\xff\xfe"),
        Cell(b"f", b"n", 7, b"\x00\x00\x00\x07"),
        Cell(b"f", b"s", 7, "😀".encode()),
    ),
)


def dumped(folder, rows, columns=None):
    root = LocalRoot(folder)
    manifest = make_dump(root, {"t": [rows]}, file_format=FileFormat.PARQUET, columns=columns)
    (file,) = manifest.tables["t"].files
    return DumpReader(root), folder / DUMP / file.path


def test_all_cells(tmp_path):
    reader, path = dumped(tmp_path, [ROW])
    assert pq.read_table(path).to_pylist() == [
        {
            "row": b"k\xff",
            "cells": [
                {"column": "f:", "timestamp": 5, "value": b""},
                {"column": 'f:"\\xff', "timestamp": 6, "value": b"\xff\xfe"},
                {"column": "f:n", "timestamp": 7, "value": b"\x00\x00\x00\x07"},
                {"column": "f:s", "timestamp": 7, "value": "😀".encode()},
            ],
        }
    ]
    with reader.scan("t") as rows:
        assert [row.to_row() for row in rows] == [ROW]


def test_declared_columns(tmp_path):
    columns = {"number": "f:n int32", "text": "f:s utf8", "absent": "f:x float64"}
    reader, path = dumped(tmp_path, [ROW], columns)
    expected = {"row": b"k\xff", "number": 7, "text": "😀", "absent": None}
    assert pq.read_table(path).to_pylist() == [expected]
    with reader.documents(*reader.files("t")) as documents:
        assert list(documents) == [{**expected, "row": {"b64": "a/8="}}]
    with pytest.raises(DumpCorruptError, match="declared columns"):
        next(reader.scan("t"))
    assert dict(reader.latest().manifest.tables["t"].columns) == columns


def test_value_of_another_type_is_refused(tmp_path):
    with pytest.raises(DecodeError, match=r'row "k\\xff", column "f:s": .* not 8'):
        dumped(tmp_path, [ROW], {"text": "f:s int64"})


@pytest.mark.parametrize(
    ("name", "text"), [("a", "f:n"), ("a", "n int32"), ("a", "f:n int128"), ("row", "f:n int32"), ("", "f:n int32")]
)
def test_wrong_declaration_is_refused(name, text):
    with pytest.raises(ConfigError):
        ParquetColumn.of_text(name, text)


def test_declaration_comes_back_from_its_text():
    column = ParquetColumn("a", b"f: \xff", CellType.JSON)
    assert (column, "f:\\x20\\xff json") == (ParquetColumn.of_text("a", column.to_text()), column.to_text())


def test_file_that_is_damaged(tmp_path):
    reader, path = dumped(tmp_path, rows_of(b"k"))
    path.write_bytes(b"PAR1 nothing")
    with pytest.raises(DumpCorruptError, match="no Parquet file"):
        next(reader.scan("t"))


def test_row_group_is_limited_in_bytes(tmp_path):
    value = b"x" * (8 << 20)
    _, path = dumped(tmp_path, [Row(b"%d" % number, (Cell(b"f", b"q", 1, value),)) for number in range(5)])
    assert [pq.ParquetFile(path).metadata.row_group(number).num_rows for number in range(2)] == [4, 1]
