"""
Archived tables in the SQL catalog of a configuration.

With `spark: conf: spark.sql.catalogImplementation: hive` the file names a metastore, and the commands that move a
pointer change the location of its partition there too. Without it there is no catalog that outlives a session.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ingest.config.model import Configuration
from ingest.service.archived_tables import ArchivedTable
from ingest.spark.archive_tables import HIVE, SqlTable, locations, register
from ingest.spark.session import close_session, open_session
from ingest.spark.state import session_options
from sinks.archive.columns import ColumnType, columns_of
from sinks.archive.layout import ArchiveFormat
from sinks.archive.partition import Partition

if TYPE_CHECKING:
    from ingest.spark.streaming.reading import Session

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


def current_paths(table: ArchivedTable, value: str | None = None) -> dict[str, str]:
    """
    Value of a partition -> path of its current batch below the folder of the table.

    Args:
        table: that has them.
        value: of one partition; None for all.

    Raises:
        NotFoundError: there is no partition of this value.
        ArchiveCorruptError: a pointer is damaged.
        OSError: of the file system.
    """
    found = {}
    for partition in table.partitions(value):
        current = partition.current()
        if current is not None:
            found[_value(table, partition)] = partition.path(current)
    return found


def follow(configuration: Configuration, table: ArchivedTable, current: Mapping[str, str]) -> int | None:
    """
    Point the partitions of the SQL table at batches, in a session of its own.

    Returns:
        The number of locations that have changed; None without a metastore.

    Raises:
        ConflictError: `metastore_in_use`.
        ArchiveSqlBehindError: Spark refuses a statement.
    """
    if not has_metastore(configuration):
        return None
    with _session(configuration) as session:
        return register(session, sql_table(table), current)


def sql_paths(configuration: Configuration, table: ArchivedTable) -> dict[str, str]:
    """
    Value of a partition -> its location in SQL, below the folder of the table; none without a metastore.

    Raises:
        ConflictError: `metastore_in_use`.
        ArchiveSqlBehindError: Spark refuses a statement.
    """
    if not has_metastore(configuration):
        return {}
    with _session(configuration) as session:
        return locations(session, sql_table(table))


def statements(table: ArchivedTable, current: Mapping[str, str]) -> Iterator[str]:
    """The statements that make the table in a session."""
    sql = sql_table(table)
    yield sql.create()
    for value, path in current.items():
        yield from sql.point(value, path)[:-1]
    yield f"REFRESH TABLE {sql.sql_name}"


@contextmanager
def _session(configuration: Configuration) -> "Iterator[Session]":
    session = open_session("attr2hbase archive", **session_options(configuration))
    try:
        yield session
    finally:
        close_session(session)


def _url(table: ArchivedTable) -> str:
    from pathlib import Path

    url = table.root.url
    return url if "://" in url else Path(url).absolute().as_uri()


def _value(table: ArchivedTable, partition: Partition) -> str:
    return table.rule.value_in(partition.folder) or ""
