"""What docs/guides/dumps.md, copies.md and changes.md show."""

import re

import pytest

from ingest.catalog import Catalog
from ingest.config import load
from sinks.dumps.rows import DumpRow, document_of
from tests.support.environments import ROOT


def blocks(guide: str, language: str) -> list[str]:
    text = (ROOT / f"docs/guides/{guide}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def test_line_of_a_dump():
    (line,) = blocks("dumps", "json")
    row = DumpRow.of_document(document_of(line.encode()))
    assert row.to_line() == line.encode()
    assert {cell.timestamp_ms for cell in row.cells} == {1_769_821_920_000, 1_769_821_925_000}


PIPELINE = """
pipelines:
  orders:
    source: {kafka: {brokers: "localhost:9092", topics: [orders]}}
    decorators: [{json: {prefix: 2hb_}}]
    sinks: [{attr2hbase: {store: local, table: orders}}]
"""
STORES = "stores: {local: {rocksdb: {path: ./data/store}}}\n"


def test_laptop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "laptop.yaml").write_text(blocks("copies", "yaml")[0])
    found = load("laptop.yaml", env={}, lookup=Catalog())
    assert list(found.stores) == ["local"]


@pytest.mark.parametrize(("guide", "block"), [("copies", 1), ("changes", 0), ("dumps", 0)])
def test_additions_to_a_pipeline_file(tmp_path, monkeypatch, guide, block):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pipeline.yaml").write_text(f"version: 1\n{STORES}{blocks(guide, 'yaml')[block]}{PIPELINE}")
    found = load("pipeline.yaml", env={}, lookup=Catalog())
    assert [str(problem) for problem in found.report.warnings] == []
