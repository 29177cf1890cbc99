"""The figures as goals met or not, and as the page docs/performance.md."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Result = Mapping[str, Any]


class Goal(NamedTuple):
    """
    What is to be reached.

    Attributes:
        figure: out of a result; KeyError where it was not measured.
        at_most: whether less is better.
    """

    name: str
    figure: Callable[[Result], float]
    goal: float
    at_most: bool = False


def _rate(result: Result, name: str) -> float:
    return float(result["hbase"][name]["per_s"])


def _cpu(result: Result, name: str) -> float:
    return float(result["hbase"][name]["cpu_s_per_million"])


GOALS = (
    Goal(
        "Kafka to HBase, WAL on: share of what ready-made Thrift bytes reach by as many connections",
        lambda result: _rate(result, "hbase") / _rate(result, "ceiling"),
        0.95,
    ),
    Goal(
        "Kafka to HBase, WAL on: times Flume 1.11 with its file channel, which promises as much",
        lambda result: _rate(result, "hbase") / _rate(result, "flume file channel"),
        1.4,
    ),
    Goal(
        "Kafka to HBase, WAL on: times Flume 1.11 with its memory channel, which loses events in a crash",
        lambda result: _rate(result, "hbase") / _rate(result, "flume memory channel"),
        1.1,
    ),
    Goal(
        "Kafka to HBase, WAL on: CPU for a million events, as a share of Flume's with the file channel",
        lambda result: _cpu(result, "hbase") / _cpu(result, "flume file channel"),
        0.5,
        at_most=True,
    ),
    Goal(
        "Kafka to RocksDB, WAL on, synced at every ack, events/s",
        lambda result: float(result["rungs"]["rocksdb"]["per_s"]),
        60_000,
    ),
    Goal(
        "chain of regex, split, format, value on one core, events/s",
        lambda result: float(result["chain_of_four_per_s"]),
        200_000,
    ),
)


def goals(result: Result) -> list[dict[str, Any]]:
    """A line for each goal that this run measured."""
    found = []
    for name, figure_of, goal, at_most in GOALS:
        try:
            figure = figure_of(result)
        except KeyError:
            continue
        met = figure <= goal if at_most else figure >= goal
        found.append({"name": name, "figure": figure, "goal": goal, "at_most": at_most, "met": met})
    return found


def shown(figure: float) -> str:
    """A rate without decimals, a ratio with two."""
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.2f}"


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

_HBASE = """\
## Kafka to HBase, beside its peers

{events:,} of the same lines into an emptied table, WAL on; median of {rounds} runs in turn, start-up apart.
{connections} connections each.

| what | events/s | range | CPU-seconds a million events | peak MiB |
|---|---:|---:|---:|---:|
{rows}

`hbase`: `ingest run --once`, a connection for each task at work. `ceiling`: the same rows as ready-made Thrift bytes.
`flume`: Flume 1.11, Kafka source, HBase2 sinks with the regex serializer; its first events, with its start-up, do not
count. CPU and memory are those of the clients, not of Kafka and HBase.
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
    if "hbase" in result:
        rows = "\n".join(_rung(name, run) for name, run in result["hbase"].items())
        parts.append(
            _HBASE.format(
                events=result["hbase_events"], rounds=result["rounds"], connections=result["connections"], rows=rows
            )
        )
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
    wanted = f"{'at most ' if goal['at_most'] else ''}{shown(goal['goal'])}"
    return f"| {goal['name']} | {shown(goal['figure'])} | {wanted} | {met} |"
