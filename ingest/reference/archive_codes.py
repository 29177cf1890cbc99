"""Error codes of archives: what raises them, and their meaning."""

from ingest.api import ConfigError, ConflictError, IngestError, IntegrityError, MappingError
from sinks.archive.errors import IncompleteCurrentError, NoArchiveVersionError

ARCHIVE_CODES: dict[str, tuple[type[IngestError], str]] = {
    "announcement_expired": (
        ConflictError,
        "A re-run or join was suspended for minutes, so streams may not have written to its version.",
    ),
    "archive_columns_differ": (
        ConflictError,
        "A column of an archive has another type than in the newest file; or files that are joined, or copied, differ.",
    ),
    "archive_corrupt": (
        IntegrityError,
        "The pointer of an archive's partition names no version, or a file of an archive is damaged.",
    ),
    "archive_incomplete": (
        IncompleteCurrentError,
        "The pointer of an archive's partition names a version that is not complete.",
    ),
    "archive_moved": (
        ConflictError,
        "A newer re-run or join of the partition wins; or another version became current while rows were copied.",
    ),
    "archive_no_answer": (
        ConflictError,
        "The pipeline does not answer a re-run or a join: it runs without the sink of the file, or has ended.",
    ),
    "archive_other_writer": (
        ConflictError,
        "An archive has a writer that is not in the file, or whose checkpoint is not in `state_dir`.",
    ),
    "archive_rerun_runs": (ConflictError, "With `--exclusive`: another process writes a version of the partition."),
    "archive_rows_failed": (
        IngestError,
        "A re-run of a partition: the pipeline fails now for records with rows in the current version, which stays.",
    ),
    "archive_sql": (
        IngestError,
        "Spark's SQL refused a statement about an archived table. The pointer of the archive does not depend on it.",
    ),
    "archive_topic_compacted": (
        ConfigError,
        "A re-run of a partition: a topic is compacted, so it lacks records that have rows in the archive.",
    ),
    "archive_topic_recreated": (
        ConflictError,
        "A re-run of a partition: a topic was recreated, so rows of the archive have offsets of other records.",
    ),
    "archive_unacknowledged": (
        ConflictError,
        "A re-run or a join: a pipeline has ended within a micro-batch.",
    ),
    "bad_column": (MappingError, "A value is not of the type of its column in an archive."),
    "early_event": (MappingError, "The time of an event is further after its micro-batch than `early` of the archive."),
    "late_event": (MappingError, "The time of an event is further before its micro-batch than `late` of the archive."),
    "metastore_in_use": (ConflictError, "Another process has Derby's database of the metastore open."),
    "no_archive_version": (
        NoArchiveVersionError,
        "The archive has no such table or partition, or the version is not complete or not there.",
    ),
    "no_event_time": (MappingError, "An event for an archive has no time after 1970 that names a partition."),
    "sql_table_differs": (
        ConflictError,
        "The metastore has a table of the name of an archived one that is of another folder, or differs in a column.",
    ),
    "staged_file_lost": (IntegrityError, "A file of an archive that a task had staged was gone at the commit."),
}
