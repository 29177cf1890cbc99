"""Goals for figures, and whether they are met."""

import statistics
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from tests.bench import dumps, killed_compaction
from tests.bench.base_build import of_base
from tests.bench.compaction import HBASE, ROCKSDB
from tests.bench.counting import READ_MODIFY_WRITE, UPDATES_OF_EVENTS
from tests.bench.hbase import (
    FILES,
    FILES_ON_THREE,
    FLINK,
    FLUME_FILE,
    FLUME_MEMORY,
    HAPPYBASE,
    NATIVE,
    NATIVE_FEED,
    NATIVE_NO_FEED,
    ON_THREE,
    SPREAD,
    UNSPREAD,
)
from tests.bench.micro import CELL_BLOCK
from tests.bench.neighbour import ALONE, BESIDE
from tests.bench.rungs import ROCKSDB_FEED
from tests.bench.scans import BY_NATIVE, BY_THRIFT, PLAIN, SALTED, scan_of

Result = Mapping[str, Any]


class Goal(NamedTuple):
    """
    A goal.

    Attributes:
        figure: takes the figure from a result; KeyError or TypeError if it was not measured.
        at_most: whether the goal is an upper bound.
    """

    name: str
    figure: Callable[[Result], float]
    goal: float
    at_most: bool = False


def _beside(peer: str, of: str = "per_s", *, rung: str = "hbase", table: str = "hbase") -> Callable[[Result], float]:
    """The figure of a benchmark divided by that of another in the same turn; the median of all turns."""

    def ratio(result: Result) -> float:
        ours, theirs = (result[table][name]["turns"] for name in (rung, peer))
        return statistics.median(our[of] / their[of] for our, their in zip(ours, theirs, strict=True))

    return ratio


# the first: docs/adr/0024-goals-beside-hbase.md; those after it: docs/adr/0077-goals-beside-the-build-before.md
GOALS = (
    Goal(
        "Kafka to HBase by Thrift, WAL on: events/s, relative to the ceiling",
        _beside("ceiling"),
        0.55,
    ),
    *(
        Goal(f"Kafka to HBase while behind, by files: events/s, relative to {called}", _beside(peer, rung=FILES), goal)
        for called, peer, goal in (
            ("the base build by native RPC", of_base(NATIVE), 1.4),
            ("Flume 1.11, file channel (same guarantee)", FLUME_FILE, 2.0),
            ("Flume 1.11, memory channel (loses events in a crash)", FLUME_MEMORY, 1.35),
            ("Flink SQL 1.20.1 (same guarantee)", FLINK, 1.8),
            ("happybase consumers", HAPPYBASE, 4.0),
        )
    ),
    Goal(
        "Kafka to HBase while behind, by files: CPU of all processes an event, relative to the base build",
        _beside(of_base(NATIVE), "total_cpu_s_per_million", rung=FILES),
        0.7,
        at_most=True,
    ),
    Goal(
        "Kafka to HBase while behind, by files: peak memory of our processes, relative to the base build",
        _beside(of_base(NATIVE), "peak_mib", rung=FILES),
        0.9,
        at_most=True,
    ),
    *(
        Goal(
            f"Kafka to HBase while behind, by files{place}: share of the rows that are files",
            lambda result, rung=rung: float(result["hbase"][rung]["share_of_files"]),  # type: ignore[misc]
            0.9,
        )
        for place, rung in (("", FILES), (f", {ON_THREE}", FILES_ON_THREE))
    ),
    Goal(
        "Kafka to HBase by native RPC, calls only: events/s, relative to the base build",
        _beside(of_base(NATIVE), rung=NATIVE),
        1.15,
    ),
    Goal(
        "Kafka to RocksDB: events/s, relative to the base build",
        _beside(of_base("rocksdb"), rung="rocksdb", table="rungs"),
        1.25,
    ),
    Goal(
        "Kafka to RocksDB: own CPU an event, relative to the base build",
        _beside(of_base("rocksdb"), "cpu_s_per_million", rung="rocksdb", table="rungs"),
        0.78,
        at_most=True,
    ),
    Goal(
        "Kafka to RocksDB, WAL on, synced at every acknowledgement, events/s",
        lambda result: float(result["rungs"]["rocksdb"]["per_s"]),
        60_000,
    ),
    Goal(
        "Kafka to an archive in Parquet, events/s",
        lambda result: float(result["rungs"]["archive"]["per_s"]),
        60_000,
    ),
    Goal(
        "Kafka to RocksDB beside a pipeline whose Thrift server is frozen: events/s, relative to one pipeline alone",
        _beside(ALONE, rung=BESIDE, table="rungs"),
        0.85,
    ),
    Goal(
        "Kafka to RocksDB beside a replay by the same service: events/s, relative to one pipeline alone",
        lambda result: float(result["jobs"]["beside_per_s"]) / float(result["jobs"]["alone_per_s"]),
        0.5,
    ),
    Goal(
        "Kafka to HBase, WAL on, rising row keys in 16 buckets: events/s, relative to a table without buckets",
        _beside(UNSPREAD, rung=SPREAD),
        0.95,
    ),
    *(
        Goal(
            f"scan of a table with 16 buckets over one connection, {protocol}: rows/s, relative to one scanner of a "
            "plain table",
            lambda result, protocol=protocol: (  # type: ignore[misc]
                float(result["scans_per_s"][scan_of(SALTED, protocol)])
                / float(result["scans_per_s"][scan_of(PLAIN, protocol)])
            ),
            0.9,
        )
        for protocol in (BY_THRIFT, BY_NATIVE)
    ),
    Goal(
        "scan with a pattern for one row in 400, of 10,000,000 rows in RocksDB: time, relative to a full scan",
        lambda result: float(result["fuzzy_share"]),
        0.01,
        at_most=True,
    ),
    Goal(
        "counting in HBase by native RPC, an update row for each event: events/s, "
        "relative to a get and put for each event",
        lambda result: (
            float(result["counting"][UPDATES_OF_EVENTS]["per_s"])
            / float(result["counting"][READ_MODIFY_WRITE]["per_s"])
        ),
        10,
    ),
    Goal(
        "scan of compacted counters, HBase by native RPC: rows/s, relative to a table without updates",
        lambda result: float(result["compaction"][HBASE]["plain_us"]) / float(result["compaction"][HBASE]["merged_us"]),
        0.9,
    ),
    Goal(
        "scan of compacted counters, RocksDB: time of a row above that of a table without updates, us",
        lambda result: (
            float(result["compaction"][ROCKSDB]["merged_us"]) - float(result["compaction"][ROCKSDB]["plain_us"])
        ),
        2.0,
        at_most=True,
    ),
    *(
        Goal(
            f"dump with {file_format}, {store}: rows/s, relative to a scan",
            lambda result, store=store, file_format=file_format: (  # type: ignore[misc]
                float(result["dumps"][store][file_format]) / float(result["dumps"][store][dumps.SCAN])
            ),
            goal,
        )
        for store in (dumps.HBASE, dumps.ROCKSDB)
        for file_format, goal in (("gzip", 0.5), ("zstd", 0.7), ("parquet", 0.7))
    ),
    Goal(
        f"{killed_compaction.NAME} in HBase by native RPC: memory of all its processes, growth",
        lambda result: float(result["killed_compaction"]["memory_growth"]),
        0.05,
        at_most=True,
    ),
    Goal(
        "Kafka to RocksDB into a table with a feed: events/s, relative to one without",
        _beside("rocksdb", rung=ROCKSDB_FEED, table="rungs"),
        0.65,
    ),
    Goal(
        "Kafka to HBase by native RPC into a table with a feed: events/s, relative to one without",
        _beside(NATIVE_NO_FEED, rung=NATIVE_FEED),
        0.65,
    ),
    Goal(
        "changes of three columns read from a feed in RocksDB by one process, changes/s",
        lambda result: float(result["feed_changes_per_s"]),
        50_000,
    ),
    Goal(
        "chain of regex, split, format, value on one core, events/s",
        lambda result: float(result["chain_of_four_per_s"]),
        200_000,
    ),
    Goal(
        "produced to readable in HBase by Thrift at 50 % of the native RPC's full rate, p50, s",
        lambda result: float(result["latency"]["50 %"]["p50_s"]),
        0.5,
        at_most=True,
    ),
    Goal(
        "produced to readable in HBase by Thrift at 50 % of the native RPC's full rate, p99, s",
        lambda result: float(result["latency"]["50 %"]["p99_s"]),
        1.2,
        at_most=True,
    ),
    *(
        Goal(
            f"produced to readable in HBase by native RPC at {load} of its full rate, {figure.removesuffix('_s')}, "
            "relative to Flume 1.11, memory channel",
            _beside(f"{load}, {FLUME_MEMORY}", figure, rung=f"{load}, native RPC", table="latency"),
            goal,
            at_most=True,
        )
        for load in ("50 %", "80 %")
        for figure, goal in (("p50_s", 2.0), ("p99_s", 1.0))
    ),
    Goal(
        "a row of nine cells encoded for HBase's native RPC on one core, us",
        lambda result: float(result["writes_ns"][CELL_BLOCK]) / 1_000,
        2.0,
        at_most=True,
    ),
    Goal(
        "memory of all processes at full rate, growth after ten minutes",
        lambda result: float(result["soak"]["memory_growth"]),
        0.05,
        at_most=True,
    ),
    Goal(
        "Kafka to RocksDB: CPU per event with 10,000,000 events, relative to 1,000,000 events",
        lambda result: (
            float(result["scale"]["10,000,000 events"]["cpu_s_per_million"])
            / float(result["scale"]["1,000,000 events"]["cpu_s_per_million"])
        ),
        1.1,
        at_most=True,
    ),
)


def goals(result: Result) -> list[dict[str, Any]]:
    """The goals with their figures; the figure of a goal that was not measured is None, and the goal is not met."""
    found = []
    for name, figure_of, goal, at_most in GOALS:
        figure = None
        with suppress(KeyError, TypeError):
            figure = figure_of(result)
        met = figure is not None and (figure <= goal if at_most else figure >= goal)
        found.append({"name": name, "figure": figure, "goal": goal, "at_most": at_most, "met": met})
    return found


def verdict(goal: Mapping[str, Any]) -> str:
    """Whether the goal is met, or that it was not measured."""
    return "met" if goal["met"] else "not measured" if goal["figure"] is None else "NOT met"


def shown(figure: float | None) -> str:
    """A rate without decimals, a ratio with two."""
    if figure is None:
        return ""
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.2f}"


def wanted(goal: Mapping[str, Any]) -> str:
    """The bound of a goal as text."""
    return f"{'at most' if goal['at_most'] else 'at least'} {shown(goal['goal'])}"
