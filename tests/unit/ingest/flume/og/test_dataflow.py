"""Sink trees: branches, backups, scopes, lines of nodes, and comments."""

import pytest

from ingest.api import ConfigInvalidError
from ingest.catalog import Catalog
from ingest.config import bind, read_text
from ingest.config.nodes import plain
from ingest.flume import Outcome

A = 'attr2hbase("a")'
B = 'attr2hbase("b")'
EVENT = {"body": "x", "attributes": {"2hb_": "r", "2hb_f:q": "v"}}


def shape(configuration):
    """Pipeline -> its decorators and the tables of its sinks."""
    return {
        name: (
            [step.kind for step in pipeline.decorators],
            [sink.settings.table.text for sink in pipeline.sinks],
        )
        for name, pipeline in configuration.pipelines.items()
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (A, {"flume": ([], ["a"])}),
        (f"[ {A}, {B} ]", {"flume": ([], ["a", "b"])}),
        (f'value("x","1") [ {A}, {B} ]', {"flume": (["value"], ["a", "b"])}),
        (f'[ value("x","1") {A}, {B} ]', {"flume-1": (["value"], ["a"]), "flume-2": ([], ["b"])}),
        (
            f'mask("y") [ value("x","1") {A}, {B}, console ]',
            {"flume-1": (["mask", "value"], ["a"]), "flume-2": (["mask"], ["b"])},
        ),
        (
            f'mask("y") [ value("x","1") [ {A}, value("z","1") {A} ], {B} ]',
            {
                "flume-1": (["mask", "value"], ["a"]),
                "flume-2": (["mask", "value", "value"], ["a"]),
                "flume-3": (["mask"], ["b"]),
            },
        ),
        (f"< {A} ? {B} >", {"flume": ([], ["a"])}),
        (f"< {A} ? null >", {"flume": ([], ["a"])}),
        (f'< rpcSink("c") ? {B} >', {"flume": ([], ["b"])}),
        (f"< {A} ? < {B} ? null > >", {"flume": ([], ["a"])}),
        (f"roll(1000) {{ {A} }}", {"flume": ([], ["a"])}),
        (f"collector(15000) {{ {A} }}", {"flume": (["gunzip", "unbatch", "mask"], ["a"])}),
        (
            f'{{ mask("x") => {{ mask("y") => [ {A}, < {B} ? console > ] }} }}',
            {"flume": (["mask", "mask"], ["a", "b"])},
        ),
        (
            f'n1 : tail("/f") | value("x","y") {A} ; n2 : text("g") | agentSink("n1") ; 10.0.0.1 : null | {B};',
            {"n1": (["value"], ["a"]), "10.0.0.1": ([], ["b"])},
        ),
    ],
)
def test_tree_becomes_pipelines(text, expected, configuration):
    assert shape(configuration(text)) == expected


def test_branches_share_common_decorators_in_a_chain(imported):
    yaml = imported(f'mask("y") value("x","1") [ value("z","1") {A}, {B} ]').yaml
    assert yaml.count("- mask:") == 1
    assert yaml.count("- chain: flume-common") == 2


def test_each_branch_gets_its_own_copy(outcomes):
    lines = outcomes(f'[ value("2hb_f:x","1") {A}, value("2hb_f:x","2") {A} ]', EVENT)
    assert [[cell[2] for cell in line["puts"][0]["cells"]] for line in lines] == [["v", "1"], ["v", "2"]]


def test_keywords_apply_to_enclosed_components(attributes, outcomes):
    text = 'roll(1000, escape=true) { value("2hb_f:h","%{host}") attr2hbase("t") }'
    (line,) = outcomes(text, EVENT | {"host": "h1"})
    assert ["f", "h", "h1"] in line["puts"][0]["cells"]


def test_keyword_of_the_component_has_precedence(outcomes):
    text = 'roll(1000, escape=true) { value("2hb_f:h","%{host}", escape=false) attr2hbase("t") }'
    (line,) = outcomes(text, EVENT | {"host": "h1"})
    assert ["f", "h", "%{host}"] in line["puts"][0]["cells"]


def test_collector_removes_the_roll_tag(outcomes):
    event = {"body": "x", "attributes": {"": "r", "rolltag": "1", "f:q": "v"}}
    (line,) = outcomes('collector(1000) { attr2hbase("t","sys","","") }', event)
    assert [cell[1] for cell in line["puts"][0]["cells"]] == ["q", "host", "priority", "timestamp"]


def test_pipelines_have_the_limits_of_flume(configuration):
    (pipeline,) = configuration(A, zone="Europe/Berlin").pipelines.values()
    assert (pipeline.existing, pipeline.timezone, pipeline.source.settings.max_event_bytes) == (
        "error",
        "Europe/Berlin",
        32768,
    )


def test_report_has_every_part_in_order(imported):
    text = f'n1 : tail("/f") | batch(5) collector(10) {{ < {A} ? {B} > }} ;\nn2 : x | console ;'
    assert [
        (str(entry.outcome), entry.place.line, entry.place.column, entry.by) for entry in imported(text).entries
    ] == [
        ("replaced", 1, 6, "kafka topic n1"),
        ("left out", 1, 19, ""),
        ("replaced", 1, 28, "gunzip, unbatch, mask"),
        ("translated", 1, 46, "attr2hbase"),
        ("left out", 1, 64, ""),
        ("left out", 2, 1, ""),
    ]


def test_backup_as_the_only_hbase_sink_is_a_warning(imported):
    result = imported(f'< rpcSink("c") ? {B} >')
    assert "the primary is not an HBase sink" in result.warnings[0].message
    assert [entry.outcome for entry in result.entries] == [Outcome.LEFT_OUT, Outcome.TRANSLATED]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"< {A} ? {B} ? null >", "nest them"),
        (f"roll() {{ {A} }}", "roll takes 1 to 2 arguments"),
        (f'roll("x") {{ {A} }}', "is a whole number"),
        (f"collector(1,2) {{ {A} }}", "collector takes 0 to 1 arguments"),
        (f"n1 : a | {A} ;\nn1 : a | {B} ;", 'node "n1" is defined twice'),
        ("n1 : a | console ;", "there is no attr2hbase or hbase sink"),
        ('n1 : a("\\7") | console ;', "there is no attr2hbase or hbase sink"),
        ('value("a", "\\7") console', "there is no attr2hbase or hbase sink"),
        (" ".join(['mask("x")'] * 1001) + A, "more than 1000 decorators"),
    ],
)
def test_part_that_cannot_be_imported_is_an_error(text, message, imported):
    with pytest.raises(ConfigInvalidError, match=message):
        imported(text)


def test_comments_stay_with_their_component(imported):
    text = """\
// the whole flow
n1 : tail("/f") // the file
   | /* who */ value("a","1") // one
     // two lines
     // of it
     value("b","2")
     batch(3) /* packed */
     attr2hbase("t") ; // the table
// the end
"""
    lines = [line.strip() for line in imported(text).yaml.splitlines()]
    steps = lines[lines.index("decorators:") : lines.index("sinks:")]
    assert steps == [
        "decorators:",
        "# who",
        "# one",
        '- value: {attribute: a, value: "1"}',
        "# two lines",
        "# of it",
        '- value: {attribute: b, value: "2"}',
        "# packed",
        "# left out: batch(3): replaced by micro-batches and `write_buffer_size` of the sink",
    ]
    assert lines[lines.index("sinks:") + 1 :] == [
        "# the table",
        "# the end",
        "- attr2hbase: {table: t, on_missing_key: drop}",
    ]
    assert lines[lines.index("source:") - 3 : lines.index("source:") - 1] == ["# the whole flow", "# the file"]


class TestByHand:
    def test_a_decorator_and_a_sink_of_plugins(self, imported):
        found = imported('mask("x")\nmyDecorator(1) [ attr2hbase("t"),\nmask("y") zap(2) ]')
        assert [
            (entry.place.line, entry.original, entry.by) for entry in found.entries if entry.outcome == "by hand"
        ] == [
            (2, "myDecorator", "not_imported"),
            (3, "zap", "not_imported"),
        ]
        assert [warning.kind for warning in found.warnings] == ["not-imported", "not-imported"]
        root = plain(read_text(found.yaml, "new.yaml", {}).root)
        assert [kind for each in root["chains"]["flume-common"] for kind in each] == ["mask", "not_imported"]
        first, second = root["pipelines"].values()
        assert [list(each) for each in first["sinks"] + second["sinks"]] == [["attr2hbase"], ["not_imported"]]
        with pytest.raises(ConfigInvalidError) as caught:
            bind(read_text(found.yaml, "new.yaml", {}), Catalog())
        assert {(error.kind, error.message) for error in caught.value.report.errors} == {
            ("not-imported", '"myDecorator" was not imported'),
            ("not-imported", '"zap" was not imported'),
        }
