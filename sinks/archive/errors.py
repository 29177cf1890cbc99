"""Errors of archives."""

from ingest.api import Disposition, IntegrityError, NotFoundError


class ArchiveCorruptError(IntegrityError):
    """The pointer of an archive's partition names no version, or a file of an archive is damaged."""

    code = "archive_corrupt"
    remedy = "Choose a complete version of `attr2hbase archive history` with `attr2hbase archive point`."


class IncompleteCurrentError(ArchiveCorruptError):
    """
    The pointer of an archive's partition names a version that is not complete.

    A pipeline waits for the end: that of a pointer that moves beside a cleanup, or `attr2hbase archive point`.
    """

    code = "archive_incomplete"
    disposition = Disposition.RETRY
    remedy = (
        "If it lasts, choose a complete version with `attr2hbase archive point`; the pipeline then resumes by itself."
    )


class NoArchiveVersionError(NotFoundError):
    """The archive has no such table or partition, or the version is not complete or not there."""

    code = "no_archive_version"
    remedy = "`attr2hbase archive history` lists the versions."

    def __init__(self, message: str, *, hint: str = "'attr2hbase archive history' lists the versions") -> None:
        super().__init__(message, hint=hint)
