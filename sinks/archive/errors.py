"""Errors of archives."""

from ingest.api import IngestError, IntegrityError


class ArchiveCorruptError(IntegrityError):
    """A pointer or a marker of an archive cannot be read, or names a batch that does not exist."""

    code = "archive_corrupt"


class ArchiveSqlBehindError(IngestError):
    """
    Spark's SQL could not follow the pointer of an archive, which has moved.

    Attributes:
        statement: that failed.
    """

    code = "archive_sql_behind"

    def __init__(self, statement: str, reason: str) -> None:
        super().__init__(
            f"Spark SQL could not follow the archive: {reason}; the statement is {statement}",
            hint="'ingest archive point' repeats it",
        )
        self.statement = statement
