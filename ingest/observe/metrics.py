"""The registry of the metrics of a process."""

import platform
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import prometheus_client as prometheus

from ingest import __version__
from ingest.api import TopicPartition
from ingest.api.metric import Change, Kind, Metric, Scope, labels_of
from ingest.observe.collectors import DROPPED_LINES, DroppedLines, WithoutCreated
from ingest.observe.health import State
from ingest.observe.metric_table import METRICS
from ingest.observe.partitions import MAX_PARTITIONS, Partitions
from ingest.observe.results import JvmMemory
from ingest.receipt import ComponentKey, Counts, Figures

MAX_LABEL_VALUES = 50  # reasons or error codes per metric and pipeline; a chain has a handful
MAX_LABEL_CHARS = 64  # a longer "reason" contains data
OTHER = "other"
_OF_JVM = [metric for metric in METRICS if metric.name.startswith("attr2hbase_jvm_")]


class Metrics:
    """
    The metrics of a process, in a registry of their own.

    Thread-safe; called at most once per micro-batch, never per event. A scrape sees whole batches: either all or none
    of what `observe_batch` adds. Label values from data are bounded: after the first `MAX_LABEL_VALUES` of a metric and
    pipeline, the rest are counted under "other".

    Args:
        pipelines: names whose counters start at 0, so that `rate` sees the first increase.
        process: also export memory, CPU, open files and versions of this process.
        dropped_lines: returns the number of log lines dropped so far; called at each scrape. None to omit the metric.
        hide: masks secrets in label values, such as a drop reason.
        of_features: the metrics of table features; another one is added when it is first recorded.
        on_lag: also called with pipeline, topic, partition and records of each `lag`.
        on_lag_unknown: also called with the pipeline of each `lag_unknown`.
    """

    def __init__(
        self,
        pipelines: Iterable[str] = (),
        *,
        process: bool = True,
        dropped_lines: Callable[[], int] | None = None,
        hide: Callable[[str], str] = str,
        of_features: Iterable[Metric] = (),
        on_lag: Callable[[str, str, int, int], None] = lambda *_lag: None,
        on_lag_unknown: Callable[[str], None] = lambda _pipeline: None,
    ) -> None:
        self._hide = hide
        self._on_lag = on_lag
        self._on_lag_unknown = on_lag_unknown
        self._lock = threading.Lock()
        self._registry = prometheus.CollectorRegistry()
        self._counters: dict[str, prometheus.Counter] = {}
        self._gauges: dict[str, prometheus.Gauge] = {}
        self._histograms: dict[str, prometheus.Histogram] = {}
        self._recorded: set[tuple[str, tuple[str, ...]]] = set()
        self._label_values: dict[tuple[str, str], set[str]] = {}
        self._lags: dict[str, Partitions] = {}
        self._intervals_s: dict[str, float] = {}
        self._awaited_since_s: dict[str, float] = {}
        self._gc_seconds = 0.0
        for metric in (*METRICS, *of_features):
            if metric.name != DROPPED_LINES and metric not in _OF_JVM:
                self._register(metric)
        if dropped_lines is not None:
            self._registry.register(DroppedLines(dropped_lines))
        if process:
            prometheus.ProcessCollector(registry=self._registry)
            self._gauges["attr2hbase_build_info"].labels(__version__, platform.python_version()).set(1)
        for pipeline in pipelines:
            self._declare(pipeline)

    def add(self, pipeline: str) -> None:
        """Start the counters of a new pipeline at 0."""
        with self._lock:
            self._declare(pipeline)

    def remove(self, pipeline: str) -> None:
        """Remove the gauges of a pipeline that the service does not have any more; its counters keep their values."""
        with self._lock:
            for metric in METRICS:
                if metric.kind is Kind.GAUGE and metric.scope is Scope.PIPELINE:
                    self._gauges[metric.name].remove_by_labels({"pipeline": pipeline})
            self._lags.pop(pipeline, None)
            self._awaited_since_s.pop(pipeline, None)

    def triggered(self, pipeline: str, every_s: float) -> None:
        """Set the interval of micro-batches, 0 for none."""
        with self._lock:
            self._intervals_s[pipeline] = every_s
            if pipeline in self._awaited_since_s:
                self._set_due(pipeline, self._awaited_since_s[pipeline])

    def attempted(self, pipeline: str, counts: Counts) -> None:
        """Count an attempt at a micro-batch, whatever its outcome."""
        with self._lock:
            self._add("attr2hbase_batch_attempts_total", pipeline, 1)
            self._add("attr2hbase_rows_sent_total", pipeline, counts.rows_sent)
            self._add("attr2hbase_busy_answers_total", pipeline, counts.busy)
            waits = self._histograms["attr2hbase_busy_wait_seconds"]
            for reason, seconds in counts.busy_waits:
                waits.labels(pipeline, self._bounded("attr2hbase_busy_wait_seconds", pipeline, reason)).observe(seconds)
            self._add_counted(counts.counted)

    def counted(self, counted: Counter[tuple[str, str]]) -> None:
        """Add what features of tables counted on the driver, as `WriteCounts.counted`; `attempted` adds the rest."""
        with self._lock:
            self._add_counted(counted)

    def record(self, *changes: Change) -> None:
        """Set gauges and increase counters, all at once: each a metric, the values of its labels, and an amount."""
        with self._lock:
            for metric, labels, amount in changes:
                if metric.kind is Kind.COUNTER:
                    self._counter(metric).labels(*labels).inc(amount)
                else:
                    self._gauge(metric).labels(*labels).set(amount)
                    self._recorded.add((metric.name, labels))

    def replace(self, metrics: Sequence[Metric], values: Mapping[tuple[str, ...], Sequence[float]]) -> None:
        """
        Set all series of gauges: one that is left out, such as of a group that was removed, has no value any more.

        Args:
            metrics: with the same labels.
            values: of the labels -> a value for each metric; those after the first 50 are left out.
        """
        with self._lock:
            for metric in metrics:
                self._gauge(metric).clear()
            for labels in sorted(values)[:MAX_LABEL_VALUES]:
                for metric, value in zip(metrics, values[labels], strict=True):
                    self._gauge(metric).labels(*labels).set(value)

    def scheduled(
        self, interval: Metric, last: Metric, intervals_s: Mapping[str, float], last_s: Mapping[str, float]
    ) -> None:
        """
        Set how often the service does something with its tables.

        Args:
            interval: of which all series are set; a table that a reload has removed has no value any more.
            last: when it last ended, which `record` sets.
            intervals_s: by table.
            last_s: table -> value of `last` until `record` has set it.
        """
        with self._lock:
            gauge = self._gauge(interval)
            gauge.clear()
            for table, seconds in intervals_s.items():
                gauge.labels(table).set(seconds)
                if (last.name, (table,)) not in self._recorded:
                    self._recorded.add((last.name, (table,)))
                    self._gauge(last).labels(table).set(last_s[table])

    def throttled(self, pipeline: str, ratio: Callable[[], float]) -> None:
        """Set the function that returns, at each scrape, in which fraction of the time a pipeline may write."""
        with self._lock:
            self._gauges["attr2hbase_throttle_ratio"].labels(pipeline).set_function(ratio)

    def observe_batch(self, pipeline: str, counts: Counts, seconds: float) -> None:
        """Count an acknowledged micro-batch; `attempted` counts its rows sent."""
        with self._lock:
            self._add("attr2hbase_events_read_total", pipeline, counts.read)
            self._add("attr2hbase_events_stored_total", pipeline, counts.stored)
            self._add_tally(
                "attr2hbase_events_dropped_total", pipeline, (((why,), n) for why, n in counts.dropped.items())
            )
            self._add_tally("attr2hbase_events_dead_lettered_total", pipeline, counts.dead_lettered_by.items())
            self._add_components(pipeline, counts.components)
            if counts.worker_bytes:
                self._gauges["attr2hbase_worker_memory_bytes"].labels(pipeline).set(counts.worker_bytes)
            for each in ("cells", "joined_puts", "bytes", "write_calls", "retries"):
                self._add(f"attr2hbase_{each}_total", pipeline, getattr(counts, each))
            flushes = self._histograms["attr2hbase_flush_seconds"].labels(pipeline)
            for flush_s in counts.flush_s:
                flushes.observe(flush_s)
            self._histograms["attr2hbase_batch_seconds"].labels(pipeline).observe(seconds)

    def acknowledged(self, pipeline: str, at_s: float, batch_time_ms: int) -> None:
        """Set the time of the last acknowledgement, and the batch time of that micro-batch."""
        with self._lock:
            self._gauges["attr2hbase_last_ack_timestamp_seconds"].labels(pipeline).set(at_s)
            self._gauges["attr2hbase_last_batch_time_seconds"].labels(pipeline).set(batch_time_ms / 1000)
            if pipeline in self._awaited_since_s:
                self._set_due(pipeline, at_s)

    def state(self, pipeline: str, state: State) -> None:
        """Set the state of a pipeline; passed to `Health(on_change=…)`."""
        with self._lock:
            gauge = self._gauges["attr2hbase_pipeline_state"]
            for each in State:
                gauge.labels(pipeline, each.value).set(1 if each is state else 0)

    def lag(self, pipeline: str, topic: str, partition: int, records: int) -> None:
        """Set the lag of a partition; partitions after the first `MAX_PARTITIONS` are summed under "other"."""
        # the topic of the files source is a path, which may not be UTF-8
        topic = topic.encode("utf-8", "backslashreplace").decode()
        with self._lock:
            lags = self._lags.setdefault(pipeline, Partitions())
            gauge = self._gauges["attr2hbase_lag_records"]
            if lags.is_own((topic, partition)):
                gauge.labels(pipeline, topic, str(partition)).set(records)
            else:
                gauge.labels(pipeline, OTHER, OTHER).set(lags.sum_of_others((topic, partition), records))
        self._on_lag(pipeline, topic, partition, records)

    def unread(self, pipeline: str, records: int, at_s: float) -> None:
        """Set the lag of all partitions, as measured at a time (epoch): from then on an acknowledgement is awaited."""
        with self._lock:
            if not records:
                self._await_none(pipeline)
            elif pipeline not in self._awaited_since_s:
                self._set_due(pipeline, at_s)

    def resumed(self, pipeline: str) -> None:
        """A pipeline reads again: the time of a pause does not count, and the next lag starts to await."""
        with self._lock:
            self._await_none(pipeline)

    def _await_none(self, pipeline: str) -> None:
        self._awaited_since_s.pop(pipeline, None)
        self._gauges["attr2hbase_ack_due_timestamp_seconds"].remove_by_labels({"pipeline": pipeline})

    def _set_due(self, pipeline: str, since_s: float) -> None:
        self._awaited_since_s[pipeline] = since_s
        due_s = since_s + self._intervals_s.get(pipeline, 0.0)
        self._gauges["attr2hbase_ack_due_timestamp_seconds"].labels(pipeline).set(due_s)

    def lag_unknown(self, pipeline: str) -> None:
        """Remove the lag of a pipeline, which nothing measures any more."""
        with self._lock:
            self._gauges["attr2hbase_lag_records"].remove_by_labels({"pipeline": pipeline})
            self._lags.pop(pipeline, None)
            self._await_none(pipeline)
        self._on_lag_unknown(pipeline)

    def retention(self, pipeline: str, used: Mapping[TopicPartition, float]) -> None:
        """Set the used retention of all partitions; "other" has the maximum of those after `MAX_PARTITIONS`."""
        partitions = sorted(used)
        with self._lock:
            gauge = self._gauges["attr2hbase_retention_used_ratio"]
            gauge.remove_by_labels({"pipeline": pipeline})  # a deleted topic must not keep its last value
            for topic, partition in partitions[:MAX_PARTITIONS]:
                gauge.labels(pipeline, topic, str(partition)).set(used[topic, partition])
            others = [used[part] for part in partitions[MAX_PARTITIONS:]]
            if others:
                gauge.labels(pipeline, OTHER, OTHER).set(max(others))

    def dead_letter_publish_failed(self, pipeline: str) -> None:
        """Count a publication of dead letters that failed."""
        with self._lock:
            self._add("attr2hbase_dead_letter_publish_failures_total", pipeline, 1)

    def group_commit_failed(self, pipeline: str) -> None:
        """Count a commit of group offsets that failed."""
        with self._lock:
            self._add("attr2hbase_group_commit_failures_total", pipeline, 1)

    def jobs(self, job: str, by_state: Mapping[str, int]) -> None:
        """Set the numbers of jobs of a kind that wait and run."""
        with self._lock:
            for state, number in by_state.items():
                self._gauges["attr2hbase_jobs"].labels(job, state).set(number)

    def job_progressed(self, job: str, seconds: float, ratio: float) -> None:
        """Add time of the running job, and set its finished fraction."""
        with self._lock:
            self._add("attr2hbase_job_seconds_total", job, seconds)
            self._gauges["attr2hbase_job_progress_ratio"].labels(job).set(ratio)

    def job_ended(self, job: str, state: str) -> None:
        """Count a job that has ended in this state."""
        with self._lock:
            self._counters["attr2hbase_jobs_ended_total"].labels(job, state).inc()

    def jvm(self, memory: JvmMemory) -> None:
        """Set the memory of Spark's JVM."""
        with self._lock:
            if "attr2hbase_jvm_heap_used_bytes" not in self._gauges:  # a process without a JVM has none of them
                for metric in _OF_JVM:
                    self._register(metric)
            self._gauges["attr2hbase_jvm_heap_used_bytes"].set(memory.heap_used_bytes)
            self._gauges["attr2hbase_jvm_heap_max_bytes"].set(memory.heap_max_bytes)
            # those of a JVM that was started again begin at 0
            grown_s = memory.gc_seconds - self._gc_seconds
            self._counters["attr2hbase_jvm_gc_seconds_total"].inc(grown_s if grown_s >= 0 else memory.gc_seconds)
            self._gc_seconds = memory.gc_seconds

    def render(self) -> tuple[str, bytes]:
        """Content type and text of a scrape."""
        with self._lock:
            return prometheus.CONTENT_TYPE_LATEST, prometheus.generate_latest(WithoutCreated(self._registry))

    def _counter(self, metric: Metric) -> prometheus.Counter:
        if metric.name not in self._counters:
            self._register(metric)
        return self._counters[metric.name]

    def _gauge(self, metric: Metric) -> prometheus.Gauge:
        if metric.name not in self._gauges:
            self._register(metric)
        return self._gauges[metric.name]

    def _register(self, metric: Metric) -> None:
        labels = labels_of(metric)
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
            if metric.labels or metric.scope is not Scope.PIPELINE:
                continue
            match metric.kind:
                case Kind.COUNTER:
                    self._counters[metric.name].labels(pipeline)
                case Kind.HISTOGRAM:
                    self._histograms[metric.name].labels(pipeline)
                case Kind.GAUGE:
                    pass  # a timestamp of 0 would read as 1970

    def _add(self, name: str, label: str, amount: float) -> None:
        self._counters[name].labels(label).inc(amount)

    def _add_counted(self, counted: Counter[tuple[str, str]]) -> None:
        for (name, table), amount in counted.items():
            self._add(f"attr2hbase_{name}_total", table, amount)

    def _add_components(self, pipeline: str, components: Mapping[ComponentKey, Figures]) -> None:
        for (kind, name), figures in components.items():
            labels = (pipeline, kind.value, self._hide(name))
            for outcome in ("received", "sent", "dropped", "failed"):
                amount = getattr(figures, outcome)
                self._counters[f"attr2hbase_component_{outcome}_events_total"].labels(*labels).inc(amount)
            self._counters["attr2hbase_component_sampled_calls_total"].labels(*labels).inc(figures.times.calls)
            seconds = figures.times.total_ns / 1e9
            self._counters["attr2hbase_component_sampled_seconds_total"].labels(*labels).inc(seconds)

    def _add_tally(self, name: str, pipeline: str, tally: Iterable[tuple[tuple[str, ...], int]]) -> None:
        for values, amount in tally:
            labels = [self._bounded(f"{name} {at}", pipeline, value) for at, value in enumerate(values)]
            self._counters[name].labels(pipeline, *labels).inc(amount)

    def _bounded(self, name: str, pipeline: str, value: str) -> str:
        value = self._hide(value)
        known = self._label_values.setdefault((name, pipeline), set())
        if value in known:
            return value
        if len(known) >= MAX_LABEL_VALUES or len(value) > MAX_LABEL_CHARS or not value.isprintable():
            return OTHER
        known.add(value)
        return value
