"""The page docs/performance.md and its plots, from the figures of a run."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.bench import compaction, costs, counting, killed_compaction, plots
from tests.bench.goals import goals, shown, verdict, wanted
from tests.bench.hbase import ON_THREE
from tests.bench.threads import REST, Usage

OURS = ("rocksdb", "hbase")
TABLES = ("rungs", "hbase", "scale", "latency")
"""Parts of a result with a row for each benchmark."""
LEAST_S = 0.3
"""CPU seconds per million events; a purpose of threads with less in all columns has no row."""
LOG = Path(__file__).resolve().parents[2] / "docs" / "bench" / "changes.md"
"""Experiments with their figures; written by hand, part of the page."""

_TOP = """\
# Performance

`make bench` writes this page from `docs/bench/latest.json` and `docs/bench/changes.md`; do not edit it. Ratios between
stages are similar on other machines, the figures themselves are not, nor on the same machine on another day. So compare
figures of one run only.

- Machine: {cpu}, Python {python}, PySpark {pyspark}.
- If a benchmark runs several times, its runs alternate with those of the others, and the page shows the median. A goal
  that compares two benchmarks compares their runs in the same turn, and shows the median of these ratios.
- Each run warms up with the first half of its events. Only the second half is measured.
- CPU is in seconds per million events.
- The benchmark refuses to run with other settings than [these](#settings).

{measured}

## Goals

| goal | figure | target | |
|---|---:|---:|---|
{goals}
"""

_HEAD = """\
Measured at {at}:

| {what} | events/s | range | own CPU | servers' CPU | total CPU | peak MiB |
|---|---:|---:|---:|---:|---:|---:|
{rows}
"""

_RUNGS = """\
## Kafka to RocksDB, one stage at a time

![Kafka to RocksDB, one stage at a time](bench/rungs.svg)

Access-log lines of about 170 bytes, 4 partitions, one regex with nine groups, nine cells a row.

{table}
Each stage in the order below includes the ones before it, and runs in its own JVM. The server is Kafka.

- `read`: Spark reads Kafka and discards the records.
- `python`: Spark sends the records to Python.
- `decode`: records become events.
- `chain`: the decorators run.
- `map`: events become cells.
- `encode`: cells become staged files.
- `rocksdb`: `attr2hbase run`; all events are durable and acknowledged.
{more}"""

_MORE_RUNGS = {
    "rocksdb, ttl": "- `rocksdb, ttl`: the same; cells expire after 30 days.\n",
    "rocksdb, rows written again": """\
- `rocksdb, rows written again`: the same with 50,000 rows in all, each written thirty times.
""",
    "rocksdb, feed": "- `rocksdb, feed`: the same; the table has a feed of its changes.\n",
    "archive": """\
- `archive`: `attr2hbase run`; all events are rows of Parquet files with nine columns of text, and acknowledged.
""",
    "benthos": """\
- `benthos`: Benthos 4.27 for comparison with `chain`. It reads the topic, runs the same regex, and writes JSON to a
  file without a sync.
""",
}
"""Name of a benchmark -> its description."""

_HBASE = """\
## Kafka to HBase, compared with peers

![Kafka to HBase, compared with peers](bench/hbase.svg)

The same lines into an empty table. The WAL is on, except for `no WAL`. For bodies of 1 KB or 10 KB the lines are padded
and stored as a further cell, up to 1.2 GB of them; with 30 cells a row there are as many cells as with nine.

{table}
- `hbase`: `attr2hbase run`, two tasks at a time, each with one connection to HBase's Thrift server.
{more}- `ceiling`: the same rows as prepared Thrift messages, over the same number of connections.
  `ceiling native RPC`: as prepared blocks of cells, with HBase's native RPC.
- `flume`: Flume 1.11, Kafka source, two HBase2 sinks with the regex serializer.

The servers are Kafka, HBase and its Thrift server, on the same two cores. Flume calls HBase without the Thrift server,
so compare the total CPU.
"""

_MORE_HBASE = {
    "hbase native RPC": """\
- `hbase native RPC`: the same with HBase's native RPC (`bootstrap_servers`); the Thrift server is idle.
""",
    ON_THREE: f"""\
- `{ON_THREE}`: rows in eight buckets, each of them a region. ZooKeeper, the master and three
  region servers are processes of their own, on the same two cores.
""",
}
"""What is in the name of a benchmark -> its description."""

_THREADS = """\
### CPU by process and thread, to HBase

CPU in the median run, by process and purpose of its threads. A purpose below 0.3 in all columns is included only in
`all`.

{tables}"""

_THREADS_OF_A_RUN = """\
Measured at {at}:

| process | threads | {rungs} |
|---|---|{rules}
{rows}
"""

_LATENCY = """\
## Latency from produced to readable

Into HBase, at a fraction of the rate above, through a Thrift server and with HBase's native RPC. Every
50 ms the benchmark selects one event and polls HBase until it can read it.

| rate | events/s | selected events | p50 s | p90 s | p99 s | maximum s |
|---|---:|---:|---:|---:|---:|---:|
{rows}
"""

_SCANS = """\
## Scans of a table with buckets

Rows of nine cells over one connection, in the order of the logical row keys, and the same rows of a plain table;
through a Thrift server, and with HBase's native RPC.

| scan | rows/s |
|---|---:|
{rows}
"""

_COUNTING = """\
## Counting

The hits of pages, counted in HBase by native RPC: {keys:,} keys after Zipf's law. One process with one
connection counts, as one task of a pipeline does, without Kafka and Spark. All ways share the decoder, the decorator
and the mapping of the sink, and write with the WAL on. After each run the counters are read, and must be exact.

| way | events | events/s | range | own CPU | servers' CPU | stored rows a key |
|---|---:|---:|---:|---:|---:|---:|
{rows}

- `get and put for each event`: in the order of the sink. The row of the next event may be the same, so no two of these
  calls can be sent together.
- `increment for each event`: HBase's increment, one call for each event.
- `update row for each event`: a task of attr2hbase, without the combiner: each record is a split of its own.
- `get and put for each row of a micro-batch`: the events of a micro-batch are added in memory. Its rows are then read,
  1,000 in a call, and written, up to 5,000 in a call. It counts twice if a micro-batch runs again.
- `update row for each row of a split`: a task of attr2hbase as it is. A micro-batch has two splits.

The ways of attr2hbase are whole tasks, with their checks of each event; the others have none.

A run has two micro-batches. The first is the warm-up; the table shows the second, with its number of events. The ways
with calls for single events have fewer, because their rate does not depend on it.
"""

_COMPACTION = """\
## Compaction

{rows:,} update rows of {keys:,} keys, with three counters each, over one connection or in one RocksDB. Rates are in
update rows a second:

- `write` and `scan`: of all of them, as they are stored.
- `compaction`: reads and deletes each of them, and writes a row for each key.
- `relative`: the rate of the compaction, relative to a scan and a write of as many rows.
- `merged row` and `plain row`: time of a scan for each row, after the compaction, and in a table without updates that
  has the same rows. On HBase both tables have had a major compaction.

| store | write | scan | compaction | relative | plain row, us | merged row, us |
|---|---:|---:|---:|---:|---:|---:|
{table}
"""

_KILLED = """\
`attr2hbase compact` with two tasks, of {rows:,} update rows of {keys:,} keys in HBase, killed half way and run again.
The sums were exact after the kill and at the end.

- write over one connection: {write_per_s:,.0f} update rows a second; scan: {scan_per_s:,.0f}
- compaction, second run: {compaction_per_s:,.0f} a second
- resident memory of all its processes in that run: at most {peak_mib:,.0f} MiB; {memory_growth:+.1%} from the second
  quarter of its time to the last
"""

_SCALE = """\
## Scaling

Into RocksDB, one run each. `local[1]` and `local[2]` are Spark masters with that number of task slots.

{table}
"""

_SOAK = """\
## At full rate for {minutes:.0f} minutes

![Memory over time](bench/soak.svg)

{per_s:,.0f} events/s into RocksDB, with the producer on the same cores. Change of memory after the first ten
minutes: {growth}.
"""

_COSTS = {
    "decorators_ns": (
        "Decorators",
        "The slowest of each decorator's examples, or its options on a line of 200 bytes; one core, without the chain.",
        "decorator",
    ),
    "sinks_ns": ("Sinks", "Mapping an event to its cells, without a store; one core.", "sink"),
    "row_keys_ns": ("Salted row keys", "Computing the bucket of a row key; one core.", "row key"),
    "writes_ns": (
        "Writes to HBase",
        (
            "Encoding a row of nine cells as a Thrift message, up to the socket; one core. `prepared` is attr2hbase, "
            "with its checks; `thriftpy2's objects` is a plain client without checks. `cell block` is the same row for "
            "HBase's native RPC."
        ),
        "protocol and encoder",
    ),
}


def page(result: dict[str, Any]) -> str:
    """The text of docs/performance.md for a run."""
    machine = result["machine"]
    lines = "\n".join(_goal(goal) for goal in result["goals"])
    groups = _by_run(sorted(result["measured"]), result)
    measured = "\n".join(
        f"- measured at {at}: {', '.join(f'`{part}`' for part in parts)}" for at, parts in groups.items()
    )
    parts = [_TOP.format(**machine, goals=lines, measured=measured)]
    if "rungs" in result:
        more = "".join(text for name, text in _MORE_RUNGS.items() if name in result["rungs"])
        parts.append(_RUNGS.format(table=_tables("stage", result, "rungs"), more=more))
    if "hbase" in result:
        more = "".join(text for name, text in _MORE_HBASE.items() if any(name in rung for rung in result["hbase"]))
        table = _tables("benchmark", result, "hbase")
        parts.append(_HBASE.format(table=table, more=more))
        reported = [rung for rung, run in result["hbase"].items() if "threads" in run]
        if reported:
            runs = _by_run(reported, result)
            tables = (_threads(at, {rung: result["hbase"][rung]["threads"] for rung in runs[at]}) for at in runs)
            parts.append(_THREADS.format(tables="\n".join(tables)))
    if "performance_evaluation_per_s" in result:
        parts.append(
            "HBase's own load test, PerformanceEvaluation, random rows of nine columns of 20 bytes, two Java clients: "
            f"{result['performance_evaluation_per_s']:,.0f} rows/s.\n"
        )
    if "scans_per_s" in result:
        rows = "\n".join(f"| {name} | {rate:,.0f} |" for name, rate in result["scans_per_s"].items())
        parts.append(_SCANS.format(rows=rows))
    if "counting" in result:
        rows = "\n".join(_counted(*each) for each in result["counting"].items())
        parts.append(_COUNTING.format(keys=counting.KEYS, rows=rows))
    if "compaction" in result:
        table = "\n".join(_compacted(name, compaction.Figures(**run)) for name, run in result["compaction"].items())
        parts.append(_COMPACTION.format(rows=compaction.SIZE.rows, keys=compaction.SIZE.keys, table=table))
    if "killed_compaction" in result:
        size = killed_compaction.SIZE
        parts.append(_KILLED.format(rows=size.rows, keys=size.keys, **result["killed_compaction"]))
    if "latency" in result:
        parts.append(_LATENCY.format(rows="\n".join(_latency(*each) for each in result["latency"].items())))
    if "scale" in result:
        parts.append(_SCALE.format(table=_tables("size", result, "scale")))
    if "soak" in result:
        soak = result["soak"]
        growth = "not measured" if soak["memory_growth"] is None else f"{soak['memory_growth']:+.1%}"
        parts.append(_SOAK.format(minutes=soak["seconds"] / 60, per_s=soak["per_s"], growth=growth))
    for key, (title, text, what) in _COSTS.items():
        if key in result:
            rows = "\n".join(f"| {name} | {cost:,.0f} |" for name, cost in sorted(result[key].items()))
            slow = f" {costs.slow_decorators(result[key])}" if key == "decorators_ns" else ""
            parts.append(f"## {title}\n\n{text}{slow}\n\n| {what} | ns |\n|---|---:|\n{rows}\n")
    if LOG.exists():
        parts.append(LOG.read_text())
    return "\n".join(parts)


def laid_over(earlier: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """
    Merge a run with an earlier one, for the benchmarks that it left out.

    A goal is taken from one run, so a ratio never mixes figures of two runs; only current goals are reported. A table
    never mixes two kinds of CPU: one that the run has a part of loses the figures of another CPU.
    """
    if earlier["machine"]["cpu"] != result["machine"]["cpu"]:
        earlier = _without(earlier, [table for table in TABLES if table in result])
    whole = merged(earlier, result)
    before = {goal["name"]: goal for goal in earlier["goals"]}
    reported = [before.get(goal["name"], goal) if goal["figure"] is None else goal for goal in result["goals"]]
    return whole | {"goals": reported}


def merged(earlier: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """The parts of both results, and of a table the benchmarks of both; the later one replaces the earlier one."""
    whole = earlier | result
    for part in (*TABLES, "measured"):
        if part in whole:
            whole[part] = earlier.get(part, {}) | result.get(part, {})
    return whole


def _without(result: dict[str, Any], tables: Sequence[str]) -> dict[str, Any]:
    """A result without these tables, their parts, and the goals that need them."""
    gone = {part for table in tables for part in result.get(table, {})} | set(tables)
    rest = {key: value for key, value in result.items() if key not in tables}
    measurable = {goal["name"] for goal in goals(rest) if goal["figure"] is not None}
    return rest | {
        "goals": [goal for goal in result["goals"] if goal["name"] in measurable],
        "measured": {part: at for part, at in result["measured"].items() if part not in gone},
    }


def pictures(result: dict[str, Any]) -> dict[str, str]:
    """File name -> SVG; a picture of benchmarks has only those of the run of attr2hbase itself."""
    found = {}
    for key, product, title in (
        ("rungs", "rocksdb", "Kafka to RocksDB, one stage at a time"),
        ("hbase", "hbase native RPC", "Kafka to HBase, compared with peers"),
    ):
        if product in result.get(key, {}):
            runs = result[key]
            values = {
                name: (runs[name]["per_s"], runs[name]["lowest_per_s"], runs[name]["highest_per_s"])
                for name in _by_run(runs, result)[result["measured"][product]]
            }
            ours = [name for name in values if name.startswith(OURS)]
            found[f"{key}.svg"] = plots.bars(title, values, ours=ours, unit="events a second on two cores")
    if "soak" in result:
        moments = result["soak"]["moments"]
        series = {
            name: [(moment[0] / 60, moment[3 + number]) for moment in moments]
            for number, name in enumerate(("driver", "JVM", "workers"))
        }
        found["soak.svg"] = plots.lines("Memory at full rate", series, x="minutes", y="MiB resident")
    return found


def _tables(what: str, result: dict[str, Any], part: str) -> str:
    """A table for each run that the part has benchmarks of."""
    runs = result[part]
    return "\n".join(
        _HEAD.format(at=at, what=what, rows="\n".join(_rung(name, runs[name]) for name in names))
        for at, names in _by_run(runs, result).items()
    )


def _by_run(parts: Iterable[str], result: dict[str, Any]) -> dict[str, list[str]]:
    """Run -> the parts that it measured, in their order."""
    found: dict[str, list[str]] = {}
    for part in parts:
        found.setdefault(result["measured"][part], []).append(part)
    return found


def _rung(name: str, run: dict[str, Any]) -> str:
    spread = f"{run['lowest_per_s']:,.0f} to {run['highest_per_s']:,.0f}"
    return (
        f"| {name} | {run['per_s']:,.0f} | {spread} | {run['cpu_s_per_million']:.1f} | "
        f"{run['servers_cpu_s_per_million']:.1f} | "
        f"{run['cpu_s_per_million'] + run['servers_cpu_s_per_million']:.1f} | {run['peak_mib']:,.0f} |"
    )


def _threads(at: str, runs: dict[str, Usage]) -> str:
    """A row for each process and purpose of threads with enough CPU in one of the benchmarks."""
    everything = sorted({(process, kind) for run in runs.values() for process, kinds in run.items() for kind in kinds})
    counts = {
        place
        for place in everything
        if place[1] != REST and max(run.get(place[0], {}).get(place[1], 0.0) for run in runs.values()) >= LEAST_S
    }
    rows = []
    for process in dict.fromkeys(process for process, _ in everything):
        reported = [kind for at, kind in everything if (at, kind) in counts and at == process]
        whole = {rung: run.get(process, {}) for rung, run in runs.items()}
        rows.append(_used(process, "all", [sum(kinds.values()) for kinds in whole.values()]))
        rows.extend(_used("", kind, [kinds.get(kind, 0.0) for kinds in whole.values()]) for kind in reported)
    names = list(runs)
    return _THREADS_OF_A_RUN.format(at=at, rungs=" | ".join(names), rules="---:|" * len(names), rows="\n".join(rows))


def _used(process: str, kind: str, seconds: list[float]) -> str:
    return f"| {process} | {kind} | {' | '.join(f'{each:.1f}' if each >= 0.05 else '' for each in seconds)} |"


def _counted(way: str, run: dict[str, float]) -> str:
    spread = f"{run['lowest_per_s']:,.0f} to {run['highest_per_s']:,.0f}"
    cpu = f"{run['cpu_s_per_million']:.1f} | {run['servers_cpu_s_per_million']:.1f}"
    return f"| {way} | {run['events']:,.0f} | {run['per_s']:,.0f} | {spread} | {cpu} | {run['rows_a_key']:.1f} |"


def _compacted(store: str, run: compaction.Figures) -> str:
    rates = " | ".join(f"{rate:,.0f}" for rate in (run.write_per_s, run.scan_per_s, run.compaction_per_s))
    return f"| {store} | {rates} | {run.compaction_share:.2f} | {run.plain_us:.1f} | {run.merged_us:.1f} |"


def _latency(share: str, run: dict[str, float]) -> str:
    times = " | ".join(f"{run[name]:.2f}" for name in ("p50_s", "p90_s", "p99_s", "worst_s"))
    return f"| {share} | {run['per_s']:,.0f} | {run['probes']:,.0f} | {times} |"


def _goal(goal: dict[str, Any]) -> str:
    return f"| {goal['name']} | {shown(goal['figure'])} | {wanted(goal)} | {verdict(goal)} |"
