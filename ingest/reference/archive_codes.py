"""Error codes of archives: what raises them, and their meaning."""

from ingest.api import ConflictError, IngestError, IntegrityError, MappingError, NotFoundError
from sinks.archive.errors import ArchiveSqlError

ARCHIVE_CODES: dict[str, tuple[type[IngestError], str]] = {
    "archive_corrupt": (
        IntegrityError,
        "The pointer of an archive's partition names no complete batch, or the record of a stream is damaged.",
    ),
    "archive_rerun_runs": (ConflictError, "An exclusive re-run of a partition: another process writes a batch of it."),
    "archive_sql": (
        ArchiveSqlError,
        "Spark's SQL refused a statement after the pointer of a partition had moved: the SQL location is the old one.",
    ),
    "bad_column": (MappingError, "A value is not of the type of its column in an archive."),
    "late_event": (MappingError, "The time of an event is further before its micro-batch than `late` of the archive."),
    "metastore_in_use": (ConflictError, "Another process has Derby's database of the metastore open."),
    "no_archive_batch": (
        NotFoundError,
        "The archive has no such table or partition, or the batch is not complete or not there.",
    ),
    "no_event_time": (MappingError, "An event for an archive has no time after 1970 that names a partition."),
    "staged_file_lost": (IntegrityError, "A file of an archive that a task had staged was gone at the commit."),
}
