"""Files of rows, as Parquet by pyarrow or as lines of JSON compressed with gzip."""

import gzip
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import BinaryIO

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from sinks.archive.columns import Column, ColumnType, Row, plain_row_maker
from sinks.archive.layout import ArchiveFormat

_TYPES = {
    ColumnType.UTF8: pa.string(),
    ColumnType.BINARY: pa.binary(),
    ColumnType.INT32: pa.int32(),
    ColumnType.INT64: pa.int64(),
    ColumnType.FLOAT64: pa.float64(),
    ColumnType.TIME: pa.timestamp("ms", tz="UTC"),
}
_GZIP_LEVEL = 6


class RowFile(ABC):
    """A file of rows that is being written. Order: any number of `write`, then `close`."""

    @abstractmethod
    def write(self, rows: Sequence[Row]) -> None:
        """Write rows."""

    @abstractmethod
    def close(self) -> None:
        """Write the end of the file; the file object stays open."""


class _ParquetFile(RowFile):
    def __init__(self, file: BinaryIO, columns: Sequence[Column]) -> None:
        self._schema = pa.schema([(column.name, _TYPES[column.column_type]) for column in columns])
        self._writer = parquet_writer(file, self._schema)

    def write(self, rows: Sequence[Row]) -> None:
        columns = [
            pa.array(values, each.type) for values, each in zip(zip(*rows, strict=True), self._schema, strict=True)
        ]
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


class _JsonFile(RowFile):
    def __init__(self, file: BinaryIO, columns: Sequence[Column]) -> None:
        self._plain_row_of = plain_row_maker(columns)
        self._file = gzip_writer(file)

    def write(self, rows: Sequence[Row]) -> None:
        plain_row_of = self._plain_row_of
        self._file.write(b"".join(orjson.dumps(plain_row_of(row), option=orjson.OPT_APPEND_NEWLINE) for row in rows))

    def close(self) -> None:
        self._file.close()


def parquet_writer(file: BinaryIO, schema: pa.Schema) -> pq.ParquetWriter:
    """Writes Parquet as archives have it; the file object stays open."""
    return pq.ParquetWriter(file, schema, compression="zstd")


def gzip_writer(file: BinaryIO) -> gzip.GzipFile:
    """Compresses lines as archives have them: without a time and a name, so equal rows give equal bytes."""
    return gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0)


def type_name(arrow_type: pa.DataType) -> str:
    """The type of a column of a Parquet file, as the option of the column has it; Arrow's name for another type."""
    return next((str(name) for name, each in _TYPES.items() if each == arrow_type), str(arrow_type))


def new_row_file(file: BinaryIO, file_format: ArchiveFormat, columns: Sequence[Column]) -> RowFile:
    """
    A file of rows.

    Args:
        file: open for writing.
        file_format: of the file.
        columns: in the order of the values of a row.
    """
    return _ParquetFile(file, columns) if file_format is ArchiveFormat.PARQUET else _JsonFile(file, columns)
