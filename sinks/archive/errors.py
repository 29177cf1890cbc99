"""Errors of archives."""

from ingest.api import IntegrityError


class ArchiveCorruptError(IntegrityError):
    """A pointer or a marker of an archive cannot be read, or names a batch that does not exist."""

    code = "archive_corrupt"
