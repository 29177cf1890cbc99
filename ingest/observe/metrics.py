"""Every metric in one table, and the object that keeps them."""

import threading
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

import prometheus_client as prometheus
from prometheus_client.metrics_core import CounterMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from ingest.observe.health import State
from ingest.receipt import Counts

MAX_LABEL_VALUES = 50  # reasons and error codes of one metric and pipeline; a chain names a handful
MAX_LABEL_CHARS = 64  # a longer "reason" is data that slipped into a name
MAX_PARTITIONS = 1_000  # of one pipeline with a lag of their own
OTHER = "other"

_FLUSH_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0)
_BATCH_BUCKETS_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0)


class Kind(StrEnum):
    """What Prometheus may do with a metric."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Metric(NamedTuple):
    """
    One row of the table.

    Attributes:
        labels: after `pipeline`, which every metric of a pipeline has.
        unit: for readers; it is in the name already.
        help: one sentence.
        buckets: upper bounds, of a histogram alone.
        of_process: of all pipelines together, and without labels.
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
        "Rows sent to stores by every attempt, also by those that were not acknowledged.",
    ),
    Metric("ingest_cells_total", Kind.COUNTER, "cells", "Cells of acknowledged batches."),
    Metric(
        "ingest_bytes_total",
        Kind.COUNTER,
        "bytes",
        "Bytes stored in acknowledged batches, estimated: keys, names, values and what goes with them.",
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
        "How long a chunk took to be durable, in acknowledged batches.",
        buckets=_FLUSH_BUCKETS_S,
    ),
    Metric(
        "ingest_batch_seconds",
        Kind.HISTOGRAM,
        "seconds",
        "How long a micro-batch took from its start to its acknowledgement, waiting for stores included.",
        buckets=_BATCH_BUCKETS_S,
    ),
    Metric("ingest_retries_total", Kind.COUNTER, "calls", "Calls to stores made again within acknowledged batches."),
    Metric(
        "ingest_batch_attempts_total",
        Kind.COUNTER,
        "attempts",
        "Attempts at a micro-batch; more than batches when stores were blocked.",
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
        "ingest_last_ack_timestamp_seconds", Kind.GAUGE, "seconds", "When a micro-batch was last acknowledged (epoch)."
    ),
    Metric(
        "ingest_last_batch_time_seconds",
        Kind.GAUGE,
        "seconds",
        "Time given to the cells of the last acknowledged micro-batch (epoch); ahead of a clock that was set back.",
    ),
    Metric(
        "ingest_dead_letter_publish_failures_total",
        Kind.COUNTER,
        "failures",
        "Times that dead letters could not be made durable; their batch is not acknowledged.",
    ),
    Metric(
        "ingest_group_commit_failures_total",
        Kind.COUNTER,
        "failures",
        "Times that consumer-group offsets could not be committed; nothing is lost, tools show an old lag.",
    ),
    Metric(
        "ingest_log_lines_dropped_total",
        Kind.COUNTER,
        "lines",
        "Log lines of this process left out because nobody read its stderr; the pipelines did not wait for them.",
        of_process=True,
    ),
)
"""The table the reference page is made of."""


class Metrics:
    """
    The metrics of a process, in a registry of their own.

    Called once a micro-batch or rarer, never once an event, from any thread. A scrape sees whole batches: what
    `observe_batch` adds is seen together or not at all. Label values that come from data are bounded: the first
    `MAX_LABEL_VALUES` of a metric and pipeline keep their name, later ones are counted under "other".

    Args:
        pipelines: names whose counters start at 0, so that the first increase is seen as one.
        process: also export memory, CPU and open files of this process.
        lost_lines: asked at each scrape, how many log lines were left out so far; None where they are not counted.
        hide: masks secrets in the values of labels, such as a drop reason.
    """

    def __init__(
        self,
        pipelines: Iterable[str] = (),
        *,
        process: bool = True,
        lost_lines: Callable[[], int] | None = None,
        hide: Callable[[str], str] = str,
    ) -> None:
        self._hide = hide
        self._lock = threading.Lock()
        self._registry = prometheus.CollectorRegistry()
        self._counters: dict[str, prometheus.Counter] = {}
        self._gauges: dict[str, prometheus.Gauge] = {}
        self._histograms: dict[str, prometheus.Histogram] = {}
        self._label_values: dict[tuple[str, str], set[str]] = {}
        self._lags: dict[str, _Lags] = {}
        for metric in METRICS:
            if not metric.of_process:
                self._register(metric)
        if lost_lines is not None:
            self._registry.register(_LostLines(lost_lines))
        if process:
            prometheus.ProcessCollector(registry=self._registry)
        for pipeline in pipelines:
            self._declare(pipeline)

    def attempted(self, pipeline: str, counts: Counts) -> None:
        """Count an attempt at a micro-batch, whatever came of it; called for every attempt."""
        with self._lock:
            self._add("ingest_batch_attempts_total", pipeline, 1)
            self._add("ingest_rows_sent_total", pipeline, counts.rows_sent)

    def observe_batch(self, pipeline: str, counts: Counts, seconds: float) -> None:
        """Count the attempt at a micro-batch that was acknowledged; its rows sent are counted by `attempted`."""
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
        """Say when a micro-batch was acknowledged, and which time its cells have."""
        with self._lock:
            self._gauges["ingest_last_ack_timestamp_seconds"].labels(pipeline).set(at_s)
            self._gauges["ingest_last_batch_time_seconds"].labels(pipeline).set(batch_time_ms / 1000)

    def state(self, pipeline: str, state: State) -> None:
        """Say which state a pipeline is in; made for `Health(on_change=…)`."""
        with self._lock:
            gauge = self._gauges["ingest_pipeline_state"]
            for each in State:
                gauge.labels(pipeline, each.value).set(1 if each is state else 0)

    def lag(self, pipeline: str, topic: str, partition: int, records: int) -> None:
        """Say how far a partition is behind; those past the first `MAX_PARTITIONS` are summed under "other"."""
        # a path, with source files, and then maybe not UTF-8
        topic = topic.encode("utf-8", "backslashreplace").decode()
        with self._lock:
            lags = self._lags.setdefault(pipeline, _Lags())
            gauge = self._gauges["ingest_lag_records"]
            if lags.is_own((topic, partition)):
                gauge.labels(pipeline, topic, str(partition)).set(records)
            else:
                gauge.labels(pipeline, OTHER, OTHER).set(lags.sum_of_others((topic, partition), records))

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
                    pass  # an acknowledgement at 0 would look like one in 1970

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


class _Lags:
    """Which partitions of a pipeline have a lag of their own, and the sum of the others."""

    def __init__(self) -> None:
        self._own: set[tuple[str, int]] = set()
        self._others: dict[tuple[str, int], int] = {}
        self._sum = 0

    def is_own(self, partition: tuple[str, int]) -> bool:
        if partition not in self._own and len(self._own) < MAX_PARTITIONS:
            self._own.add(partition)
        return partition in self._own

    def sum_of_others(self, partition: tuple[str, int], records: int) -> int:
        self._sum += records - self._others.get(partition, 0)
        self._others[partition] = records
        return self._sum


class _LostLines(Collector):
    """What the log's stream counts, asked at each scrape: the log must need nothing of the metrics."""

    def __init__(self, lost_lines: Callable[[], int]) -> None:
        self._lost_lines = lost_lines

    def collect(self) -> Iterator[Family]:
        metric = next(each for each in METRICS if each.of_process)
        yield CounterMetricFamily(metric.name, metric.help, value=self._lost_lines())


class _WithoutCreated(Collector):
    """The registry without the moments each series was made, which would double what is scraped."""

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
