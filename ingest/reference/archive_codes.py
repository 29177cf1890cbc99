"""Error codes of archives: what raises them, and their meaning."""

from ingest.api import ConflictError, IngestError, IntegrityError, NotFoundError

ARCHIVE_CODES: dict[str, tuple[type[IngestError], str]] = {
    "archive_corrupt": (
        IntegrityError,
        "The pointer of an archive's partition cannot be read, or names a batch that is not complete or not there.",
    ),
    "archive_rerun_runs": (ConflictError, "With `--exclusive`: another process writes a batch of the partition."),
    "no_archive_batch": (
        NotFoundError,
        "The archive has no such table or partition, or the batch is not complete or not there.",
    ),
}
