"""`make bench`: starts Kafka and HBase, measures parts of a run in turns, and keeps them; then writes the page."""

import argparse
import json
import os
import platform
import sys
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown

from tests.bench import calibration, durability
from tests.bench.charts import charts
from tests.bench.hbase import NATIVE
from tests.bench.kept import Head, KeptRun, RunError, Turn, commit_of
from tests.bench.parts import DEFAULT_PARTS, PARTS, Asked, Options
from tests.bench.report import page
from tests.bench.results import full_rate, result_of

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "bench"
DRAFT = ROOT / "build" / "bench-draft"
DOCS = ROOT / "docs"
NAMED = 5
"""Number of changed files that a message names."""


def main() -> int:
    options = parsed()
    console = Console(stderr=True)
    try:
        if options.write:
            return written(options.folder or KEPT, console)
        run = opened(options)
        measure(run, options, console)
        Console().print(Markdown(page(result_of(run))))
    except RunError as error:
        console.print(str(error), style="bold red", markup=False, highlight=False)
        return 1
    return 0


def parsed() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"{' '.join(PARTS)}. Default: {' '.join(DEFAULT_PARTS)}")
    parser.add_argument("--all", action="store_true", help="measure all parts, with sizes and the soak; takes hours")
    parser.add_argument("--events", type=int, help="events in a topic (1500000 into RocksDB, 3000000 into HBase)")
    parser.add_argument("--runs", type=int, default=5, help="turns of each part; the median counts (5)")
    parser.add_argument("--soak-minutes", type=float, default=60.0, help="duration of the soak (60)")
    parser.add_argument("--latency-s", type=float, default=30.0, help="measured seconds at each rate (30)")
    parser.add_argument("--base", default="", metavar="COMMIT", help="measure the build of this commit, too")
    parser.add_argument("--new", action="store_true", help="remove the kept run, and start another one")
    parser.add_argument("--draft", action="store_true", help="any tree; the figures are not continued nor published")
    parser.add_argument("--count", action="store_true", help="count the rows in HBase after each run, for small ones")
    parser.add_argument("--folder", type=Path, help="of the kept run (build/bench, or build/bench-draft)")
    parser.add_argument("--write", action="store_true", help="measure nothing; write the page from the kept run")
    options = parser.parse_args()
    unknown = sorted(set(options.parts).difference(PARTS))
    if unknown:
        parser.error(f"unknown parts: {', '.join(unknown)}; choose from {' '.join(PARTS)}")
    return options


def opened(options: argparse.Namespace) -> KeptRun:
    """
    The kept run, or a new one.

    Raises:
        RunError: the tree has changes, the settings are undocumented, or the kept run is another one.
    """
    commit, changed = commit_of(ROOT)
    if changed and not options.draft:
        some = ", ".join(changed[:NAMED]) + (f" and {len(changed) - NAMED} more" if len(changed) > NAMED else "")
        raise RunError(f"these files differ from the commit: {some}. Commit or stash them, or measure a --draft")
    settings = durability.in_force()
    differs = durability.differences(settings, durability.DOCUMENTED.read_text())
    if differs:
        raise RunError("\n".join([f"correct the settings in {durability.DOCUMENTED.relative_to(ROOT)}:", *differs]))
    asked = Options(
        events=options.events or 1_500_000, hbase_events=options.events or 3_000_000, runs=options.runs,
        soak_minutes=options.soak_minutes, latency_s=options.latency_s, base=options.base,
    )  # fmt: skip
    started = datetime.now(UTC).isoformat(timespec="seconds")
    head = Head(commit, machine(), settings, asdict(asked), started, options.draft)
    folder = options.folder or (DRAFT if options.draft else KEPT)
    return (KeptRun.started if options.new or options.draft else KeptRun.resumed)(folder, head)


def measure(run: KeptRun, options: argparse.Namespace, console: Console) -> None:
    """
    Measure what the kept run has not: turns that are missing, and those in which the machine was faster or slower.

    Raises:
        RunError: a part needs another one.
    """
    asked = Options(**run.head.options)  # type: ignore[arg-type] # whole numbers stay such in JSON
    names = [part for part in PARTS if part in (options.parts or (PARTS if options.all else DEFAULT_PARTS))]
    for part in names:
        needs = PARTS[part].needs
        if needs and needs not in names and not run.turns(needs):
            raise RunError(f"{part} needs the rate of {needs}: measure {needs}, too")
    wanted = {part: PARTS[part].turns(asked) for part in names}
    while due := run.due(wanted):
        for part, attempts in due.items():
            needs = PARTS[part].needs
            full = full_rate(run, NATIVE, needs) if needs else None
            with ExitStack() as stack:
                one = stack.enter_context(PARTS[part].opened(Asked(asked, console, options.count, full)))
                for number, attempt in attempts.items():
                    console.print(f"{part}, turn {number} of {wanted[part]}, attempt {attempt}")
                    figures, times = {}, [calibration.seconds()]
                    for name, found in one(number):
                        figures[name] = found
                        times.append(calibration.seconds())
                    run.keep(Turn(part, number, attempt, times, figures))


def machine() -> dict[str, str]:
    """The machine and the versions of a run."""
    info = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in info if "model name" in line]
    return {
        "cpu": f"{os.cpu_count()} x {models[0] if models else platform.machine()}",
        "python": platform.python_version(),
        "pyspark": version("pyspark"),
    }


def written(folder: Path, console: Console) -> int:
    """
    Write the figures of the kept run, its charts and the page; nothing of an earlier run stays.

    Raises:
        RunError: there is no run, it is a draft, or a part of it has some of its turns only.
    """
    run = KeptRun.read(folder)
    if run is None or run.head.is_draft:
        raise RunError(f"there is {'no run' if run is None else 'a draft'} in {folder}: measure one with 'make bench'")
    result = result_of(run)
    (DOCS / "bench" / "latest.json").write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")
    for chart in (DOCS / "bench").glob("*.svg"):
        chart.unlink()
    for name, content in charts(result).items():
        (DOCS / "bench" / name).write_text(content)
    (DOCS / "performance.md").write_text(page(result))
    console.print("wrote docs/performance.md, its charts and docs/bench/latest.json; 'make check' compares README.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
