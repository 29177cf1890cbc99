"""The types of the columns of an archive: those of new files must be those of its files."""

from collections.abc import Iterator, Sequence

from ingest.api import ConflictError
from sinks.archive.columns import Column
from sinks.archive.layout import NO_TIME, ArchiveFormat, PartitionRule
from sinks.archive.partition import Partition, partitions
from sinks.archive.reading import types_in
from sinks.files.root import Root


def refuse_other_types(
    root: Root, rule: PartitionRule, columns: Sequence[Column], *, every_partition: bool = False
) -> None:
    """
    Refuse columns that the newest Parquet file of the newest partition has with other types: Spark reads no such table.

    Of a file only the end is read. Lines of JSON have no types.

    Args:
        root: of the table.
        rule: names the partitions.
        columns: of the files that will be written, in Parquet.
        every_partition: also look at the newest file of each other partition.

    Raises:
        ConflictError: `archive_columns_differ`.
        ArchiveCorruptError: the pointer or the file is damaged.
        OSError: of the file system.
    """
    for path in _newest(root, rule):
        found = types_in(root, path)
        for name, declared in columns:
            if found.get(name, declared) != declared:
                raise ConflictError(
                    f'column "{name}" is {declared} in the file, and {found[name]} in "{path}" of "{root}"',
                    code="archive_columns_differ",
                    hint="set the former type, or archive into another table; or write every partition again with "
                    "'ingest archive rerun' while the service is stopped",
                )
        if not every_partition:
            return


def refuse_mixed_types(partition: Partition, batch_id: int) -> None:
    """
    Refuse a batch in which rows that were copied have a column with another type than those that were written.

    The end of each Parquet file is read.

    Args:
        partition: that has the batch.
        batch_id: of the batch.

    Raises:
        ConflictError: `archive_columns_differ`.
        ArchiveCorruptError: a file is damaged.
        OSError: of the file system.
    """
    first: dict[str, tuple[str, str]] = {}
    for name in partition.parts(batch_id):
        if name.suffix != ArchiveFormat.PARQUET.suffix:
            continue
        path = partition.path(batch_id, str(name))
        for column, kind in types_in(partition.root, path).items():
            known, where = first.setdefault(column, (kind, path))
            if kind != known:
                raise ConflictError(
                    f'column "{column}" would be {known} in "{where}", and {kind} in "{path}" of "{partition.root}"',
                    code="archive_columns_differ",
                    hint="set the former type; or, if the topics still have all records of the partition, write it "
                    "again without --from and --to while the service is stopped",
                )


def _newest(root: Root, rule: PartitionRule) -> Iterator[str]:
    """The newest Parquet file that readers read in each partition, of the newest partition first."""
    found = partitions(root, rule)
    for value in sorted(found, key=lambda each: (each != NO_TIME, each), reverse=True):
        partition = found[value]
        current = partition.current()
        parts = [] if current is None else [str(name) for name in partition.parts(current)]
        files = [name for name in parts if name.endswith(ArchiveFormat.PARQUET.suffix)]
        if current is not None and files:
            yield partition.path(current, files[-1])
