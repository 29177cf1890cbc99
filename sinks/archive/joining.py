"""
Joins the small files of a batch into few files of another batch.

Rows stay in the order of the files, whose names begin with the batch time. Lines of JSON are joined as gzip members,
without decompressing them.
"""

import shutil
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from sinks.archive.errors import ArchiveCorruptError
from sinks.archive.layout import PartName, writer_digits
from sinks.archive.partition import Partition
from sinks.snapshots.root import Entry

TARGET_BYTES = 128 << 20
"""Of a joined file: as large as a block of HDFS, so that a task of Spark reads one."""
_ROWS = 65_536  # of a record batch, several of which become a row group
_GROUP_BYTES = 64 << 20  # of a row group in memory


class Joined(NamedTuple):
    """
    What a join has written.

    Attributes:
        files: that were read.
        written: number of files.
        size_bytes: of these.
    """

    files: int = 0
    written: int = 0
    size_bytes: int = 0


def parts_of(partition: Partition, batch_id: int) -> dict[PartName, Entry]:
    """The files of rows of a batch, by their batch times."""
    entries = partition.root.entries(partition.path(batch_id))
    found = {name: entry for entry in entries if not entry.is_folder and (name := PartName.parsed(entry.name))}
    return dict(sorted(found.items()))


def join_parts(
    partition: Partition,
    source: int,
    target: int,
    parts: Sequence[tuple[PartName, Entry]],
    *,
    first: int = 0,
    target_bytes: int = TARGET_BYTES,
) -> Joined:
    """
    Write the rows of some files of a batch into another batch.

    Args:
        partition: of both.
        source: the batch that is read.
        target: the batch that is written; not complete.
        parts: the files, sorted by name.
        first: number of the first written file, above those of earlier calls.
        target_bytes: files up to this size are written together.

    Raises:
        ArchiveCorruptError: a file is damaged.
        OSError: of the file system.
    """
    written = size = 0
    for number, group in enumerate(_groups(parts, target_bytes), start=first):
        last = group[-1][0]
        digits = writer_digits("join", str(target))
        name = str(PartName(last.time_ms, number, digits, last.suffix))
        paths = [partition.path(source, entry.name) for _, entry in group]
        path = partition.path(target, name)
        if last.suffix == "parquet" and len(paths) > 1:
            _join_parquet(partition, paths, path)
        else:
            with partition.root.new_file(path) as file:
                for each in paths:
                    with partition.root.open(each) as content:
                        shutil.copyfileobj(content, file)
        written += 1
    names = {entry.name: entry.size for entry in partition.root.entries(partition.path(target))}
    mine = writer_digits("join", str(target))
    size = sum(count for name, count in names.items() if (found := PartName.parsed(name)) and found.writer == mine)
    return Joined(len(parts), written, size)


def _groups(parts: Sequence[tuple[PartName, Entry]], target_bytes: int) -> Iterator[list[tuple[PartName, Entry]]]:
    group: list[tuple[PartName, Entry]] = []
    size = 0
    for part in parts:
        if group and size + part[1].size > target_bytes:
            yield group
            group, size = [], 0
        group.append(part)
        size += part[1].size
    if group:
        yield group


def _join_parquet(partition: Partition, paths: Sequence[str], path: str) -> None:
    """Columns that a file lacks are null in its rows; memory is bounded by a row group."""
    schemas = [_schema(partition, each) for each in paths]
    schema = pa.unify_schemas(schemas, promote_options="permissive")
    with partition.root.new_file(path) as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
        pending: list[pa.Table] = []
        for each in paths:
            with partition.root.open(each) as content, pq.ParquetFile(content) as rows:
                for batch in rows.iter_batches(_ROWS):
                    pending.append(_cast(batch, schema))
                    if sum(table.nbytes for table in pending) >= _GROUP_BYTES:
                        writer.write_table(pa.concat_tables(pending))
                        pending = []
        if pending:
            writer.write_table(pa.concat_tables(pending))


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    columns = [
        batch[field.name].cast(field.type) if field.name in batch.schema.names else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _schema(partition: Partition, path: str) -> pa.Schema:
    try:
        with partition.root.open(path) as content:
            return pq.read_schema(content)
    except pa.ArrowException as error:
        raise ArchiveCorruptError(
            f'"{path}" in "{partition.root}" is no Parquet file: {error}', hint="write the partition again"
        ) from error
