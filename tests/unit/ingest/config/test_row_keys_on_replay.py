"""Row keys that depend on `lookup` or another decorator that is not deterministic are rejected."""

import sqlite3

import pytest

from tests.support.problems import chain_file, problems_of

FILE = chain_file("filter: {keep: exists(x)}", "CHAIN", sinks="SINKS")
SINK = "[{attr2hbase: {table: t}}]"
LOOKUP = "lookup: {path: t.csv, source: id}"
REST = (
    "whose result may differ on replay: a replay adds a row; use the identity of the event: "
    "%{topic}-%{partition}-%{offset}"
)
WARNING = (
    "8:9: unstable: warning: a row key may depend on {}, whose result may differ on replay: a replay may "
    "add a row; use the identity of the event: %{{topic}}-%{{partition}}-%{{offset}}"
)
PLUGIN = """\
from typing import ClassVar

from ingest.api import Decorator, Example, Settings, option

class DrawSettings(Settings):
    attribute: str = option("Where it goes.", default="lot")

class NamedSettings(DrawSettings):
    other_names: ClassVar[None] = None

class Draw(Decorator[DrawSettings]):
    "Draw a number."

    kind = "draw"
    examples = (Example("any"),)
    deterministic = False

    def decorate(self, event):
        return True

class Named(Draw, Decorator[NamedSettings]):
    "Draw a number, and name all that it sets."

    kind = "named"

class CarelessSettings(NamedSettings):
    def made_of(self):
        return {"attribute:other": ("attribute",)}

class Careless(Draw, Decorator[CarelessSettings]):
    "Name a template for what it does not set."

    kind = "careless"
    deterministic = True
"""


@pytest.fixture
def problems(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "drawing.py").write_text(PLUGIN)
    (tmp_path / "t.csv").write_text("id,city,land\n1,Ulm,DE\n")
    (tmp_path / "list.json").write_text('[{"id": "1", "city": "Ulm"}, {"id": "2", "land": "DE"}]')
    (tmp_path / "t.json").write_text('{"1": {"city": "Ulm"}}')
    (tmp_path / "plain.json").write_text('{"1": "Ulm"}')
    with sqlite3.connect(tmp_path / "t.db") as connection:
        connection.execute("create table t (id text, city text)")
    connection.close()
    path = tmp_path / "p.yaml"

    def found(*decorators, sinks=SINK):
        content = FILE.replace("CHAIN", "\n      - ".join(decorators)).replace("SINKS", sinks)
        path.write_text(content + "plugins: [drawing]\n")
        return problems_of(path)

    return found


def key(name, more=""):
    return f"value: {{attribute: '2hb_', value: \"%{{offset}}%{{'{name}'}}\"{more}}}"


def rejected(place, names, kind="lookup"):
    return [f"{place}: conflict: this row key contains {names} from the {kind} on line 8, {REST}"]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ("path: t.csv", "city"),
        ("path: t.csv, prefix: 'g.'", "g.land"),
        ("path: t.csv, key: city", "id"),
        ("path: list.json", "land"),
        ("path: t.json", "city"),
        ("path: plain.json", "value"),
        ("path: t.db", "city"),
        ("path: t.csv, columns: {city: c}", "c"),
    ],
)
def test_row_key_with_a_lookup_column_is_rejected(problems, options, name):
    lookup = f"lookup: {{source: id, {options}}}"
    assert problems(lookup, key(name)) == rejected("9:43", f"%{{'{name}'}}")
    assert problems(lookup, key("other")) == []  # not a column


@pytest.mark.parametrize(
    ("decorator", "place", "name"),
    [
        ("row_key: {parts: [{value: '%{city}'}, {value: '%{offset}'}]}", "9:26", "city"),
        ("template: {attributes: {'2hb_': '%{offset}%{land}', c: '%{city}'}}", "9:41", "land"),
        ("default: {attributes: {'2hb_': '%{city}'}}", "9:40", "city"),
        ("value: {attribute: '2hb_', value: '%{id}', when: exists(city)}", "9:43", "city"),
        ("rename: {attributes: {city: '2hb_'}}", "9:9", "city"),
        ("copy: {source: city, attribute: '2hb_'}", "9:9", "city"),
        ("join: {sources: [city, id], attribute: '2hb_'}", "9:9", "city"),
        ("route: {rules: [{when: exists(city), to: near}], attribute: '2hb_'}", "9:9", "city"),
        ("uuid: {attribute: '2hb_', value: '%{city}'}", "9:9", "city"),
    ],
)
def test_decorator_that_sets_the_row_key_may_not_read_a_lookup_column(problems, decorator, place, name):
    assert problems(LOOKUP, decorator) == rejected(place, f"%{{'{name}'}}")


def test_row_key_of_a_sink_may_not_read_a_lookup_column(problems):
    sinks = (
        "[{hbase: {table: t, row_key: {template: '%{city}-%{land}'}, cells: [{family: a, qualifier: b, value: c}]}}]"
    )
    assert problems(LOOKUP, sinks=sinks) == rejected("9:52", "%{'city'} %{'land'}")


def test_lookup_may_not_set_the_row_key(problems):
    lookup = "lookup: {path: t.csv, source: id, columns: {city: '2hb_'}}"
    assert problems(lookup) == rejected("8:9", "%{'2hb_'}")
    assert problems(lookup, key("id")) == []
    assert problems(lookup, key("id", ", on_missing: unset")) == rejected("8:9", "%{'2hb_'}")


@pytest.mark.parametrize(
    "chain",
    [
        [LOOKUP, key("id")],
        [LOOKUP, "value: {attribute: '2hb_a:b', value: '%{city}'}", key("id")],
        [LOOKUP, "template: {attributes: {'2hb_a:b': '%{city}', '2hb_': '%{id}'}}"],
        [LOOKUP, "template: {attributes: {c: '%{city}', d: '%{id}'}}", key("d")],
        [LOOKUP, "rename: {attributes: {city: '2hb_a:b', id: '2hb_'}}"],
        [LOOKUP, "value: {attribute: city, value: x}", key("city")],
        [LOOKUP, key("city"), key("id")],
        [key("city"), LOOKUP],
        ["value: {attribute: c, value: '%{city}'}", LOOKUP, key("c")],
        ["lookup: {path: t.csv, source: id, columns: {city: c}}", key("city")],
    ],
)
def test_row_key_that_does_not_depend_on_lookup_is_valid(problems, chain):
    assert problems(*chain) == []


@pytest.mark.parametrize(
    "decorator",
    [
        "value: {attribute: city, value: x, when: exists(x)}",
        "value: {attribute: city, value: '%{x}', on_missing: unset}",
        "default: {attributes: {city: x}}",
        "value: {attribute: city, value: 'a%{city}'}",
        "case: {source: city, to: upper}",
    ],
)
def test_lookup_column_that_is_not_always_replaced_is_rejected(problems, decorator):
    assert problems(LOOKUP, decorator, key("city")) == rejected("10:43", "%{'city'}")


@pytest.mark.parametrize(
    ("chain", "name"),
    [
        (["copy: {source: city, attribute: c}"], "c"),
        (["case: {source: city, attribute: c, to: upper}", "trim: {source: c, attribute: d}"], "d"),
        (["value: {attribute: c, value: '%{lower(city)}'}", "template: {attributes: {d: 'x%{c}'}}"], "d"),
        (["static: {attributes: {c: near}, when: exists(city)}"], "c"),
        (["format: {template: '%{city}'}", "digest: {attribute: c, algorithm: md5}"], "c"),
    ],
)
def test_indirect_dependency_is_a_warning(problems, chain, name):
    assert problems(LOOKUP, *chain, key(name)) == [WARNING.format("lookup")]


def test_plugin_that_may_set_any_attribute_is_a_warning(problems):
    assert problems("draw", key("id")) == [WARNING.format("draw")]
    assert problems("named", key("id")) == []


def test_pipeline_has_at_most_one_such_warning(problems):
    sinks = "[{attr2hbase: {table: t}}, {attr2hbase: {table: u, attr_prefix: 'u_'}}]"
    chain = ["draw", "named", "value: {attribute: c, value: '%{lot}'}", key("c"), "copy: {source: c, attribute: u_}"]
    found = [problem for problem in problems(*chain, sinks=sinks) if "replay" in problem]
    assert found == [WARNING.format("draw")]


def test_row_key_that_a_plugin_sets_is_rejected(problems):
    assert problems("named", key("lot")) == rejected("9:43", "%{'lot'}", "named")
    assert problems("named: {attribute: '2hb_'}") == rejected("8:9", "%{'2hb_'}", "named")


def test_template_for_an_attribute_that_is_not_set_is_ignored(problems):
    assert problems("named", "careless", key("id")) == []
