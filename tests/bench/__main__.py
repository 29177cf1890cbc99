"""`make bench`: starts Kafka and HBase, runs benchmarks, prints tables, writes JSON, plots and docs/performance.md."""

import argparse
import itertools
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tests.bench import (
    compaction,
    costs,
    counting,
    dumps,
    durability,
    feed_reading,
    fuzzy,
    hbase,
    jobs,
    killed_compaction,
    latency,
    micro,
    peers,
    rungs,
    scale,
    scans,
    soak,
)
from tests.bench.goals import goals, shown, verdict, wanted
from tests.bench.hbase import HBaseRungs
from tests.bench.neighbour import NEIGHBOURS
from tests.bench.report import laid_over, merged, page, pictures
from tests.bench.rungs import Ladder
from tests.bench.servers import PARTITIONS, hbase_cluster, hbase_server, produced, servers
from tests.bench.watching import Sample, processes_of
from tests.support.servers import TestFolder

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "bench"
SO_FAR = ROOT / "build" / "bench.json"
"""The result so far, written after each part and each run in case a later one fails."""
LADDER = (*rungs.STAGES, *rungs.CHAINS, *rungs.ROCKSDB, rungs.ARCHIVE, rungs.PEER)
HBASE = (*hbase.PRODUCTS, *hbase.CEILINGS, *hbase.FLUME, *NEIGHBOURS)
CLUSTER = tuple(hbase.CLUSTER)
GOALS = (*rungs.STAGES, "rocksdb", rungs.ARCHIVE, *hbase.GOAL_RUNGS, "counters", "jobs", "latency", "micro")
"""Parts that the goals need, except those that take hours."""
SIZES = scale.cases()
SCANNED_ROWS = 800_000
ALL = (
    *LADDER, *HBASE, *CLUSTER, "scans", "fuzzy scan", "counters", "dumps", "jobs", "latency", "micro",
    "performance evaluation", *SIZES, feed_reading.NAME, killed_compaction.NAME, "soak",
)  # fmt: skip


def main() -> int:
    options = parsed()
    console = Console(stderr=True)
    settings = durability.in_force()
    differs = durability.differences(settings, durability.DOCUMENTED.read_text())
    if differs:
        message = "the settings are not those of docs/performance.md; correct docs/bench/changes.md:"
        console.print("\n".join([message, *differs]))
        return 1
    parts = options.parts or (ALL if options.all else GOALS)
    result: dict[str, Any] = {
        "machine": machine(), "settings": settings, "events": options.events, "hbase_events": options.hbase_events,
    }  # fmt: skip
    SO_FAR.unlink(missing_ok=True)
    if "micro" in parts:
        console.print("decorators, sinks and the chain of four, one core …")
        result["decorators_ns"] = costs.decorators()
        result["sinks_ns"] = micro.sinks()
        result["row_keys_ns"] = micro.row_keys()
        result["writes_ns"] = micro.writes()
        result["chain_of_four_per_s"] = micro.chain_of_four()
    ladder_parts = [part for part in parts if part in LADDER]
    if ladder_parts:
        with servers(console) as (folder, kafka, progress):
            ladder = Ladder(
                brokers=kafka.brokers, topic=produced(kafka, options.events, progress), partitions=PARTITIONS,
                events=options.events, folder=folder, servers=processes_of(kafka.server.process),
            )  # fmt: skip
            result["rungs"] = turns("rungs", ladder.run, ladder_parts, options.runs, progress)
        keep(result)
    if {"counters", "dumps", "latency", "performance evaluation", "scans", *HBASE}.intersection(parts):
        result |= beside_peers(parts, options.hbase_events, options.runs, console)
        keep(result)
    cluster_parts = [part for part in parts if part in CLUSTER]
    if cluster_parts:
        result.setdefault("hbase", {}).update(on_cluster(cluster_parts, options.hbase_events, options.runs, console))
        keep(result)
    if "fuzzy scan" in parts:
        console.print("a scan with a pattern, 10,000,000 rows …")
        folder = TestFolder()
        try:
            result["fuzzy_share"] = fuzzy.share_of_a_full_scan(folder.path)
        finally:
            folder.close()
        keep(result)
    if feed_reading.NAME in parts:
        console.print(f"{feed_reading.NAME} …")
        folder = TestFolder()
        try:
            result["feed_changes_per_s"] = feed_reading.changes_per_s(folder.path, options.runs)
        finally:
            folder.close()
        keep(result)
    if killed_compaction.NAME in parts:
        console.print(f"{killed_compaction.NAME} …")
        folder = TestFolder()
        try:
            with hbase_server(folder.path) as base:
                result["killed_compaction"] = killed_compaction.run(base, folder.path / "compaction")._asdict()
        finally:
            folder.close()
        keep(result)
    if "jobs" in parts:
        with servers(console) as (folder, kafka, progress):
            progress.add_task("a pipeline beside a replay", total=None)
            result["jobs"] = jobs.run(kafka, folder / "jobs")._asdict()
        keep(result)
    sizes = [part for part in parts if part in SIZES]
    if sizes:
        result["scale"] = grown(sizes, console)
        keep(result)
    if "soak" in parts:
        with servers(console) as (folder, kafka, progress):
            progress.add_task(f"soak of {options.soak_minutes:g} minutes", total=None)
            result["soak"] = soak.summary(soak.run(kafka, folder / "soak", options.soak_minutes, PARTITIONS))
    result["goals"] = goals(result)
    result["measured"] = {part: measured(part, options, **result["machine"]) for part in parts}
    show(Console(), result)
    if options.write:
        write(result)
        console.print(f"wrote {RESULTS / 'latest.json'}, its plots and docs/performance.md")
    return 0


def parsed() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"parts to measure: {'; '.join(ALL)}. Default: those of the goals")
    parser.add_argument("--all", action="store_true", help="measure everything, with scaling and the soak; takes hours")
    parser.add_argument("--events", type=int, default=1_500_000, help="events in the topic (1500000)")
    parser.add_argument("--hbase-events", type=int, default=3_000_000, help="for HBase and its peers (3000000)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each part; the median counts (5)")
    parser.add_argument("--soak-minutes", type=float, default=60.0, help="duration of the soak (60)")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md, its plots and latest.json")
    options = parser.parse_args()
    unknown = sorted(set(options.parts).difference(ALL))
    if unknown:
        parser.error(f"unknown parts: {', '.join(unknown)}; choose from {'; '.join(ALL)}")
    return options


def measured(part: str, options: argparse.Namespace, *, commit: str, date: str, cpu: str, **_machine: str) -> str:
    """Commit, date and machine of a part's figures, and the number of runs and events of one that has several."""
    events = options.hbase_events if part in (*HBASE, *CLUSTER) else options.events if part in LADDER else None
    where = f"{commit}, {date}, {cpu}"
    if events is None:
        return where
    return f"{where}, {'one run' if options.runs == 1 else f'{options.runs} runs'} with {events:,} events"


def beside_peers(parts: Sequence[str], events: int, runs: int, console: Console) -> dict[str, Any]:
    """Benchmarks that write to HBase, peers, and latency."""
    found: dict[str, Any] = {}
    with servers(console) as (folder, kafka, progress):
        progress.add_task("starting HBase", total=None)
        with hbase_server(folder) as base:
            topic = produced(kafka, events, progress)
            ladder = HBaseRungs(kafka, base, topic=topic, partitions=PARTITIONS, events=events, folder=folder)
            names = [part for part in parts if part in HBASE]
            if names or "latency" in parts:
                found["hbase"] = turns("hbase", ladder.run, names or latency.RUNGS, runs, progress)
            if "scans" in parts:
                found["scans_per_s"] = scans.rows_per_s(base, min(events, SCANNED_ROWS), runs)
            if "counters" in parts:
                progress.add_task("counters", total=None)
                found["counting"] = counting.run(base, folder / "counting", runs)
                found["compaction"] = {
                    compaction.HBASE: compaction.on_hbase(base, runs)._asdict(),
                    compaction.ROCKSDB: compaction.on_rocksdb(folder / "compaction", runs)._asdict(),
                }
            if "dumps" in parts:
                progress.add_task("dumps", total=None)
                found["dumps"] = {
                    dumps.HBASE: dumps.on_hbase(base, folder / "dumps" / "hbase", runs),
                    dumps.ROCKSDB: dumps.on_rocksdb(folder / "dumps" / "rocksdb", runs),
                }
            if "performance evaluation" in parts:
                ladder.empty_table()
                found["performance_evaluation_per_s"] = peers.performance_evaluation(base, events // 2, 2)
            keep(found)
            if "latency" in parts:
                task = progress.add_task("latency", total=len(latency.LOADS) * len(latency.RUNGS))
                found["latency"] = {}
                for rung, load in itertools.product(latency.RUNGS, latency.LOADS):
                    full = found["hbase"].get(rung, {}).get("per_s") or ladder.run(rung, runs + 1).per_s
                    name = latency.load_name(load, rung)
                    at = folder / f"latency {name}".replace(" ", "-")
                    seen = latency.measured(kafka, base, ladder, rung, full * load, at, PARTITIONS)
                    found["latency"][name] = seen._asdict()
                    progress.advance(task)
    return found


def on_cluster(parts: Sequence[str], events: int, runs: int, console: Console) -> dict[str, dict[str, Any]]:
    """Benchmarks that write to an HBase of several processes."""
    with servers(console) as (folder, kafka, progress):
        progress.add_task("starting HBase", total=None)
        with hbase_cluster(folder) as base:
            topic = produced(kafka, events, progress)
            ladder = HBaseRungs(kafka, base, topic=topic, partitions=PARTITIONS, events=events, folder=folder)
            return turns("hbase", ladder.run, parts, runs, progress)


def grown(parts: Sequence[str], console: Console) -> dict[str, dict[str, Any]]:
    """Name of a size -> figures."""
    found: dict[str, dict[str, Any]] = {}
    for name in parts:
        # a new broker for each: ten million events and their copies would fill the disk
        with servers(console) as (folder, kafka, progress):
            progress.add_task(name, total=None)
            found[name] = figures([scale.run(SIZES[name], kafka, folder / "scale")])
    return found


def turns(
    section: str, one: Callable[[str, int], Sample], names: Sequence[str], runs: int, progress: Progress
) -> dict[str, dict[str, Any]]:
    """Run benchmarks of a section alternately, after one run that only warms up the servers."""
    samples: dict[str, list[Sample]] = {}
    found: dict[str, dict[str, Any]] = {}
    task = progress.add_task("warming up", total=1 + runs * len(names))
    one(names[-1], 0)
    progress.advance(task)
    for number in range(1, runs + 1):
        for name in names:
            progress.update(task, description=f"run {number}: {name}")
            samples.setdefault(name, []).append(one(name, number))
            found[name] = figures(samples[name])
            keep({section: found})
            progress.advance(task)
    return found


def figures(runs: Sequence[Sample]) -> dict[str, Any]:
    """Median and range of the runs of a benchmark, and each of them; CPU, in all and by threads, of the median run."""
    rates = [run.per_s for run in runs]
    middle = sorted(runs, key=lambda run: run.per_s)[len(runs) // 2]
    return {
        "per_s": statistics.median(rates),
        "lowest_per_s": min(rates),
        "highest_per_s": max(rates),
        "cpu_s_per_million": middle.cpu_s / middle.events * 1e6,
        "servers_cpu_s_per_million": middle.servers_cpu_s / middle.events * 1e6,
        "peak_mib": max(run.peak_mib for run in runs),
        "turns": [{"per_s": run.per_s, "cpu_s_per_million": run.cpu_s / run.events * 1e6} for run in runs],
        "threads": {
            process: {kind: used / middle.events * 1e6 for kind, used in kinds.items()}
            for process, kinds in middle.threads.items()
        },
    }


def machine() -> dict[str, str]:
    """The machine, versions, commit and date of a run."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    info = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in info if "model name" in line]
    return {
        "cpu": f"{os.cpu_count()} x {models[0] if models else platform.machine()}",
        "python": platform.python_version(),
        "pyspark": version("pyspark"),
        "commit": commit.stdout.strip(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def keep(found: dict[str, Any]) -> None:
    """Write the result so far, with what was written before."""
    SO_FAR.parent.mkdir(exist_ok=True)
    before = json.loads(SO_FAR.read_text()) if SO_FAR.exists() else {}
    SO_FAR.write_text(json.dumps(merged(before, found), indent=1, sort_keys=True) + "\n")


def write(result: dict[str, Any]) -> None:
    """Write JSON, plots and page; parts that this run left out keep their earlier figures."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    latest = RESULTS / "latest.json"
    if latest.exists():
        result = laid_over(json.loads(latest.read_text()), result)
    latest.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")
    for name, content in pictures(result).items():
        (RESULTS / name).write_text(content)
    (ROOT / "docs" / "performance.md").write_text(page(result))


def show(console: Console, result: dict[str, Any]) -> None:
    """Print the figures as tables."""
    titles = {"rungs": "Kafka to RocksDB, one stage at a time", "hbase": "Kafka to HBase", "scale": "scaling"}
    for key, title in titles.items():
        if key not in result:
            continue
        table = Table("benchmark", "events/s", "range", "own CPU-s", "servers' CPU-s", "peak MiB", title=title)
        for name, run in result[key].items():
            spread = f"{run['lowest_per_s']:,.0f} - {run['highest_per_s']:,.0f}"
            cpu = f"{run['cpu_s_per_million']:.1f}", f"{run['servers_cpu_s_per_million']:.1f}"
            table.add_row(name, f"{run['per_s']:,.0f}", spread, *cpu, f"{run['peak_mib']:,.0f}")
        console.print(table)
    for key, title in (
        ("decorators_ns", "decorators, the slowest example of each, one core"),
        ("sinks_ns", "sinks, an event to its cells, one core"),
        ("row_keys_ns", "row keys of a salted table, one core"),
        ("writes_ns", "writes to HBase, a row of nine cells, one core"),
    ):
        if key in result:
            table = Table(key.partition("s_")[0], "ns an event", title=title)
            for name, cost in sorted(result[key].items()):
                table.add_row(name, f"{cost:,.0f}")
            console.print(table)
    if "decorators_ns" in result:
        console.print(costs.slow_decorators(result["decorators_ns"]))
    if "scans_per_s" in result:
        table = Table("scan", "rows/s", title="scans over one connection")
        for name, rate in result["scans_per_s"].items():
            table.add_row(name, f"{rate:,.0f}")
        console.print(table)
    if "counting" in result:
        names = ("counting", "events/s", "range", "own CPU-s", "servers' CPU-s", "rows/key")
        table = Table(*names, title="counting in HBase by native RPC, one connection")
        for name, run in result["counting"].items():
            spread = f"{run['lowest_per_s']:,.0f} - {run['highest_per_s']:,.0f}"
            cpu = f"{run['cpu_s_per_million']:.1f}", f"{run['servers_cpu_s_per_million']:.1f}"
            table.add_row(name, f"{run['per_s']:,.0f}", spread, *cpu, f"{run['rows_a_key']:.1f}")
        console.print(table)
    if "compaction" in result:
        columns = ("write", "scan", "compaction", "plain us", "merged us")
        table = Table("update rows/s", *columns, title="compaction of counters, and scans of a row afterwards")
        for name, run in result["compaction"].items():
            figures_ = compaction.Figures(**run)
            rates = (f"{rate:,.0f}" for rate in figures_[:3])
            table.add_row(name, *rates, f"{figures_.plain_us:.1f}", f"{figures_.merged_us:.1f}")
        console.print(table)
    if "dumps" in result:
        table = Table("rows/s", *next(iter(result["dumps"].values())), title="dumps of a table, one process")
        for name, rates_ in result["dumps"].items():
            table.add_row(name, *(f"{rate:,.0f}" for rate in rates_.values()))
        console.print(table)
    if "killed_compaction" in result:
        killed = killed_compaction.Killed(**result["killed_compaction"])
        console.print(f"{killed_compaction.NAME}: {killed.compaction_per_s:,.0f} rows/s, {killed.peak_mib:,.0f} MiB")
    if "latency" in result:
        table = Table("rate", "p50 s", "p90 s", "p99 s", "maximum s", title="latency, produced to readable")
        for share, run in result["latency"].items():
            table.add_row(share, *(f"{run[name]:.2f}" for name in ("p50_s", "p90_s", "p99_s", "worst_s")))
        console.print(table)
    if "jobs" in result:
        rates = jobs.Rates(**result["jobs"])
        text = f"{rates.alone_per_s:,.0f} events/s alone, {rates.beside_per_s:,.0f} beside a replay"
        console.print(f"a pipeline into RocksDB: {text}")
    for goal in result["goals"]:
        console.print(f"{goal['name']}: {shown(goal['figure'])} ({wanted(goal)}) {verdict(goal)}")


if __name__ == "__main__":
    sys.exit(main())
