"""
Archived tables in the SQL catalog of a configuration.

With `spark: conf: spark.sql.catalogImplementation: hive` the file names a metastore, and the commands that move a
pointer change the location of its partition there too. Without it there is no catalog that outlives a session.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ingest.config.model import Configuration
from ingest.durable import file_errors
from ingest.service.archived_tables import ArchivedTable
from ingest.service.jobs.place import Place
from ingest.spark.archive_tables import HIVE, SqlTable, Statements
from sinks.archive.column_types import CurrentVersion, current_versions, refuse_other_types
from sinks.archive.columns import ColumnType, columns_of
from sinks.archive.layout import ArchiveFormat
from sinks.archive.switching import later_files, switch

_TYPES = {
    ColumnType.UTF8: "string",
    ColumnType.BINARY: "binary",
    ColumnType.INT32: "int",
    ColumnType.INT64: "bigint",
    ColumnType.FLOAT64: "double",
    ColumnType.TIME: "timestamp",
}


def has_metastore(configuration: Configuration) -> bool:
    """Whether the file names a metastore."""
    return configuration.spark.conf.get(HIVE) == "hive"


def sql_table(table: ArchivedTable) -> SqlTable:
    """The table in SQL; bytes in lines of JSON are text, or an object with `b64`."""
    is_json = table.settings.format is ArchiveFormat.JSON
    types = {
        column.name: "string" if is_json and column.column_type is ColumnType.BINARY else _TYPES[column.column_type]
        for column in columns_of(table.settings.columns)
    }
    return SqlTable(table.name, types, table.rule.column, table.settings.format.value, _url(table))


@dataclass(frozen=True, slots=True)
class RegisterResult:
    """
    What a registration has done.

    Attributes:
        partitions: number of those with a current version.
        unread: number of those without one.
        changed: number of SQL locations that have changed; None without a metastore.
        statements: that make the table in a session; empty with a metastore.
    """

    partitions: int
    unread: int
    changed: int | None
    statements: tuple[str, ...]


def register(place: Place, table: ArchivedTable) -> RegisterResult:
    """
    Create the SQL table, or add the columns that it lacks, and point its partitions at their current versions.

    Raises:
        ConflictError: `archive_columns_differ`, `metastore_in_use` or `sql_table_differs`.
        ArchiveCorruptError: a pointer is damaged.
        IngestError: `archive_sql`: Spark refuses a statement.
    """
    with file_errors(table.root):
        partitions = table.partitions(None)
        versions = list(current_versions(partitions))
        refuse_other_types(versions, table.settings.typed_columns, every=True)
    current = _paths_of(versions)
    unread = len(partitions) - len(current)
    sql = sql_table(table)
    if has_metastore(place.configuration):
        return RegisterResult(len(current), unread, Statements(place.session("archive")).register(sql, current), ())
    moves = (statement for value, path in current.items() for statement in sql.point(value, path))
    return RegisterResult(len(current), unread, None, (sql.create(), *moves, sql.refresh()))


@dataclass(frozen=True, slots=True)
class PointResult:
    """
    What readers of a partition read.

    Attributes:
        before: the version that was current before it was changed; None for none, or if it was not to be changed.
        current: the version that is current; None for none.
        path: of the current version, below the folder of the table.
        sql_changed: number of SQL locations that have changed; None without a metastore.
    """

    before: int | None
    current: int | None
    path: str | None
    sql_changed: int | None


def point(
    place: Place,
    table: ArchivedTable,
    value: str,
    version_id: int | None,
    *,
    now_ms: int,
    on_later: Callable[[int], object] = lambda _files: None,
) -> PointResult:
    """
    Make a complete version of a partition the current one, and have its SQL location follow.

    Args:
        place: whose configuration may name a metastore.
        table: that has the partition.
        value: of the partition.
        version_id: of the version; None to have only the SQL location follow.
        now_ms: ms since the epoch.
        on_later: called, before SQL follows, with the number of files of later micro-batches that only the version
            before has; not if there are none.

    Raises:
        NoArchiveVersionError: there is no such partition, or the version is not complete or not there.
        ArchiveCorruptError: the pointer is damaged.
        ConflictError: as `follow_current`.
        IngestError: as `follow_current`.
    """
    before = None
    with file_errors(table.root):
        partition = table.partition(value)
        if version_id is not None:
            before = switch(partition, version_id, now_ms)
            if before is not None and (later := later_files(partition, before, version_id)):
                on_later(later)
        current = partition.current()
    path = None if current is None else partition.path(current)
    return PointResult(before, current, path, _follow(place, table, value, path))


def follow_current(place: Place, table: ArchivedTable, value: str) -> None:
    """
    Have the SQL location of a partition follow its pointer, which has moved.

    Raises:
        NoArchiveVersionError: there is no such partition.
        ArchiveCorruptError: the pointer is damaged.
        ConflictError: `metastore_in_use` or `sql_table_differs`.
        IngestError: `archive_sql`: Spark refuses a statement.
    """
    with file_errors(table.root):
        partition = table.partition(value)
        current = partition.current()
    _follow(place, table, value, None if current is None else partition.path(current))


def _follow(place: Place, table: ArchivedTable, value: str, path: str | None) -> int | None:
    if not has_metastore(place.configuration):
        return None
    repeat = f"run 'attr2hbase archive point {table.name} --dt {value}': SQL does not see the current version"
    current = {} if path is None else {value: path}
    statements, sql = Statements(place.session("archive"), repeat), sql_table(table)
    if not statements.has(sql):  # new, or dropped: with this partition alone its queries would lack rows
        with file_errors(table.root):
            current = _paths_of(current_versions(table.partitions(None)))
    return statements.register(sql, current)


def _paths_of(versions: Iterable[CurrentVersion]) -> dict[str, str]:
    """Value of a partition -> path of its version, below the folder of the table."""
    return {each.value: each.partition.path(each.id) for each in sorted(versions, key=lambda each: each.value)}


def sql_paths(place: Place, table: ArchivedTable) -> dict[str, str]:
    """
    Value of a partition -> its location in SQL, below the folder of the table; none without a metastore.

    Raises:
        ConflictError: `metastore_in_use` or `sql_table_differs`.
        IngestError: `archive_sql`: Spark refuses a statement.
    """
    if not has_metastore(place.configuration):
        return {}
    return Statements(place.session("archive")).locations(sql_table(table))


def _url(table: ArchivedTable) -> str:
    from pathlib import Path

    url = table.root.url
    # Spark takes a location as it is: in one with `%20` it would read a folder of this name
    return url if "://" in url else f"file://{Path(url).absolute().as_posix()}"
