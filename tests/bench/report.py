"""The figures as goals met or not, and as the page docs/performance.md."""

GOALS = (
    ("Kafka to RocksDB, WAL on, synced at every ack, events/s (first release)", "rocksdb", 30_000),
    ("chain of regex, split, format, value on one core, events/s", "chain_of_four", 200_000),
)


def goals(result: dict) -> list[dict]:
    """A line for each goal that this run measured."""
    found = []
    for name, key, goal in GOALS:
        if key == "chain_of_four":
            figure = result.get("chain_of_four_per_s")
        else:
            figure = result.get("rungs", {}).get(key, {}).get("per_s")
        if figure is not None:
            found.append({"name": name, "figure": figure, "goal": goal, "met": figure >= goal})
    return found


_TOP = """\
# Performance

Made by `make bench` from `docs/bench/latest.json`; do not edit. Ratios between rungs carry over to other machines, the
figures themselves do not.

Machine: {cpu}, Python {python}, PySpark {pyspark}; commit {commit}, {date}. Write-ahead log {wal}, sync {sync}.
"""

_RUNGS = """\
## Kafka to RocksDB, one stage at a time

{events:,} access-log lines of about 170 bytes, 4 partitions, one regex with nine groups, nine cells a row; median of
{rounds} runs, start-up apart.

| rung | events/s | range | CPU-seconds a million events | peak MiB |
|---|---:|---:|---:|---:|
{rows}

`read`: Spark reads Kafka and keeps nothing. `python`: records handed to Python. `decode`: made events. `chain`:
decorated. `map`: made cells. `rocksdb`: `ingest run --once`, everything durable and acknowledged.
"""

_DECORATORS = """\
## Decorators

First example of each, one core, chain overhead apart.

| decorator | ns an event |
|---|---:|
{rows}
"""

_SINKS = """\
## Sinks

An event to its cells, without a store, one core.

| sink | ns an event |
|---|---:|
{rows}
"""

_WRITES = """\
## Writes to HBase

A row of nine cells as a Thrift message, checked, as far as the socket; one core. `prepared` is what the store does,
`thriftpy2's objects` what a client without it would do, unchecked.

| protocol and way | ns a row |
|---|---:|
{rows}
"""

_GOALS = """\
## Goals

| goal | figure | wanted | |
|---|---:|---:|---|
{rows}
"""


def page(result: dict) -> str:
    """docs/performance.md of a run."""
    parts = [_TOP.format(**result["machine"])]
    if "rungs" in result:
        rows = "\n".join(_rung(name, run) for name, run in result["rungs"].items())
        parts.append(_RUNGS.format(events=result["events"], rounds=result["rounds"], rows=rows))
    for key, section in (("decorators_ns", _DECORATORS), ("sinks_ns", _SINKS), ("writes_ns", _WRITES)):
        if key in result:
            rows = "\n".join(f"| {name} | {cost:,.0f} |" for name, cost in sorted(result[key].items()))
            parts.append(section.format(rows=rows))
    parts.append(_GOALS.format(rows="\n".join(_goal(goal) for goal in result["goals"])))
    return "\n".join(parts)


def _rung(name: str, run: dict) -> str:
    spread = f"{run['lowest_per_s']:,.0f} to {run['highest_per_s']:,.0f}"
    return f"| {name} | {run['per_s']:,.0f} | {spread} | {run['cpu_s_per_million']:.1f} | {run['peak_mib']:,.0f} |"


def _goal(goal: dict) -> str:
    met = "met" if goal["met"] else "not met"
    return f"| {goal['name']} | {goal['figure']:,.0f} | {goal['goal']:,.0f} | {met} |"
