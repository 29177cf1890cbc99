"""The table of all metrics, and their registry."""

import threading
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

import prometheus_client as prometheus
from prometheus_client.metrics_core import CounterMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from ingest.observe.health import State
from ingest.observe.partitions import MAX_PARTITIONS, Partitions
from ingest.receipt import Counts

MAX_LABEL_VALUES = 50  # reasons or error codes per metric and pipeline; a chain has a handful
MAX_LABEL_CHARS = 64  # a longer "reason" contains data
OTHER = "other"

_FLUSH_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0)
_BATCH_BUCKETS_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0)


class Kind(StrEnum):
    """Prometheus type of a metric."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Metric(NamedTuple):
    """
    One row of the table.

    Attributes:
        labels: in addition to `pipeline`, which every metric of a pipeline has.
        unit: for the reference page.
        help: one sentence.
        buckets: upper bounds of a histogram.
        of_process: one series for the process, without labels.
    """

    name: str
    kind: Kind
    unit: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    of_process: bool = False


METRICS = (
    Metric(
        "ingest_events_read_total",
        Kind.COUNTER,
        "events",
        "Events of acknowledged batches; read = stored + dropped + dead-lettered, fan-outs counted as read.",
    ),
    Metric(
        "ingest_events_stored_total", Kind.COUNTER, "events", "Events of acknowledged batches that every sink stored."
    ),
    Metric(
        "ingest_events_dropped_total",
        Kind.COUNTER,
        "events",
        "Events of acknowledged batches dropped on purpose, by reason.",
        ("reason",),
    ),
    Metric(
        "ingest_events_dead_lettered_total",
        Kind.COUNTER,
        "events",
        "Events of acknowledged batches that became dead letters, by error code.",
        ("error",),
    ),
    Metric(
        "ingest_rows_sent_total",
        Kind.COUNTER,
        "rows",
        "Rows sent to stores by all attempts, acknowledged or not.",
    ),
    Metric("ingest_cells_total", Kind.COUNTER, "cells", "Cells of acknowledged batches."),
    Metric(
        "ingest_bytes_total",
        Kind.COUNTER,
        "bytes",
        "Estimated bytes stored in acknowledged batches: keys, names, values and overhead.",
    ),
    Metric(
        "ingest_write_calls_total",
        Kind.COUNTER,
        "chunks",
        "Chunks (the rows of one call to a store) in acknowledged batches.",
    ),
    Metric(
        "ingest_flush_seconds",
        Kind.HISTOGRAM,
        "seconds",
        "Time until a chunk was durable, in acknowledged batches.",
        buckets=_FLUSH_BUCKETS_S,
    ),
    Metric(
        "ingest_batch_seconds",
        Kind.HISTOGRAM,
        "seconds",
        "Time from the start of a micro-batch to its acknowledgement, including waits for stores.",
        buckets=_BATCH_BUCKETS_S,
    ),
    Metric("ingest_retries_total", Kind.COUNTER, "calls", "Retried calls to stores, in acknowledged batches."),
    Metric(
        "ingest_busy_answers_total",
        Kind.COUNTER,
        "answers",
        "Calls in all attempts that a store refused because it is overloaded, as with RegionTooBusyException.",
    ),
    Metric(
        "ingest_throttle_ratio",
        Kind.GAUGE,
        "",
        "Fraction of time in which a pipeline may write; below 1 after busy answers of a store.",
    ),
    Metric(
        "ingest_batch_attempts_total",
        Kind.COUNTER,
        "attempts",
        "Attempts at micro-batches; a blocked micro-batch has several.",
    ),
    Metric(
        "ingest_pipeline_state", Kind.GAUGE, "", "1 for the state the pipeline is in, 0 for the others.", ("state",)
    ),
    Metric(
        "ingest_lag_records",
        Kind.GAUGE,
        "records",
        "Offsets between the last acknowledged record and the end of a partition.",
        ("topic", "partition"),
    ),
    Metric(
        "ingest_retention_used_ratio",
        Kind.GAUGE,
        "",
        "Fraction of the topic's retention that the oldest unread record has used; at 1 Kafka may delete it.",
        ("topic", "partition"),
    ),
    Metric(
        "ingest_last_ack_timestamp_seconds", Kind.GAUGE, "seconds", "When a micro-batch was last acknowledged (epoch)."
    ),
    Metric(
        "ingest_last_batch_time_seconds",
        Kind.GAUGE,
        "seconds",
        "Batch time of the last acknowledged micro-batch (epoch); may be ahead of a clock that was set back.",
    ),
    Metric(
        "ingest_dead_letter_publish_failures_total",
        Kind.COUNTER,
        "failures",
        "Failures to make dead letters durable; their batch is not acknowledged.",
    ),
    Metric(
        "ingest_group_commit_failures_total",
        Kind.COUNTER,
        "failures",
        "Failures to commit consumer-group offsets; no event is lost, but tools show an outdated lag.",
    ),
    Metric(
        "ingest_log_lines_dropped_total",
        Kind.COUNTER,
        "lines",
        "Log lines dropped because the stderr of this process was not read; pipelines do not wait for it.",
        of_process=True,
    ),
)
"""The reference page is generated from this table."""


class Metrics:
    """
    The metrics of a process, in a registry of their own.

    Thread-safe; called at most once per micro-batch, never per event. A scrape sees whole batches: either all or none
    of what `observe_batch` adds. Label values from data are bounded: after the first `MAX_LABEL_VALUES` of a metric and
    pipeline, the rest are counted under "other".

    Args:
        pipelines: names whose counters start at 0, so that `rate` sees the first increase.
        process: also export memory, CPU and open files of this process.
        dropped_lines: returns the number of log lines dropped so far; called at each scrape. None to omit the metric.
        hide: masks secrets in label values, such as a drop reason.
        on_lag: also called with pipeline, topic, partition and records of each `lag`.
    """

    def __init__(
        self,
        pipelines: Iterable[str] = (),
        *,
        process: bool = True,
        dropped_lines: Callable[[], int] | None = None,
        hide: Callable[[str], str] = str,
        on_lag: Callable[[str, str, int, int], None] = lambda *_lag: None,
    ) -> None:
        self._hide = hide
        self._on_lag = on_lag
        self._lock = threading.Lock()
        self._registry = prometheus.CollectorRegistry()
        self._counters: dict[str, prometheus.Counter] = {}
        self._gauges: dict[str, prometheus.Gauge] = {}
        self._histograms: dict[str, prometheus.Histogram] = {}
        self._label_values: dict[tuple[str, str], set[str]] = {}
        self._lags: dict[str, Partitions] = {}
        for metric in METRICS:
            if not metric.of_process:
                self._register(metric)
        if dropped_lines is not None:
            self._registry.register(_DroppedLines(dropped_lines))
        if process:
            prometheus.ProcessCollector(registry=self._registry)
        for pipeline in pipelines:
            self._declare(pipeline)

    def add(self, pipeline: str) -> None:
        """Start the counters of a new pipeline at 0."""
        with self._lock:
            self._declare(pipeline)

    def remove(self, pipeline: str) -> None:
        """Remove the gauges of a pipeline that the service does not have any more; its counters keep their values."""
        with self._lock:
            for gauge in self._gauges.values():
                gauge.remove_by_labels({"pipeline": pipeline})
            self._lags.pop(pipeline, None)

    def attempted(self, pipeline: str, counts: Counts) -> None:
        """Count an attempt at a micro-batch, whatever its outcome."""
        with self._lock:
            self._add("ingest_batch_attempts_total", pipeline, 1)
            self._add("ingest_rows_sent_total", pipeline, counts.rows_sent)
            self._add("ingest_busy_answers_total", pipeline, counts.busy)

    def throttled(self, pipeline: str, ratio: Callable[[], float]) -> None:
        """Set the function that returns, at each scrape, in which fraction of the time a pipeline may write."""
        with self._lock:
            self._gauges["ingest_throttle_ratio"].labels(pipeline).set_function(ratio)

    def observe_batch(self, pipeline: str, counts: Counts, seconds: float) -> None:
        """Count an acknowledged micro-batch; `attempted` counts its rows sent."""
        with self._lock:
            self._add("ingest_events_read_total", pipeline, counts.read)
            self._add("ingest_events_stored_total", pipeline, counts.stored)
            self._add_tally("ingest_events_dropped_total", pipeline, counts.dropped)
            self._add_tally("ingest_events_dead_lettered_total", pipeline, counts.dead_lettered)
            self._add("ingest_cells_total", pipeline, counts.cells)
            self._add("ingest_bytes_total", pipeline, counts.bytes)
            self._add("ingest_write_calls_total", pipeline, counts.write_calls)
            self._add("ingest_retries_total", pipeline, counts.retries)
            flushes = self._histograms["ingest_flush_seconds"].labels(pipeline)
            for flush_s in counts.flush_s:
                flushes.observe(flush_s)
            self._histograms["ingest_batch_seconds"].labels(pipeline).observe(seconds)

    def acknowledged(self, pipeline: str, at_s: float, batch_time_ms: int) -> None:
        """Set the time of the last acknowledgement, and the batch time of that micro-batch."""
        with self._lock:
            self._gauges["ingest_last_ack_timestamp_seconds"].labels(pipeline).set(at_s)
            self._gauges["ingest_last_batch_time_seconds"].labels(pipeline).set(batch_time_ms / 1000)

    def state(self, pipeline: str, state: State) -> None:
        """Set the state of a pipeline; passed to `Health(on_change=…)`."""
        with self._lock:
            gauge = self._gauges["ingest_pipeline_state"]
            for each in State:
                gauge.labels(pipeline, each.value).set(1 if each is state else 0)

    def lag(self, pipeline: str, topic: str, partition: int, records: int) -> None:
        """Set the lag of a partition; partitions after the first `MAX_PARTITIONS` are summed under "other"."""
        # the topic of the files source is a path, which may not be UTF-8
        topic = topic.encode("utf-8", "backslashreplace").decode()
        with self._lock:
            lags = self._lags.setdefault(pipeline, Partitions())
            gauge = self._gauges["ingest_lag_records"]
            if lags.is_own((topic, partition)):
                gauge.labels(pipeline, topic, str(partition)).set(records)
            else:
                gauge.labels(pipeline, OTHER, OTHER).set(lags.sum_of_others((topic, partition), records))
        self._on_lag(pipeline, topic, partition, records)

    def retention(self, pipeline: str, used: Mapping[tuple[str, int], float]) -> None:
        """Set the used retention of all partitions; "other" has the maximum of those after `MAX_PARTITIONS`."""
        partitions = sorted(used)
        with self._lock:
            gauge = self._gauges["ingest_retention_used_ratio"]
            gauge.remove_by_labels({"pipeline": pipeline})  # a deleted topic must not keep its last value
            for topic, partition in partitions[:MAX_PARTITIONS]:
                gauge.labels(pipeline, topic, str(partition)).set(used[topic, partition])
            others = [used[part] for part in partitions[MAX_PARTITIONS:]]
            if others:
                gauge.labels(pipeline, OTHER, OTHER).set(max(others))

    def dead_letter_publish_failed(self, pipeline: str) -> None:
        """Count a publication of dead letters that failed."""
        with self._lock:
            self._add("ingest_dead_letter_publish_failures_total", pipeline, 1)

    def group_commit_failed(self, pipeline: str) -> None:
        """Count a commit of group offsets that failed."""
        with self._lock:
            self._add("ingest_group_commit_failures_total", pipeline, 1)

    def render(self) -> tuple[str, bytes]:
        """Content type and text of a scrape."""
        with self._lock:
            return prometheus.CONTENT_TYPE_LATEST, prometheus.generate_latest(_WithoutCreated(self._registry))

    def _register(self, metric: Metric) -> None:
        labels = _labels(metric)
        match metric.kind:
            case Kind.COUNTER:
                self._counters[metric.name] = prometheus.Counter(
                    metric.name, metric.help, labels, registry=self._registry
                )
            case Kind.GAUGE:
                self._gauges[metric.name] = prometheus.Gauge(metric.name, metric.help, labels, registry=self._registry)
            case Kind.HISTOGRAM:
                self._histograms[metric.name] = prometheus.Histogram(
                    metric.name, metric.help, labels, registry=self._registry, buckets=metric.buckets
                )

    def _declare(self, pipeline: str) -> None:
        for metric in METRICS:
            if metric.labels or metric.of_process:
                continue
            match metric.kind:
                case Kind.COUNTER:
                    self._counters[metric.name].labels(pipeline)
                case Kind.HISTOGRAM:
                    self._histograms[metric.name].labels(pipeline)
                case Kind.GAUGE:
                    pass  # a timestamp of 0 would read as 1970

    def _add(self, name: str, pipeline: str, amount: int) -> None:
        self._counters[name].labels(pipeline).inc(amount)

    def _add_tally(self, name: str, pipeline: str, tally: Tally[str]) -> None:
        for value, amount in tally.items():
            self._counters[name].labels(pipeline, self._bounded(name, pipeline, value)).inc(amount)

    def _bounded(self, name: str, pipeline: str, value: str) -> str:
        value = self._hide(value)
        known = self._label_values.setdefault((name, pipeline), set())
        if value in known:
            return value
        if len(known) >= MAX_LABEL_VALUES or len(value) > MAX_LABEL_CHARS or not value.isprintable():
            return OTHER
        known.add(value)
        return value


class _DroppedLines(Collector):
    """Reads the count of dropped lines at each scrape, so that logging does not depend on metrics."""

    def __init__(self, dropped_lines: Callable[[], int]) -> None:
        self._dropped_lines = dropped_lines

    def collect(self) -> Iterator[Family]:
        metric = next(each for each in METRICS if each.of_process)
        yield CounterMetricFamily(metric.name, metric.help, value=self._dropped_lines())


class _WithoutCreated(Collector):
    """The registry without the `_created` series, which would double the size of a scrape."""

    def __init__(self, registry: prometheus.CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Family]:
        for family in self._registry.collect():
            family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
            yield family


def _labels(metric: Metric) -> tuple[str, ...]:
    return () if metric.of_process else ("pipeline", *metric.labels)


def reference() -> str:
    """The table as Markdown."""
    lines = ["| metric | type | labels | unit | meaning |", "|---|---|---|---|---|"]
    for metric in METRICS:
        labels = ", ".join(f"`{label}`" for label in _labels(metric))
        lines.append(f"| `{metric.name}` | {metric.kind} | {labels} | {metric.unit} | {metric.help} |")
    return "\n".join(lines) + "\n"
