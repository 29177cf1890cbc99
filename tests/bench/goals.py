"""The figures as goals, met or not."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

Result = Mapping[str, Any]


class Goal(NamedTuple):
    """
    What is to be reached.

    Attributes:
        figure: out of a result; KeyError or TypeError where it was not measured.
        at_most: whether less is better.
    """

    name: str
    figure: Callable[[Result], float]
    goal: float
    at_most: bool = False


def _beside(peer: str, of: str = "per_s") -> Callable[[Result], float]:
    """The product's figure as a multiple of a peer's."""
    return lambda result: float(result["hbase"]["hbase"][of]) / float(result["hbase"][peer][of])


# the first four: docs/adr/0024-goals-beside-hbase.md
GOALS = (
    Goal(
        "Kafka to HBase, WAL on: share of what ready-made Thrift bytes reach by as many connections",
        _beside("ceiling"),
        0.55,
    ),
    Goal(
        "Kafka to HBase, WAL on: times Flume 1.11 with its file channel, which promises as much",
        _beside("flume file channel"),
        0.95,
    ),
    Goal(
        "Kafka to HBase, WAL on: times Flume 1.11 with its memory channel, which loses events in a crash",
        _beside("flume memory channel"),
        0.6,
    ),
    Goal(
        "Kafka to HBase, WAL on: CPU for a million events, as a share of Flume's with the file channel",
        _beside("flume file channel", "cpu_s_per_million"),
        0.9,
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
    Goal(
        "produced to readable in HBase at half the full rate, p50, s",
        lambda result: float(result["latency"]["50 %"]["p50_s"]),
        0.5,
        at_most=True,
    ),
    Goal(
        "produced to readable in HBase at half the full rate, p99, s",
        lambda result: float(result["latency"]["50 %"]["p99_s"]),
        1.2,
        at_most=True,
    ),
    Goal(
        "memory of all processes at full rate, growth after ten minutes",
        lambda result: float(result["soak"]["memory_growth"]),
        0.05,
        at_most=True,
    ),
    Goal(
        "CPU an event with 10,000,000 events, times that with 1,000,000",
        lambda result: (
            float(result["scale"]["10,000,000 events"]["cpu_s_per_million"])
            / float(result["scale"]["1,000,000 events"]["cpu_s_per_million"])
        ),
        1.1,
        at_most=True,
    ),
)


def goals(result: Result) -> list[dict[str, Any]]:
    """A line for each goal; without a figure, and not met, where this run did not measure it."""
    found = []
    for name, figure_of, goal, at_most in GOALS:
        figure = None
        with suppress(KeyError, TypeError):
            figure = figure_of(result)
        met = figure is not None and (figure <= goal if at_most else figure >= goal)
        found.append({"name": name, "figure": figure, "goal": goal, "at_most": at_most, "met": met})
    return found


def verdict(goal: Mapping[str, Any]) -> str:
    """Whether it is met, or why nobody knows."""
    return "met" if goal["met"] else "not measured" if goal["figure"] is None else "NOT met"


def shown(figure: float | None) -> str:
    """A rate without decimals, a ratio with two."""
    if figure is None:
        return ""
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.2f}"


def wanted(goal: Mapping[str, Any]) -> str:
    """What a goal asks for, in words."""
    return f"{'at most' if goal['at_most'] else 'at least'} {shown(goal['goal'])}"
