"""`make bench`: starts Kafka and HBase, climbs the rungs, prints tables, writes JSON and docs/performance.md."""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.bench import micro
from tests.bench.hbase import HBaseRungs
from tests.bench.report import goals, page, shown
from tests.bench.rungs import RUNGS, TASKS, Ladder, Sample
from tests.bench.workload import lines
from tests.support.local import HBaseServer
from tests.support.servers import Given, HBase, Kafka, TestFolder

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "bench"
PARTITIONS = 4
PARTS = (*RUNGS, "hbase", "micro")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"what to measure, of {' '.join(PARTS)}; all when left out")
    parser.add_argument("--events", type=int, default=1_000_000, help="events in the topic (1000000)")
    parser.add_argument("--hbase-events", type=int, default=300_000, help="of those, for HBase and its peers (300000)")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each rung, in turn; the median counts (5)")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md and the JSON it is made of")
    options = parser.parse_args()
    unknown = sorted(set(options.parts).difference(PARTS))
    if unknown:
        parser.error(f"nothing is called {', '.join(unknown)}; there are {' '.join(PARTS)}")
    console = Console(stderr=True)
    result: dict[str, object] = {"machine": machine(), "events": options.events, "rounds": options.rounds}
    wanted = options.parts or PARTS
    if "micro" in wanted:
        console.print("decorators, sinks and the chain of four, one core …")
        result["decorators_ns"] = micro.decorators()
        result["sinks_ns"] = micro.sinks()
        result["writes_ns"] = micro.writes()
        result["chain_of_four_per_s"] = micro.chain_of_four()
    rungs = [rung for rung in RUNGS if rung in wanted]
    if rungs:
        result["rungs"] = climb(rungs, options.events, options.rounds, console)
    if "hbase" in wanted:
        result["connections"] = TASKS
        result["hbase_events"] = options.hbase_events
        result["hbase"] = beside_peers(options.hbase_events, options.rounds, console)
    result["goals"] = goals(result)
    out = Console()
    show(out, result)
    if options.write:
        RESULTS.mkdir(parents=True, exist_ok=True)
        (RESULTS / "latest.json").write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")
        (ROOT / "docs" / "performance.md").write_text(page(result))
        console.print(f"wrote {RESULTS / 'latest.json'} and docs/performance.md")
    return 0


def climb(rungs: list[str], events: int, rounds: int, console: Console) -> dict[str, dict[str, float]]:
    """Rung -> figures."""
    with servers(console) as (folder, kafka, progress):
        topic = produced(kafka, events, progress)
        ladder = Ladder(brokers=kafka.brokers, topic=topic, partitions=PARTITIONS, events=events, folder=folder)
        return turns(ladder.run, rungs, rounds, progress)


def beside_peers(events: int, rounds: int, console: Console) -> dict[str, dict[str, float]]:
    """Rung or peer -> figures."""
    with servers(console) as (folder, kafka, progress):
        hbase = HBase(folder / "hbase", HBaseServer(folder / "hbase", heap="2g", thrift_heap="1g"))
        try:
            progress.add_task("starting HBase", total=None)
            hbase.start()
            topic = produced(kafka, events, progress)
            ladder = HBaseRungs(kafka, hbase, topic=topic, partitions=PARTITIONS, events=events, folder=folder)
            return turns(ladder.run, ladder.names(), rounds, progress)
        finally:
            hbase.close()


@contextmanager
def servers(console: Console) -> Iterator[tuple[Path, Kafka, Progress]]:
    """A folder, a broker as fast as it can be, and where progress is shown."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    folder = TestFolder()
    kafka = Kafka(folder.path / "kafka", java_options=())
    try:
        with Progress(*columns, console=console) as progress:
            progress.add_task("starting Kafka", total=None)
            kafka.start()
            yield folder.path, kafka, progress
    finally:
        kafka.close()
        folder.close()


def produced(kafka: Kafka, events: int, progress: Progress) -> str:
    """A topic with so many lines."""
    progress.add_task(f"producing {events:,} lines", total=None)
    topic = kafka.create_topic("bench", partitions=PARTITIONS)
    kafka.produce(topic, (Given(line, partition=number % PARTITIONS) for number, line in enumerate(lines(events))))
    return topic


def turns(
    one: Callable[[str, int], Sample], names: list[str], rounds: int, progress: Progress
) -> dict[str, dict[str, float]]:
    """Run rungs in turn, after one that only warms up."""
    samples: dict[str, list[Sample]] = {}
    task = progress.add_task("warming up", total=1 + rounds * len(names))
    one(names[0], 0)
    progress.advance(task)
    for number in range(1, rounds + 1):
        for name in names:
            progress.update(task, description=f"round {number}: {name}")
            samples.setdefault(name, []).append(one(name, number))
            progress.advance(task)
    return {name: figures(runs) for name, runs in samples.items()}


def figures(runs: list[Sample]) -> dict[str, float]:
    """Median and range of a rung's runs."""
    rates = [run.events / run.seconds for run in runs]
    return {
        "per_s": statistics.median(rates),
        "lowest_per_s": min(rates),
        "highest_per_s": max(rates),
        "cpu_s_per_million": statistics.median(run.cpu_s / run.events * 1e6 for run in runs),
        "peak_mib": max(run.peak_mib for run in runs),
    }


def machine() -> dict[str, str]:
    """Where and with what the figures were made."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.machine(),
    )
    return {
        "cpu": f"{os.cpu_count()} x {model}",
        "python": platform.python_version(),
        "pyspark": version("pyspark"),
        "commit": commit.stdout.strip(),
        "date": datetime.now(UTC).date().isoformat(),
        "wal": "on",
        "sync": "before each acknowledgement",
    }


def show(console: Console, result: dict) -> None:
    """The figures as tables."""
    for key, title in (("rungs", "Kafka to RocksDB, one stage at a time"), ("hbase", "Kafka to HBase, WAL on")):
        if key not in result:
            continue
        table = Table("rung", "events/s", "range", "CPU-s a million", "peak MiB", title=title)
        for name, run in result[key].items():
            spread = f"{run['lowest_per_s']:,.0f} - {run['highest_per_s']:,.0f}"
            table.add_row(
                name, f"{run['per_s']:,.0f}", spread, f"{run['cpu_s_per_million']:.1f}", f"{run['peak_mib']:,.0f}"
            )
        console.print(table)
    titles = {
        "decorators_ns": "decorators, first example of each, one core",
        "sinks_ns": "sinks, an event to its cells, one core",
        "writes_ns": "writes to HBase, a row of nine cells, one core",
    }
    for key, title in titles.items():
        if key in result:
            table = Table(key.partition("s_")[0], "ns an event", title=title)
            for name, cost in sorted(result[key].items()):
                table.add_row(name, f"{cost:,.0f}")
            console.print(table)
    for goal in result["goals"]:
        met = "met" if goal["met"] else "NOT met"
        console.print(f"{goal['name']}: {shown(goal['figure'])} (goal {shown(goal['goal'])}) {met}")


if __name__ == "__main__":
    sys.exit(main())
