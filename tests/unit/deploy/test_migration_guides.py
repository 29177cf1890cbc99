"""The configurations of other tools, and the pipelines that replace them, in docs/guides/coming-from-*.md."""

import json
import re
from pathlib import Path

import pytest
import yaml

from decorators import BUILTIN
from ingest.api import FamilySpec, Put, TableSpec
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.table_records import ensure_declared
from tests.support.guides import run_tests
from tests.support.in_process import run_here

ROOT = Path(__file__).resolve().parents[3]
TOOLS = {
    "kafka-connect": "Kafka Connect",
    "vector": "Vector",
    "logstash": "Logstash",
    "nifi": "NiFi",
    "seatunnel": "SeaTunnel",
    "flink-sql": "Flink SQL",
}
PAIRS = [*((tool, 0) for tool in TOOLS), ("nifi", 1), ("nifi", 2), ("nifi", 3)]
"""A tool, and which of the configurations of its page."""
LAYOUTS = [("nifi", 4), ("nifi", 5)]
"""Pipelines for a flow that the page describes in words."""


def guide(tool: str) -> str:
    return (ROOT / f"docs/guides/coming-from-{tool}.md").read_text(encoding="utf-8")


def blocks(tool: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", guide(tool), re.MULTILINE | re.DOTALL)


def pipelines(tool: str) -> list[str]:
    return [block for block in blocks(tool, "yaml") if block.startswith(f"# pipeline of {TOOLS[tool]}")]


def replaced(tool: str, number: int) -> tuple[list[str], str]:
    """Topics and consumer group of the configuration that the pipeline replaces."""
    if tool == "kafka-connect":
        content = json.loads(blocks(tool, "json")[number])
        return [content["config"]["topics"]], f"connect-{content['name']}"
    if tool == "vector":
        [source] = yaml.safe_load(blocks(tool, "yaml")[number])["sources"].values()
        return source["topics"], source["group_id"]
    if tool == "nifi":
        consumer = json.loads(blocks(tool, "json")[number])["flowContents"]["processors"][0]["properties"]
        return [consumer["topic"]], consumer["group.id"]
    language, topic, group = {
        "logstash": ("ruby", r'topics => \["(.*)"\]', r'group_id => "(.*)"'),
        "seatunnel": ("hocon", r' topic = "(.*)"', r'consumer.group = "(.*)"'),
        "flink-sql": ("sql", r"'topic' = '(.*)'", r"'properties.group.id' = '(.*)'"),
    }[tool]
    text = blocks(tool, language)[number]
    return re.findall(topic, text), re.findall(group, text)[0]


@pytest.mark.parametrize("tool", TOOLS)
def test_each_pipeline_of_a_page_is_tested(tool: str):
    found = [block for block in blocks(tool, "yaml") if "\npipelines:\n" in block]
    assert pipelines(tool) == found
    assert len(found) == sum(other == tool for other, _ in PAIRS + LAYOUTS)


@pytest.mark.parametrize(("tool", "number"), PAIRS + LAYOUTS)
def test_pipeline_passes_its_tests(tool: str, number: int, tmp_path: Path):
    done = run_tests(pipelines(tool)[number], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("tool", "number"), PAIRS)
def test_pipeline_continues_where_the_other_tool_stopped(tool: str, number: int):
    [found] = yaml.safe_load(pipelines(tool)[number])["pipelines"].values()
    kafka = found["source"]["kafka"]
    assert (kafka["topics"], kafka["group"]) == replaced(tool, number)
    assert "attr2hbase run --start-from group" in guide(tool)
    assert f"{kafka['group']}" in guide(tool)


def decorators_in_tables(tool: str) -> list[dict[str, object]]:
    """The decorators that the tables of a page show with all their options, such as `hash: {source: to}`."""
    rows = "\n".join(line for line in guide(tool).splitlines() if line.startswith("| "))
    shown = [yaml.safe_load(span) for span in re.findall(r"`(\w+: \{[^`…]*\})`", rows)]
    return [
        {name: options}
        for [(name, options)] in (found.items() for found in shown)
        # `{parts, separator}` names options without values
        if name in BUILTIN and None not in options.values()
    ]


@pytest.mark.parametrize("tool", TOOLS)
def test_decorators_in_the_tables_of_a_page_are_valid(tool: str, tmp_path: Path):
    root = yaml.safe_load(FILE)
    root["pipelines"]["hits"]["decorators"] = decorators_in_tables(tool)
    (tmp_path / "pipeline.yaml").write_text(yaml.safe_dump(root))
    done = run_here(["validate", "pipeline.yaml"], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


FILE = """
version: 1
registry: {url: "http://localhost:8081"}
stores: {local: {rocksdb: {path: ./data}}}
tables: {hits: {families: {web: {}}}, hits_new: {families: {web: {}}}}
pipelines:
  hits:
    source: {files: {path: ./lines}}
    sinks: [{attr2hbase: {table: hits_new}}]
"""


def write_hits(folder: Path, table: str, time_ms: int, statuses: dict[str, str]) -> None:
    """Write the status of each row into a table of the store in FILE."""
    store = RocksDBStore(RocksDBSettings(path=str(folder / "data")))
    store.open()
    ensure_declared(store, TableSpec(table, (FamilySpec(b"web"),)))
    store.apply(
        table, [Put(row.encode(), {b"web:status": status.encode()}, time_ms) for row, status in statuses.items()]
    )
    store.close()


def test_two_tables_are_compared_as_shown(tmp_path: Path):
    guide_of_tables = (ROOT / "docs/guides/reading-tables.md").read_text(encoding="utf-8")
    console = guide_of_tables.partition("## Compare two tables\n")[2].partition("```console\n")[2].partition("```")[0]
    command, _, shown = console.removeprefix("$ attr2hbase ").partition("\n")
    write_hits(tmp_path, "hits", 1_000, {"web-1/7": "200", "web-1/8": "200", "web-1/9": "200"})
    write_hits(tmp_path, "hits_new", 2_000, {"web-1/7": "200", "web-1/8": "404", "web-1/9": "200"})
    (tmp_path / "pipeline.yaml").write_text(FILE)
    done = run_here(command.split(), tmp_path)
    assert (done.returncode, done.stdout + done.stderr) == (4, shown)
