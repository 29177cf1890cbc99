"""
Dumps as Parquet files, by pyarrow.

Without declared columns a file has all cells: `row binary, cells list<struct<column string, timestamp int64, value
binary>>`, as Spark reads a table with the option `versions`. With them it has the row key and a column for each; the
times of the cells, and cells of other columns, are left out, so such a dump cannot be loaded into a store.
"""

from collections.abc import Generator, Iterable, Mapping
from itertools import accumulate
from typing import BinaryIO, NamedTuple

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from ingest.api import Cell, ConfigError, DecodeError
from ingest.api.event_errors import BadEncodingError
from ingest.api.notation import shown, to_notation
from ingest.formats.cell_types import CODECS, CellType
from sinks.dumps.errors import DumpCorruptError
from sinks.dumps.rows import DumpRow, column_of, shown_column

ROW, CELLS = "row", "cells"
_ROWS = 4_096  # of a row group; the rows in memory
_BYTES = 32 << 20  # of the values of a row group

_CELL = pa.struct(
    [
        pa.field("column", pa.string(), nullable=False),
        pa.field("timestamp", pa.int64(), nullable=False),
        pa.field("value", pa.binary(), nullable=False),
    ]
)
_KEY = pa.field(ROW, pa.binary(), nullable=False)
_CELLS = pa.list_(pa.field("element", _CELL, nullable=False))
_ALL_CELLS = pa.schema([_KEY, pa.field(CELLS, _CELLS, nullable=False)])
_TYPES = {
    CellType.UTF8: pa.string(),
    CellType.BOOL8: pa.bool_(),
    CellType.INT8: pa.int8(),
    CellType.INT16: pa.int16(),
    CellType.INT32: pa.int32(),
    CellType.INT64: pa.int64(),
    CellType.FLOAT32: pa.float32(),
    CellType.FLOAT64: pa.float64(),
    CellType.JSON: pa.string(),
}


class ParquetColumn(NamedTuple):
    """
    A declared column.

    Attributes:
        name: in the file.
        column: `family:qualifier` in the table.
    """

    name: str
    column: bytes
    cell_type: CellType

    def to_text(self) -> str:
        r"""`family:qualifier TYPE`, as a manifest has it; `\x20` for a space."""
        return f"{shown_column(self.column).replace(' ', chr(92) + 'x20')} {self.cell_type}"

    @classmethod
    def of_text(cls, name: str, text: str) -> "ParquetColumn":
        """
        The inverse of `to_text`.

        Raises:
            ConfigError: it is no column and type, or no name of a column.
        """
        source, _, type_name = text.rpartition(" ")
        column = column_of(source)
        family, colon, _ = column.partition(b":")
        if not family or not colon or type_name not in set(CellType) or name in {"", ROW}:
            raise ConfigError(
                f'"{name}: {text}" is no column of a Parquet file',
                hint='write a name other than "row", and "family:qualifier TYPE" with one of the types '
                f"{', '.join(CellType)}",
            )
        return cls(name, column, CellType(type_name))


def columns_of(columns: Mapping[str, str] | None) -> list[ParquetColumn] | None:
    """
    The columns of a manifest, by name; None for all cells.

    Raises:
        ConfigError: one is no column.
    """
    return None if columns is None else [ParquetColumn.of_text(*each) for each in columns.items()]


def write_rows(file: BinaryIO, rows: Iterable[DumpRow], columns: Mapping[str, str] | None = None) -> None:
    """
    Write rows to a file; memory is bounded by a row group.

    Args:
        file: open for writing; it stays open.
        rows: in the order of their keys.
        columns: name -> `family:qualifier TYPE`; None for all cells.

    Raises:
        ConfigError: a column is not declared in this way.
        DecodeError: a value is not of its declared type; the message names row and column.
    """
    declared = columns_of(columns)
    schema = _ALL_CELLS if declared is None else _declared_schema(declared)
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for group in _groups(rows):
            batch = _all_cells(group) if declared is None else _declared(group, declared, schema)
            writer.write_table(batch)


def read_rows(file: BinaryIO, name: str, table: str) -> Generator[DumpRow]:
    """
    The rows of a file with all cells.

    Raises:
        DumpCorruptError: the file is damaged, or it has declared columns.
    """
    for batch in _batches(file, name):
        if batch.schema.names != _ALL_CELLS.names:
            raise DumpCorruptError(
                name, "it has declared columns and not all cells", hint="read its documents, or a dump of all cells"
            )
        yield from _rows_of(batch, table)


def read_documents(file: BinaryIO, name: str, table: str) -> Generator[Mapping[str, object]]:
    """
    The rows of a file as JSON objects: as lines of JSON have them, or `row` and the declared columns.

    Raises:
        DumpCorruptError: the file is damaged.
    """
    for batch in _batches(file, name):
        if batch.schema.names == _ALL_CELLS.names:
            for row in _rows_of(batch, table):
                yield orjson.loads(row.to_line())
        else:
            for values in batch.to_pylist():
                yield {**values, ROW: to_notation(values[ROW])}


def _rows_of(batch: pa.RecordBatch, table: str) -> Generator[DumpRow]:
    for key, cells in zip(batch[ROW].to_pylist(), batch[CELLS].to_pylist(), strict=True):
        yield DumpRow(key, table, tuple(sorted(_cell(cell) for cell in cells)))


def _batches(file: BinaryIO, name: str) -> Generator[pa.RecordBatch]:
    try:
        with pq.ParquetFile(file) as content:
            yield from content.iter_batches(_ROWS)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DumpCorruptError(name, f"it is no Parquet file: {error}") from error


def _groups(rows: Iterable[DumpRow]) -> Generator[list[DumpRow]]:
    group: list[DumpRow] = []
    size = 0
    for row in rows:
        group.append(row)
        size += sum(len(cell.value) for cell in row.cells)
        if len(group) == _ROWS or size >= _BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _all_cells(group: list[DumpRow]) -> pa.Table:
    names: dict[tuple[bytes, bytes], str] = {}  # few, and each of many cells
    columns: list[str] = []
    cells = [cell for row in group for cell in row.cells]
    for cell in cells:
        key = cell[:2]
        name = names.get(key)
        if name is None:
            name = names[key] = shown_column(cell.family + b":" + cell.qualifier)
        columns.append(name)
    parts = [
        pa.array(columns, pa.string()),
        pa.array([cell.timestamp_ms for cell in cells], pa.int64()),
        pa.array([cell.value for cell in cells], pa.binary()),
    ]
    ends = accumulate((len(row.cells) for row in group), initial=0)
    lists = pa.ListArray.from_arrays(
        pa.array(ends, pa.int32()), pa.StructArray.from_arrays(parts, fields=list(_CELL)), type=_CELLS
    )
    return pa.Table.from_arrays([pa.array([row.key for row in group], pa.binary()), lists], schema=_ALL_CELLS)


def _declared_schema(columns: list[ParquetColumn]) -> pa.Schema:
    return pa.schema([_KEY, *(pa.field(column.name, _TYPES[column.cell_type]) for column in columns)])


def _declared(group: list[DumpRow], columns: list[ParquetColumn], schema: pa.Schema) -> pa.Table:
    found = [{cell.family + b":" + cell.qualifier: cell.value for cell in row.cells} for row in group]
    content: dict[str, list[object]] = {ROW: [row.key for row in group]}
    for column in columns:
        content[column.name] = [
            _value(row, column, cells.get(column.column)) for row, cells in zip(group, found, strict=True)
        ]
    return pa.table(content, schema=schema)


def _value(row: DumpRow, column: ParquetColumn, value: bytes | None) -> object:
    if value is None:
        return None
    try:
        decoded: object = CODECS[column.cell_type].decode(value)
    except ValueError as error:
        raise DecodeError(
            f"row {shown(row.key)}, column {shown(column.column)}: {error}",
            code=BadEncodingError.code,
            hint="declare another type, or dump all cells",
        ) from error
    return value.decode() if column.cell_type is CellType.JSON else decoded


def _cell(cell: Mapping[str, object]) -> Cell:
    family, _, qualifier = column_of(str(cell["column"])).partition(b":")
    time_ms, value = cell["timestamp"], cell["value"]
    assert isinstance(time_ms, int)  # noqa: S101 - for mypy: the schema says so
    assert isinstance(value, bytes)  # noqa: S101
    return Cell(family, qualifier, time_ms, value)
