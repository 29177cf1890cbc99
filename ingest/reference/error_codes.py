"""Error codes that are not the default code of an error class: what raises them, and their meaning."""

from ingest import api
from ingest.api import Disposition, IngestError, NotFoundError
from ingest.api.files import ReferenceFileError
from ingest.plugins.guard import OutOfMemoryError
from ingest.reference.archive_codes import ARCHIVE_CODES
from ingest.reference.blob_codes import BLOB_CODES
from ingest.reference.dump_codes import DUMP_CODES
from ingest.reference.kafka_codes import KAFKA_CODES
from ingest.reference.mapping_codes import MAPPING_CODES
from ingest.reference.update_codes import UPDATE_CODES

CODES: dict[str, tuple[type[IngestError] | Disposition, str]] = {
    **ARCHIVE_CODES,
    **BLOB_CODES,
    **DUMP_CODES,
    **KAFKA_CODES,
    **MAPPING_CODES,
    **UPDATE_CODES,
    "abandoned": (
        IngestError,
        "The service was stopped during a batch, which runs again after a restart.",
    ),
    "above_committed_position": (
        api.ConflictError,
        "A rollback reaches beyond the newest micro-batch that is complete in all tables of the pipeline.",
    ),
    "attribute_exists": (
        api.DecorateError,
        "A decorator sets an attribute that exists already, with attributes: existing: error.",
    ),
    "bad_access_line": (api.DecorateError, "The text is not an access-log line in the decorator's format."),
    "bad_address": (api.DecorateError, "The text is not an IP address, with on_invalid: error."),
    "bad_avro": (
        api.DecodeError,
        "The value is not Avro of the decorator's schema or, for format flume_avro, not an AvroFlumeEvent.",
    ),
    "bad_batch": (api.DecorateError, "The attributes batchSize and batchData do not contain a batch of Flume events."),
    "bad_cef": (
        api.DecorateError,
        "The text is not a CEF message: its header lacks one of seven fields, or its extension starts without a key.",
    ),
    "bad_csv": (
        api.DecorateError,
        "The text is not a single line of CSV: a quote is not closed, or there are several lines.",
    ),
    "bad_database": (
        api.DecorateError,
        "A database of addresses is damaged at the entry of this address.",
    ),
    "bad_elements": (
        api.DecorateError,
        "A member of the option `elements` is not an array of texts, numbers and booleans.",
    ),
    "bad_encoding": (
        api.ExpressionError,
        "A value is not in the encoding that a function, decorator or cell requires.",
    ),
    "bad_envelope": (
        api.DecodeError,
        'The value is JSON, but not an object with "blob" and "headers".',
    ),
    "bad_gzip": (api.DecorateError, "The attribute compressGzip does not contain a gzipped Flume event."),
    "bad_header": (api.DecodeError, "The header priority or nanos has an invalid value."),
    "bad_header_line": (
        api.DecorateError,
        "A header line is not a name, a colon and a value, with on_bad_line: error.",
    ),
    "bad_input": (api.ConfigError, "A line in the input of a command is not an event."),
    "bad_json": (api.DecodeError, "The text is not valid JSON, or not an object or array where one is required."),
    "bad_leef": (
        api.DecorateError,
        "The text is not a LEEF message of version 1 or 2, or a part of it is not a key with a value.",
    ),
    "bad_name": (
        api.DecorateError,
        "A name in an array is not UTF-8, so the array cannot be written as JSON.",
    ),
    "bad_notation": (api.DecodeError, 'A value in JSON is neither a string nor {"b64": "…"}.'),
    "bad_pairs": (
        api.DecorateError,
        "The text has no pair of key and value, or a part of it is not a pair, such as an unclosed quote.",
    ),
    "bad_plugin": (
        api.CatalogError,
        "A plugin's component violates the plugin contract, or cannot be created; the message has the reason.",
    ),
    "bad_protobuf": (
        api.DecorateError,
        "The value is not a message of the decorator's type, or lacks the required header.",
    ),
    "bad_syslog": (api.DecorateError, "The text has no priority, or not the header of the option `form`."),
    "bad_time": (
        api.EventError,
        "A text is not a time in any of the formats that the decorator or function accepts.",
    ),
    "bad_url": (api.DecorateError, "The text is not a URL: it contains blanks or control characters, or a bad port."),
    "bare_key": (api.DecorateError, "A key of the text has no value, with on_bare: error."),
    "batch_incomplete": (
        api.ConflictError,
        "Records cannot be replayed into deferred updates or a change feed before the last micro-batch is complete.",
    ),
    "batch_not_logged": (
        api.ConflictError,
        "Dead letters into deferred updates are older than the batch log, so they may have been counted already.",
    ),
    "batch_slow": (
        Disposition.RETRY,
        "A stage of a batch has been running for more than two minutes: a worker or a disk is slow or hangs.",
    ),
    "buckets_changed": (
        api.BucketsChangedError,
        "A running pipeline found a table with another number of buckets; most likely the table's record was lost.",
    ),
    "buckets_differ": (
        api.BucketsDifferError,
        "A table has another number of buckets than its declaration, so its rows would not be found.",
    ),
    "changed_file": (
        api.UnreadError,
        "A file of the files source is not as it was discovered, or is at the path of one that was read before.",
    ),
    "clock_ahead": (api.ConflictError, "The clock of the driver is more than a day ahead of the Kafka cluster's."),
    "damaged_file": (
        api.UnreadError,
        "A gzip file is truncated, damaged or no gzip file; nothing of it was read.",
    ),
    "distributed": (
        api.SchemaError,
        "The rows of a table declared without `distribute` are in the buckets of the table's record, which stays.",
    ),
    "feed_undeclared": (
        api.StoreRefusedError,
        "A table has a change feed, and the pipeline that writes it declares none: rows would lack their changes.",
    ),
    "spark_job_failed": (Disposition.RETRY, "A Spark job failed, for example because one of its processes was killed."),
    "not_distributed": (
        api.SchemaError,
        "A row of a table is not stored in the bucket that the declared number of buckets gives its key.",
    ),
    "other_source": (api.ConflictError, "Dead letters by place come from another source than the pipeline reads."),
    "removed_file": (api.UnreadError, "A file was removed before all of it was read."),
    "rollback_of_feed": (
        api.ConflictError,
        "A rollback of a table with a change feed: readers of the feed would keep the updates that are rolled back.",
    ),
    "rows_straddle": (
        IngestError,
        "A strict rollback would leave merged rows with updates both inside and outside of its interval.",
    ),
    "split_start_failed": (
        IngestError,
        "A decorator raised an unexpected exception at the start of a split, before the first event.",
    ),
    "split_mismatch": (
        IngestError,
        "A task read records that are in no split of the micro-batch, or a split in several parts.",
    ),
    "target_has_feed": (
        api.ConflictError,
        "A table has a change feed, so a bootstrap would write rows that no change of the feed has.",
    ),
    "target_has_rows": (api.ConflictError, "A table has rows that no bootstrap has written."),
    "target_in_use": (
        api.ConflictError,
        "Another bootstrap writes the table, or it is loaded from another dump, or with other options.",
    ),
    "task_failed": (
        IngestError,
        "A task of a background job on Spark failed with an error that has no code of its own.",
    ),
    "too_many_splits": (IngestError, "A micro-batch has more than 1,048,576 splits, so their ranks are not unique."),
    "dead_letters_too_large": (
        IngestError,
        "A micro-batch has more than 64 MiB of dead letters, and its source cannot read records again; or 256 MiB.",
    ),
    "decorator_timeout": (
        api.DecorateError,
        "A decorator exceeded its time limit for this event, most likely a pattern that backtracks, or a loop.",
    ),
    "disk_busy": (
        api.StoreUnavailableError,
        "There is no memory for an operation on a file of the service, or another process has locked the file.",
    ),
    "disk_denied": (api.StoreUnavailableError, "The service has no permission to read or write one of its files."),
    "disk_failed": (
        api.IntegrityError,
        "A write to the disk failed, so the content of the file is unknown.",
    ),
    "disk_full": (api.StoreUnavailableError, "There is no space left for the state or other files of the service."),
    "division_by_zero": (api.ExpressionError, "The divisor of div or mod is zero."),
    "job_cancelled": (api.ConflictError, "The job that a command waits for was cancelled."),
    "job_failed": (IngestError, "A job of the service failed with an unexpected error."),
    "error_budget": (
        IngestError,
        "More records failed than error_budget allows.",
    ),
    "families_changed": (
        api.StoreUnavailableError,
        "A table lost a family while a batch was written to it; the batch runs again with the current families.",
    ),
    "fan_out": (
        api.ConflictError,
        "Dead letters of a pipeline with a fan-out cannot be replayed into tables with deferred updates.",
    ),
    "field_count": (api.DecorateError, "A line of CSV has more or fewer fields than the decorator has columns."),
    "import_failed": (api.CatalogError, "The code of a component or plugin cannot be imported."),
    "jars_fetch": (IngestError, "Maven, or the server after `--from`, did not provide a jar."),
    "jvm_lost": (IngestError, "Spark's JVM has exited; unacknowledged batches run again after a restart."),
    "jvm_unresponsive": (
        api.SourceUnavailableError,
        "Spark's JVM does not respond: it is stopped, short of CPU time, or out of memory.",
    ),
    "kdc_unavailable": (
        api.StoreUnavailableError,
        "No server of Kerberos (KDC) answers, or /etc/krb5.conf names none for the realm.",
    ),
    "kerberos_failed": (
        api.StoreRefusedError,
        "There is no ticket for the principal of the store, or an HBase server refuses it; the message says why.",
    ),
    "lease_lost": (
        api.ConflictError,
        "This process was suspended or cut off, or what has its lock was removed: another one may have taken over.",
    ),
    "log_truncated": (api.PositionLostError, "Kafka lost records that were read: a partition became shorter."),
    "not_running": (NotFoundError, "No service of the pipeline file answers at its HTTP endpoint."),
    "not_reached": (IngestError, "A pipeline has failed or needs over 60 s, in place of what a command wants of it."),
    "name_taken": (api.CatalogError, "Two components, or two modules, have the same name; the message lists both."),
    "negative_number": (api.ExpressionError, "A negative number cannot be inverted."),
    "service_failed": (IngestError, "The service answered a command with an internal error."),
    "no_answer": (IngestError, "The answer to a command did not arrive; the service may have accepted the command."),
    "no_attribute": (api.DecorateError, "A decorator or a cell reads an attribute that the event does not have."),
    "no_jobs": (api.ConflictError, "The service takes no jobs, such as replays, for the reason in the message."),
    "no_free_slot": (api.ConflictError, "The jobs of the service would leave no task slot to its pipelines."),
    "no_entry": (
        api.DecorateError,
        "The file of a decorator has no entry for the event, with on_not_found: error.",
    ),
    "no_exchange": (
        api.ConflictError,
        "The file system of `state_dir` cannot exchange two folders in one act; HDFS cannot.",
    ),
    "no_host": (api.DecorateError, "The event has no host, with on_missing: error."),
    "no_json_form": (
        api.DecorateError,
        "A Timestamp, Duration or FieldMask of a message has a value that ProtoJSON cannot write.",
    ),
    "no_match": (
        api.DecorateError,
        "No pattern of the decorator matches, with on_no_match: error.",
    ),
    "no_parts": (api.DecorateError, "The text to explode has no parts, with on_empty: error."),
    "not_a_bool": (
        api.DecorateError,
        "The text, or the capture of a grok tag, is not one of the words for true and false.",
    ),
    "not_a_number": (
        api.ExpressionError,
        "An input of a function, decorator or cell, or a capture of grok, is not a number of the required type.",
    ),
    "not_rolled_back": (
        api.ConflictError,
        "A replay into deferred updates contains micro-batches that are not rolled back.",
    ),
    "not_updated": (
        api.ConfigError,
        "A test cannot be updated because of the layout of its file; the file is unchanged.",
    ),
    "null_value": (
        api.DecorateError,
        "A member of the JSON or Avro is null, with on_null: error.",
    ),
    "number_too_large": (
        api.ExpressionError,
        "A number does not fit into the required type.",
    ),
    "os": (IngestError, "An operation of the operating system failed; the message has the reason."),
    "other_owner": (
        api.ConflictError,
        "Another pipeline owns a table with deferred updates or a change feed: it alone knows what is complete.",
    ),
    "other_replay": (
        api.ConflictError,
        "A replay was interrupted, of other records or with other options, and ends first.",
    ),
    "other_version": (api.ConflictError, "The service runs a pipeline as an older version of the file describes it."),
    "out_of_memory": (
        OutOfMemoryError,
        "A decorator or sink ran out of memory; the message names the event.",
    ),
    "package_missing": (api.CatalogError, "A component needs a package that is not installed."),
    "plugin_differs": (api.CatalogError, "A worker has another version of a plugin than the driver."),
    "plugin_missing": (api.CatalogError, "A worker lacks a plugin that the pipeline uses, or cannot import it."),
    "query_failed": (
        IngestError,
        "A micro-batch failed repeatedly in Spark; the log has the reason.",
    ),
    "reference_file": (
        ReferenceFileError,
        "A reference file of a decorator is missing or damaged. No event is lost.",
    ),
    "repeated_name": (
        api.DecorateError,
        "Two members of nested content with different values get one name, as `a.b` in `{a.b: 1, a: {b: 2}}`.",
    ),
    "replay_stopped": (IngestError, "A replay stopped early; its progress is saved."),
    "separator_in_key": (
        api.DecorateError,
        "A part of a row key contains the separator, so the key would be ambiguous; see on_separator.",
    ),
    "sink_bug": (api.DecorateBugError, "A sink raised an unexpected exception; the log has its traceback once."),
    "sink_failed": (
        IngestError,
        "A sink raised an unexpected exception outside the handling of an event; the message names the sink.",
    ),
    "source_bug": (
        api.DecorateBugError,
        "Decoding a record raised an unexpected exception; the log has its traceback once.",
    ),
    "start_slow": (
        Disposition.RETRY,
        "A pipeline has been starting for more than 20 seconds: a store, a sink, the source or Spark hangs.",
    ),
    "stopped": (IngestError, "A task reported an error that stops the pipeline."),
    "stopped_by_event": (
        IngestError,
        "An event failed with on_error: stop; its batch is not acknowledged.",
    ),
    "state_too_old": (
        api.ConflictError,
        "The state of a pipeline is older than its archive, as after a restore; rows would be there twice.",
    ),
    "state_unavailable": (
        api.StoreUnavailableError,
        "HDFS or S3, where the state, a dump or an archive is, does not answer or refuses to write.",
    ),
    "store_bug": (api.StoreUnavailableError, "A store raised an unexpected exception; the batch is retried."),
    "store_in_use": (
        api.ConflictError,
        "A reload changed the options of a store that a dump, or another job, has open with the earlier ones.",
    ),
    "time_out_of_range": (api.ExpressionError, "The year of the time is outside 1 to 9999."),
    "timeouts": (
        IngestError,
        "More than 20 events of one task took longer than 3 s in a decorator.",
    ),
    "timestamp_refused": (
        api.TimestampRefusedError,
        "HBase refuses a timestamp as too late by its clock. A batch time blocks; an event's time makes a dead letter.",
    ),
    "tombstone": (api.DecodeError, "The record has no value, with tombstones: error."),
    "tls_failed": (api.SourceUnavailableError, "A TLS handshake with a Kafka broker failed; the message says why."),
    "too_deep": (api.DecorateError, "The nesting of the JSON, record or message exceeds the limit."),
    "too_large": (
        api.EventError,
        "The event, its nested names, or what is made of it is too large; see max_event_bytes, max_size, gunzip.",
    ),
    "too_many_open_files": (
        api.StoreUnavailableError,
        "The process has reached its limit of open files; it waits.",
    ),
    "too_many_parts": (
        api.DecorateError,
        "A text has more parts than max_events of explode, or a record produces more than 131,072 events.",
    ),
    "topic_deleted": (
        api.PositionLostError,
        "A topic was deleted, so the records after the checkpoint's offsets are lost.",
    ),
    "topic_recreated": (
        api.PositionLostError,
        "A topic was deleted and recreated, so the offsets in the checkpoint refer to other records.",
    ),
    "unclear_refusal": (
        api.UnclearRefusalError,
        "The store refuses rows, and has written no other row of their region with them: it may be at fault.",
    ),
    "unknown_component": (api.CatalogError, "No decorator, sink, store or source has this name."),
    "unknown_family": (
        api.EventError,
        "The table does not have the column family, and families: on_unknown is not create.",
    ),
    "unmatched_group": (
        api.DecorateError,
        "A group of the pattern did not match, with on_unmatched: error.",
    ),
    "unread": (
        api.UnreadError,
        "A source could not read its records from a place on; their dead letter is the place, without their bytes.",
    ),
    "worker_late": (
        api.SourceUnavailableError,
        "A Python process of Spark took more than 10 seconds, Spark's limit, to start and connect.",
    ),
    "wrong_schema": (api.DecorateError, "The header of the value has a different schema than the decorator."),
}
"""Code -> the class raised with it, or the disposition if there are several, and its meaning."""
