"""`explain`, `test` and `diff` show the time to live that a sink gives cells."""

import pytest

FILE = """\
version: 1
stores: {logs: {hbase: {}}}
pipelines:
  p:
    source: {files: {path: ./a.log}}
    decorators: [value: {attribute: "2hb_", value: r}, value: {attribute: "2hb_f:q", value: "%{body}"}]
    sinks: [attr2hbase: {table: t, ttl: "%{body}h"}]
tests:
  - name: cells live as long as the body says
    given: [{body: "2"}]
    expect: {puts: [{row: r, ttl_ms: 7200000}]}
  - name: cells have a time to live of their own
    given: [{body: "2"}]
    expect: {puts: [{row: r, ttl_ms: null}]}
"""


@pytest.fixture
def files(folder):
    """A pipeline, and what it was before."""
    (folder / "a.log").write_text("2\n")
    (folder / "pipeline.yaml").write_text(FILE)
    (folder / "before.yaml").write_text(FILE.replace(', ttl: "%{body}h"', ""))
    return folder


def test_explain(ingest, files):
    (line,) = ingest("explain", "pipeline.yaml", "--lines", "a.log", "--output", "json").lines
    assert line["puts"][0]["ttl_ms"] == 7_200_000
    assert ", ttl 7,200,000 ms" in ingest("explain", "pipeline.yaml", "--lines", "a.log").out
    (line,) = ingest("explain", "before.yaml", "--lines", "a.log", "--output", "json").lines
    assert "ttl_ms" not in line["puts"][0]


def test_expectation(ingest, files):
    result = ingest("test", "pipeline.yaml", "--output", "json")
    first, second = result.json["tests"]
    assert first["passed"]
    (difference,) = second["differences"]
    assert (difference["path"], difference["expected"], difference["actual"]) == (
        ["puts", 0, "ttl_ms"],
        None,
        7_200_000,
    )


def test_diff(ingest, files):
    result = ingest("diff", "before.yaml", "pipeline.yaml", "--lines", "a.log", "--output", "json")
    (row,) = result.lines[0]["tables"][0]["changed_rows"]
    assert [(each["old"].get("ttl_ms"), each["new"].get("ttl_ms")) for each in row["cells"]] == [(None, 7_200_000)]
    shown = ingest("diff", "before.yaml", "pipeline.yaml", "--lines", "a.log").out
    assert "f:q = no ttl -> ttl 7,200,000 ms" in shown
