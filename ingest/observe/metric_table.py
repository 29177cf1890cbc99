"""The table of all metrics but those of table features."""

from collections.abc import Iterable

from ingest.api.metric import Kind, Metric, Scope, labels_of

_FLUSH_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0)
_WAIT_BUCKETS_S = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_BATCH_BUCKETS_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0)
_COMPONENT = ("type", "component")
"""Labels of a figure of a component: `source`, `decorator` or `sink`, and its label or name."""

METRICS = (
    Metric(
        "attr2hbase_events_read_total",
        Kind.COUNTER,
        "events",
        "Events of acknowledged batches; read = stored + dropped + dead-lettered, fan-outs counted as read.",
    ),
    Metric(
        "attr2hbase_events_stored_total",
        Kind.COUNTER,
        "events",
        "Events of acknowledged batches that every sink stored.",
    ),
    Metric(
        "attr2hbase_events_dropped_total",
        Kind.COUNTER,
        "events",
        "Events of acknowledged batches dropped on purpose, by reason.",
        ("reason",),
    ),
    Metric(
        "attr2hbase_events_dead_lettered_total",
        Kind.COUNTER,
        "events",
        "Events of acknowledged batches that became dead letters, by error code and by the component that failed.",
        ("error", "component"),
    ),
    Metric(
        "attr2hbase_component_received_events_total",
        Kind.COUNTER,
        "events",
        "Events of acknowledged batches that reached a component: records for the `source`, and for a sink the events "
        "that meet its condition.",
        _COMPONENT,
    ),
    Metric(
        "attr2hbase_component_sent_events_total",
        Kind.COUNTER,
        "events",
        "Events of acknowledged batches that a component passed on or stored; a fan-out makes several of one.",
        _COMPONENT,
    ),
    Metric(
        "attr2hbase_component_dropped_events_total",
        Kind.COUNTER,
        "events",
        "Events of acknowledged batches that a component dropped on purpose.",
        _COMPONENT,
    ),
    Metric(
        "attr2hbase_component_failed_events_total",
        Kind.COUNTER,
        "events",
        "Events of acknowledged batches that failed in a component, whatever its failure action.",
        _COMPONENT,
    ),
    Metric(
        "attr2hbase_component_sampled_seconds_total",
        Kind.COUNTER,
        "seconds",
        "Time of the sampled calls of a component, in acknowledged batches: all its calls for one in 128 records, and "
        "for more of a task with few records.",
        _COMPONENT,
    ),
    Metric(
        "attr2hbase_component_sampled_calls_total",
        Kind.COUNTER,
        "calls",
        "Sampled calls of a component; the sampled seconds divided by them are the mean time of a call.",
        _COMPONENT,
    ),
    Metric(
        "attr2hbase_rows_sent_total",
        Kind.COUNTER,
        "rows",
        "Rows sent to stores by all attempts, acknowledged or not.",
    ),
    Metric(
        "attr2hbase_joined_puts_total",
        Kind.COUNTER,
        "puts",
        "Puts of acknowledged batches to rows that got other columns from another event of the same task: these rows "
        "have columns of several events. Not counted in RocksDB without deletes and feed.",
    ),
    Metric("attr2hbase_cells_total", Kind.COUNTER, "cells", "Cells of acknowledged batches."),
    Metric(
        "attr2hbase_bytes_total",
        Kind.COUNTER,
        "bytes",
        "Estimated bytes stored in acknowledged batches: keys, names, values and overhead.",
    ),
    Metric(
        "attr2hbase_write_calls_total",
        Kind.COUNTER,
        "chunks",
        "Chunks (the rows of one call to a store) in acknowledged batches.",
    ),
    Metric(
        "attr2hbase_flush_seconds",
        Kind.HISTOGRAM,
        "seconds",
        "Time until a chunk was durable, in acknowledged batches.",
        buckets=_FLUSH_BUCKETS_S,
    ),
    Metric(
        "attr2hbase_batch_seconds",
        Kind.HISTOGRAM,
        "seconds",
        "Time from the start of a micro-batch to its acknowledgement, including waits for stores.",
        buckets=_BATCH_BUCKETS_S,
    ),
    Metric("attr2hbase_retries_total", Kind.COUNTER, "calls", "Retried calls to stores, in acknowledged batches."),
    Metric(
        "attr2hbase_busy_answers_total",
        Kind.COUNTER,
        "answers",
        "Calls in all attempts that a store refused because it is overloaded, as with RegionTooBusyException.",
    ),
    Metric(
        "attr2hbase_busy_wait_seconds",
        Kind.HISTOGRAM,
        "seconds",
        "Waits before calls are repeated after busy answers, in all attempts; the reason is the server's exception.",
        ("reason",),
        buckets=_WAIT_BUCKETS_S,
    ),
    Metric(
        "attr2hbase_throttle_ratio",
        Kind.GAUGE,
        "",
        "Fraction of time in which a pipeline may write; below 1 after busy answers of a store.",
        is_least_worst=True,
    ),
    Metric(
        "attr2hbase_worker_memory_bytes",
        Kind.GAUGE,
        "bytes",
        "Resident memory of the largest Python process that ran a task of the last acknowledged micro-batch.",
    ),
    Metric(
        "attr2hbase_batch_attempts_total",
        Kind.COUNTER,
        "attempts",
        "Attempts at micro-batches; a blocked micro-batch has several.",
    ),
    Metric(
        "attr2hbase_pipeline_state", Kind.GAUGE, "", "1 for the state the pipeline is in, 0 for the others.", ("state",)
    ),
    Metric(
        "attr2hbase_lag_records",
        Kind.GAUGE,
        "records",
        "Offsets between the last acknowledged record and the end of a partition.",
        ("topic", "partition"),
    ),
    Metric(
        "attr2hbase_retention_used_ratio",
        Kind.GAUGE,
        "",
        "Fraction of the topic's retention that the oldest unread record has used; at 1 Kafka may delete it.",
        ("topic", "partition"),
    ),
    Metric(
        "attr2hbase_last_ack_timestamp_seconds",
        Kind.GAUGE,
        "seconds",
        "When a micro-batch was last acknowledged (epoch).",
        is_moment=True,
    ),
    Metric(
        "attr2hbase_ack_due_timestamp_seconds",
        Kind.GAUGE,
        "seconds",
        "When the next acknowledgement is due: an interval of the trigger after the last one, or after the service saw "
        "unread records (epoch); only while there are unread records.",
        is_moment=True,
    ),
    Metric(
        "attr2hbase_last_batch_time_seconds",
        Kind.GAUGE,
        "seconds",
        "Batch time of the last acknowledged micro-batch (epoch); may be ahead of a clock that was set back.",
        is_moment=True,
    ),
    Metric(
        "attr2hbase_dead_letter_publish_failures_total",
        Kind.COUNTER,
        "failures",
        "Failures to make dead letters durable; their batch is not acknowledged.",
    ),
    Metric(
        "attr2hbase_group_commit_failures_total",
        Kind.COUNTER,
        "failures",
        "Failures to commit consumer-group offsets; no event is lost, but tools show an outdated lag.",
    ),
    Metric(
        "attr2hbase_log_lines_dropped_total",
        Kind.COUNTER,
        "lines",
        "Log lines dropped because the stderr of this process was not read; pipelines do not wait for it.",
        scope=Scope.PROCESS,
    ),
    Metric(
        "attr2hbase_jvm_heap_used_bytes",
        Kind.GAUGE,
        "bytes",
        "Used heap of Spark's driver JVM, each ten seconds.",
        scope=Scope.PROCESS,
    ),
    Metric(
        "attr2hbase_jvm_heap_max_bytes",
        Kind.GAUGE,
        "bytes",
        "Heap that Spark's driver JVM may have.",
        scope=Scope.PROCESS,
    ),
    Metric(
        "attr2hbase_jvm_gc_seconds_total",
        Kind.COUNTER,
        "seconds",
        "Time of the garbage collections of Spark's driver JVM.",
        scope=Scope.PROCESS,
    ),
    Metric(
        "attr2hbase_build_info",
        Kind.GAUGE,
        "",
        "Always 1; the labels name the versions of attr2hbase and of Python.",
        ("version", "python"),
        scope=Scope.PROCESS,
    ),
    Metric("attr2hbase_jobs", Kind.GAUGE, "jobs", "Jobs that are waiting or running.", ("state",), scope=Scope.JOB),
    Metric(
        "attr2hbase_job_progress_ratio",
        Kind.GAUGE,
        "",
        "Finished fraction of the job that runs or ran last, from 0 to 1.",
        scope=Scope.JOB,
    ),
    Metric("attr2hbase_job_seconds_total", Kind.COUNTER, "seconds", "Time that jobs have run.", scope=Scope.JOB),
    Metric(
        "attr2hbase_jobs_ended_total",
        Kind.COUNTER,
        "jobs",
        "Jobs that have ended, by their last state: done, failed or cancelled.",
        ("state",),
        scope=Scope.JOB,
    ),
    Metric("attr2hbase_dump_rows_total", Kind.COUNTER, "rows", "Rows in complete dumps.", scope=Scope.TABLE),
    Metric(
        "attr2hbase_dump_bytes_total", Kind.COUNTER, "bytes", "Size of the files in complete dumps.", scope=Scope.TABLE
    ),
    Metric(
        "attr2hbase_dump_seconds",
        Kind.GAUGE,
        "seconds",
        "Duration of the last dump that has the table.",
        scope=Scope.TABLE,
    ),
    Metric(
        "attr2hbase_dump_last_success_timestamp_seconds",
        Kind.GAUGE,
        "seconds",
        "When the last dump of the table was complete (epoch); with `dump: {at: …}` and no dump yet, the start of the "
        "service.",
        scope=Scope.TABLE,
        is_moment=True,
    ),
    Metric(
        "attr2hbase_dump_interval_seconds",
        Kind.GAUGE,
        "seconds",
        "How often the service dumps the table: once a day with `dump: {at: …}`.",
        scope=Scope.TABLE,
    ),
    Metric(
        "attr2hbase_archive_files",
        Kind.GAUGE,
        "files",
        "Files of rows in the current versions of an archived table.",
        scope=Scope.TABLE,
    ),
    Metric(
        "attr2hbase_archive_superseded_bytes",
        Kind.GAUGE,
        "bytes",
        "Size of the versions of an archived table that are not current any more.",
        scope=Scope.TABLE,
    ),
    Metric(
        "attr2hbase_archive_incomplete_versions",
        Kind.GAUGE,
        "batches",
        "Versions of an archived table whose re-run has failed.",
        scope=Scope.TABLE,
    ),
)
"""The reference page is generated from this table."""


BY_NAME = {metric.name: metric for metric in METRICS}


def reference(of_features: Iterable[Metric]) -> str:
    """The table as Markdown, with the metrics of table features."""
    lines = ["| metric | type | labels | unit | meaning |", "|---|---|---|---|---|"]
    for metric in (*METRICS, *of_features):
        labels = ", ".join(f"`{label}`" for label in labels_of(metric))
        lines.append(f"| `{metric.name}` | {metric.kind} | {labels} | {metric.unit} | {metric.help} |")
    return "\n".join(lines) + "\n"
