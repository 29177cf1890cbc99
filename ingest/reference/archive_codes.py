"""Error codes of archives: what raises them, and their meaning."""

from ingest.api import IngestError, IntegrityError, MappingError

ARCHIVE_CODES: dict[str, tuple[type[IngestError], str]] = {
    "archive_corrupt": (
        IntegrityError,
        "The pointer of an archive's partition names no complete batch, or the record of a stream is damaged.",
    ),
    "bad_column": (MappingError, "A value is not of the type of its column in an archive."),
    "late_event": (MappingError, "The time of an event is further before its micro-batch than `late` of the archive."),
    "no_event_time": (MappingError, "An event for an archive has no time after 1970 that names a partition."),
    "staged_file_lost": (IntegrityError, "A file of an archive that a task had staged was gone at the commit."),
}
