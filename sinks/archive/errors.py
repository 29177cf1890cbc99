"""Errors of archives."""

from ingest.api import IntegrityError, NotFoundError


class ArchiveCorruptError(IntegrityError):
    """A pointer or a marker of an archive cannot be read, or names a batch that does not exist."""

    code = "archive_corrupt"


class NoArchiveBatchError(NotFoundError):
    """An archive has no such partition, or the batch is not complete or not there."""

    code = "no_archive_batch"

    def __init__(self, message: str, *, hint: str = "'ingest archive history' lists the batches") -> None:
        super().__init__(message, hint=hint)
