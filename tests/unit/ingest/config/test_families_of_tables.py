"""Families in options and attribute names are checked against the declared table."""

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
      - DECORATOR
    sinks:
      - SINK
"""
SPLIT = 'split: {separator: ":", index: 0, attribute: "2hb_colfma:ts"}'
DECLARED = "{colfam: {}, raw: {}}"


@pytest.fixture
def problems(tmp_path):
    path = tmp_path / "p.yaml"

    def found(decorator=SPLIT, sink="attr2hbase: {table: t}", table=DECLARED):
        path.write_text(FILE.replace("DECORATOR", decorator).replace("SINK", sink).replace("TABLE", table))
        return problems_of(path)

    return found


@pytest.mark.parametrize("on_unknown", ["", ", families: {on_unknown: error}", ", families: {on_unknown: drop}"])
@pytest.mark.parametrize(
    ("decorator", "place", "attribute"),
    [
        (SPLIT, "10:54", "2hb_colfma:ts"),
        ('template: {attributes: {"2hb_colfma:a": x}}', "10:49", "2hb_colfma:a"),
        ("json: {prefix: '2hb_colfma:'}", "10:24", "2hb_colfma:"),
        ("json: {prefix: '2hb_colfam:', elements: {tags: '2hb_colfma:'}}", "10:56", "2hb_colfma:"),
        ("regex: {pattern: '(?P<a>.)', prefix: '2hb_colfma:'}", "10:9", "2hb_colfma:a"),
    ],
)
def test_undeclared_family_is_a_warning(problems, on_unknown, decorator, place, attribute):
    (found,) = problems(decorator, f"attr2hbase: {{table: t{on_unknown}}}")
    assert found == (
        f'{place}: undeclared-family: warning: "{attribute}" is a cell of family "colfma", which table "t" does not '
        'declare; did you mean "colfam"?'
    )


def test_undeclared_family_without_a_similar_name_has_a_hint(problems):
    (found,) = problems('value: {attribute: "2hb_x:y", value: z}')
    assert found.endswith("does not declare; declare it, or set on_unknown: create")


@pytest.mark.parametrize(
    ("decorator", "sink", "table"),
    [
        ('value: {attribute: "2hb_colfam:ts", value: x}', "attr2hbase: {table: t}", DECLARED),
        (SPLIT, "attr2hbase: {table: t, families: {on_unknown: create}}", DECLARED),
        (SPLIT, "attr2hbase: {table: t, families: {allow: [colfma]}}", DECLARED),
        (SPLIT, "attr2hbase: {table: t, families: {allow: [colfam]}, when: \"%{'x'} == 'y'\"}", DECLARED),
        (SPLIT[:-1] + ", when: \"%{'x'} == 'y'\"}", "attr2hbase: {table: t, families: {deny: [colfma]}}", DECLARED),
        (SPLIT, "attr2hbase: {table: 'u_%{topic}'}", DECLARED),
        (SPLIT + "\n      - rename: {pattern: colfma, replacement: colfam}", "attr2hbase: {table: t}", DECLARED),
        ('value: {attribute: "2hb_plain", value: x}', "attr2hbase: {table: t, sys_family: raw}", DECLARED),
        ("json: {prefix: '2hb_'}", "attr2hbase: {table: t}", DECLARED),
        ('value: {attribute: "colfma:ts", value: x}', "attr2hbase: {table: t}", DECLARED),
    ],
)
def test_family_that_is_declared_or_unknown_is_no_warning(problems, decorator, sink, table):
    assert problems(decorator, sink, table) == []


@pytest.mark.parametrize(
    "later",
    [
        "remove: {attributes: ['2hb_colfma:ts']}",
        "remove: {pattern: '^2hb_colfma'}",
        "select: {attributes: ['2hb_', '2hb_colfam:a']}",
    ],
)
@pytest.mark.parametrize("sink", ["attr2hbase: {table: t}", "attr2hbase: {table: t, families: {deny: [colfma]}}"])
def test_cell_that_a_later_decorator_removes_is_no_warning(problems, later, sink):
    setters = f"{SPLIT}\n      - value: {{attribute: '2hb_colfam:a', value: x}}\n      - "
    assert problems(setters + later, sink) == []
    assert len(problems(setters + "remove: {attributes: [other]}", sink)) == 1


@pytest.mark.parametrize("rule", ["allow: [colfam]", "deny: [colfma]", "deny: [colfma], on_unknown: create"])
def test_cell_of_a_denied_family_is_a_warning(problems, rule):
    (found,) = problems(sink=f"attr2hbase: {{table: 't_%{{topic}}', families: {{{rule}}}}}")
    assert found == (
        '10:54: conflict: warning: "2hb_colfma:ts" is a cell of family "colfma", which the attr2hbase sink on line 12 '
        "denies, so no event with it is stored; correct the family, or `families` of the sink"
    )


@pytest.mark.parametrize(
    ("sink", "place", "family"),
    [
        ("attr2hbase: {table: t, sys_family: sys}", "12:44", "sys"),
        ("attr2hbase: {table: t, write_body: 'line:b'}", "12:44", "line"),
        (
            "hbase: {table: t, row_key: {template: '%{body}'}, cells: [{family: colfma, qualifier: q, value: v}]}",
            "12:76",
            "colfma",
        ),
    ],
)
def test_undeclared_family_in_options_is_a_warning_if_it_may_be_created(problems, sink, place, family):
    (found,) = problems('value: {attribute: "2hb_colfam:ts", value: x}', sink)
    assert found.startswith(f'{place}: undeclared-family: warning: there is no family "{family}" in table "t"; ')


@pytest.mark.parametrize("family", ["a:b", ".a", "a/b", "a\\\\b", "a\\tb", "", "a" * 128, "recovered.edits"])
def test_invalid_family_name_is_rejected(problems, family):
    (found, *_) = problems(table=f'{{colfma: {{}}, "{family}": {{}}}}')
    assert "cannot be the name of a family; 1 to 127 bytes, no leading dot, none of : / \\ and no control" in found
    assert found.startswith("4:")
    assert " wrong-type: " in found
