"""The option `columns`."""

import pytest

from ingest.api import ConfigError
from ingest.formats.cell_types import CellType
from ingest.spark.datasource.columns import DeclaredColumn, DeclaredColumns, RowKey


def test_columns_have_a_source_a_name_and_a_type():
    found = DeclaredColumns.parse("web:status as code int32, web:agent,  m:rx int64")
    assert found == DeclaredColumns(
        RowKey(),
        (
            DeclaredColumn("code", b"web:status", CellType.INT32),
            DeclaredColumn("agent", b"web:agent", CellType.UTF8),
            DeclaredColumn("rx", b"m:rx", CellType.INT64),
        ),
    )
    assert found.names == (b"web:status", b"web:agent", b"m:rx")


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("row, m:x", RowKey("row", is_text=False)),
        ("row binary, m:x", RowKey("row", is_text=False)),
        ("row utf8, m:x", RowKey("row", is_text=True)),
        ("m:x, row as id utf8", RowKey("id", is_text=True)),
    ],
)
def test_row_key_has_a_name_and_a_type(text: str, row: RowKey):
    assert DeclaredColumns.parse(text).row == row


def test_a_source_is_written_in_the_notation_of_keys():
    (column,) = DeclaredColumns.parse(r"m:a\x2cb\x20\xff as x").columns
    assert column.column == b"m:a,b \xff"


def test_without_the_option_all_columns_are_read():
    assert DeclaredColumns().names is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "does not declare a column"),
        ("m:x,", "does not declare a column"),
        ("m:x as a int32 b", "does not declare a column"),
        ("status int32", "is not family:qualifier"),
        (":x", "is not family:qualifier"),
        ("m:a-b", "is no name for SQL"),
        ("m:x int", 'there is no type "int"; did you mean'),
        ("row int64, m:x", 'the row key cannot be "int64"'),
        ("m:x, n:X", 'two columns are named "x"'),
        ("m:row", 'two columns are named "row"'),
        ("row utf8", "declares no column of the table"),
    ],
)
def test_mistakes_are_named(text: str, message: str):
    with pytest.raises(ConfigError) as raised:
        DeclaredColumns.parse(text)
    assert message in str(raised.value)
