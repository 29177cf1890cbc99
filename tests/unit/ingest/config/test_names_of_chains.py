"""Warnings for sinks whose row key or cells no decorator can set."""

import pytest

from tests.support.problems import problems_of

FILE = """\
version: 1
stores: {m: {memory: {}}}
pipelines:
  p:
    source: SOURCE
    decorators:
      - DECORATORS
    sinks: SINKS
"""
FILES = "{files: {path: x.log}}"
KAFKA = '{kafka: {brokers: "localhost:9092", topics: [t]}}'
CELL = 'value: {attribute: "2hb_a:b", value: "%{body}"}'
KEY = 'value: {attribute: "2hb_", value: "%{key}x%{offset}"}'
SINK = "[{attr2hbase: {table: t}}]"
NO_KEY = '{}: missing-row-key: warning: no decorator sets the attribute "2hb_" that holds the row key, so {}; {}'
NOTHING, FEW = "nothing is stored", "only events that already have it are stored"
NO_CELL = (
    "9:14: missing-cells: warning: no decorator sets an attribute that becomes a cell of this sink, so nothing is "
    'stored; name one "2hb_family:qualifier"'
)
ADD = 'add `row_key`, or `value: {attribute: "2hb_", …}`'


@pytest.fixture
def problems(tmp_path):
    path = tmp_path / "p.yaml"

    def found(*decorators, source=FILES, sinks=SINK, tests=""):
        content = (
            FILE.replace("DECORATORS", "\n      - ".join(decorators)).replace("SOURCE", source).replace("SINKS", sinks)
        )
        path.write_text(content + tests)
        return problems_of(path)

    return found


@pytest.mark.parametrize(("source", "what"), [(FILES, NOTHING), (KAFKA, FEW)])
@pytest.mark.parametrize(
    ("decorator", "why"),
    [
        ('value: {attribute: "2bh_", value: "%{offset}"}', 'the value on line 8 sets "2bh_"'),
        ('value: {attribute: "2hb", value: "%{offset}"}', 'the value on line 8 sets "2hb"'),
        ('row_key: {attribute: key, parts: [{value: "%{offset}"}]}', 'the row_key on line 8 sets "key"'),
        ('split: {separator: ":", index: 0, attribute: x}', ADD),
        ("json: {prefix: '2hb_j:'}", ADD),
        ("filter: {drop: \"%{body} == ''\"}", ADD),
        ("rename: {attributes: {a: '2hb_c:d'}}", ADD),
        ("kv: {only: [level]}", ADD),
        ("query: {only: [q]}", ADD),
        ("leef: {only: [src]}", ADD),
        ("cef: {only: [src]}", ADD),
        ("cef: {prefix: '2hb_c:', only: [cs1], fold_labels: true}", ADD),
        ("headers: {only: [Host], first_line_attribute: x}", ADD),
    ],
)
def test_row_key_that_no_decorator_sets_is_a_warning(problems, source, what, decorator, why):
    assert problems(CELL, decorator, source=source) == [NO_KEY.format("9:14", what, why)]


@pytest.mark.parametrize(
    "decorator",
    [
        "json",
        "json: {prefix: '2hb'}",
        "kv",
        "leef",
        "leef: {prefix: '2hb', only: [src, _]}",
        "cef: {prefix: '2hb', only: [_]}",
        "cef: {only: [cs1], fold_labels: true}",
        "headers: {prefix: '2h', only: [B_]}",
        "headers: {only: [Host], case: keep}",
        "flume_avro",
        "null_deco",
        "gunzip",
        "rename: {attributes: {k: '2hb_'}}",
        "rename: {pattern: '^x', replacement: '2hb_'}",
        "prefix: {add: '2hb_'}",
        "copy: {source: k, attribute: '2hb_'}",
        "static: {attributes: {'2hb_': k}}",
        "regex: {pattern: '(?P<_>.)', prefix: '2hb'}",
        "csv: {columns: ['2hb_', '']}",
        KEY,
    ],
)
def test_row_key_that_may_be_set_is_no_warning(problems, decorator):
    assert problems(CELL, decorator) == []


def test_misspelled_row_key_is_a_warning_even_if_data_sets_names(problems):
    misspelled = 'value: {attribute: "2bh_", value: "%{offset}"}'
    (warning,) = problems("json", CELL, misspelled)
    assert warning == NO_KEY.format("10:14", FEW, 'the value on line 9 sets "2bh_"')
    assert problems("json", CELL, 'value: {attribute: id, value: "%{offset}"}') == []


def test_attribute_from_the_record_may_be_the_row_key(problems):
    no_key = NO_KEY.format("8:14", NOTHING, ADD)
    no_header = NO_KEY.format("8:14", FEW, ADD)
    assert problems(CELL) == [no_key]
    assert problems(CELL, source="{files: {path: x.log, format: json}}") == []
    assert problems("value: {attribute: x, value: y}", source=KAFKA) == [no_header]
    for given in ("body: b, attributes: {'2hb_': k}", "record: {value: v, headers: [['2hb_', k]]}"):
        test = f"tests: [{{name: n, pipeline: p, given: [{{{given}}}], expect: {{failed: 0}}}}]\n"
        assert problems(CELL, tests=test, source=KAFKA) == []
        assert problems(CELL, tests=test) == [no_key]  # lines of files have none
    given = "tests: [{name: n, pipeline: p, given: [{body: k, attributes: {x: y}}], expect: {failed: 0}}]\n"
    assert problems(CELL, tests=given, source=KAFKA) == [no_header]


def test_row_key_of_other_sinks_and_prefixes(problems):
    listed = "[{hbase: {table: t, row_key: {template: '%{offset}'}, cells: []}}]"
    assert not any("sets the attribute" in problem for problem in problems(CELL, sinks=listed))
    assert problems(CELL, sinks="[{attr2hbase: {table: t, attr_prefix: 'c_'}}]") == [
        NO_KEY.format("8:14", NOTHING, ADD).replace("2hb_", "c_")
    ]


def test_chain_that_sets_no_cells_is_a_warning(problems):
    assert problems(KEY, "value: {attribute: x, value: y}") == [NO_CELL]
    assert problems(KEY, "json") == []
    assert problems(KEY, "json: {prefix: 'x:'}") == [NO_CELL]
    assert problems(KEY, "json: {prefix: '2hb_x:'}") == []
    assert problems(KEY, "leef: {prefix: 'x:', only: [src]}") == [NO_CELL]
    assert problems(KEY, "leef: {prefix: '2hb_x:', only: [src]}") == []
    assert problems(KEY, "null_deco", sinks="[{attr2hbase: {table: t, sys_family: s}}]") == []
    assert problems(KEY, 'filter: {keep: "%{offset} > 0"}', sinks="[{attr2hbase: {table: t, write_body: 's:b'}}]") == []
    assert problems(KEY, source=KAFKA) == []  # headers of records are attributes too


@pytest.mark.parametrize("name", ["2hb_noqual", "2hb_:q"])
def test_attribute_that_does_not_become_a_cell_is_a_warning(problems, name):
    decorator = f'value: {{attribute: "{name}", value: x}}'
    (found,) = problems(KEY, CELL, decorator)
    assert found == (
        f'9:28: not-a-cell: warning: the attribute "{name}" does not become a cell: its name has no family and '
        'qualifier; name it "2hb_family:qualifier", or set `sys_family` in the sink'
    )
    for user in (
        f"value: {{attribute: y, value: \"%{{'{name}'}}\"}}",
        f"rename: {{attributes: {{'{name}': y}}}}",
        f"remove: {{attributes: ['{name}']}}",
        f"mask: {{attributes: ['{name}']}}",
        f"flatten: {{attributes: ['{name}']}}",
        f"case: {{attributes: {{'{name}': y}}, to: upper}}",
        f"prefix: {{attributes: ['{name}'], strip: 2hb_}}",
        f"trim: {{source: '{name}', attribute: '2hb_a:t'}}",
    ):
        assert problems(KEY, CELL, decorator, user) == []
    (warning,) = problems(KEY, CELL, f"default: {{attributes: {{'{name}': y}}}}")
    assert warning.endswith(found.removeprefix("9:28"))
    assert problems(KEY, CELL, decorator, f"redact: {{attributes: ['{name}'], find: [email]}}") == [found]
    assert problems(KEY, CELL, decorator, sinks="[{attr2hbase: {table: t, sys_family: s}}]") == []


@pytest.mark.parametrize("source", [FILES, KAFKA])
@pytest.mark.parametrize(
    ("decorator", "place"),
    [
        ("access_log: {prefix: 2hb_web}", "7:30"),
        ("json: {prefix: '2hb_web'}", "7:24"),
        ("kv: {prefix: 2hb_web}", "7:22"),
        ("prefix: {add: 2hb_web}", "7:9"),
        ("json: {prefix: '2hb_x:', elements: {tags: 2hb_web}}", "7:51"),
    ],
)
def test_prefix_of_attributes_that_do_not_become_cells_is_a_warning(problems, source, decorator, place):
    found = (
        f'{place}: not-a-cell: warning: attributes that start with "2hb_web" do not become cells: their names have '
        'no family and qualifier; write "2hb_web:", for the family "web", or set `sys_family` in the sink'
    )
    key = "value: {attribute: '2hb_', value: \"%{'2hb_webclient'}-%{offset}\"}"
    assert problems(decorator, CELL, KEY, source=source) == [found]
    assert problems(decorator, CELL, key, source=source) == [found]
    assert problems(decorator, CELL, KEY, source=source, sinks="[{attr2hbase: {table: t, sys_family: s}}]") == []
    assert (
        problems(decorator, CELL, KEY, source=source, sinks="[{attr2hbase: {table: t, attr_prefix: 2hb_web}}]")[1:]
        == []
    )
    for user in (
        "rename: {attributes: {2hb_webclient: '2hb_web:client'}}",
        "rename: {pattern: '^2hb_web', replacement: '2hb_web:'}",
        "prefix: {strip: 2hb_web, add: '2hb_web:'}",
        "copy: {source: 2hb_webclient, attribute: '2hb_web:client'}",
        "value: {attribute: '2hb_web:client', value: '%{2hb_webclient}'}",
    ):
        assert problems(decorator, user, CELL, KEY, source=source) == []


@pytest.mark.parametrize(
    "decorator",
    [
        "json: {prefix: '2hb_web:'}",
        "json: {prefix: '2hb_'}",
        "json: {prefix: '2hb'}",
        "json: {prefix: '2hb_web', separator: ':'}",
        "json: {prefix: web}",
        "access_log",
    ],
)
def test_prefix_of_possible_cells_or_of_other_attributes_is_no_warning(problems, decorator):
    assert problems(decorator, CELL, KEY) == []


def test_separator_of_something_else_than_names_makes_no_cell(problems):
    (warning,) = problems("kv: {prefix: '2hb_web', separator: ':'}", CELL, KEY)
    assert 'attributes that start with "2hb_web" do not become cells' in warning


def test_prefix_of_attributes_for_another_sink_is_no_warning(problems):
    sinks = "[{attr2hbase: {table: t}}, {attr2hbase: {table: u, attr_prefix: '2hb_u_'}}]"
    decorators = (KEY, CELL, "static: {attributes: {'2hb_u_': k}}")
    for prefix in ("2hb_u_a:", "2hb_u_", "2hb_u"):
        assert problems(*decorators, f"json: {{prefix: '{prefix}'}}", sinks=sinks) == []
    assert len(problems(*decorators, "json: {prefix: '2hb_u_a'}", sinks=sinks)) == 1


def test_row_key_of_another_sink_is_no_malformed_cell(problems):
    sinks = "[{attr2hbase: {table: t}}, {attr2hbase: {table: u, attr_prefix: '2hb_u_'}}]"
    decorators = (KEY, CELL, "static: {attributes: {'2hb_u_': k, '2hb_u_a:b': c}}")
    assert not any("does not become a cell" in problem for problem in problems(*decorators, sinks=sinks))


def test_invalid_decorator_is_reported_without_warnings_about_names(problems):
    found = problems("value: {attribut: x}")
    assert found
    assert not any("sets the attribute" in problem for problem in found)


@pytest.mark.parametrize("source", [FILES, KAFKA])
@pytest.mark.parametrize("name", ["uuid", "origin", "epoch_s"])
def test_function_without_parentheses_is_a_warning(problems, source, name):
    message = f'%{{{name}}} is the attribute "{name}", which no earlier decorator sets; the function is %{{{name}()}}'
    key = f'value: {{attribute: "2hb_", value: "%{{{name}}}"}}'
    assert problems(CELL, key, source=source) == [f"8:43: doubtful: warning: {message}"]
    assert problems(CELL, KEY, f"filter: {{drop: \"%{{{name}}} == ''\"}}") == [f"9:24: doubtful: warning: {message}"]
    assert problems(CELL, KEY, f"trim: {{when: exists({name})}}") == [f"9:22: doubtful: warning: {message}"]
    cells = f"[{{family: f, qualifier: q, value: '%{{{name}}}'}}]"
    sink = f"[{{hbase: {{table: t, row_key: {{template: '%{{offset}}'}}, cells: {cells}}}}}]"
    assert f"8:107: doubtful: warning: {message}" in problems(CELL, sinks=sink)


def test_attribute_with_the_name_of_a_function_may_be_set(problems):
    key = 'value: {attribute: "2hb_", value: "%{uuid}"}'
    assert problems("json", CELL, key) == []
    assert problems("uuid: {attribute: uuid}", CELL, key) == []
    assert problems(CELL, key, source="{files: {path: x.log, format: json}}") == []
    test = "tests: [{name: n, pipeline: p, given: [{record: {value: v, headers: [[uuid, k]]}}], expect: {failed: 0}}]\n"
    assert problems(CELL, key, tests=test, source=KAFKA) == []


@pytest.mark.parametrize(
    ("decorator", "place", "name", "instead"),
    [
        ("value: {attribute: '2hb_', value: '%{pad_left(ofset, 12)}'}", "8:43", "ofset", "offset"),
        ("value: {attribute: '2hb_', value: '%{ofset}-%{kye}'}", "8:43", "ofset", "offset"),
        ("value: {attribute: '2hb_', value: '%{ofset}-%{kye}'}", "8:43", "kye", "key"),
        ("row_key: {parts: [{value: '%{topic}'}, {value: '%{ofset}'}]}", "8:56", "ofset", "offset"),
        ("template: {attributes: {'2hb_': '%{offset}', '2hb_a:c': '%{partiton}'}}", "8:65", "partiton", "partition"),
        ('filter: {drop: "%{timstamp} > 5"}', "8:24", "timstamp", "timestamp"),
        ("trim: {when: \"%{'bdoy'} == ''\"}", "8:22", "bdoy", "body"),
        ("route: {rules: [{when: exists(topci), to: x}], attribute: r}", "8:32", "topci", "topic"),
    ],
)
@pytest.mark.parametrize("source", [FILES, KAFKA, "{files: {path: x.log, format: json}}"])
@pytest.mark.parametrize("earlier", [CELL, "json"])
def test_misspelled_core_name_is_a_warning(problems, source, earlier, decorator, place, name, instead):
    found = problems(earlier, decorator, KEY, CELL, source=source)
    assert (
        f'{place}: doubtful: warning: %{{{name}}} is the attribute "{name}", which no earlier decorator sets; '
        f'did you mean "{instead}"?'
    ) in found


@pytest.mark.parametrize("name", ["keys", "vhost", "host_name", "time", "id_key", "post", "boy", "user", "2hb_a:b"])
def test_attribute_that_data_may_set_is_no_warning(problems, name):
    key = f"value: {{attribute: '2hb_', value: \"%{{'{name}'}}-%{{offset}}\"}}"
    assert problems(CELL, key, source=KAFKA) == []
    assert problems("json", CELL, key) == []
    assert problems(f"json: {{prefix: '{name[:2]}'}}", CELL, key) == []
    assert problems(f"static: {{attributes: {{'{name}': x}}}}", CELL, key) == []
    test = "tests: [{name: n, pipeline: p, given: [{record: {value: v, headers: [[kye, k]]}}], expect: {failed: 0}}]\n"
    assert problems(CELL, key.replace(name, "kye"), tests=test, source=KAFKA) == []


@pytest.mark.parametrize(
    ("name", "earlier", "instead"),
    [
        ("2hb_a:bb", CELL, 'did you mean "2hb_a:b"?'),
        (
            "status",
            "access_log: {prefix: '2hb_web:'}",
            'names that the access_log on line 7 sets start with "2hb_web:"',
        ),
        ("late", CELL, "the value on line 9 sets it; move it before this one"),
        ("user", CELL, "check the name, or set it in a decorator"),
    ],
)
def test_attribute_that_no_decorator_can_set_is_a_warning(problems, name, earlier, instead):
    tag = f"%{{'{name}'}}" if ":" in name else f"%{{{name}}}"
    key = f'value: {{attribute: "2hb_", value: "{tag}-%{{offset}}"}}'
    warning = f'doubtful: warning: {tag} is the attribute "{name}", which no earlier decorator sets; {instead}'
    late = "value: {attribute: late, value: x}"
    assert problems(earlier, key, late) == [f"8:43: {warning}"]
    table = f'[{{attr2hbase: {{table: "t{tag}"}}}}]'
    if name != "late":
        assert problems(earlier, KEY, late, sinks=table) == [f"10:34: {warning}"]


def test_host_that_no_decorator_sets_is_a_warning(problems):
    key = 'value: {attribute: "2hb_", value: "%{host}-%{offset}"}'
    empty = "%{host} is always empty: records of this source have no host, and no earlier decorator sets one"
    assert problems(CELL, key) == [f"8:43: doubtful: warning: {empty}; set it with `host`"]
    assert problems("csv: {columns: [host]}", CELL, key) == [
        f"9:43: doubtful: warning: {empty}; for the attribute write %{{'host'}}"
    ]
    assert problems("csv: {columns: [host]}", "host: {source: host}", CELL, key) == []
    assert problems("flume_avro", CELL, key) == []
    assert problems(CELL, key, source=KAFKA) == []
    assert problems(CELL, key, source="{files: {path: x.log, format: json}}") == []


@pytest.mark.parametrize(
    ("decorator", "place"),
    [
        ('value: {attribute: "2hb_%{name}:v", value: x}', "7:28"),
        ('template: {attributes: {"2hb_%{name}:v": x}}', "7:50"),
        ("json: {prefix: '2hb_%{name}:v'}", "7:24"),
    ],
)
@pytest.mark.parametrize("source", [FILES, KAFKA])
def test_name_that_looks_like_a_template_is_a_warning(problems, decorator, place, source):
    (found,) = (each for each in problems(decorator, KEY, source=source) if "doubtful" in each)
    assert found == (
        f'{place}: doubtful: warning: "2hb_%{{name}}:v" is the name of an attribute as it is written: names are no '
        "templates; names come from data with `json`, `kv` or groups of `regex`"
    )


@pytest.mark.parametrize(
    ("source", "decorator", "hint"),
    [
        (
            KAFKA,
            "split: {source: topic, separator: '-', index: 0, attribute: x}",
            'value: {attribute: topic, value: "%{topic}"',
        ),
        (FILES, "timestamp: {source: timestamp}", 'value: {attribute: timestamp, value: "%{timestamp}"'),
        (FILES, "json: {source: body, prefix: '2hb_f:'}", "leave `source` out to read the body"),
    ],
)
def test_source_that_is_a_core_name_is_a_warning(problems, source, decorator, hint):
    """It reads the attribute of this name, so the decorator would do nothing."""
    (found,) = [each for each in problems(decorator, KEY, CELL, source=source) if "`source` is the attribute" in each]
    assert (found.startswith("7:"), hint in found) == (True, True)


@pytest.mark.parametrize(
    ("source", "earlier", "name"),
    [(FILES, "json: {}", "key"), (FILES, 'value: {attribute: key, value: "%{key}"}', "key"), (KAFKA, KEY, "timestamp")],
)
def test_source_may_be_an_attribute_with_a_core_name(problems, source, earlier, name):
    found = problems(earlier, f"trim: {{source: {name}}}", KEY, CELL, source=source)
    assert not [each for each in found if "`source` is the attribute" in each]
