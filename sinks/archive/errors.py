"""Errors of archives."""

from ingest.api import Disposition, IntegrityError, NotFoundError


class ArchiveCorruptError(IntegrityError):
    """A pointer or a marker of an archive cannot be read, or names a version that does not exist."""

    code = "archive_corrupt"


class IncompleteCurrentError(ArchiveCorruptError):
    """
    The pointer of a partition names a version that is not complete.

    A pipeline waits for the end: that of a pointer that moves beside a cleanup, or `attr2hbase archive point`.
    """

    code = "archive_incomplete"
    disposition = Disposition.RETRY


class NoArchiveVersionError(NotFoundError):
    """An archive has no such partition, or the version is not complete or not there."""

    code = "no_archive_version"

    def __init__(self, message: str, *, hint: str = "'attr2hbase archive history' lists the versions") -> None:
        super().__init__(message, hint=hint)
