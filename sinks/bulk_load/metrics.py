"""The metrics of bulk loads."""

from ingest.api.metric import Kind, Metric, Scope

METRICS = (
    Metric(
        "attr2hbase_bulk_load_rows_total",
        Kind.COUNTER,
        "rows",
        "Puts and deletes that were loaded as files in place of calls, by all attempts.",
        scope=Scope.TABLE,
    ),
    Metric(
        "attr2hbase_bulk_load_files_total",
        Kind.COUNTER,
        "files",
        "Files that were loaded, by all attempts.",
        scope=Scope.TABLE,
    ),
    Metric(
        "attr2hbase_bulk_load_seconds_total",
        Kind.COUNTER,
        "seconds",
        "Time in which tasks made and loaded these files, by all attempts.",
        scope=Scope.TABLE,
    ),
    Metric(
        "attr2hbase_bulk_load_refused_total",
        Kind.COUNTER,
        "chunks",
        "Chunks with rows that went as calls, since HBase had not loaded their files; its log says why.",
        scope=Scope.TABLE,
    ),
    Metric(
        "attr2hbase_bulk_load_unstaged_total",
        Kind.COUNTER,
        "chunks",
        "Chunks with rows that went as calls, since no file could be written to the folder `staging` of the store.",
        scope=Scope.TABLE,
    ),
)
