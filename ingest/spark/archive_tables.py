"""
Archived tables in Spark's SQL: a table with an explicit schema, whose partitions have the locations of their versions.

The pointers of the archive are the truth, and the table follows them. With `spark.sql.catalogImplementation: hive` the
table is in a Hive metastore, such as Derby's; else it is gone with the session, and `register` makes it again.

`MSCK REPAIR TABLE` and `RECOVER PARTITIONS` must not be run: for a partition that the table lacks they register its
folder itself. Spark reads the files of a location, and not those of folders below it, so it finds none of its rows.

Source: Spark SQL guide, ALTER TABLE; SPARK-19128 and SPARK-34262 (cached tables after SET LOCATION).
"""

import contextlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from ingest.api import ConflictError, IngestError

HIVE = "spark.sql.catalogImplementation"
"""Setting of Spark; the value `hive` is a metastore that outlives the session."""
_MOST_CAUSES = 30
_IN_USE = ("XSDB6", "Another instance of Derby may have already booted")


class ArchiveSqlError(IngestError):
    """Spark's SQL refused a statement about an archived table. The pointer of the archive does not depend on it."""

    code = "archive_sql"
    remedy = (
        "Correct the settings of the metastore; after a re-run, a join or a point, `attr2hbase archive point TABLE "
        "--dt VALUE` repeats the statements, else start the command again."
    )


class MetastoreInUseError(ConflictError):
    """Another process has Derby's database of the metastore open."""

    code = "metastore_in_use"
    remedy = "End the process that has the metastore open, such as a Spark shell, or use a server for it."


class SqlTableDiffersError(ConflictError):
    """The metastore has a table of the name of an archived one that is of another folder, or differs in a column."""

    code = "sql_table_differs"
    remedy = (
        "Another folder: give the archive another `table`. A column: run `DROP TABLE` in SQL, which leaves the files "
        "of an archive, then `attr2hbase admin archive register TABLE`."
    )


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
        """CREATE TABLE with the schema: one that Spark infers would have `version` as a column."""
        columns = ", ".join(
            f"{_name(name)} {kind}" for name, kind in (*self.columns.items(), (self.partition, "string"))
        )
        return (
            f"CREATE TABLE IF NOT EXISTS {self.sql_name} ({columns}) USING {self.file_format} "
            f"PARTITIONED BY ({_name(self.partition)}) LOCATION {_text(self.url)}"
        )

    def add(self, names: Collection[str]) -> str:
        """The statement that adds columns of the table; they are null in older files."""
        columns = ", ".join(f"{_name(name)} {self.columns[name]}" for name in names)
        return f"ALTER TABLE {self.sql_name} ADD COLUMNS ({columns})"

    def point(self, value: str, path: str) -> list[str]:
        """
        The statements that point a partition at a version; `refresh` follows them.

        Args:
            value: of the partition.
            path: of the version, below the folder of the table.
        """
        place = f"PARTITION ({_name(self.partition)} = {_text(value)})"
        location = f"LOCATION {_text(f'{self.url}/{path}')}"
        return [
            f"ALTER TABLE {self.sql_name} ADD IF NOT EXISTS {place} {location}",
            f"ALTER TABLE {self.sql_name} {place} SET {location}",
        ]

    def refresh(self) -> str:
        """The statement after which queries of a session find what has changed."""
        return f"REFRESH TABLE {self.sql_name}"


class _Described(NamedTuple):
    """
    A table or a partition, as Spark describes it.

    Attributes:
        columns: name in lower case, as Spark compares it -> type.
        location: empty for a view.
    """

    columns: dict[str, str]
    location: str


class Statements:
    """
    Runs the statements of an archived table.

    Args:
        session: whose catalog has the table.
        repeat: what the user does after the cause of an error is corrected.
    """

    def __init__(self, session: SparkSession, repeat: str = "start the command again") -> None:
        self._session = session
        self._repeat = repeat

    def register(self, table: SqlTable, current: Mapping[str, str] = MappingProxyType({})) -> int:
        """
        Create a table, or add the columns that it lacks, and point its partitions at versions.

        Args:
            table: that is registered.
            current: value of a partition -> path of its version below the folder of the table; others stay as they are.

        Returns:
            The number of partitions whose location has changed.

        Raises:
            ConflictError: `metastore_in_use`: another process has Derby's metastore open; or `sql_table_differs`: the
                table of this name is of another folder, or a column has another type.
            IngestError: `archive_sql`: Spark refuses a statement.
        """
        self._run(table.create())
        found = self._own(table)
        for name, kind in table.columns.items():
            if (known := found.columns.get(name.lower(), kind)) != kind:
                raise SqlTableDiffersError(
                    f'the column "{name}" of the table {table.sql_name} is {known} in SQL, and {kind} in the archive',
                    hint=f"run DROP TABLE {table.sql_name}, which leaves the files, then 'attr2hbase admin archive "
                    "register'",
                )
        missing = [name for name in table.columns if name.lower() not in found.columns]
        if missing:
            self._run(table.add(missing))
        known_paths = self._locations(table, current)
        changed = {value: path for value, path in current.items() if known_paths.get(value) != path}
        for value, path in changed.items():
            for statement in table.point(value, path):
                self._run(statement)
        if changed:
            self._run(table.refresh())
        return len(changed)

    def locations(self, table: SqlTable) -> dict[str, str]:
        """
        All partitions of a table and their locations, below its folder if they are there; none without the table.

        Raises:
            ConflictError: as `register`.
            IngestError: as `register`.
        """
        if not self.has(table):
            return {}
        self._own(table)
        return self._locations(table)

    def has(self, table: SqlTable) -> bool:
        """
        Whether there is a table of this name.

        Raises:
            ConflictError: `metastore_in_use`, as `register`.
            IngestError: as `register`.
        """
        return bool(self._run(f"SHOW TABLES LIKE {_text(table.sql_name.strip('`').lower())}"))

    def _own(self, table: SqlTable) -> _Described:
        """The description of a table, if it is of the archive's folder."""
        found = self._described(f"DESCRIBE FORMATTED {table.sql_name}")
        if _path(found.location) != _path(table.url):
            where = f"in {found.location}" if found.location else "without a folder"
            raise SqlTableDiffersError(
                f"the metastore has another table {table.sql_name}: it is {where}, and the archive in {table.url}",
                hint="give the archive another `table`, or remove that table from the metastore if it is not used",
            )
        return found

    def _locations(self, table: SqlTable, values: Collection[str] | None = None) -> dict[str, str]:
        """Value of a partition -> its location, of these values or of all: a statement for each."""
        from urllib.parse import unquote

        rows = self._run(f"SHOW PARTITIONS {table.sql_name}")
        partitions = [unquote(str(row[0]).partition("=")[2]) for row in rows]
        return {value: self._location(table, value) for value in partitions if values is None or value in values}

    def _location(self, table: SqlTable, value: str) -> str:
        place = f"PARTITION ({_name(table.partition)} = {_text(value)})"
        found = self._described(f"DESCRIBE FORMATTED {table.sql_name} {place}")
        return _path(found.location).removeprefix(f"{_path(table.url)}/")

    def _described(self, statement: str) -> _Described:
        columns: dict[str, str] = {}
        rows = iter(self._run(statement))
        for row in rows:  # a blank row, or a heading, ends the columns; a column may be named Location
            if not row[0] or str(row[0]).startswith("# "):
                break
            columns[str(row[0]).lower()] = str(row[1])
        return _Described(columns, next((str(row[1]) for row in rows if row[0] == "Location"), ""))

    def _run(self, statement: str) -> list[tuple[object, ...]]:
        try:
            return [tuple(row) for row in self._session.sql(statement).collect()]
        except (PySparkException, Py4JError) as error:
            raise _translated(statement, error, self._repeat) from error


def _path(location: str) -> str:
    """A location as it is compared: Spark writes a path as a URL, with one slash or three."""
    return location.removeprefix("file://").removeprefix("file:").rstrip("/")


def _translated(statement: str, error: Exception, repeat: str) -> IngestError:
    text = _with_causes(error)
    if any(sign in text for sign in _IN_USE):
        return MetastoreInUseError(
            "metastore in use: another process has Derby's database of the metastore open",
            hint=f"end that process, such as a Spark shell, or use a metastore with a server; then {repeat}",
        )
    reason = error.getCondition() if isinstance(error, AnalysisException) else None
    reason = reason or str(error).strip().partition("\n")[0]
    return ArchiveSqlError(
        f"Spark's SQL has refused a statement: {reason}; the statement is {statement}",
        hint=f"correct the settings of the metastore under `spark: conf`, then {repeat}",
    )


def _with_causes(error: BaseException) -> str:
    """The text of an exception of the JVM with those of its causes, of which Python's has the first."""
    texts = [str(error)]
    cause = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    with contextlib.suppress(Py4JError, AttributeError):
        while cause is not None and len(texts) < _MOST_CAUSES:
            texts.append(str(cause.toString()))
            cause = cause.getCause()
    return "\n".join(texts)


def _name(column: str) -> str:
    """The name of a column in SQL."""
    return "`" + column.replace("`", "``") + "`"


def _text(value: str) -> str:
    """A string literal of SQL."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
