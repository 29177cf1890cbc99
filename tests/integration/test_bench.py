"""A short run of the benchmarks with each peer, on real servers."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench import hbase, latency
from tests.bench.charts import charts
from tests.bench.kept import KeptRun
from tests.bench.report import page
from tests.bench.results import result_of

ROOT = Path(__file__).resolve().parents[2]
EVENTS = 50_000
PARTS = ("peers", "latency", "thrift", "thrift-latency")


@pytest.mark.slow
def test_each_benchmark_beside_peers_stores_each_event_and_is_on_the_page(tmp_path):
    folder = tmp_path / "run"
    options = ["--draft", "--count", "--events", str(EVENTS), "--runs", "1", "--latency-s", "6"]
    command = [sys.executable, "-m", "tests.bench", *options, "--folder", str(folder), *PARTS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-5000:]
    run = KeptRun.read(folder)
    assert run is not None
    result = result_of(run)
    assert set(result["hbase"]) == {*hbase.PEER_RUNGS, *hbase.THRIFT_RUNGS}
    assert all(each["per_s"] > 0 for each in result["hbase"].values())
    rungs = (*latency.RUNGS, *latency.THRIFT_RUNGS)
    names = {latency.load_name(load, rung) for load in latency.LOADS for rung in rungs}
    assert set(result["latency"]) == names
    assert all(0 < each["p50_s"] <= each["p99_s"] for each in result["latency"].values())
    text = page(result)
    assert [name for name in (*result["hbase"], *names) if f"\n| {name} | " not in text] == []
    assert sorted(charts(result)) == ["hbase.svg", "latency.svg"]
    assert len(json.loads((folder / "peers-1.json").read_text())["calibration_s"]) == len(hbase.PEER_RUNGS) + 1
