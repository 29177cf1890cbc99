"""
Copies rows of a version into few large files of another version.

Rows stay in the order of the files, whose names begin with the batch time.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from ingest.api import Origin
from sinks.archive.column_types import ArchiveColumnsDifferError
from sinks.archive.layout import ArchiveFormat, PartName, writer_digits
from sinks.archive.partition import Partition
from sinks.archive.reading import batches_in, lines_in, origin_of, origins_of, schema_in
from sinks.archive.row_files import gzip_writer, parquet_writer
from sinks.files.root import Entry, Root

TARGET_BYTES = 128 << 20
"""Of a written file: as large as a block of HDFS, so that a task of Spark reads one."""
_GROUP_BYTES = 64 << 20  # of a row group in memory, of several record batches
_LINES_BYTES = 1 << 20  # of lines that are compressed together

Keeps = Callable[[Origin], bool]
"""Whether the row of an event is copied."""


class Copied(NamedTuple):
    """
    What was copied.

    Attributes:
        files: that were read.
        rows: that were copied.
        written: number of files that were written.
    """

    files: int = 0
    rows: int = 0
    written: int = 0


def copy_parts(
    partition: Partition,
    source: int,
    target: int,
    parts: Iterable[tuple[PartName, Entry]],
    keeps: Keeps | None = None,
    *,
    target_bytes: int = TARGET_BYTES,
) -> Iterator[Copied]:
    """
    Copy rows of some files of a version into files of another version; yields what was copied so far after each file.

    Args:
        partition: of both.
        source: the version that is read.
        target: the version that is written; not complete.
        parts: the files, sorted by name.
        keeps: which rows; None for all.
        target_bytes: files up to this size together become one.

    Raises:
        ArchiveCorruptError: a file is damaged.
        ConflictError: `archive_columns_differ`: files have the same column with different types.
        OSError: of the file system.
    """
    digits = writer_digits("copy", str(target))
    files = rows = written = 0
    yield Copied()
    for number, group in enumerate(_groups(parts, target_bytes)):
        last = group[-1][0]
        paths = [partition.path(source, entry.name) for _, entry in group]
        path = partition.path(target, str(PartName(last.time_ms, number, digits, last.suffix)))
        copied = copy_rows(partition.root, paths, path, keeps)
        files, rows, written = files + len(paths), rows + copied, written + bool(copied)
        yield Copied(files, rows, written)


def copy_rows(root: Root, paths: Sequence[str], path: str, keeps: Keeps | None = None) -> int:
    """
    Write rows of files into one file, and return their number; without a row there is no file.

    Args:
        root: of the table.
        paths: of the files that are read; not empty, of one format.
        path: of the file that is written.
        keeps: which rows; None for all.

    Raises:
        ArchiveCorruptError: as `copy_parts`.
        ConflictError: as `copy_parts`.
        OSError: as `copy_parts`.
    """
    copy = _copy_parquet if path.endswith(ArchiveFormat.PARQUET.suffix) else _copy_lines
    rows = copy(root, paths, path, keeps)
    if not rows:
        root.remove_file(path)
    return rows


def _groups(parts: Iterable[tuple[PartName, Entry]], target_bytes: int) -> Iterator[list[tuple[PartName, Entry]]]:
    group: list[tuple[PartName, Entry]] = []
    size = 0
    for part in parts:
        if group and (size + part[1].size > target_bytes or part[0].suffix != group[-1][0].suffix):
            yield group
            group, size = [], 0
        group.append(part)
        size += part[1].size
    if group:
        yield group


def _copy_parquet(root: Root, paths: Sequence[str], path: str, keeps: Keeps | None) -> int:
    """A column that a file lacks is null in its rows; memory is bounded by a row group."""
    schema = _common_schema(root, paths)
    rows = 0
    with root.new_file(path) as file, parquet_writer(file, schema) as writer:
        pending: list[pa.RecordBatch] = []
        for each in paths:
            for batch in batches_in(root, each):
                kept = batch if keeps is None else batch.filter(pa.array(map(keeps, origins_of(batch)), pa.bool_()))
                pending.append(_with_columns(kept, schema))
                rows += kept.num_rows
                if sum(found.nbytes for found in pending) >= _GROUP_BYTES:
                    writer.write_table(pa.Table.from_batches(pending))
                    pending = []
        if pending:
            writer.write_table(pa.Table.from_batches(pending))
    return rows


def _copy_lines(root: Root, paths: Sequence[str], path: str, keeps: Keeps | None) -> int:
    rows = 0
    with root.new_file(path) as file, gzip_writer(file) as writer:
        pending = bytearray()
        for each in paths:
            for line in lines_in(root, each):
                if keeps is not None and not keeps(origin_of(root, each, line)):
                    continue
                pending += line
                rows += 1
                if len(pending) >= _LINES_BYTES:
                    writer.write(pending)
                    pending.clear()
        writer.write(pending)
    return rows


def _common_schema(root: Root, paths: Sequence[str]) -> pa.Schema:
    schemas = [schema_in(root, path) for path in paths]
    try:
        return pa.unify_schemas(schemas)
    except pa.ArrowException as error:
        raise ArchiveColumnsDifferError(
            f'files of "{root}" have a column with different types: {error}',
            hint="'attr2hbase archive rerun' without --from and --to writes all rows again; or archive into "
            "another table",
        ) from error


def _with_columns(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    names = batch.schema.names
    columns = [
        batch.column(field.name) if field.name in names else pa.nulls(batch.num_rows, field.type) for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
