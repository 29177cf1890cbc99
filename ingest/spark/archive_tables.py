"""
Archived tables in Spark's SQL: a table with an explicit schema, whose partitions have the locations of their batches.

The pointers of the archive are the truth, and the table follows them. With `spark.sql.catalogImplementation: hive` the
table is in a Hive metastore, such as Derby's; else it is gone with the session, and `register` makes it again.

`MSCK REPAIR TABLE` and `RECOVER PARTITIONS` must not be run: they register the folder of a partition itself, and a
query then counts the rows of all its batches.

Source: Spark SQL guide, ALTER TABLE; SPARK-19128 and SPARK-34262 (cached tables after SET LOCATION).
"""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from ingest.api import ConflictError, IngestError
from sinks.archive.errors import ArchiveSqlBehindError

HIVE = "spark.sql.catalogImplementation"
"""Setting of Spark; the value `hive` is a metastore that outlives the session."""
_MOST_CAUSES = 30
_IN_USE = ("XSDB6", "Another instance of Derby may have already booted")


@dataclass(frozen=True)
class SqlTable:
    """
    An archived table as SQL.

    Attributes:
        name: of the table; a letter that a metastore does not have becomes `_`.
        columns: name -> type of Spark, without the column of the partition.
        partition: the column of the partition.
        file_format: of the files, `parquet` or `json`.
        url: of the table's folder, as Spark reads it.
    """

    name: str
    columns: Mapping[str, str]
    partition: str
    file_format: str
    url: str

    @cached_property
    def sql_name(self) -> str:
        """The name in statements."""
        return "`" + "".join(each if each.isalnum() and each.isascii() else "_" for each in self.name) + "`"

    def create(self) -> str:
        """CREATE TABLE with the schema: one that Spark infers would have `batch_id` as a column."""
        columns = ", ".join(f"`{name}` {kind}" for name, kind in (*self.columns.items(), (self.partition, "string")))
        return (
            f"CREATE TABLE IF NOT EXISTS {self.sql_name} ({columns}) USING {self.file_format} "
            f"PARTITIONED BY (`{self.partition}`) LOCATION {_text(self.url)}"
        )

    def point(self, value: str, path: str) -> list[str]:
        """
        The statements that point a partition at a batch.

        Args:
            value: of the partition.
            path: of the batch, below the folder of the table.
        """
        place = f"PARTITION (`{self.partition}` = {_text(value)})"
        location = f"LOCATION {_text(f'{self.url}/{path}')}"
        return [
            f"ALTER TABLE {self.sql_name} ADD IF NOT EXISTS {place} {location}",
            f"ALTER TABLE {self.sql_name} {place} SET {location}",
            f"REFRESH TABLE {self.sql_name}",
        ]


def register(session: SparkSession, table: SqlTable, current: Mapping[str, str] = MappingProxyType({})) -> int:
    """
    Create a table, unless it exists, and point its partitions at batches.

    Args:
        session: whose catalog gets the table.
        table: that is registered.
        current: value of a partition -> path of its batch below the folder of the table.

    Returns:
        The number of partitions whose location has changed.

    Raises:
        ConflictError: `metastore_in_use`: another process has Derby's metastore open.
        ArchiveSqlBehindError: Spark refuses a statement.
    """
    _run(session, table.create())
    known = locations(session, table)
    changed = 0
    for value, path in current.items():
        if known.get(value) != path:
            for statement in table.point(value, path):
                _run(session, statement)
            changed += 1
    return changed


def locations(session: SparkSession, table: SqlTable) -> dict[str, str]:
    """
    The partitions of a table and their locations, below its folder if they are there; none without the table.

    Raises:
        ConflictError: as `register`.
        ArchiveSqlBehindError: as `register`.
    """
    try:
        if not session.catalog.tableExists(table.sql_name):
            return {}
    except (PySparkException, Py4JError) as error:
        raise _translated(f"DESCRIBE TABLE {table.sql_name}", error) from error
    shown = _run(session, f"SHOW PARTITIONS {table.sql_name}")
    return dict(_located(session, table, [str(row[0]) for row in shown]))


def _located(session: SparkSession, table: SqlTable, partitions: list[str]) -> Iterator[tuple[str, str]]:
    from urllib.parse import unquote

    for partition in partitions:
        value = unquote(partition.partition("=")[2])
        statement = f"DESCRIBE FORMATTED {table.sql_name} PARTITION (`{table.partition}` = {_text(value)})"
        found = next((str(row[1]) for row in _run(session, statement) if row[0] == "Location"), "")
        yield value, _below(found, table.url)


def _below(location: str, url: str) -> str:
    """A location without the folder of the table; Spark writes a path as a URL, with one slash or three."""
    plain = location.removeprefix("file://").removeprefix("file:")
    folder = url.removeprefix("file://").removeprefix("file:")
    return plain.removeprefix(f"{folder.rstrip('/')}/")


def _run(session: SparkSession, statement: str) -> list[tuple[object, ...]]:
    try:
        return [tuple(row) for row in session.sql(statement).collect()]
    except (PySparkException, Py4JError) as error:
        raise _translated(statement, error) from error


def _translated(statement: str, error: Exception) -> IngestError:
    text = _with_causes(error)
    if any(sign in text for sign in _IN_USE):
        return ConflictError(
            "metastore in use: another process has Derby's database of the metastore open",
            code="metastore_in_use",
            hint="end that process, such as a Spark shell, or use a metastore with a server",
        )
    reason = error.getCondition() if isinstance(error, AnalysisException) else None
    return ArchiveSqlBehindError(statement, reason or str(error).strip().partition("\n")[0])


def _with_causes(error: BaseException) -> str:
    """The text of an exception of the JVM with those of its causes, of which Python's has the first."""
    texts = [str(error)]
    cause = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    with contextlib.suppress(Py4JError, AttributeError):
        while cause is not None and len(texts) < _MOST_CAUSES:
            texts.append(str(cause.toString()))
            cause = cause.getCause()
    return "\n".join(texts)


def _text(value: str) -> str:
    """A string literal of SQL."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
