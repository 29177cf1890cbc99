"""Errors of archives."""

from ingest.api import IngestError, IntegrityError, NotFoundError


class ArchiveCorruptError(IntegrityError):
    """A pointer or a marker of an archive cannot be read, or names a batch that does not exist."""

    code = "archive_corrupt"


class NoArchiveBatchError(NotFoundError):
    """An archive has no such partition, or the batch is not complete or not there."""

    code = "no_archive_batch"

    def __init__(self, message: str, *, hint: str = "'ingest archive history' lists the batches") -> None:
        super().__init__(message, hint=hint)


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
