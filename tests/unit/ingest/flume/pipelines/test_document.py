"""The rendered file: values are read back unchanged, and lines have their place in the original."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.config import Place, read_text
from ingest.config.nodes import plain
from ingest.flume.pipelines.document import Component, Document, Origin, Pipeline, Table, Verbatim, render
from ingest.flume.pipelines.stores import hbase_store

PLACE = Place("old.conf", 3, 4)


def document(step, **more):
    source = Component("kafka", {"topics": ["t"]}, ["read from here"], PLACE)
    sink = Component("attr2hbase", {"table": "t"})
    steps = [Component("value", step, ["why"], Place("old.conf", 5, 6)), Component("", {}, ["left out"])]
    return Document(
        [Pipeline("p", source, [sink], steps, **more)],
        {"s": Component("hbase", {"port": 9090}, ["the store"])},
        ["top"],
    )


def read(text):
    found = read_text(text, "f", {"HOME": "/home"})
    assert found.problems == []
    return plain(found.root)


def test_document_is_written_as_a_whole_file():
    made = render(document({"attribute": "a", "value": "%{b}"}, options={"timezone": "UTC"}, chain="common"))
    assert (
        made.text
        == """\
# top
version: 1

stores:
  # the store
  s: {hbase: {port: 9090}}

pipelines:
  p:
    timezone: UTC
    # read from here
    source:
      kafka: {topics: [t]}
    decorators:
      - chain: common
      # why
      - value: {attribute: a, value: "%{b}"}
      # left out
    sinks:
      - attr2hbase: {table: t}
"""
    )
    assert made.locations[made.text.splitlines().index('      - value: {attribute: a, value: "%{b}"}')] == Place(
        "old.conf", 5, 6
    )
    assert len(made.locations) == len(made.text.splitlines())


def test_tables_follow_the_stores():
    origins = {("families",): Origin(PLACE, "f")}
    tables = {"a.b": Table({"families": {"f": {}}}, ["counts"], PLACE, origins)}
    made = render(Document([Pipeline("p", Component("kafka"), [])], {"s": Component("hbase")}, tables=tables))
    assert made.text.partition("\nstores:\n")[2].startswith(
        "  s: {hbase: {}}\n\ntables:\n  # counts\n  a.b: {families: {f: {}}}\n\npipelines:\n"
    )
    assert made.origins[("tables", "a.b", "families")] == origins[("families",)]
    assert made.locations[made.text.splitlines().index("  a.b: {families: {f: {}}}")] == PLACE


def test_pipeline_without_decorators_has_no_empty_list():
    bare = Document(
        [Pipeline("p", Component("kafka"), [Component("attr2hbase")], [Component("", {}, ["gone"])])],
        {"hbase": hbase_store()},
    )
    assert "decorators" not in read(render(bare).text)["pipelines"]["p"]


texts = st.text(max_size=12) | st.sampled_from(
    ["", "no", "1", "1e5", "null", "${HOME}", "$${x}", "a: b", "- a", "#", "'", '"', "\\d'"]
)
leaves = texts | st.integers(-9, 9) | st.booleans()
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)


@given(st.dictionaries(st.sampled_from(["a", "bcd", "2hb_f:q", "x y"]), values, max_size=4))
def test_values_are_read_back_unchanged(options):
    root = read(render(document(options)).text)
    assert root["pipelines"]["p"]["decorators"][0]["value"] == options


@given(st.lists(st.text(max_size=200), max_size=3))
def test_comments_are_not_read_as_values(comments):
    step = Component("mask", {"attributes": ["a"]}, comments)
    pipeline = Pipeline("p", Component("kafka", {}, comments), [Component("attr2hbase", {}, comments)], [step])
    root = read(render(Document([pipeline], {"s": Component("hbase", {}, comments)}, comments)).text)
    assert root["pipelines"]["p"] == {
        "source": {"kafka": {}},
        "decorators": [{"mask": {"attributes": ["a"]}}],
        "sinks": [{"attr2hbase": {}}],
    }


def test_long_values_are_split_over_lines():
    options = {"cells": [{"family": "f", "value": "x" * 40} for _ in range(4)], "row_key": {"template": "y" * 120}}
    text = render(document(options)).text
    assert read(text)["pipelines"]["p"]["decorators"][0]["value"] == options
    assert max(map(len, text.splitlines())) < 160


@pytest.mark.parametrize(("value", "meant"), [(Verbatim("${HOME}"), "/home"), ("${HOME}", "${HOME}")])
def test_only_verbatim_text_contains_variables(value, meant):
    root = read(render(document({"a": value})).text)
    assert root["pipelines"]["p"]["decorators"][0]["value"]["a"] == meant
