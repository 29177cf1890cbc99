"""
`python -m tests.support.server_versions run | report`: the same tests with the oldest and newest server of each line.

`run` writes a result for each pair of a Kafka and an HBase, `report` the table of docs/operations/versions.md from the
newest results.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.support.local import jars
from tests.support.marked_tables import ROOT, between, commit_of_product, markdown

PAGE = ROOT / "docs" / "operations" / "versions.md"
VARIABLE = "VERSIONS_REPORT"
TABLE = "versions"
PAIRS = (
    ("3.9.0", "2.4.17"),
    ("3.9.2", "2.4.18"),
    ("3.9.2", "2.5.0"),
    ("4.4.0", "2.5.8"),
    ("3.9.2", "2.6.0"),
    ("4.4.0", "2.6.4"),
    ("4.4.0", "3.0.0-alpha-4"),
)
"""
Kafka and HBase: of each line the oldest and the newest that work with a Thrift server that is served.

HBase 2.4.0 does not: the Thrift server of 2.4.17, the only one of its line, calls a method that it lacks.
"""
PARTS: Mapping[str, Sequence[str]] = {
    "contract of stores": ("tests/integration/test_hbase_store.py::TestHBase",),
    "refusals": ("tests/integration/test_hbase_errors.py",),
    "records to rows": ("tests/integration/test_server_versions.py",),
    "kills and moves": (
        "tests/fault/test_hbase_stopped.py::test_pipeline_resumes_after_an_outage_of_hbase",
        "tests/fault/test_kafka_broker.py::test_broker_killed_and_frozen",
        "tests/fault/test_region_moved.py",
    ),
}
"""What runs, by its column in the table; with both protocols of HBase."""
LEFT_OUT = "not (thrift_killed or thrift_frozen or -stopped)"
"""Of the outages: kills of HBase are enough."""


@dataclass(frozen=True)
class Row:
    """
    The result of one pair.

    Attributes:
        thrift: version of HBase's Thrift server.
        passed: part -> number of tests.
        failed: names of tests.
        commit: newest commit of the product.
    """

    kafka: str
    hbase: str
    thrift: str
    passed: Mapping[str, int]
    failed: Sequence[str] = field(default_factory=tuple)
    at: str = ""
    commit: str = ""


def folder() -> Path:
    """Folder of the results."""
    return Path(os.environ.get(VARIABLE) or ROOT / "build" / "versions")


def run(kafka: str, hbase: str) -> Row:
    """Run the tests with these servers, and store the result."""
    folder().mkdir(parents=True, exist_ok=True)
    results = folder() / f"kafka-{kafka}-hbase-{hbase}.xml"
    results.unlink(missing_ok=True)
    tests = [test for part in PARTS.values() for test in part]
    command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={results}", "-k", LEFT_OUT, *tests]
    environment = os.environ | {"KAFKA_VERSION": kafka, "HBASE_VERSION": hbase, "SEEDS": "1"}
    subprocess.run(command, cwd=ROOT, env=environment, check=False)
    passed, failed = counted(results)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    row = Row(kafka, hbase, _thrift(hbase), passed, failed, now, commit_of_product())
    with (folder() / "rows.jsonl").open("a") as file:
        file.write(json.dumps(asdict(row)) + "\n")
    return row


def counted(results: Path) -> tuple[dict[str, int], tuple[str, ...]]:
    """Part -> number of tests that passed, and the names of those that failed, in a file of pytest's."""
    if not results.exists():
        return {}, ("pytest wrote no results",)
    passed, failed = Counter[str](), []
    for case in ET.parse(results).iter("testcase"):  # noqa: S314 - written by pytest
        name = f"{case.get('classname')}::{case.get('name')}"
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(name)
        elif case.find("skipped") is None:
            passed[_part(str(case.get("classname")))] += 1
    return dict(passed), tuple(failed)


def rows() -> list[Row]:
    """The newest result of each pair, in their order."""
    path = folder() / "rows.jsonl"
    stored = [Row(**json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []
    newest = {(row.kafka, row.hbase): row for row in sorted(stored, key=lambda row: row.at)}
    return [newest[pair] for pair in PAIRS if pair in newest]


def table(shown: Iterable[Row], before: str = "") -> str:
    """
    The table for the page.

    Args:
        shown: results.
        before: the table so far; pairs that did not run again keep their lines.
    """
    found = {}
    for line in before.splitlines():
        if line.startswith("| ") and line[2].isdigit():
            cells = tuple(line.removeprefix("| ").removesuffix(" |").split(" | "))
            found[cells[1], cells[0].split()[0]] = cells
    for row in shown:
        thrift = "" if row.thrift == row.hbase else f" (Thrift server {row.thrift})"
        counts = [str(row.passed.get(part, 0)) for part in PARTS]
        found[row.kafka, row.hbase] = (f"{row.hbase}{thrift}", row.kafka, *counts, f"{row.at[:10]}, `{row.commit}`")
    lines = [found.get(pair, (pair[1], pair[0], *("" for _ in PARTS), "not yet")) for pair in PAIRS]
    return markdown(("HBase", "Kafka", *PARTS, "run"), lines, numbers=range(2, 2 + len(PARTS)))


def report(page: Path = PAGE) -> None:
    """Write the table between the markers of the page; refused if a result is a failure."""
    shown = rows()
    failed = [f"Kafka {row.kafka}, HBase {row.hbase}: {', '.join(row.failed)}" for row in shown if row.failed]
    if failed:
        raise SystemExit(f"failed in their last run: {'; '.join(failed)}")
    page.write_text(between(page.read_text("utf-8"), TABLE, lambda before: table(shown, before)), "utf-8")


def _part(classname: str) -> str:
    module = classname.partition(".Test")[0].replace(".", "/")
    return next(part for part, tests in PARTS.items() if any(test.partition(".py")[0] == module for test in tests))


def _thrift(hbase: str) -> str:
    """Version of the Thrift server that was fetched for a version of HBase."""
    (jar,) = (path for path in jars.class_path("hbase", version=hbase).split(os.pathsep) if "/hbase-thrift-" in path)
    return Path(jar).stem.removeprefix("hbase-thrift-")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the commands; 1 if a test failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.server_versions", description=__doc__)
    parser.add_argument("command", choices=("run", "report"))
    parser.add_argument("--hbase", help="only the pair with this version")
    options = parser.parse_args(arguments)
    if options.command == "report":
        report()
        return 0
    pairs = [pair for pair in PAIRS if options.hbase in {None, pair[1]}]
    if not pairs:
        parser.error(f"no pair has HBase {options.hbase}")
    done = [run(*pair) for pair in pairs]
    for row in done:
        outcome = f"FAILED {', '.join(row.failed)}" if row.failed else "ok"
        print(f"Kafka {row.kafka}, HBase {row.hbase}: {outcome}")  # noqa: T201 - what the command is for
    return 1 if any(row.failed for row in done) else 0


if __name__ == "__main__":
    sys.exit(main())
