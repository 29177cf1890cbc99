"""
Check the figures of the README's section on speed against the committed benchmark run and docs/performance.md.

    python deploy/checks/figures.py

Prints every difference; exits with 1 if there is one.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

_RATES = {
    "attr2hbase, bulk load": "hbase native RPC, bulk load",
    "attr2hbase, calls": "hbase native RPC",
    "Flume 1.11, file channel": "flume file channel",
    "Flink SQL 1.20.1": "flink sql",
    "20 lines with happybase": "happybase consumers",
    "Flume 1.11, memory channel: loses events": "flume memory channel",
}
"""Row of the table -> its benchmark."""
_LATENCIES = {
    "attr2hbase, calls": "50 %, native RPC",
    "Flume 1.11, file channel": "50 %, flume file channel",
    "Flume 1.11, memory channel: loses events": "50 %, flume memory channel",
}
"""Row of the table -> its benchmark of latency."""
_BEHIND = "Kafka to HBase while behind, by files: events/s, relative to"

FIGURES: dict[str, tuple[str, ...]] = {
    **{rf"\| {row} \| ([\d,]*\d) \|": ("hbase", rung, "per_s") for row, rung in _RATES.items()},
    **{rf"\| {row} \| [\d,]*\d \| ([\d.]*\d) s \|": ("latency", name, "p50_s") for row, name in _LATENCIES.items()},
    **{
        rf"\| {row} \| [\d,]*\d \| [\d.]*\d s \| ([\d.]*\d) s \|": ("latency", name, "p99_s")
        for row, name in _LATENCIES.items()
    },
    r"until readable, at ([\d,]*\d) events/s": ("latency", "50 %, native RPC", "per_s"),
    r"goes in at ([\d.]*\d) times the rate of Flume's file channel": (
        "goals", f"{_BEHIND} Flume 1.11, file channel (same guarantee)", "figure",
    ),
    r"and ([\d.]*\d) times the rate of its memory channel": (
        "goals", f"{_BEHIND} Flume 1.11, memory channel (loses events in a crash)", "figure",
    ),
    r"Into RocksDB go ([\d,]*\d) events a second": ("rungs", "rocksdb", "per_s"),
    r"decorates ([\d,]*\d) events a second": ("chain_of_four_per_s",),
}  # fmt: skip
"""Text around a figure of the README -> its path in docs/bench/latest.json; goals are found by their names."""

_SECTION = re.compile(r"^## Speed\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_FIGURE = re.compile(r"\d{1,3}(?:,\d{3})+|\d+\.\d+(?= s\b)")
_RATE = 100  # figures from 100 on have no decimals


def main() -> int:
    """Compare the committed files."""
    result = json.loads((ROOT / "docs/bench/latest.json").read_text(encoding="utf-8"))
    readme, page = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/performance.md"))
    found = list(findings(readme, page, result))
    for finding in found:
        print(finding, file=sys.stderr)
    return 1 if found else 0


def findings(readme: str, page: str, result: Mapping[str, Any]) -> Iterator[str]:
    """
    The differences, one line each.

    Args:
        readme: text of the README.
        page: text of docs/performance.md.
        result: the committed run.
    """
    section = _SECTION.search(readme)
    text = " ".join(section[1].split()) if section else ""
    known: list[tuple[int, int]] = []
    for pattern, path in FIGURES.items():
        name, measured = ", ".join(path), shown(result, path)
        match = re.search(pattern, text)
        if match is None:
            yield f"README.md: no figure for {name}: {measured}; write it where /{pattern}/ matches"
            continue
        known.append(match.span())
        if match[1] != measured:
            yield f"README.md: {match[1]} for {name}; the committed run has {measured}"
        if not re.search(rf"(?<![\d,.]){re.escape(measured)}(?![\d,.])", page):
            yield f"docs/performance.md: no {measured} for {name}; run 'make bench-page'"
    for figure in _FIGURE.finditer(text):
        if any(start <= figure.start() < end for start, end in known):
            continue
        yield f"README.md: {figure[0]} belongs to no known measurement; add it to FIGURES in deploy/checks/figures.py"


def shown(result: Mapping[str, Any], path: tuple[str, ...]) -> str:
    """A figure of a run as the documents show it: a rate without decimals, everything else with two."""
    value: Any = result
    for key in path:
        value = next(goal for goal in value if goal["name"] == key) if isinstance(value, list) else value[key]
    return f"{value:,.0f}" if value >= _RATE else f"{value:.2f}"


if __name__ == "__main__":
    sys.exit(main())
