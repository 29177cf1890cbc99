"""Options that a later version removes: a warning at each place, with what to write instead."""

import pytest

from ingest.api import Model, option
from ingest.catalog import Catalog
from ingest.config.components import Binding
from ingest.config.nodes import compose
from ingest.masks import Masks
from ingest.reference.options import option_rows
from tests.support.problems import problems_of

PLUGIN = """\
from ingest.api import Decorator, Example, Settings, option

class JoinedSettings(Settings):
    separator: str = option("Text between the parts.", default="-")
    delimiter: str | None = option("Text between the parts.", default=None, deprecated="`separator`")

class Joined(Decorator[JoinedSettings]):
    "Join."

    kind = "joined"
    examples = (Example("a word", body="hey", body_after="hey"),)

    def decorate(self, event):
        return True
"""
FILE = """\
version: 1
plugins: [joining]
stores: {m: {memory: {}}}
pipelines:
  p:
    source: {kafka: {brokers: "localhost:9092", topics: [t]}}
    decorators:
      - joined: {OPTIONS}
      - value: {attribute: "2hb_f:q", value: "%{body}"}
      - value: {attribute: "2hb_", value: "%{key}"}
    sinks: [{attr2hbase: {table: t}}]
"""


class Part(Model):
    old: int | None = option("A number.", default=None, deprecated="`new`")
    new: int = option("A number.", default=1)


class Whole(Model):
    part: Part = option("One.", default=Part())
    parts: list[Part] = option("Several.", default=[])
    named: dict[str, Part] = option("By name.", default={})


def warnings_of(text):
    problems = []
    node = compose(text, "f.yaml", problems)
    assert Binding(Catalog(), problems, Masks()).options(Whole, node, "whole", node.place) is not None
    return [str(problem) for problem in problems]


@pytest.mark.parametrize(("options", "warnings"), [("separator: x", 0), ("delimiter: x", 1)])
def test_option_of_a_plugin_warns_with_its_replacement(tmp_path, options, warnings):
    (tmp_path / "joining.py").write_text(PLUGIN)
    file = tmp_path / "pipeline.yaml"
    file.write_text(FILE.replace("OPTIONS", options))
    expected = (
        '8:18: deprecated: warning: "delimiter" of joined is deprecated, and a later version removes it; '
        "use `separator`"
    )
    assert [problem for problem in problems_of(file) if "deprecated" in problem] == [expected] * warnings


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("{}", []),
        ("part: {new: 2}", []),
        ("part: {old: 2}", ["1:8"]),
        ("parts: [{new: 1}, {old: 2}, {old: 3}]", ["1:20", "1:30"]),
        ("named: {a: {old: 2}}", ["1:13"]),
    ],
)
def test_nested_options_are_found(text, places):
    assert [warning.split(": ")[0] for warning in warnings_of(text)] == [f"f.yaml:{place}" for place in places]


def test_reference_names_the_replacement():
    old, new = option_rows(Part)
    assert old.doc == "A number. Deprecated: use `new`."
    assert new.doc == "A number."


def test_schema_for_editors_marks_the_option():
    properties = Part.model_json_schema()["properties"]
    assert (properties["old"]["deprecated"], "deprecated" in properties["new"]) == (True, False)
