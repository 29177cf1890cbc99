"""The dashboard of Grafana and the objects of Kubernetes agree with the metrics and the alerts."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.prometheus.generate import ALERTS, DASHBOARD, RULE, generated, main, queries_of
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


def test_every_metric_has_one_panel_and_every_panel_has_a_metric() -> None:
    shown: list[Any] = [tuple(target["expr"] for target in panel["targets"]) for panel in PANELS]
    assert sorted(shown) == sorted(tuple(query for query, _ in queries_of(metric)) for metric in METRICS)
    names = {
        name
        for panel in PANELS
        for target in panel["targets"]
        for name in re.findall(r"attr2hbase_\w+", target["expr"])
    }
    assert names <= SERIES


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
