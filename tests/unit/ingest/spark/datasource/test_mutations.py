"""Rows of a DataFrame as puts."""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from ingest.api import ConfigError, MappingError, Put
from ingest.formats.cell_types import FLOAT64, INT32, INT64
from ingest.spark.datasource.mutations import RowMapper, row_mapper
from ingest.spark.datasource.options import write_options
from tests.support.spark_types import schema

NOW_MS = 5_000
TYPED = {"columns": "row utf8, m:i as i int32, m:l as l int64, m:f as f float64, m:t as t, m:j as j json"}
DDL = "row string, i int, l bigint, f double, t string, j string"


def mapper_of(ddl: str, options: dict[str, str]) -> tuple[RowMapper, StructType]:
    found = schema(ddl)
    return row_mapper(found, write_options(options, is_streaming=False)), found


def puts_of(ddl: str, options: dict[str, str], *rows: tuple[Any, ...]) -> list[Put]:
    mapper, found = mapper_of(ddl, options)
    arrow = to_arrow_schema(found, timezone="UTC")
    columns = [pa.array(values, field.type) for values, field in zip(zip(*rows, strict=True), arrow, strict=True)]
    return list(mapper.puts(pa.RecordBatch.from_arrays(columns, schema=arrow), NOW_MS))


def test_declared_columns_are_encoded_by_their_types():
    (put,) = puts_of(DDL, TYPED, ("k", -1, 2, 2.5, "ü", '{"a": 1}'))
    cells = {b"m:i": INT32.pack(-1), b"m:l": INT64.pack(2), b"m:f": FLOAT64.pack(2.5), b"m:t": "ü".encode()}
    assert put == Put(b"k", {**cells, b"m:j": b'{"a": 1}'}, NOW_MS)


def test_a_null_is_no_cell():
    assert puts_of(DDL, TYPED, ("k", None, None, None, "x", None)) == [Put(b"k", {b"m:t": b"x"}, NOW_MS)]


@pytest.mark.parametrize(("ddl", "value"), [("map<string,binary>", b"\xff"), ("map<string,string>", "\u00ff")])
def test_cells_are_a_map(ddl: str, value: Any):
    found = puts_of(f"row binary, cells {ddl}", {}, (b"k", [(r"m:\x00", value), ("m:none", None)]))
    assert found == [Put(b"k", {b"m:\x00": value if isinstance(value, bytes) else value.encode()}, NOW_MS)]


def test_time_of_a_column():
    at = datetime(1970, 1, 1, 0, 0, 1, 234_999, UTC)
    options = {"columns": "m:t as t", "time_column": "at"}
    assert puts_of("row binary, t string, at timestamp", options, (b"k", "x", at))[0].timestamp_ms == 1_234
    assert puts_of("row binary, t string, at bigint", options, (b"k", "x", 7))[0].timestamp_ms == 7


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((None, 1, None, None, None, None), "a row has no key"),
        (("k", None, None, None, None, None), 'row "k" has no cells'),
        (("k", None, None, None, None, "{"), 'row "k": column "j": "{" is not JSON'),
    ],
)
def test_a_row_that_is_not_valid_is_named(row: tuple[Any, ...], message: str):
    with pytest.raises(MappingError) as raised:
        puts_of(DDL, TYPED, row)
    assert message in str(raised.value)


def test_a_number_out_of_range_is_named():
    with pytest.raises(MappingError, match=r'row "k": column "i": 2147483648 cannot be written as int32'):
        puts_of("row string, i bigint", {"columns": "m:i int32"}, ("k", 1 << 31))


def test_a_row_without_a_time_is_named():
    with pytest.raises(MappingError, match='row "k" has no time: its column "at" is null'):
        puts_of("row string, t string, at bigint", {"columns": "m:t", "time_column": "at"}, ("k", "x", None))


@pytest.mark.parametrize("name", ["x", ":x"])
def test_a_cell_without_a_family_is_named(name: str):
    with pytest.raises(MappingError, match=f'row "k": the cell "{name}" is not named family:qualifier'):
        puts_of("row binary, cells map<string,binary>", {}, (b"k", [(name, b"v")]))


def test_two_values_of_one_cell_are_named():
    cells = [("m:A", b"1"), (r"m:\x41", b"2")]
    with pytest.raises(MappingError, match='row "k" has two values of the cell "m:A"'):
        puts_of("row binary, cells map<string,binary>", {}, (b"k", cells))
    cells = [("m:A", b"1"), (r"m:\x41", None)]
    assert puts_of("row binary, cells map<string,binary>", {}, (b"k", cells)) == [Put(b"k", {b"m:A": b"1"}, NOW_MS)]


def test_the_time_may_also_be_a_cell():
    options = {"columns": "m:n as n int64", "time_column": "n"}
    assert puts_of("row binary, n bigint", options, (b"k", 7)) == [Put(b"k", {b"m:n": INT64.pack(7)}, 7)]


@pytest.mark.parametrize(
    ("ddl", "options", "message"),
    [
        ("row bigint, x string", {"columns": "m:x", "time_column": "row"}, '"time_column" names the row key, "row"'),
        ("k bigint, x string", {"columns": "row as k, m:x", "time_column": "k"}, '"time_column" names the row key'),
        ("row binary, n timestamp", {"columns": "m:n", "time_column": "n"}, "is timestamp; cast it to string"),
        ("row binary, n string", {"columns": "m:n", "time_column": "n"}, "cast it to timestamp or bigint"),
        ("row binary, n int", {"columns": "m:n int32", "time_column": "n"}, "cast it to timestamp or bigint"),
        (
            "row binary, a string, b string",
            {"columns": "m:q as a, m:q as b"},
            'the columns "a" and "b" of the DataFrame are both written to "m:q"',
        ),
        ("key binary, cells map<string,binary>", {}, 'the DataFrame has no column "row"'),
        ("row binary, x int", {}, 'the DataFrame has no column "cells"; it is a map<string,binary>; or declare'),
        ("row int, cells map<string,binary>", {}, 'column "row" of the DataFrame is int; cast it to binary or string'),
        ("row binary, cells map<string,int>", {}, "is map<string,int>; cast it to map<string,binary>"),
        ("row binary, x string", {"columns": "m:x int32"}, 'column "x" of the DataFrame is string; cast it to'),
        ("row binary, x string, y int", {"columns": "m:x"}, 'column "y" of the DataFrame is not written'),
        ("row binary, x string", {"columns": "m:x", "time_column": "at"}, 'has no column "at"'),
        ("row binary, x string, at date", {"columns": "m:x", "time_column": "at"}, "cast it to timestamp or bigint"),
    ],
)
def test_a_schema_that_cannot_be_written_is_refused(ddl: str, options: dict[str, str], message: str):
    with pytest.raises(ConfigError) as raised:
        mapper_of(ddl, options)
    assert message in str(raised.value)
