"""Error codes of archives: what raises them, and their meaning."""

from ingest.api import IngestError, IntegrityError

ARCHIVE_CODES: dict[str, tuple[type[IngestError], str]] = {
    "archive_corrupt": (
        IntegrityError,
        "The pointer of an archive's partition cannot be read, or names a batch that is not complete or not there.",
    ),
}
