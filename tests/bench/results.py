"""The result of a run: medians of the turns of its parts."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from tests.bench.goals import goals
from tests.bench.kept import KeptRun, RunError, Turn
from tests.bench.parts import PARTS, Options
from tests.bench.watching import Sample


def result_of(run: KeptRun) -> dict[str, Any]:
    """
    The figures of a run.

    Raises:
        RunError: a part has some of its turns only.
    """
    options = Options(**run.head.options)  # type: ignore[arg-type] # whole numbers stay such in JSON
    wanted = {part: PARTS[part].turns(options) for part in sorted(run.parts(), key=list(PARTS).index)}
    missing = [part for part, count in wanted.items() if len(run.turns(part)) < count]
    if missing:
        raise RunError(f"the run has not all turns of: {', '.join(missing)}; measure them, or start anew with --new")
    if not wanted:
        raise RunError("the run has no turns; measure some parts")
    machine = {**run.head.machine, "commit": run.head.commit, "date": run.head.started[:10]}
    at = f"{machine['commit']}, {machine['date']}, {machine['cpu']}"
    result: dict[str, Any] = {
        "machine": machine,
        "settings": dict(run.head.settings),
        "options": dict(run.head.options),
        "measured": dict.fromkeys(wanted, at),
        "turns": wanted,
        "calibration": calibrated(run),
    }
    for part in wanted:
        section, turns = PARTS[part].section, run.turns(part)
        if section:
            result.setdefault(section, {}).update(_by_benchmark(section, turns))
        else:
            for turn in turns:
                result.update(turn.figures)
    result["goals"] = goals(result)
    return result


def calibrated(run: KeptRun) -> dict[str, Any]:
    """How even the speed of the machine was: the calibration of each turn, and the turns that deviate."""
    turns = [turn for part in run.parts() for turn in run.turns(part)]
    return {
        "median_s": run.median_s,
        "turns": len(turns),
        "fastest": min(turn.median_s for turn in turns) / run.median_s,
        "slowest": max(turn.median_s for turn in turns) / run.median_s,
        "repeated": sum(turn.attempt - 1 for turn in turns),
        "deviating": [f"{turn.part}, turn {turn.number}" for turn in turns if run.deviates(turn)],
    }


def full_rate(run: KeptRun, benchmark: str, part: str) -> float | None:
    """Events a second of a benchmark; None if it was not measured."""
    rates = [Sample(**turn.figures[benchmark]).per_s for turn in run.turns(part)]
    return statistics.median(rates) if rates else None


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
        "share_of_files": statistics.median(run.share_of_files for run in runs),
        "turns": [
            {
                "per_s": run.per_s,
                "cpu_s_per_million": run.cpu_s / run.events * 1e6,
                "total_cpu_s_per_million": (run.cpu_s + run.servers_cpu_s) / run.events * 1e6,
                "peak_mib": run.peak_mib,
            }
            for run in runs
        ],
        "threads": {
            process: {kind: used / middle.events * 1e6 for kind, used in kinds.items()}
            for process, kinds in middle.threads.items()
        },
    }


def _by_benchmark(section: str, turns: Sequence[Turn]) -> dict[str, Any]:
    """Benchmark -> its figures over the turns, in the order of the first turn."""
    measured = {name: [turn.figures[name] for turn in turns] for name in turns[0].figures}
    if section == "latency":
        return {name: _medians(each) for name, each in measured.items()}
    return {name: figures([Sample(**sample) for sample in each]) for name, each in measured.items()}


def _medians(each: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    return {name: statistics.median(run[name] for run in each) for name in each[0]} | {"turns": list(each)}
