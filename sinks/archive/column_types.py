"""The types of the columns of an archive: those of new files must be those of its files."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ingest.api import ConflictError
from sinks.archive.columns import Column
from sinks.archive.layout import NO_TIME, ArchiveFormat
from sinks.archive.partition import Partition
from sinks.archive.reading import types_in

ANOTHER_TYPE = (
    "set the former type, or archive into another table; or write every partition again with "
    "'attr2hbase archive rerun --force' while the service is stopped"
)
"""The hint if the file declares another type."""


class ArchiveColumnsDifferError(ConflictError):
    """A column of an archive has another type than in the newest file; or files that are joined, or copied, differ."""

    code = "archive_columns_differ"
    remedy = (
        "Set the former type of the column, or write the whole partition again: `attr2hbase archive rerun`, without "
        "`--from` and `--to`."
    )


class CurrentVersion(NamedTuple):
    """
    The version of a partition that readers read.

    Attributes:
        value: of the partition.
        partition: that has the version.
        id: of the version.
    """

    value: str
    partition: Partition
    id: int


def current_versions(found: Mapping[str, Partition]) -> Iterator[CurrentVersion]:
    """
    The current versions of partitions, of the newest partition first; a partition without one is left out.

    Args:
        found: value -> partition.

    Raises:
        ArchiveCorruptError: a pointer is damaged.
        OSError: of the file system.
    """
    for value in sorted(found, key=lambda each: (each != NO_TIME, each), reverse=True):
        current = found[value].current()
        if current is not None:
            yield CurrentVersion(value, found[value], current)


def refuse_other_types(
    versions: Iterable[CurrentVersion], columns: Sequence[Column], *, every: bool = False, hint: str = ANOTHER_TYPE
) -> None:
    """
    Refuse columns that files of a table have with other types: Spark reads no such table.

    Of a file only the end is read.

    Args:
        versions: of which the newest Parquet file is looked at: of the first version that has one.
        columns: of the files that will be written, in Parquet; none of lines of JSON.
        every: look at the newest file of each version.
        hint: what the user can do.

    Raises:
        ConflictError: `archive_columns_differ`.
        ArchiveCorruptError: the pointer or the file is damaged.
        OSError: of the file system.
    """
    if not columns:
        return
    for version in versions:
        parts = [str(name) for name in version.partition.parts(version.id)]
        files = [name for name in parts if name.endswith(ArchiveFormat.PARQUET.suffix)]
        if not files:
            continue
        path = version.partition.path(version.id, files[-1])
        found = types_in(version.partition.root, path)
        for name, declared in columns:
            if found.get(name, declared) != declared:
                raise ArchiveColumnsDifferError(
                    f'column "{name}" is {declared} in the file, and {found[name]} in "{path}" of '
                    f'"{version.partition.root}"',
                    hint=hint,
                )
        if not every:
            return


def refuse_mixed_types(partition: Partition, version_id: int) -> None:
    """
    Refuse a version in which rows that were copied have a column with another type than those that were written.

    The end of each Parquet file is read.

    Args:
        partition: that has the version.
        version_id: of the version.

    Raises:
        ConflictError: `archive_columns_differ`.
        ArchiveCorruptError: a file is damaged.
        OSError: of the file system.
    """
    first: dict[str, tuple[str, str]] = {}
    for name in partition.parts(version_id):
        if name.suffix != ArchiveFormat.PARQUET.suffix:
            continue
        path = partition.path(version_id, str(name))
        for column, kind in types_in(partition.root, path).items():
            known, where = first.setdefault(column, (kind, path))
            if kind != known:
                raise ArchiveColumnsDifferError(
                    f'column "{column}" would be {known} in "{where}", and {kind} in "{path}" of "{partition.root}"',
                    hint="set the former type; or, if the topics still have all records of the partition, write it "
                    "again without --from and --to while the service is stopped",
                )
