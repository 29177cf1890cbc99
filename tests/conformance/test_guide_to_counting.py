"""The guide to counting names every processor, and its pipelines are valid."""

import re
from pathlib import Path

import pytest

from ingest.catalog import Catalog
from ingest.config import bind, read_text
from tests.support.environments import ROOT
from tests.support.guides import run_tests

GUIDE = (ROOT / "docs" / "guides" / "counting.md").read_text("utf-8")
COMMANDS = (ROOT / "docs" / "reference" / "commands.md").read_text("utf-8")
METRICS = (ROOT / "docs" / "reference" / "metrics.md").read_text("utf-8")
BLOCKS = re.findall(r"^```yaml\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
PIPELINE = BLOCKS[0]


def test_pipeline_passes_its_tests(tmp_path: Path) -> None:
    done = run_tests(PIPELINE, tmp_path)
    assert (done.returncode, "warning" in done.stderr) == (0, False), done.stdout + done.stderr


@pytest.mark.parametrize("tables", BLOCKS[1:])
def test_tables_are_valid(tables: str) -> None:
    content = "version: 1\nstores: {s: {memory: {}}}\n" + tables + PIPELINE[PIPELINE.index("pipelines:") :]
    sink = re.search(r"table: (\w+), row_key", PIPELINE)
    assert sink
    table = next(iter(re.findall(r"^  (\w+):", tables, re.MULTILINE)))
    content = content.partition("tests:")[0].replace(f"table: {sink[1]},", f"table: {table},")
    problems = bind(read_text(content, "guide", {}), Catalog()).report.problems
    assert [str(problem) for problem in problems if problem.kind != "undeclared-family"] == []


def test_every_built_in_processor_is_listed() -> None:
    listed = re.findall(r"\.\./reference/processors/(\w+)\.md", GUIDE)
    assert sorted(listed) == sorted(Catalog().names("processors"))


@pytest.mark.parametrize(
    ("command", "arguments"), sorted(set(re.findall(r"^(?:\$ )?attr2hbase (\w+) (.*)$", GUIDE, re.MULTILINE)))
)
def test_commands_have_the_options_that_are_shown(command: str, arguments: str) -> None:
    page = COMMANDS.partition(f"\n## attr2hbase {command}\n")[2].partition("\n## ")[0]
    for name in re.findall(r"(?<=\s)--[\w-]+", f" {arguments}"):
        assert f"`{name}" in page


@pytest.mark.parametrize("metric", sorted(set(re.findall(r"`(attr2hbase_\w+)`", GUIDE))))
def test_metrics_exist(metric: str) -> None:
    assert f"`{metric}`" in METRICS
