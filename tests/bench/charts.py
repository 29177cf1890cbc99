"""The charts of docs/performance.md, from the figures of one run."""

from collections.abc import Mapping
from typing import Any

from tests.bench.hbase import (
    FILES,
    FLINK,
    FLUME_FILE,
    FLUME_MEMORY,
    HAPPYBASE,
    NATIVE,
    NO_WAL,
    PEER_RUNGS,
    THRIFT,
    THRIFT_RUNGS,
)
from tests.bench.rungs import INTO_ROCKSDB, PEER, ROCKSDB_NO_SYNC, ROCKSDB_NO_WAL
from tests.support import plot

LOSSES = {
    FLUME_MEMORY: "loses events in a crash",
    ROCKSDB_NO_WAL: "loses events in a crash",
    ROCKSDB_NO_SYNC: "loses events in a power cut",
    NO_WAL: "loses events in a crash",
    PEER: "loses events in a crash",
}
"""Benchmark -> what it gives up of the guarantee of attr2hbase."""
NAMES = {
    FILES: "attr2hbase, bulk load while behind",
    NATIVE: "attr2hbase, native RPC",
    THRIFT: "attr2hbase, Thrift",
    FLUME_FILE: "Flume 1.11, file channel",
    FLUME_MEMORY: "Flume 1.11, memory channel",
    FLINK: "Flink SQL 1.20.1",
    HAPPYBASE: "happybase consumers",
    INTO_ROCKSDB: "attr2hbase into RocksDB",
    PEER: "Benthos 4.27",
}
"""Benchmark -> its name in a chart, if it is a product."""
OURS = (FILES, NATIVE, THRIFT, INTO_ROCKSDB)
RATED = (*PEER_RUNGS, *THRIFT_RUNGS)
"""Benchmarks into HBase in the chart and in the table of CPU, if they were measured."""


def charts(result: dict[str, Any]) -> dict[str, str]:
    """File name -> SVG."""
    found = {}
    hbase = result.get("hbase", {})
    for file, title, runs in (
        ("rungs.svg", "Kafka to RocksDB", result.get("rungs", {})),
        ("hbase.svg", "Kafka to HBase", {name: hbase[name] for name in RATED if name in hbase and name in NAMES}),
    ):
        if runs:
            bars = [_bar(*each) for each in runs.items()]
            found[file] = plot.bars(title, bars, unit="events a second; median, and the range of the turns")
    if "latency" in result:
        series: dict[str, list[tuple[float, float]]] = {}
        for name, run in result["latency"].items():
            load, _, rung = name.partition(", ")
            called = {"": NAMES[THRIFT], "native RPC": NAMES[NATIVE]}.get(rung) or NAMES[rung]
            loss = f" ({LOSSES[rung]})" if rung in LOSSES else ""
            at = float(load.removesuffix(" %"))
            for figure in ("p50", "p99"):
                series.setdefault(f"{called}, {figure}{loss}", []).append((at, run[f"{figure}_s"]))
        title = "From produced to readable in HBase"
        found["latency.svg"] = plot.lines(title, series, x="% of the full rate of attr2hbase, native RPC", y="seconds")
    if "soak" in result:
        moments = result["soak"]["moments"]
        series = {
            name: [(moment[0] / 60, moment[3 + number]) for moment in moments]
            for number, name in enumerate(("driver", "JVM", "workers"))
        }
        found["soak.svg"] = plot.lines("Memory at full rate", series, x="minutes", y="MiB resident")
    return found


def _bar(name: str, run: Mapping[str, float]) -> plot.Bar:
    return plot.Bar(
        NAMES.get(name, name), run["per_s"], run["lowest_per_s"], run["highest_per_s"], is_ours=name in OURS,
        loss=LOSSES.get(name, ""),
    )  # fmt: skip
