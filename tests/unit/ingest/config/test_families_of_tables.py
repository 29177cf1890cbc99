"""Families that options and decorators name are compared with those that the table declares."""

import pytest

from tests.support.problems import problems_of

FILE = """\
version: 1
stores: {m: {memory: {}}}
tables:
  t: {families: TABLE}
pipelines:
  p:
    source: {kafka: {brokers: "localhost:9092", topics: [t]}}
    decorators:
      - value: {attribute: "2hb_", value: "%{key}-%{offset}"}
      - STEP
    sinks:
      - SINK
"""
SPLIT = 'split: {separator: ":", index: 0, attribute: "2hb_colfma:ts"}'
DECLARED = "{colfam: {}, raw: {}}"


@pytest.fixture
def problems(tmp_path):
    path = tmp_path / "p.yaml"

    def found(step=SPLIT, sink="attr2hbase: {table: t}", table=DECLARED):
        path.write_text(FILE.replace("STEP", step).replace("SINK", sink).replace("TABLE", table))
        return problems_of(path)

    return found


@pytest.mark.parametrize("on_unknown", ["", ", families: {on_unknown: error}", ", families: {on_unknown: drop}"])
@pytest.mark.parametrize(
    ("step", "place", "attribute"),
    [
        (SPLIT, "10:54", "2hb_colfma:ts"),
        ('template: {attributes: {"2hb_colfma:a": x}}', "10:49", "2hb_colfma:a"),
        ("json: {prefix: '2hb_colfma:'}", "10:24", "2hb_colfma:"),
        ("regex: {pattern: '(?P<a>.)', prefix: '2hb_colfma:'}", "10:9", "2hb_colfma:a"),
    ],
)
def test_a_family_that_no_table_declares(problems, on_unknown, step, place, attribute):
    (found,) = problems(step, f"attr2hbase: {{table: t{on_unknown}}}")
    assert found == (
        f'{place}: undeclared-family: warning: "{attribute}" is for family "colfma", which table "t" does not declare; '
        'did you mean "colfam"?'
    )


def test_a_family_like_none_is_to_be_declared(problems):
    (found,) = problems('value: {attribute: "2hb_x:y", value: z}')
    assert found.endswith("does not declare; declare it, or say on_unknown: create")


@pytest.mark.parametrize(
    ("step", "sink", "table"),
    [
        ('value: {attribute: "2hb_colfam:ts", value: x}', "attr2hbase: {table: t}", DECLARED),
        (SPLIT, "attr2hbase: {table: t, families: {on_unknown: create}}", DECLARED),
        (SPLIT, "attr2hbase: {table: t, families: {allow: [colfam]}}", DECLARED),
        (SPLIT, "attr2hbase: {table: 'u_%{topic}'}", DECLARED),
        (SPLIT + "\n      - rename: {pattern: colfma, replacement: colfam}", "attr2hbase: {table: t}", DECLARED),
        ('value: {attribute: "2hb_plain", value: x}', "attr2hbase: {table: t, sys_family: raw}", DECLARED),
        ("json: {prefix: '2hb_'}", "attr2hbase: {table: t}", DECLARED),
        ('value: {attribute: "colfma:ts", value: x}', "attr2hbase: {table: t}", DECLARED),
    ],
)
def test_other_families_are_fine(problems, step, sink, table):
    assert problems(step, sink, table) == []


@pytest.mark.parametrize(
    ("sink", "place", "family"),
    [
        ("attr2hbase: {table: t, sys_family: sys}", "12:44", "sys"),
        ("attr2hbase: {table: t, write_body: 'line:b'}", "12:44", "line"),
        (
            "hbase: {table: t, row_key: {template: '%{offset}'}, cells: [{family: colfma, qualifier: q, value: v}]}",
            "12:78",
            "colfma",
        ),
    ],
)
def test_a_family_of_the_options_is_a_warning_where_the_store_may_create_it(problems, sink, place, family):
    (found,) = problems('value: {attribute: "2hb_colfam:ts", value: x}', sink)
    assert found.startswith(f'{place}: undeclared-family: warning: there is no family "{family}" in table "t"; ')


@pytest.mark.parametrize("family", ["a:b", ".a", "a/b", "a\\\\b", "a\\tb", "", "a" * 128, "recovered.edits"])
def test_a_name_that_no_family_can_have(problems, family):
    (found, *_) = problems(table=f'{{colfma: {{}}, "{family}": {{}}}}')
    assert "cannot be the name of a family; 1 to 127 bytes, no leading dot, none of : / \\ and no control" in found
    assert found.startswith("4:")
    assert " wrong-type: " in found
