"""The figures of docs/operations/sizing.md are about those of the committed benchmark."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/operations/sizing.md").read_text(encoding="utf-8")
RESULT = json.loads((ROOT / "docs/bench/latest.json").read_text(encoding="utf-8"))
TOLERANCE = 0.2  # runs differ by less; a larger change needs new figures on the page
BENCHMARKS = {
    "into HBase, bulk load": ("hbase", "hbase native RPC, bulk load"),
    "into HBase, calls": ("hbase", "hbase native RPC"),
    "into RocksDB": ("rungs", "rocksdb"),
}
ROWS = {
    match[1]: (float(match[2]), float(match[3]))
    for match in re.finditer(r"^\| (into .+?) \| ([\d.]+) \| ([\d.]+) \|$", PAGE, re.MULTILINE)
}


@pytest.mark.parametrize("row", BENCHMARKS)
def test_cores_for_10000_events_a_second(row):
    kind, name = BENCHMARKS[row]
    run = RESULT[kind][name]
    expected = (run["cpu_s_per_million"] / 100, run["servers_cpu_s_per_million"] / 100)
    assert ROWS[row] == pytest.approx(expected, rel=TOLERANCE, abs=0.006)


def test_each_row_has_a_benchmark():
    assert ROWS.keys() == BENCHMARKS.keys()
