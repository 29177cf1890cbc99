"""The dashboard of Grafana and the objects of Kubernetes agree with the metrics and the alerts."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from deploy.prometheus.generate import ALERTS, DASHBOARD, RULE, generated, main
from ingest.api.metric import Kind
from ingest.observe.metric_table import METRICS as OWN
from ingest.plugins.surfaces import metrics_of, surfaces_of
from sinks import BUILTIN_FEATURES

METRICS = (*OWN, *metrics_of(surfaces_of(BUILTIN_FEATURES)))
PANELS = [panel for panel in json.loads(DASHBOARD.read_text("utf-8"))["panels"] if panel["type"] != "row"]
SERIES = {name for metric in METRICS for name in (metric.name, f"{metric.name}_bucket")}


def test_files_are_those_of_the_table_and_the_alerts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0
    assert capsys.readouterr().out == ""


def test_file_that_is_out_of_date_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("deploy.prometheus.generate.generated", lambda: generated() | {DASHBOARD: "{}"})
    assert main(["--check"]) == 1
    assert capsys.readouterr().out == "deploy/prometheus/dashboard.json: out of date; run make docs\n"


def test_every_metric_has_one_panel_and_every_panel_has_metrics() -> None:
    names = [
        frozenset(re.findall(r"attr2hbase_\w+", target["expr"])) for panel in PANELS for target in panel["targets"][:1]
    ]
    assert frozenset().union(*names) <= SERIES
    assert Counter(each.removesuffix("_bucket") for name in names if len(name) == 1 for each in name) == Counter(
        metric.name for metric in METRICS
    )
    assert sum(len(name) == 2 for name in names) == 2  # mean time and failed share


@pytest.mark.parametrize(
    ("name", "query", "unit"),
    [
        (
            "lag_records",
            "max by (job, instance, pipeline, topic, partition) (attr2hbase_lag_records{SELECTED})",
            "short",
        ),
        ("throttle_ratio", "min by (job, instance, pipeline) (attr2hbase_throttle_ratio{SELECTED})", "percentunit"),
        (
            "last_batch_time_seconds",
            "time() - max by (job, instance, pipeline) (attr2hbase_last_batch_time_seconds{SELECTED})",
            "s",
        ),
        (
            "bytes_total",
            "sum by (job, instance, pipeline) (rate(attr2hbase_bytes_total{SELECTED}[$__rate_interval]))",
            "Bps",
        ),
        (
            "component_sampled_seconds_total",
            (
                "sum by (job, instance, pipeline, type, component) "
                "(rate(attr2hbase_component_sampled_seconds_total{SELECTED}[$__rate_interval]))"
            ),
            "percentunit",
        ),
        ("jobs", 'max by (job, instance, kind, state) (attr2hbase_jobs{job=~"$job"})', "short"),
    ],
)
def test_panel_shows_the_metric_as_what_it_means(name: str, query: str, unit: str) -> None:
    expected = query.replace("SELECTED", 'job=~"$job", pipeline=~"$pipeline"')
    [panel] = [each for each in PANELS if each["targets"][0]["expr"] == expected]
    assert f"attr2hbase_{name}" in expected
    assert panel["fieldConfig"]["defaults"]["unit"] == unit


def test_metrics_that_are_named_as_moments_are_moments() -> None:
    moments = {metric.name for metric in METRICS if metric.is_moment}
    assert moments == {metric.name for metric in METRICS if metric.name.endswith("_timestamp_seconds")} | {
        "attr2hbase_last_batch_time_seconds"
    }
    assert not [metric for metric in METRICS if metric.is_moment and metric.is_least_worst]
    assert all(metric.kind is Kind.GAUGE for metric in METRICS if metric.is_moment or metric.is_least_worst)


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(DASHBOARD.read_text("utf-8"))["panels"]:
        place = panel["gridPos"]
        squares = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not squares & taken
        taken |= squares
    assert max(x for x, _ in taken) < 24


def test_rule_of_kubernetes_has_the_alerts() -> None:
    assert yaml.safe_load(RULE.read_text("utf-8"))["spec"] == yaml.safe_load(ALERTS.read_text("utf-8"))


def test_monitor_selects_the_service_of_the_base() -> None:
    monitor = yaml.safe_load((RULE.parent / "service-monitor.yaml").read_text("utf-8"))
    service = yaml.safe_load(Path(RULE.parents[1] / "base" / "service.yaml").read_text("utf-8"))
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    [endpoint] = monitor["spec"]["endpoints"]
    assert endpoint["port"] in {port["name"] for port in service["spec"]["ports"]}
