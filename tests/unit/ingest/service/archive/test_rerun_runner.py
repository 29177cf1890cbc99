"""The plan of a re-run: the pipeline with the sink of one partition alone."""

from pathlib import Path

from ingest.catalog import Catalog
from ingest.config import load
from ingest.plan.assemble import live_task
from ingest.service.archive.rerun_runner import rerun_plan
from ingest.service.archived_tables import archived_table
from tests.support.archives import START_S

FILE = """
version: 1
state_dir: ./state
stores: {local: {rocksdb: {path: ./store}}}
tables: {events: {families: {f: {}}, blobs: {threshold: 1KiB}}}
pipelines:
  p:
    source: {kafka: {topics: [t], brokers: "localhost:1"}}
    decorators: [value: {attribute: 2hb_, value: "%{offset}"}]
    sinks:
      - attr2hbase: {table: events, write_body: "f:body"}
      - archive: {root: ./archive, table: customer}
"""


def test_large_values_of_another_sink_need_no_store(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pipeline.yaml").write_text(FILE)
    catalog = Catalog()
    configuration = load(Path("pipeline.yaml"), env={}, lookup=catalog)
    (sink,) = archived_table(configuration, "customer").sinks
    plan = rerun_plan(configuration, catalog, sink, "20151210", START_S)
    assert [each.name for each in plan.sinks] == [sink.name]
    live_task(plan).close()
