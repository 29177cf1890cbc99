"""Diagrams of pipelines: an arrow for each path of an event, and escaped text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.reference.drawing import Arrow, Box, Drawing, Shape, dot, mermaid

FILE = """
version: 1
stores: {logs: {memory: {}}, other: {memory: {}}}
chains:
  clean: [{filter: {label: no debug, drop: "%{priority} == 'DEBUG'", on_error: drop}}]
pipelines:
  web:
    source: {kafka: {brokers: "localhost:9092", topics: [ticks, tocks]}}
    decorators:
      - chain: clean
      - value: {attribute: "2hb_f:q", value: "1", when: "%{x} == \\"a<b\\""}
    sinks:
      - attr2hbase: {store: logs, table: t, when: "%{n} > 5"}
      - attr2hbase: {label: rest, store: other, table: "t_%{topic}"}
    dead_letters: {kafka: {topic: dead}}
  plain:
    source: {files: {path: ./in}}
    on_error: stop
    sinks: [{attr2hbase: {store: logs, table: t}}]
"""

MERMAID = """\
flowchart LR
  subgraph p1["web"]
    p1_source(["kafka<br>ticks, tocks"])
    p1_decorator1["no debug<br>filter<br>chain clean<br>on_error: drop"]
    p1_decorator2["value<br>when %{x} == #34;a#60;b#34;"]
    p1_sink1[/"attr2hbase#35;1"/]
    p1_sink2[/"rest<br>attr2hbase"/]
  end
  subgraph p2["plain"]
    p2_source(["files<br>./in"])
    p2_sink1[/"attr2hbase"/]
  end
  p1_dead_letters[["dead letters<br>kafka: dead"]]
  table1[("t<br>in logs")]
  table2[("t_%{topic}<br>in other")]
  p1_source --> p1_decorator1
  p1_decorator1 --> p1_decorator2
  p1_decorator2 -->|"when %{n} #62; 5"| p1_sink1
  p1_sink1 --> table1
  p1_decorator2 --> p1_sink2
  p1_sink2 --> table2
  p1 -.-> p1_dead_letters
  p2_source --> p2_sink1
  p2_sink1 --> table1
"""

DOT = r"""digraph pipelines {
  rankdir=LR;
  compound=true;
  node [fontname="sans-serif"];
  subgraph cluster_p1 {
    label="web";
    p1_source [shape=box, style=rounded, label="kafka\nticks, tocks"];
    p1_decorator1 [shape=box, label="no debug\nfilter\nchain clean\non_error: drop"];
    p1_decorator2 [shape=box, label="value\nwhen %{x} == \"a<b\""];
    p1_sink1 [shape=parallelogram, label="attr2hbase#1"];
    p1_sink2 [shape=parallelogram, label="rest\nattr2hbase"];
  }
  p1_dead_letters [shape=note, label="dead letters\nkafka: dead"];
  table1 [shape=cylinder, label="t\nin logs"];
  table2 [shape=cylinder, label="t_%{topic}\nin other"];
  p1_source -> p1_decorator1;
  p1_decorator1 -> p1_decorator2;
  p1_decorator2 -> p1_sink1 [label="when %{n} > 5"];
  p1_sink1 -> table1;
  p1_decorator2 -> p1_sink2;
  p1_sink2 -> table2;
  p1_source -> p1_dead_letters [style=dashed, ltail=cluster_p1];
}
"""


@pytest.fixture
def file(folder):
    (folder / "p.yaml").write_text(FILE)
    return "p.yaml"


def test_all_pipelines_of_a_file(ingest, file):
    result = ingest("graph", file)
    assert (result.code, result.out) == (0, MERMAID)
    assert result.err == "next: attr2hbase explain -f p.yaml\n"


def test_one_pipeline_for_graphviz(ingest, file):
    assert ingest("graph", file, "--format", "dot", "--pipeline", "web").out == DOT


def test_decorator_with_its_own_failure_action_has_an_arrow_to_the_dead_letters(ingest, folder):
    text = FILE.replace(
        "    on_error: stop\n", "    on_error: stop\n    decorators: [{trim: {on_error: dead_letter}}]\n"
    )
    text = text.replace("label: rest, ", "label: rest, on_error: drop, ")
    (folder / "p.yaml").write_text(text)
    drawn = ingest("graph", "p.yaml").out
    assert [line for line in drawn.splitlines() if "-.->" in line] == [
        "  p1 -.-> p1_dead_letters",
        "  p2_decorator1 -.-> p2_dead_letters",
    ]
    assert 'p1_sink2[/"rest<br>attr2hbase<br>on_error: drop"/]' in drawn


def test_boxes_and_arrows_as_json(ingest, file):
    drawn = ingest("graph", file, "--pipeline", "plain", "--output", "json").json
    assert [(box["id"], box["shape"], box["lines"]) for box in drawn["boxes"]] == [
        ("p1_source", "source", ["files", "./in"]),
        ("p1_sink1", "sink", ["attr2hbase"]),
        ("table1", "table", ["t", "in logs"]),
    ]
    assert [(arrow["start"], arrow["end"]) for arrow in drawn["arrows"]] == [
        ("p1_source", "p1_sink1"),
        ("p1_sink1", "table1"),
    ]


def test_topics_of_one_name_in_two_clusters_are_two_boxes_with_their_brokers(ingest, folder):
    sinks = '{kafka: {topic: x}}, {kafka: {topic: x, brokers: "127.0.0.1:9092,localhost:9094", label: same}}'
    other = '{kafka: {topic: x, brokers: "localhost:9093", label: other}}'
    (folder / "p.yaml").write_text(
        'version: 1\npipelines:\n  p:\n    source: {kafka: {brokers: "localhost:9092", topics: [s]}}\n'
        f"    sinks: [{sinks}, {other}]\n"
    )
    drawn = ingest("graph", "p.yaml", "--output", "json").json
    assert [box["lines"] for box in drawn["boxes"] if box["shape"] == "table"] == [
        ["x", "a topic", "localhost:9092"],
        ["x", "a topic", "localhost:9093"],
    ]
    written = [arrow["end"] for arrow in drawn["arrows"] if arrow["end"].startswith("table")]
    assert written == ["table1", "table1", "table2"]


def test_unknown_pipeline_is_an_error(ingest, file):
    result = ingest("graph", file, "--pipeline", "wep")
    assert (result.code, result.err.splitlines()[0]) == (3, 'error[not_found]: there is no pipeline "wep"')


def test_secrets_are_masked(ingest, folder):
    (folder / "secrets").mkdir()
    (folder / "secrets/salt").write_text("hunter2")
    text = FILE.replace("version: 1", "version: 1\nsecrets: {directory: secrets}").replace(
        "n} > 5", "n} == '${secret:salt}'"
    )
    (folder / "p.yaml").write_text(text)
    for language in ("mermaid", "dot"):
        shown = ingest("graph", "p.yaml", "--format", language).out
        assert "when %{n} == '***'" in shown
        assert "hunter2" not in shown


TEXTS = st.text(alphabet=st.one_of(st.characters(codec="utf-8"), st.sampled_from('"\\\n#;<>&%{}`$|]')), max_size=12)


@given(TEXTS, TEXTS)
def test_text_is_escaped(one: str, other: str) -> None:
    drawing = Drawing(
        [Box("a_source", Shape.SOURCE, (one, other), "p"), Box("b", Shape.TABLE, (other,))],
        [Arrow("a_source", "b", one), Arrow("a_source", "b", failed=True)],
    )
    arrow = r'  a_source -->(\|"[^"\n<]*"\|)? b'
    lines = mermaid(drawing).split("\n")
    assert [bool(re.fullmatch(r'    a_source\(\["[^"\n]*"\]\)', lines[2])), lines[2].count("<")] == [True, 1]
    assert re.fullmatch(arrow, lines[5])
    assert "%%" not in "".join(lines)
    assert len(lines) == 8

    texts = [
        re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], text)
        for text in re.findall(r'"((?:[^"\\]|\\.)*)"', dot(drawing))
    ]
    first, second = one.replace("\n", " "), other.replace("\n", " ")
    assert texts == ["sans-serif", "p", f"{first}\n{second}", second, *([first] if one else [])]
