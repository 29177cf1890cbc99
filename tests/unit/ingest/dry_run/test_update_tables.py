"""Dry runs of pipelines that write deferred updates."""

import pytest

from ingest.catalog import Catalog
from ingest.config import bind, read_text
from ingest.dry_run import DryRun
from ingest.plan.assemble import plan_of

FILE = """
version: 1
stores: {m: {memory: {}}}
tables: {hits: {families: {f: {}}, UPDATES}}
pipelines:
  p:
    source: {kafka: {brokers: "localhost:9092", topics: [t]}}
    sinks:
      - hbase: {table: hits, row_key: {template: "%{key}"}, cells: [{family: f, qualifier: n, value: "%{body}"}]}
tests:
  - name: three hits and a mistake
    given: [{key: a, body: "1"}, {key: a, body: "2"}, {key: b, body: "1"}, {key: b, body: many}]
    expect:
      kept: 3
      failed: 1
      puts:
        - {key: a, cells: {"f:n": "1"}}
        - {key: a, cells: {"f:n": "2"}}
        - {key: b, cells: {"f:n": "1"}}
"""
BUCKETS = "distribute: {hash: 4}, "


@pytest.fixture(params=["", BUCKETS], ids=["plain", "salted"])
def configuration(request):
    """The bound file, with a table that has buckets or none."""
    text = FILE.replace("UPDATES", f"{request.param}updates: {{processor: sum}}")
    return bind(read_text(text, "p.yaml", {}), Catalog())


@pytest.fixture
def dry_run(configuration):
    (pipeline,) = configuration.pipelines.values()
    return DryRun(plan_of(configuration, pipeline, Catalog()), configuration.tables.values())


def test_puts_have_the_row_and_the_value_of_their_event(configuration, dry_run):
    (case,) = configuration.tests
    assert dry_run.test(case).differences == ()


def test_value_that_the_processor_refuses_is_a_dead_letter(configuration, dry_run):
    *_, refused = (output.line for output in dry_run.run(configuration.tests[0].given))
    assert (refused["outcome"], refused["error"]["code"]) == ("failed", "not_a_number")
    assert "f:n" in refused["error"]["message"]
