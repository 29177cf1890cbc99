"""Reads files of rows: their origins, their columns, and rows as they are."""

import gzip
import zlib
from collections.abc import Collection, Iterator

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ingest.api import Origin, RecordPlace
from sinks.archive.columns import FIXED_COLUMNS
from sinks.archive.errors import ArchiveCorruptError
from sinks.archive.layout import ArchiveFormat
from sinks.archive.row_files import type_name
from sinks.files.root import Root

_ROWS = 65_536  # of a record batch
_ORIGIN = [column.name for column in FIXED_COLUMNS[: len(Origin._fields)]]


def origins_in(root: Root, path: str, records: Collection[RecordPlace] | None = None) -> Iterator[Origin]:
    """
    The origins of the rows of a file.

    Args:
        root: of the table.
        path: of the file.
        records: only rows of these; None for all.

    Raises:
        ArchiveCorruptError: the file is damaged.
        OSError: of the file system.
    """
    found = _origins_of_parquet if path.endswith(ArchiveFormat.PARQUET.suffix) else _origins_of_lines
    offsets = None if records is None else {offset for _, _, offset in records}
    for origin in found(root, path, offsets):
        if records is None or origin[:3] in records:
            yield origin


def types_in(root: Root, path: str) -> dict[str, str]:
    """
    The columns of a Parquet file, by its end: name -> type, as the option of a column has it.

    Args:
        root: of the table.
        path: of the file.

    Raises:
        ArchiveCorruptError: the file is damaged.
        OSError: of the file system.
    """
    return {field.name: type_name(field.type) for field in schema_in(root, path)}


def schema_in(root: Root, path: str) -> pa.Schema:
    """
    The schema of a Parquet file, by its end.

    Raises:
        ArchiveCorruptError: the file is damaged.
        OSError: of the file system.
    """
    try:
        with root.open(path) as content:
            return pq.read_schema(content)
    except pa.ArrowException as error:
        raise _damaged(root, path, error) from error


def batches_in(root: Root, path: str, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    """
    The rows of a Parquet file; of all columns, or of some.

    Raises:
        ArchiveCorruptError: the file is damaged.
        OSError: of the file system.
    """
    try:
        with root.open(path) as content, pq.ParquetFile(content) as rows:
            yield from rows.iter_batches(_ROWS, columns=columns)
    except pa.ArrowException as error:
        raise _damaged(root, path, error) from error


def lines_in(root: Root, path: str) -> Iterator[bytes]:
    """
    The rows of a file of JSON, each with its line break.

    Raises:
        ArchiveCorruptError: the file is damaged.
        OSError: of the file system.
    """
    try:
        with root.open(path) as content, gzip.GzipFile(fileobj=content) as lines:
            yield from lines
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _damaged(root, path, error) from error


def origins_of(batch: pa.RecordBatch) -> Iterator[Origin]:
    """The origins of rows of `batches_in`."""
    return map(Origin, *(batch.column(name).to_pylist() for name in _ORIGIN))


def origin_of(root: Root, path: str, line: bytes) -> Origin:
    """
    The origin of a row of `lines_in`.

    Raises:
        ArchiveCorruptError: it has none.
    """
    try:
        row = orjson.loads(line)
        return Origin(*(row[name] for name in _ORIGIN))
    except (ValueError, TypeError, KeyError) as error:
        raise _damaged(root, path, error) from error


def _origins_of_parquet(root: Root, path: str, offsets: Collection[int] | None) -> Iterator[Origin]:
    wanted = None if offsets is None else pa.array(offsets, pa.int64())
    for batch in batches_in(root, path, _ORIGIN):
        yield from origins_of(batch if wanted is None else batch.filter(pc.is_in(batch.column("_offset"), wanted)))


def _origins_of_lines(root: Root, path: str, offsets: Collection[int] | None) -> Iterator[Origin]:
    for line in lines_in(root, path):
        origin = origin_of(root, path, line)
        if offsets is None or origin.offset in offsets:
            yield origin


def _damaged(root: Root, path: str, error: Exception) -> ArchiveCorruptError:
    return ArchiveCorruptError(
        f'"{path}" in "{root}" is damaged: {error}', hint="write the partition again with 'attr2hbase archive rerun'"
    )
