"""Metrics: content and bounds of a scrape."""

import platform
import re
from collections import Counter

import pytest

from ingest import __version__
from ingest.api import BusyWait
from ingest.observe.health import Health, State
from ingest.observe.metric_table import METRICS, reference
from ingest.observe.metrics import MAX_LABEL_VALUES, Metrics
from ingest.observe.partitions import MAX_PARTITIONS
from ingest.observe.results import JvmMemory
from ingest.plugins.surfaces import metrics_of, surfaces_of
from ingest.receipt import SOURCE, ComponentType, Counts, Figures
from sinks import BUILTIN_FEATURES
from sinks.blobs.metrics import BLOB_SWEEP_INTERVAL, BLOB_SWEEP_LAST, Swept, swept
from sinks.updates.metrics import COMPACTION_INTERVAL, COMPACTION_LAST, Compacted, compacted
from tests.support.call_times import timed
from tests.support.counted import counted_blobs

REQUIRED = {
    "attr2hbase_events_read_total",
    "attr2hbase_events_stored_total",
    "attr2hbase_events_dropped_total",
    "attr2hbase_events_dead_lettered_total",
    "attr2hbase_rows_sent_total",
    "attr2hbase_cells_total",
    "attr2hbase_bytes_total",
    "attr2hbase_write_calls_total",
    "attr2hbase_flush_seconds",
    "attr2hbase_batch_seconds",
    "attr2hbase_retries_total",
    "attr2hbase_pipeline_state",
    "attr2hbase_lag_records",
    "attr2hbase_last_ack_timestamp_seconds",
    "attr2hbase_ack_due_timestamp_seconds",
}

OF_FEATURES = metrics_of(surfaces_of(BUILTIN_FEATURES))
ALL = (*METRICS, *OF_FEATURES)


def samples(metrics: Metrics) -> dict[str, float]:
    _, content = metrics.render()
    lines = [line for line in content.decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def fresh(*pipelines: str) -> Metrics:
    return Metrics(pipelines, process=False, of_features=OF_FEATURES)


def test_table_has_every_required_metric():
    assert {metric.name for metric in ALL} >= REQUIRED


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.name)
def test_metric_follows_naming_rules(metric):
    assert re.fullmatch(r"attr2hbase_[a-z_]+", metric.name)
    assert metric.name.endswith("_total") == (metric.kind == "counter")
    assert metric.help.endswith(".")
    bounded = {
        "reason",
        "error",
        "state",
        "topic",
        "partition",
        "component",
        "quantile",
        "group",
        "version",
        "python",
        "type",
    }
    assert set(metric.labels) <= bounded
    assert bool(metric.buckets) == (metric.kind == "histogram")


def test_reference_has_a_row_for_each_metric():
    rows = reference(OF_FEATURES).splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == [metric.name for metric in ALL]


def test_acknowledged_batch_is_counted_once():
    metrics = fresh("ticks")
    counts = Counts(
        read=10,
        stored=6,
        dropped=Counter({"no_row_key": 3}),
        dead_lettered_by=Counter({("decode", "source"): 1}),
        rows_sent=7,
        cells=12,
        joined_puts=5,
        bytes=340,
        write_calls=2,
        retries=1,
        flush_s=[0.002, 0.3],
        busy=4,
        busy_waits=[BusyWait("RpcThrottlingException", 0.5), BusyWait("RpcThrottlingException", 1.0)],
    )
    metrics.attempted("ticks", counts)
    metrics.observe_batch("ticks", counts, 0.4)
    shown = samples(metrics)
    assert {name: value for name, value in shown.items() if "bucket" not in name} == {
        'attr2hbase_events_read_total{pipeline="ticks"}': 10,
        'attr2hbase_events_stored_total{pipeline="ticks"}': 6,
        'attr2hbase_events_dropped_total{pipeline="ticks",reason="no_row_key"}': 3,
        'attr2hbase_events_dead_lettered_total{component="source",error="decode",pipeline="ticks"}': 1,
        'attr2hbase_rows_sent_total{pipeline="ticks"}': 7,
        'attr2hbase_cells_total{pipeline="ticks"}': 12,
        'attr2hbase_joined_puts_total{pipeline="ticks"}': 5,
        'attr2hbase_bytes_total{pipeline="ticks"}': 340,
        'attr2hbase_write_calls_total{pipeline="ticks"}': 2,
        'attr2hbase_retries_total{pipeline="ticks"}': 1,
        'attr2hbase_busy_answers_total{pipeline="ticks"}': 4,
        'attr2hbase_busy_wait_seconds_count{pipeline="ticks",reason="RpcThrottlingException"}': 2,
        'attr2hbase_busy_wait_seconds_sum{pipeline="ticks",reason="RpcThrottlingException"}': 1.5,
        'attr2hbase_flush_seconds_count{pipeline="ticks"}': 2,
        'attr2hbase_flush_seconds_sum{pipeline="ticks"}': 0.302,
        'attr2hbase_batch_seconds_count{pipeline="ticks"}': 1,
        'attr2hbase_batch_seconds_sum{pipeline="ticks"}': 0.4,
        'attr2hbase_batch_attempts_total{pipeline="ticks"}': 1,
        'attr2hbase_dead_letter_publish_failures_total{pipeline="ticks"}': 0,
        'attr2hbase_group_commit_failures_total{pipeline="ticks"}': 0,
    }
    assert shown['attr2hbase_flush_seconds_bucket{le="0.0025",pipeline="ticks"}'] == 1


def test_last_compaction_of_a_table():
    metrics = fresh("ticks")
    metrics.scheduled(COMPACTION_INTERVAL, COMPACTION_LAST, {"t": 600.0}, {"t": 50.0})
    assert samples(metrics)['attr2hbase_compaction_last_end_timestamp_seconds{table="t"}'] == 50
    metrics.record(*compacted("t", Compacted(2, 30, 500, 1_200, 1_000, 0, 5.0, end_s=100.0)))
    metrics.record(*compacted("t", Compacted(3, 40, 600, 900, 500, 1, 4.0, end_s=200.0)))
    metrics.scheduled(COMPACTION_INTERVAL, COMPACTION_LAST, {"t": 300.0}, {"t": 250.0})
    assert {name: value for name, value in samples(metrics).items() if "table" in name} == {
        'attr2hbase_update_rows_per_key{quantile="0.5",table="t"}': 3,
        'attr2hbase_update_rows_per_key{quantile="0.99",table="t"}': 40,
        'attr2hbase_compaction_backlog_rows{table="t"}': 500,
        'attr2hbase_compaction_unmerged{table="t"}': 1,
        'attr2hbase_compaction_read_rows_total{table="t"}': 1_100,
        'attr2hbase_compaction_read_update_rows_total{table="t"}': 2_100,
        'attr2hbase_compaction_rows_total{table="t"}': 1_500,
        'attr2hbase_compaction_seconds{table="t"}': 4,
        'attr2hbase_compaction_last_end_timestamp_seconds{table="t"}': 200,
        'attr2hbase_compaction_interval_seconds{table="t"}': 300,
    }


def test_2c4_blobs_of_a_table():
    metrics = fresh("ticks")
    metrics.scheduled(BLOB_SWEEP_INTERVAL, BLOB_SWEEP_LAST, {"t": 86_400.0}, {"t": 50.0})
    assert samples(metrics)['attr2hbase_blob_sweep_last_success_timestamp_seconds{table="t"}'] == 50
    metrics.attempted("ticks", Counts(counted=counted_blobs("t", 2, 3_000, 1)))
    metrics.counted(counted_blobs("t", deduplicated=4))
    metrics.record(*swept("t", Swept(3, 900, {"referenced": 7, "unreferenced": 1}, 100.0)))
    metrics.scheduled(BLOB_SWEEP_INTERVAL, BLOB_SWEEP_LAST, {"t": 86_400.0}, {"t": 150.0})
    assert {name: value for name, value in samples(metrics).items() if "table" in name} == {
        'attr2hbase_blobs_stored_total{table="t"}': 2,
        'attr2hbase_blobs_stored_bytes_total{table="t"}': 3_000,
        'attr2hbase_blobs_deduplicated_total{table="t"}': 5,
        'attr2hbase_blobs_swept_total{table="t"}': 3,
        'attr2hbase_blobs_swept_bytes_total{table="t"}': 900,
        'attr2hbase_blobs{state="referenced",table="t"}': 7,
        'attr2hbase_blobs{state="unreferenced",table="t"}': 1,
        'attr2hbase_blob_sweep_last_success_timestamp_seconds{table="t"}': 100,
        'attr2hbase_blob_sweep_interval_seconds{table="t"}': 86_400,
    }


def test_repeated_attempt_counts_only_rows_sent():
    metrics = fresh("ticks")
    counts = Counts(read=5, stored=5, rows_sent=5, cells=5)
    metrics.attempted("ticks", counts)
    metrics.attempted("ticks", counts)
    metrics.observe_batch("ticks", counts, 1.0)
    shown = samples(metrics)
    names = ["rows_sent", "batch_attempts", "events_read", "events_stored", "cells"]
    assert [shown[f'attr2hbase_{name}_total{{pipeline="ticks"}}'] for name in names] == [10, 2, 5, 5, 5]


def test_throttle_is_read_at_each_scrape_until_the_pipeline_is_removed():
    metrics = fresh("ticks")
    name = 'attr2hbase_throttle_ratio{pipeline="ticks"}'
    assert name not in samples(metrics)
    ratios = iter((0.5, 0.75))
    metrics.throttled("ticks", lambda: next(ratios))
    assert [samples(metrics)[name] for _ in range(2)] == [0.5, 0.75]
    metrics.remove("ticks")
    assert name not in samples(metrics)


def test_declared_pipeline_starts_at_zero_without_an_acknowledgement():
    shown = samples(fresh("ticks"))
    assert shown['attr2hbase_events_read_total{pipeline="ticks"}'] == 0
    assert not [name for name in shown if "last_ack" in name]


def test_acknowledgement_and_batch_time_are_seconds():
    metrics = fresh()
    metrics.acknowledged("ticks", 1308748686.5, 1308748686334)
    assert samples(metrics) == {
        'attr2hbase_last_ack_timestamp_seconds{pipeline="ticks"}': 1308748686.5,
        'attr2hbase_last_batch_time_seconds{pipeline="ticks"}': 1308748686.334,
    }


def test_acknowledgement_is_due_an_interval_after_the_last_one_or_after_the_first_unread_record():
    def due() -> float | None:
        return samples(metrics).get('attr2hbase_ack_due_timestamp_seconds{pipeline="ticks"}')

    metrics = fresh()
    metrics.triggered("ticks", 3_600.0)
    metrics.acknowledged("ticks", 1_000.0, 1_000_000)
    assert due() is None
    for at_s in (50_000.0, 50_010.0):
        metrics.unread("ticks", 7, at_s)
        assert due() == 53_600.0
    metrics.acknowledged("ticks", 53_000.0, 53_000_000)
    metrics.unread("ticks", 2, 53_010.0)
    assert due() == 56_600.0
    metrics.triggered("ticks", 0.0)  # a reload
    assert due() == 53_000.0
    metrics.triggered("ticks", 3_600.0)
    metrics.unread("ticks", 0, 54_000.0)
    assert due() is None
    for forget in (metrics.lag_unknown, metrics.resumed, metrics.remove):
        metrics.unread("ticks", 1, 60_000.0)
        assert due() == 63_600.0
        forget("ticks")
        assert due() is None


def test_state_follows_health():
    metrics = fresh()
    health = Health(["ticks"], on_change=metrics.state)
    health.change("ticks", State.RUNNING)
    health.change("ticks", State.BLOCKED, "store_unavailable")
    shown = samples(metrics)
    assert {state: shown[f'attr2hbase_pipeline_state{{pipeline="ticks",state="{state}"}}'] for state in State} == {
        State.STARTING: 0,
        State.RUNNING: 0,
        State.BLOCKED: 1,
        State.BACKING_OFF: 0,
        State.PAUSED: 0,
        State.STOPPING: 0,
        State.STOPPED: 0,
        State.FAILED: 0,
    }


def test_label_values_are_bounded_and_sums_are_complete():
    metrics = fresh()
    metrics.observe_batch("ticks", Counts(dropped=Counter({f"reason-{number}": 1 for number in range(10_000)})), 0.1)
    metrics.observe_batch("ticks", Counts(dropped=Counter({"reason-0": 5})), 0.1)
    dropped = {name: value for name, value in samples(metrics).items() if name.startswith("attr2hbase_events_dropped")}
    assert len(dropped) == MAX_LABEL_VALUES + 1
    assert sum(dropped.values()) == 10_005
    assert dropped['attr2hbase_events_dropped_total{pipeline="ticks",reason="reason-0"}'] == 6


@pytest.mark.parametrize("value", ["x" * 65, "line\nbreak", "lone \ud800"], ids=["long", "control", "surrogate"])
def test_invalid_label_value_is_counted_as_other(value):
    metrics = fresh()
    metrics.observe_batch("ticks", Counts(dead_lettered_by=Counter({(value, "regex"): 1, ("no_match", value): 1})), 0.1)
    assert samples(metrics) | {
        'attr2hbase_events_dead_lettered_total{component="regex",error="other",pipeline="ticks"}': 1,
        'attr2hbase_events_dead_lettered_total{component="other",error="no_match",pipeline="ticks"}': 1,
    } == samples(metrics)


def test_lag_is_the_last_value_set():
    metrics = fresh()
    metrics.lag("ticks", "t", 0, 70)
    metrics.lag("ticks", "t", 0, 3)
    assert samples(metrics) == {'attr2hbase_lag_records{partition="0",pipeline="ticks",topic="t"}': 3}


def test_lag_of_too_many_partitions_is_summed():
    metrics = fresh()
    for lag in (9, 2):
        for partition in range(MAX_PARTITIONS + 10):
            metrics.lag("ticks", "t", partition, lag)
    shown = samples(metrics)
    assert len(shown) == MAX_PARTITIONS + 1
    assert shown['attr2hbase_lag_records{partition="other",pipeline="ticks",topic="other"}'] == 20


def test_retention_of_too_many_partitions_is_their_maximum():
    metrics = fresh()
    own = {("t", number): 0.1 for number in range(MAX_PARTITIONS)}
    for extra in (0.9, 0.4):
        metrics.retention("ticks", own | {("u", 0): extra, ("u", 1): 0.2})
    shown = samples(metrics)
    assert len(shown) == MAX_PARTITIONS + 1
    assert shown['attr2hbase_retention_used_ratio{partition="7",pipeline="ticks",topic="t"}'] == 0.1
    assert shown['attr2hbase_retention_used_ratio{partition="other",pipeline="ticks",topic="other"}'] == 0.4
    metrics.remove("ticks")
    assert samples(metrics) == {}


def test_retention_of_a_deleted_topic_has_no_series():
    metrics = fresh("other")
    before = samples(metrics)
    metrics.retention("other", {("t", 0): 0.3})
    metrics.retention("ticks", {("t", 0): 0.6, ("gone", 0): 0.9})
    metrics.retention("ticks", {("t", 0): 0.7})
    assert samples(metrics) == before | {
        'attr2hbase_retention_used_ratio{partition="0",pipeline="other",topic="t"}': 0.3,
        'attr2hbase_retention_used_ratio{partition="0",pipeline="ticks",topic="t"}': 0.7,
    }


def test_path_that_is_not_utf8_is_rendered():
    metrics = fresh()
    metrics.lag("files", "/data/\udcff.log", 0, 1)
    assert list(samples(metrics)) == [
        'attr2hbase_lag_records{partition="0",pipeline="files",topic="/data/\\\\udcff.log"}'
    ]


def test_failures_are_counted():
    metrics = fresh()
    metrics.dead_letter_publish_failed("ticks")
    metrics.group_commit_failed("ticks")
    assert samples(metrics) == {
        'attr2hbase_dead_letter_publish_failures_total{pipeline="ticks"}': 1,
        'attr2hbase_group_commit_failures_total{pipeline="ticks"}': 1,
    }


def test_dropped_log_lines_are_read_at_each_scrape():
    dropped = [3]
    metrics = Metrics(["ticks"], process=False, dropped_lines=lambda: dropped[0])
    assert samples(metrics)["attr2hbase_log_lines_dropped_total"] == 3
    dropped[0] = 5
    assert samples(metrics)["attr2hbase_log_lines_dropped_total"] == 5


def test_registries_are_independent():
    first, second = fresh(), fresh()
    first.group_commit_failed("ticks")
    assert samples(second) == {}


def test_process_metrics_are_exported_by_default():
    content_type, content = Metrics().render()
    assert content_type.startswith("text/plain")
    assert b"process_resident_memory_bytes" in content
    assert b"_created" not in content


def test_secret_in_a_drop_reason_is_masked():
    metrics = Metrics(["ticks"], hide=lambda text: text.replace("hunter2", "***"))
    metrics.observe_batch("ticks", Counts(dropped=Counter({"hunter2": 1})), 0.1)
    assert samples(metrics)['attr2hbase_events_dropped_total{pipeline="ticks",reason="***"}'] == 1


def test_versions_of_the_process_are_labels():
    shown = Metrics().render()[1].decode()
    version, python = f'version="{__version__}"', f'python="{platform.python_version()}"'
    assert f"attr2hbase_build_info{{{python},{version}}} 1.0" in shown


def test_figures_of_components_have_their_type_and_name():
    metrics = fresh("ticks")
    parse = (ComponentType.DECORATOR, "parse")
    metrics.observe_batch(
        "ticks", Counts(components={SOURCE: Figures(5, 5), parse: Figures(5, 2, 1, 2, timed(4, 8_000))}), 0.1
    )
    metrics.observe_batch("ticks", Counts(components={SOURCE: Figures(1, 1), parse: Figures(1, 1)}), 0.1)
    found = samples(metrics)
    labels = '{component="parse",pipeline="ticks",type="decorator"}'
    names = ("received_events", "sent_events", "dropped_events", "failed_events", "sampled_calls", "sampled_seconds")
    assert [found[f"attr2hbase_component_{name}_total{labels}"] for name in names] == [6, 3, 1, 2, 4, 8e-6]


def test_memory_of_the_jvm_counts_on_after_its_restart():
    metrics = fresh()
    for gc_seconds in (2.0, 5.0, 1.0):
        metrics.jvm(JvmMemory(10, 20, gc_seconds))
    found = samples(metrics)
    assert (found["attr2hbase_jvm_heap_used_bytes"], found["attr2hbase_jvm_heap_max_bytes"]) == (10, 20)
    assert found["attr2hbase_jvm_gc_seconds_total"] == 6.0


def test_memory_of_workers_is_that_of_the_largest():
    metrics, total = fresh("ticks"), Counts(worker_bytes=5)
    total.add(Counts(worker_bytes=9))
    metrics.observe_batch("ticks", total, 0.1)
    assert samples(metrics)['attr2hbase_worker_memory_bytes{pipeline="ticks"}'] == 9
    metrics.observe_batch("ticks", Counts(), 0.1)
    assert samples(metrics)['attr2hbase_worker_memory_bytes{pipeline="ticks"}'] == 9
