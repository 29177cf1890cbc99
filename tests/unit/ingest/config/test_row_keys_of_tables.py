"""What a table or database gives is kept out of row keys under every name it gets, and nothing else is."""

import sqlite3

import pytest

from tests.support.problems import chain_file, problems_of

FILE = chain_file("json", "STEPS", sinks="SINKS")
SINK = "[{attr2hbase: {table: t}}]"
LOOKUP = "lookup: {path: t.csv, source: id}"
REFUSED = "of a step that may give something else each time: a replay adds a row; the step is the lookup on line 8"


@pytest.fixture
def problems(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("id,city,land\n1,Ulm,DE\n")
    (tmp_path / "list.json").write_text('[{"id": "1", "city": "Ulm"}, {"id": "2", "land": "DE"}]')
    (tmp_path / "t.json").write_text('{"1": {"city": "Ulm"}}')
    (tmp_path / "plain.json").write_text('{"1": "Ulm"}')
    with sqlite3.connect(tmp_path / "t.db") as connection:
        connection.execute("create table t (id text, city text)")
    connection.close()
    path = tmp_path / "p.yaml"

    def found(*steps, sinks=SINK):
        path.write_text(FILE.replace("STEPS", "\n      - ".join(steps)).replace("SINKS", sinks))
        return problems_of(path)

    return found


def key(name, prefix="%{offset}"):
    return f"value: {{attribute: '2hb_', value: \"{prefix}%{{'{name}'}}\"}}"


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
def test_names_of_columns_are_those_of_the_file(problems, options, name):
    step = f"lookup: {{source: id, {options}}}"
    (refused,) = problems(step, key(name))
    assert refused.startswith(f"9:43: conflict: this row key takes %{{'{name}'}} {REFUSED}")
    assert problems(step, key("other")) == []  # it is no column


def test_the_key_column_and_what_the_table_is_asked_with_are_free(problems):
    assert problems(LOOKUP, key("id")) == []
    assert problems("lookup: {path: t.csv, source: id, columns: {city: c}}", key("city")) == []


@pytest.mark.parametrize(
    ("steps", "name"),
    [
        (["rename: {attributes: {city: c}}"], "c"),
        (["rename: {pattern: '^c', replacement: 'k'}"], "kity"),
        (["prefix: {add: 'x.'}"], "x.city"),
        (["prefix: {add: 'x.', attributes: [city]}", "prefix: {strip: 'x.', add: 'y.'}"], "y.city"),
        (["copy: {source: city, attribute: c}"], "c"),
        (["copy: {attributes: {city: c, id: d}}"], "c"),
        (["case: {source: city, to: upper}"], "city"),
        (["case: {source: city, attribute: c, to: upper}", "trim: {source: c, attribute: d}"], "d"),
        (["hash: {attributes: {city: c}}"], "c"),
        (["digest: {source: city, attribute: c, algorithm: md5}"], "c"),
        (["regex: {source: city, pattern: '(.)', index: 1, attribute: c}"], "c"),
        (["split: {source: city, separator: x, attributes: [a, c]}"], "c"),
        (["join: {sources: [id, city], attribute: c}"], "c"),
        (["value: {attribute: c, value: '%{lower(city)}'}", "template: {attributes: {d: 'x%{c}'}}"], "d"),
        (["default: {attributes: {c: '%{city}'}}"], "c"),
        (["route: {rules: [{when: \"%{city} == 'Ulm'\", to: near}], otherwise: far}"], "route"),
        (["route: {rules: [{when: exists(x), to: '%{city}'}]}"], "route"),
        (["static: {attributes: {c: near}, when: exists(city)}"], "c"),
        (["rename: {attributes: {city: c}, when: exists(x)}"], "city"),
        (["uuid: {attribute: c, value: '%{city}'}"], "c"),
    ],
)
def test_other_names_do_not_hide_it(problems, steps, name):
    (refused,) = problems(LOOKUP, *steps, key(name))
    assert f"this row key takes %{{'{name}'}} {REFUSED}" in refused


@pytest.mark.parametrize(
    "step",
    [
        "rename: {attributes: {city: '2hb_'}}",
        "copy: {source: city, attribute: '2hb_'}",
        "prefix: {strip: city, add: '2hb_'}",
        "join: {sources: [city, id], attribute: '2hb_'}",
        "route: {rules: [{when: exists(city), to: near}], attribute: '2hb_'}",
    ],
)
def test_nor_does_the_name_of_the_key_itself(problems, step):
    (refused,) = problems(LOOKUP, step)
    assert refused.startswith(f"9:9: conflict: this row key takes %{{'2hb_'}} {REFUSED}")


def test_a_condition_of_it_chooses_the_key(problems):
    (refused,) = problems(LOOKUP, "value: {attribute: '2hb_', value: '%{id}', when: exists(city)}")
    assert f"this row key takes %{{'city'}} {REFUSED}" in refused


def test_a_body_of_it_and_a_key_of_the_sink(problems):
    (refused,) = problems(LOOKUP, "format: {template: '%{city}'}", "value: {attribute: '2hb_', value: '%{body}'}")
    assert f"this row key takes %{{'body'}} {REFUSED}" in refused
    sinks = "[{hbase: {table: t, row_key: {template: '%{city}'}, cells: [{family: a, qualifier: b, value: c}]}}]"
    (refused,) = problems(LOOKUP, sinks=sinks)
    assert f"this row key takes %{{'city'}} {REFUSED}" in refused


@pytest.mark.parametrize(
    "steps",
    [
        [LOOKUP, key("id")],
        [LOOKUP, "rename: {attributes: {city: c}}", key("city")],
        [LOOKUP, "prefix: {add: 'x.'}", key("city")],
        [LOOKUP, "template: {attributes: {c: '%{city}', d: '%{id}'}}", key("d")],
        [LOOKUP, "copy: {attributes: {city: c, id: d}}", key("d")],
        [LOOKUP, "value: {attribute: '2hb_a:b', value: '%{city}'}", key("id")],
        [key("city"), LOOKUP],
        ["value: {attribute: c, value: '%{city}'}", LOOKUP, key("c")],
    ],
)
def test_what_has_nothing_to_do_with_it_is_let_alone(problems, steps):
    assert problems(*steps) == []
