"""Rows of a DataFrame as puts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
from pyspark.sql import types

from ingest.api import ConfigError, MappingError, Put
from ingest.api.notation import from_readable, shown
from ingest.formats.cell_types import CODECS, CellType
from ingest.formats.times import milliseconds_of
from ingest.spark.datasource.columns import DeclaredColumn, DeclaredColumns
from ingest.spark.datasource.options import WriteOptions
from ingest.spark.datasource.schemas import CELLS, NEWEST_CELLS
from ingest.suggest import did_you_mean

_TEXTS = (types.StringType,)
_INTEGERS = (types.ByteType, types.ShortType, types.IntegerType, types.LongType)
_WRITABLE: dict[CellType, tuple[type[types.DataType], ...]] = {
    CellType.UTF8: _TEXTS,
    CellType.BOOL8: (types.BooleanType,),
    CellType.INT8: _INTEGERS,
    CellType.INT16: _INTEGERS,
    CellType.INT32: _INTEGERS,
    CellType.INT64: _INTEGERS,
    CellType.FLOAT32: (types.FloatType,),
    CellType.FLOAT64: (types.FloatType, types.DoubleType),
    CellType.JSON: _TEXTS,
}
"""Type of a cell -> types of Spark that are written as it; a number out of range fails the task."""
_KEYS = (types.BinaryType, types.StringType)
_MAPS = (NEWEST_CELLS, types.MapType(types.StringType(), types.StringType()))
_TIMES = (types.TimestampType, types.LongType)


@dataclass(frozen=True, slots=True)
class RowMapper:
    """
    Rows -> puts; a null is no cell.

    Attributes:
        columns: names of the row key and the declared columns; without columns, the cells are a map.
        time_ms: timestamp of all cells; None if `time_column` has it, or it is that of the write.
    """

    columns: DeclaredColumns
    time_ms: int | None = None
    time_column: str | None = None

    @property
    def has_time_of_write(self) -> bool:
        """Whether the cells have the time at which the write began, which no other write has."""
        return self.time_ms is None and self.time_column is None

    def puts(self, batch: pa.RecordBatch, time_ms: int) -> Iterator[Put]:
        """
        A put for each row of a batch.

        Args:
            batch: with the columns of the schema.
            time_ms: timestamp of all cells, unless a column has it.

        Raises:
            MappingError: a row has no key, no cells or no time, or a value is not of its type; it names the row.
        """
        keys = batch.column(self.columns.row.name).to_pylist()
        if self.time_column is None:
            times: Sequence[object] = [time_ms] * len(keys)
        else:
            times = batch.column(self.time_column).to_pylist()
        for key, time, cells in zip(map(_key, keys), times, self._cells(batch, keys), strict=True):
            if not cells:
                raise MappingError(f"row {shown(key)} has no cells", hint="filter out rows without any value")
            yield Put(key, cells, self._time(key, time))

    def _cells(self, batch: pa.RecordBatch, keys: Sequence[object]) -> Iterator[dict[bytes, bytes]]:
        if not self.columns.columns:
            for key, pairs in zip(keys, batch.column(CELLS).to_pylist(), strict=True):
                yield _cells_of(key, pairs or ())
            return
        encoders = [(column.column, _encoder(column)) for column in self.columns]
        values = [batch.column(column.name).to_pylist() for column in self.columns]
        for key, row in zip(keys, zip(*values, strict=True), strict=True):
            yield {
                column: encode(key, value)
                for (column, encode), value in zip(encoders, row, strict=True)
                if value is not None
            }

    def _time(self, key: bytes, time: object) -> int:
        if isinstance(time, datetime):
            return milliseconds_of(time)
        if isinstance(time, int):
            return time
        raise MappingError(f'row {shown(key)} has no time: its column "{self.time_column}" is null')


def row_mapper(schema: types.StructType, options: WriteOptions) -> RowMapper:
    """
    The mapper for the rows of a DataFrame.

    Raises:
        ConfigError: a column is missing, has a type that cannot be written, or is not written; or two columns are
            written to the same cell.
    """
    columns = options.columns
    _check_columns(columns, options.time_column)
    expected: list[tuple[str, tuple[object, ...]]] = [(columns.row.name, _KEYS)]
    if columns.columns:
        expected += [(column.name, _WRITABLE[column.cell_type]) for column in columns]
    else:
        expected.append((CELLS, _MAPS))
    if options.time_column is not None:
        expected.append((options.time_column, _TIMES))
    found = {field.name: field.dataType for field in schema}
    for name, allowed in expected:
        if name not in found:
            hint = did_you_mean(name, found)
            if name == CELLS:
                hint = f'it is a {NEWEST_CELLS.simpleString()}; or declare columns in .option("columns", …)'
            raise ConfigError(f'the DataFrame has no column "{name}"', hint=hint or f"it has {', '.join(found)}")
        if found[name] not in allowed and type(found[name]) not in allowed:
            names = " or ".join(_type_name(each) for each in allowed)
            raise ConfigError(
                f'column "{name}" of the DataFrame is {found[name].simpleString()}', hint=f"cast it to {names}"
            )
    written = {name for name, _ in expected}
    for name in found:
        if name not in written:
            raise ConfigError(
                f'column "{name}" of the DataFrame is not written', hint='drop it, or add it to .option("columns", …)'
            )
    return RowMapper(columns, options.time_ms, options.time_column)


def _check_columns(columns: DeclaredColumns, time_column: str | None) -> None:
    if time_column == columns.row.name:
        raise ConfigError(
            f'the option "time_column" names the row key, "{time_column}"', hint="name a column of type timestamp"
        )
    names: dict[bytes, str] = {}
    for column in columns:
        other = names.setdefault(column.column, column.name)
        if other != column.name:
            raise ConfigError(
                f'the columns "{other}" and "{column.name}" of the DataFrame are both written to '
                f"{shown(column.column)}",
                hint='remove one of them from .option("columns", …)',
            )


def _type_name(each: Any) -> str:
    name: str = (each if isinstance(each, types.DataType) else each()).simpleString()
    return name


def _key(key: object) -> bytes:
    if key is None:
        raise MappingError("a row has no key: its column is null", hint="filter such rows out")
    return key.encode() if isinstance(key, str) else bytes(key)  # type: ignore[call-overload]


def _cells_of(key: object, pairs: Iterable[tuple[str, bytes | str | None]]) -> dict[bytes, bytes]:
    r"""The cells of a map; it may have one column under two names, since `A` is also written `\x41`."""
    cells: dict[bytes, bytes] = {}
    for name, value in pairs:
        if value is not None:
            column = _column(_key(key), name)
            if column in cells:
                raise MappingError(f"row {shown(_key(key))} has two values of the cell {shown(column)}")
            cells[column] = value if isinstance(value, bytes) else value.encode()
    return cells


def _column(key: bytes, name: str) -> bytes:
    column = from_readable(name)
    if column.find(b":") < 1:
        raise MappingError(f'row {shown(key)}: the cell "{name}" is not named family:qualifier')
    return column


def _encoder(column: DeclaredColumn) -> Callable[[object, Any], bytes]:
    codec = CODECS[column.cell_type]

    def encode(key: object, value: Any) -> bytes:
        try:
            return codec.encode(value)
        except ValueError as error:
            raise MappingError(f'row {shown(_key(key))}: column "{column.name}": {error}') from error

    return encode
