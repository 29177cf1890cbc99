"""Columns of a table as types of Spark."""

from collections.abc import Iterable

from pyspark.sql import types

from ingest.api.table_reader import ReadColumn
from ingest.formats.cell_types import CellType
from ingest.spark.datasource.columns import DeclaredColumns

CELLS = "cells"
"""Name of the column with all cells of a row, if no columns are declared."""

TYPES: dict[CellType, types.DataType] = {
    CellType.UTF8: types.StringType(),
    CellType.BOOL8: types.BooleanType(),
    CellType.INT8: types.ByteType(),
    CellType.INT16: types.ShortType(),
    CellType.INT32: types.IntegerType(),
    CellType.INT64: types.LongType(),
    CellType.FLOAT32: types.FloatType(),
    CellType.FLOAT64: types.DoubleType(),
    CellType.JSON: types.StringType(),
}
"""Type of a cell -> type in Spark; JSON stays text, for Spark's functions `from_json` and `get_json_object`."""

NEWEST_CELLS = types.MapType(types.StringType(), types.BinaryType())
"""Column -> newest value."""
ALL_CELLS = types.ArrayType(
    types.StructType()
    .add("column", types.StringType())
    .add("timestamp", types.LongType())
    .add("value", types.BinaryType())
)
"""Cells in the order of their columns, the newest first; timestamps in milliseconds since 1970."""

SQL_TYPES: dict[str, types.DataType] = {
    "bigint": types.LongType(),
    "int": types.IntegerType(),
    "boolean": types.BooleanType(),
}
"""Type of a field of a `ReadColumn` -> type in Spark."""


def schema_of(columns: DeclaredColumns, *, has_versions: bool, added: Iterable[ReadColumn] = ()) -> types.StructType:
    """The schema of a read; the columns that readers add are between the row key and the others."""
    row = types.StringType() if columns.row.is_text else types.BinaryType()
    schema = types.StructType().add(columns.row.name, row, nullable=False)
    for each in added:
        fields = [types.StructField(name, SQL_TYPES[kind]) for name, kind in each.fields.items()]
        schema.add(each.name, types.StructType(fields), nullable=False)
    if not columns.columns:
        return schema.add(CELLS, ALL_CELLS if has_versions else NEWEST_CELLS)
    for column in columns:
        schema.add(column.name, TYPES[column.cell_type])
    return schema


def fields_of(schema: types.StructType) -> list[tuple[str, str]]:
    """Names and types of a schema's columns, without what may be null."""
    return [(field.name, field.dataType.simpleString()) for field in schema]
