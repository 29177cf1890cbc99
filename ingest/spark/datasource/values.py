"""Rows of a table as batches of Arrow."""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from ingest.api import Cell, DecodeError, Row
from ingest.api.notation import readable, shown
from ingest.formats.cell_types import CODECS, CellType
from ingest.spark.datasource.columns import DeclaredColumn
from ingest.spark.datasource.options import ReadOptions
from ingest.spark.streaming.rows import ARROW_BYTES, ARROW_ROWS


def batches_of(
    found: Iterable[tuple[Row, tuple[object, ...]]], options: ReadOptions, schema: StructType
) -> Iterator[pa.RecordBatch]:
    """
    Batches bounded by rows and bytes.

    Args:
        found: rows, each with the values of the columns between its key and its cells.
        options: of the read.
        schema: of the DataFrame.

    Raises:
        DecodeError: a value has not its declared type.
    """
    arrow = to_arrow_schema(schema, timezone="UTC")
    rows: list[tuple[object, ...]] = []
    size = 0
    for row, more in found:
        rows.append(_values(options, row, *more))
        size += sum(len(cell.value) for cell in row.cells)
        if len(rows) >= ARROW_ROWS or size >= ARROW_BYTES:
            yield _batch(rows, arrow)
            rows, size = [], 0
    if rows:
        yield _batch(rows, arrow)


def _values(options: ReadOptions, row: Row, *interval: object) -> tuple[object, ...]:
    """The row, with the interval of an update row, as values of the schema's columns."""
    columns = options.columns
    key = _decoded(row, CellType.UTF8, row.key, "its key") if columns.row.is_text else row.key
    if columns.columns:
        cells = {cell.family + b":" + cell.qualifier: cell.value for cell in row.cells}
        return key, *interval, *(_value(row, column, cells.get(column.column)) for column in columns)
    if options.has_versions:
        versions = [{"column": _name(cell), "timestamp": cell.timestamp_ms, "value": cell.value} for cell in row.cells]
        return key, *interval, versions
    return key, *interval, [(_name(cell), cell.value) for cell in row.cells]


def _batch(rows: Sequence[tuple[object, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _value(row: Row, column: DeclaredColumn, value: bytes | None) -> object:
    if value is None:
        return None
    return _decoded(row, column.cell_type, value, shown(column.column))


def _decoded(row: Row, cell_type: CellType, value: bytes, what: str) -> object:
    try:
        return CODECS[cell_type].decode(value)
    except ValueError as error:
        raise DecodeError(
            f"row {shown(row.key)}: {what} cannot be read as {cell_type}: {error}",
            hint="declare the type that the column was written with, or read it without the option columns",
        ) from error


def _name(cell: Cell) -> str:
    return readable(cell.family + b":" + cell.qualifier)
