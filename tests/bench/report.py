"""The page docs/performance.md, from the figures of one run."""

from collections.abc import Mapping
from typing import Any

from tests.bench import compaction, costs, counting, killed_compaction
from tests.bench.base_build import is_of_base
from tests.bench.charts import RATED
from tests.bench.committing import CONSUMED
from tests.bench.durability import DOCUMENTED
from tests.bench.goals import shown, verdict, wanted
from tests.bench.hbase import FILES, FLINK, HAPPYBASE, NATIVE, NATIVE_CEILING, ON_THREE, THRIFT
from tests.bench.kept import ATTEMPTS
from tests.bench.rungs import ARCHIVE, INTO_ROCKSDB, PEER, READ, ROCKSDB_AGAIN, ROCKSDB_FEED, ROCKSDB_TTL
from tests.bench.threads import REST, CpuByThread

LEAST_S = 0.3
"""CPU seconds per million events; a purpose of threads with less in all columns has no row."""

_TOP = """\
# Performance

`make bench-page` writes this page from one run of `make bench`, of one commit on one machine; do not edit it. Ratios
between benchmarks are similar on other machines, the figures themselves are not, nor on the same machine on another
day.

- Commit {commit}, {date}, {cpu}, Python {python}, PySpark {pyspark}.
- Topics of {events:,} events into RocksDB and {hbase_events:,} into HBase.
- In a turn the benchmarks of a part run one after the other; each turn begins with another of them. Turns: {counts}.
- The page shows medians of the turns. A goal that compares two benchmarks compares their runs in the same turn, and
  shows the median of these ratios.
- Each run warms up with the first half of its events. Only the second half is measured.
- CPU is in seconds per million events.
- Speed of the machine: a fixed loop before, between and after the benchmarks took {median_s:.2f} s (median); in each of
  the {turns} turns the median was {fastest:.2f} to {slowest:.2f} times as long. A turn with a third of its loops
  outside of 10 % was measured again, {attempts} times in all at most: {repeated} repetitions.
{deviating}- The benchmark refuses to run with other settings than [these](#settings).
- [Experiments](experiments.md) have days of their own, and are no part of the run.

## Goals

| goal | figure | target | |
|---|---:|---:|---|
{goals}
"""

_HEAD = """\
| {what} | events/s | range | own CPU | servers' CPU | total CPU | peak MiB |
|---|---:|---:|---:|---:|---:|---:|
{rows}
"""

_RUNGS = """\
## Kafka to RocksDB

![Kafka to RocksDB](bench/rungs.svg)

Access-log lines of about 170 bytes, 4 partitions, one regex with nine groups, nine cells a row.

{table}
The server is Kafka.

{more}"""

_BASE = "- `base build`: the same by the build of commit {base}.\n"
MORE_RUNGS = {
    READ: """\
- `read`: Spark reads Kafka and discards the records. Each stage of these includes the ones before it, and runs in its
  own JVM: `python`: Spark sends the records to Python; `decode`: records become events; `chain`: the decorators run;
  `map`: events become cells; `encode`: cells become staged files.
""",
    INTO_ROCKSDB: """\
- `rocksdb`: `attr2hbase run`; all events are durable and acknowledged.
""",
    ROCKSDB_TTL: "- `rocksdb, ttl`: the same; cells expire after 30 days.\n",
    ROCKSDB_AGAIN: """\
- `rocksdb, rows written again`: the same with 50,000 rows in all, each written thirty times.
""",
    ROCKSDB_FEED: "- `rocksdb, feed`: the same; the table has a feed of its changes.\n",
    ARCHIVE: """\
- `archive`: `attr2hbase run`; all events are rows of Parquet files with nine columns of text, and acknowledged.
""",
    PEER: """\
- `benthos`: Benthos 4.27 for comparison with `chain`. It reads the topic, runs the same regex, and writes JSON to a
  file without a sync.
""",
}
"""Name of a benchmark -> its description."""

_HBASE = """\
## Kafka to HBase, compared with peers

{chart}The same lines into an empty table. The WAL is on, except for `no WAL`. For bodies of 1 KB or 10 KB the lines are
padded and stored as a further cell, up to 1.2 GB of them; with 30 cells a row there are as many cells as with nine.

{table}
- `attr2hbase run` has two tasks at a time, each with one connection.
{more}
The servers are Kafka, HBase and its Thrift server, on the same two cores: compare the total CPU.
"""

MORE_HBASE = {
    NATIVE: """\
- `hbase native RPC`: by HBase's native RPC (`bootstrap_servers`), calls only.
""",
    FILES: """\
- `bulk load`: the same with `bulk_load: auto`: HBase loads files in place of calls, until the last two micro-batches.
""",
    NATIVE_CEILING: """\
- `ceiling native RPC`: the same rows as prepared blocks of cells, by HBase's native RPC over two connections, without
  Kafka.
""",
    "flume": """\
- `flume`: Flume 1.11, Kafka source, two HBase2 sinks with the regex serializer. Its file channel loses nothing in a
  crash, its memory channel loses the events in it.
""",
    FLINK: """\
- `flink sql`: Flink SQL 1.20.1 in one JVM, two tasks: Kafka source, `REGEXP_EXTRACT`, HBase sink; at least once, with
  a checkpoint on disk each second. It is measured until a sixteenth of the topic is left, where its source waits.
""",
    HAPPYBASE: f"""\
- `happybase consumers`: two processes of [twenty lines](../tests/bench/happybase_consumer.py) in one consumer group,
  kafka-python and batches of happybase, with a commit after each; they use the Thrift server, and read at most
  {CONSUMED:,} events.
""",
    ON_THREE: f"""\
- `{ON_THREE}`: rows in eight buckets, each of them a region. ZooKeeper, the master and three
  region servers are processes of their own, on the same two cores.
""",
}
"""What is in the name of a benchmark -> its description."""
_THRIFT = """\
- `hbase`: through HBase's Thrift server. `ceiling`: the same rows as prepared Thrift messages for it over two
  connections, without Kafka.
"""

_THREADS = """\
### CPU by process and thread, to HBase

CPU in the median run, by process and purpose of its threads. A purpose below 0.3 in all columns is included only in
`all`.

| process | threads | {rungs} |
|---|---|{rules}
{rows}
"""

_LATENCY = """\
## Latency from produced to readable

![Latency from produced to readable](bench/latency.svg)

Into HBase, at fractions of the rate of `hbase native RPC` above: by attr2hbase with the native RPC and by Flume in the
same turns; without another name by attr2hbase through a Thrift server. Every 50 ms the benchmark selects one event and
polls HBase until it can read it. Flume's row key is the path of a line, so that the row can be found; its source waits
up to a second for a batch (`batchDurationMillis`, its default).

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
    """The text of docs/performance.md for a run; it has nothing that the run did not measure."""
    options, calibrated = result["options"], result["calibration"]
    numbers: dict[int, list[str]] = {}
    for part, number in result["turns"].items():
        numbers.setdefault(number, []).append(f"`{part}`")
    counts = "; ".join(f"{number} of {', '.join(parts)}" for number, parts in sorted(numbers.items(), reverse=True))
    deviating = "".join(f"  - {turn} was outside in the last of them, too.\n" for turn in calibrated["deviating"])
    lines = "\n".join(_goal(goal) for goal in result["goals"] if goal["figure"] is not None)
    given = {**result["machine"], **options, **calibrated, "counts": counts, "deviating": deviating, "goals": lines}
    parts = [_TOP.format(attempts=ATTEMPTS, **given)]
    if "rungs" in result:
        more = "".join(text for name, text in MORE_RUNGS.items() if name in result["rungs"])
        more += _of_base(result["rungs"], options)
        parts.append(_RUNGS.format(table=_table("benchmark", result["rungs"]), more=more))
    if "hbase" in result:
        more = "".join(text for name, text in MORE_HBASE.items() if any(name in rung for rung in result["hbase"]))
        more += _THRIFT if THRIFT in result["hbase"] else ""
        more += _of_base(result["hbase"], options)
        peers = {rung: result["hbase"][rung]["threads"] for rung in RATED if rung in result["hbase"]}
        chart = "![Kafka to HBase, compared with peers](bench/hbase.svg)\n\n" if peers else ""
        parts.append(_HBASE.format(table=_table("benchmark", result["hbase"]), more=more, chart=chart))
        if peers:
            parts.append(_threads(peers))
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
        parts.append(_SCALE.format(table=_table("size", result["scale"])))
    if "soak" in result:
        soak = result["soak"]
        growth = "not measured" if soak["memory_growth"] is None else f"{soak['memory_growth']:+.1%}"
        parts.append(_SOAK.format(minutes=soak["seconds"] / 60, per_s=soak["per_s"], growth=growth))
    for key, (title, text, what) in _COSTS.items():
        if key in result:
            rows = "\n".join(f"| {name} | {cost:,.0f} |" for name, cost in sorted(result[key].items()))
            slow = f" {costs.slow_decorators(result[key])}" if key == "decorators_ns" else ""
            parts.append(f"## {title}\n\n{text}{slow}\n\n| {what} | ns |\n|---|---:|\n{rows}\n")
    parts.append(DOCUMENTED.read_text())
    return "\n".join(parts)


def _of_base(rungs: Mapping[str, object], options: Mapping[str, Any]) -> str:
    return _BASE.format(base=options["base"]) if any(map(is_of_base, rungs)) else ""


def _table(what: str, runs: Mapping[str, Mapping[str, float]]) -> str:
    return _HEAD.format(what=what, rows="\n".join(_rung(*each) for each in runs.items()))


def _rung(name: str, run: Mapping[str, float]) -> str:
    spread = f"{run['lowest_per_s']:,.0f} to {run['highest_per_s']:,.0f}"
    return (
        f"| {name} | {run['per_s']:,.0f} | {spread} | {run['cpu_s_per_million']:.1f} | "
        f"{run['servers_cpu_s_per_million']:.1f} | "
        f"{run['cpu_s_per_million'] + run['servers_cpu_s_per_million']:.1f} | {run['peak_mib']:,.0f} |"
    )


def _threads(runs: dict[str, CpuByThread]) -> str:
    """A row for each process and purpose of threads with enough CPU in one of the benchmarks."""
    everything = sorted({(process, kind) for run in runs.values() for process, kinds in run.items() for kind in kinds})
    counts = {
        place
        for place in everything
        if place[1] != REST and max(run.get(place[0], {}).get(place[1], 0.0) for run in runs.values()) >= LEAST_S
    }
    rows = []
    for process in dict.fromkeys(process for process, _ in everything):
        reported = [kind for its, kind in everything if (its, kind) in counts and its == process]
        whole = {rung: run.get(process, {}) for rung, run in runs.items()}
        rows.append(_used(process, "all", [sum(kinds.values()) for kinds in whole.values()]))
        rows.extend(_used("", kind, [kinds.get(kind, 0.0) for kinds in whole.values()]) for kind in reported)
    return _THREADS.format(rungs=" | ".join(runs), rules="---:|" * len(runs), rows="\n".join(rows))


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
