"""Problems of sinks, with exact places: row keys, families, cells, names."""

import pytest

from ingest.catalog import Catalog
from ingest.config import load
from tests.support.problems import problems_of

KAFKA = 'kafka: {brokers: "localhost:9092", topics: [ticks]}'
FILES = "files: {path: ./ticks}"
HEAD = """\
version: 1
stores:
  logs: {rocksdb: {path: ./data}}
tables:
  t: {families: {m: {}, n: {}}}
pipelines:
  p:
    source: {%s}
    sinks:
"""
FAMILY_NAMES = r"1 to 127 bytes, no leading dot, none of : / \ and no control characters"
KEY = 'row_key: {template: "%{key}"}'


def cell(family="m", qualifier="q", value="%{body}"):
    return f'{{family: {family}, qualifier: {qualifier}, value: "{value}"}}'


CELL = cell()


def problems(folder, *sinks, source=KAFKA):
    path = folder / "p.yaml"
    path.write_text(HEAD % source + "".join(f"      - {sink}\n" for sink in sinks))
    return problems_of(path)


def hbase(*cells, key=KEY, more=""):
    return f"hbase: {{table: t, {key}, {more}cells: [{', '.join(cells or [CELL])}]}}"


def test_valid_sinks_have_no_problems(tmp_path):
    assert problems(tmp_path, hbase(), hbase(cell("n"), more='when: "exists(a)", ')) == []


NANOS = (
    "10:47: shared-row-key: warning: only %{nanos} makes this row key unique, and only for up to 10000 events in a "
    "partition and a millisecond; add %{key}, or %{topic}-%{partition}-%{offset}"
)
NANOS_IN_FILES = (
    "10:47: conflict: %{nanos} is not unique for this source, and no other part of this row key differs between "
    "events; use %{topic}:%{offset}"
)


@pytest.mark.parametrize(
    ("source", "template", "expected"),
    [
        (KAFKA, "%{nanos}", [NANOS]),
        (KAFKA, "%{key}-%{nanos}", []),
        (KAFKA, "%{user}", []),
        (KAFKA, "k", ["10:47: shared-row-key: warning: this row key is the same for every event"]),
        (FILES, "%{nanos}", [NANOS_IN_FILES]),
        (FILES, "%{key}-%{topic}-%{nanos}", [NANOS_IN_FILES]),
        (FILES, "%{topic}:%{offset}", []),
        (FILES, "%{body}-%{nanos}", []),
        (KAFKA, "", ["10:47: out-of-range: the row key is empty"]),
        (
            KAFKA,
            "%{key",
            ['10:48: bad-expression: unclosed tag: a "}" is missing; a percent sign itself is written "%%"'],
        ),
    ],
)
def test_row_key_template(tmp_path, source, template, expected):
    sink = hbase(key=f'row_key: {{template: "{template}"}}')
    assert problems(tmp_path, sink, source=source) == expected


CASES = {
    "row key as text": (
        hbase(key='row_key: "%{key}"'),
        ['10:36: wrong-type: row_key must be a mapping, not the template alone; write row_key: {template: "…"}'],
    ),
    "no row key": (hbase(key='label: "a"'), ['10:9: missing-field: hbase needs "row_key"']),
    "a cell without a value": (
        hbase("{family: m, qualifier: q}"),
        ['10:66: missing-field: cells needs "value"'],
    ),
    "unknown encoding": (
        hbase('{family: m, qualifier: q, value: "1", encoding: int65}'),
        ['10:114: not-one-of: encoding cannot be "int65"; did you mean "int64"?'],
    ),
    "unknown option of a cell": (
        hbase('{family: m, qualifier: q, value: "1", on_mising: unset}'),
        ['10:104: unknown-field: "on_mising" is not an option of cells; did you mean "on_missing"?'],
    ),
    "a constant that is not a number": (
        hbase('{family: m, qualifier: q, value: "x", encoding: int64}'),
        ['10:99: wrong-type: "x" is not a whole number'],
    ),
    "a denied family": (
        hbase(CELL, cell("n"), more="families: {deny: [n]}, "),
        ['10:143: conflict: the family "n" may not be written by this sink; see `families: allow` and `deny`'],
    ),
    "a denied system family": (
        "attr2hbase: {table: t, sys_family: m, families: {deny: [m]}}",
        ['10:44: conflict: the family "m" may not be written by this sink; see `families: allow` and `deny`'],
    ),
    "a family that cannot exist": (
        hbase('{family: "a:b", qualifier: q, value: v}'),
        ["10:75: conflict: 'a:b' cannot be the name of a family; " + FAMILY_NAMES],
    ),
    "a missing family": (
        hbase(cell("mm"), more="families: {on_unknown: error}, "),
        ['10:106: unknown-reference: there is no family "mm" in table "t"; did you mean "m"?'],
    ),
    "a missing family of a rule": (
        hbase(more="families: {on_unknown: drop}, rules: [{when: exists(a), delete: {family: x}}], "),
        [
            '10:131: unknown-reference: there is no family "x" in table "t"; declare it, or set on_unknown: create',
        ],
    ),
    "a missing family that is denied": (
        hbase(more="families: {on_unknown: error, deny: [x]}, "),
        ['10:95: unknown-reference: warning: there is no family "x" in table "t"; it need not be denied'],
    ),
    "a cell twice": (
        hbase(CELL, cell(qualifier="'%{host}'"), CELL),
        [
            (
                '10:75: replaced-cell: warning: the cell "m:q" is always replaced by a later one of the same column; '
                "see line 10"
            )
        ],
    ),
    "a cell twice, the later one not always there": (
        hbase(CELL, '{family: m, qualifier: q, value: "%{x}", on_missing: unset}'),
        [],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_sink_has_these_problems(tmp_path, name):
    sink, expected = CASES[name]
    assert problems(tmp_path, sink) == expected


class TestNames:
    """Names of sinks are unique, because dead letters and metrics contain them."""

    def test_label_that_is_the_name_of_another(self, tmp_path):
        assert problems(tmp_path, hbase(), "attr2hbase: {table: t, label: hbase}") == [
            (
                '11:39: duplicate-label: the label "hbase" is the name of the hbase on line 10; choose another, or '
                "give that component a label"
            )
        ]

    def test_label_that_is_a_numbered_name(self, tmp_path):
        assert problems(tmp_path, hbase(), hbase(), 'attr2hbase: {table: t, label: "hbase#2"}') == [
            (
                '12:39: duplicate-label: the label "hbase#2" is the name of the hbase on line 11; choose another, '
                "or give that component a label"
            )
        ]

    def test_label_that_is_its_own_kind(self, tmp_path):
        assert problems(tmp_path, hbase(more="label: hbase, ")) == []


class TestTableOfAnotherStore:
    """A declaration under `tables` applies to one store only."""

    FILE = """\
version: 1
stores: {a: {memory: {}}, b: {memory: {}}}
tables:
  t: {store: a, families: {m: {versions: 3}}}
%spipelines:
  p:
    source: {kafka: {brokers: "localhost:9092", topics: [ticks]}}
    sinks: [{attr2hbase: {store: %s, table: "%s"}}%s]
    decorators: [{value: {attribute: "2hb_", value: "%%{body}"}}]
"""

    def problems(self, folder, store="b", table="t", tables="", sinks=""):
        path = folder / "p.yaml"
        path.write_text(self.FILE % (tables, store, table, sinks))
        return problems_of(path)

    def test_is_a_conflict(self, tmp_path):
        assert self.problems(tmp_path) == [
            (
                '8:44: conflict: table "t" is declared for store "a", and this sink writes it to '
                'store "b"; '
                "write `store: a` here or `store: b` under `tables`, or use another table"
            )
        ]

    def test_is_a_conflict_if_the_other_store_has_tables_too(self, tmp_path):
        (problem,) = self.problems(tmp_path, tables="  u: {store: b}\n")
        assert problem.startswith('9:44: conflict: table "t" is declared for store "a"')

    def test_is_a_warning_if_both_stores_are_written(self, tmp_path):
        assert self.problems(tmp_path, sinks=", {attr2hbase: {store: a, table: t}}") == [
            (
                '8:44: other-store: warning: table "t" is declared for store "a", and this sink writes it to store '
                '"b"; the definition under `tables` applies only to "a", and \'attr2hbase scan\' reads that one'
            )
        ]

    @pytest.mark.parametrize(("store", "table"), [("a", "t"), ("b", "u"), ("b", "%{topic}")])
    def test_other_tables_are_valid(self, tmp_path, store, table):
        assert self.problems(tmp_path, store, table) == []

    @pytest.mark.parametrize(
        ("table", "hint"),
        [("other", None), ("hit", 'did you mean "hits"?')],
    )
    def test_tables_with_deferred_updates_leave_others_undeclared(self, tmp_path, table, hint):
        hits = "  hits: {store: b, families: {m: {}}, updates: {processor: sum}}\n"
        found = self.problems(tmp_path, "b", table, hits)
        assert [problem.partition("; ")[2] for problem in found] == ([] if hint is None else [hint])

    def test_unknown_store_is_the_only_problem(self, tmp_path):
        assert self.problems(tmp_path, "c") == ['8:34: unknown-reference: there is no store "c"; there are "a", "b"']


@pytest.mark.parametrize(
    ("store", "families", "expected"),
    [
        (
            "{}",
            "on_unknown: create",
            [
                (
                    "6:60: conflict: no family can be created: the hbase store has no `thrift2`; "
                    "add `thrift2: {host: …, port: …}` to the store, or leave on_unknown out"
                )
            ],
        ),
        ("{}", "max_created: 3", []),
        ("{}", "on_unknown: error", []),
        ("{thrift2: {host: localhost, port: 9091}}", "on_unknown: create", []),
    ],
)
def test_on_unknown_create_requires_a_store_that_can_create_families(tmp_path, store, families, expected):
    path = tmp_path / "p.yaml"
    path.write_text(
        f"version: 1\nstores: {{logs: {{hbase: {store}}}}}\npipelines:\n  p:\n    source: {{{KAFKA}}}\n"
        f"    sinks: [{{attr2hbase: {{table: t, families: {{{families}}}}}}}]\n"
        '    decorators: [{value: {attribute: "2hb_", value: "%{body}"}}]\n'
    )
    assert problems_of(path) == expected


def test_store_of_a_file_without_stores_is_unknown_and_not_missing(tmp_path):
    path = tmp_path / "p.yaml"
    text = f"version: 1\npipelines:\n  p:\n    source: {{{KAFKA}}}\n    sinks: [{{attr2hbase: {{table: t}}}}]\n"
    path.write_text(text.replace("table: t", "table: t, store: gone"))
    assert problems_of(path) == ['5:44: unknown-reference: there is no store "gone"; see `stores`']
    path.write_text(text)
    assert problems_of(path) == ["5:14: missing-field: attr2hbase needs a store; declare one under `stores`"]


class TestTopics:
    """A topic that a sink writes."""

    def test_cluster_is_that_of_the_source(self, tmp_path):
        source = 'kafka: {brokers: "kafka:9092", topics: [ticks], security: {tls: {}}}'
        path = tmp_path / "p.yaml"
        path.write_text(HEAD % source + "      - kafka: {topic: clean}\n")
        (sink,) = load(str(path), env={}, lookup=Catalog()).pipelines["p"].sinks
        connection = sink.settings.connection()
        assert (connection.brokers, connection.security.protocol) == ("kafka:9092", "SSL")

    def test_security_of_its_own_protects_the_brokers_of_the_source(self, tmp_path):
        source = 'kafka: {brokers: "kafka:9092", topics: [ticks], security: {tls: {}}}'
        keytab = tmp_path / "k"
        keytab.touch(mode=0o600)
        sasl = f"sasl: {{mechanism: gssapi, principal: u, keytab: {keytab}}}"
        (found,) = problems(tmp_path, f"kafka: {{topic: clean, security: {{{sasl}}}}}", source=source)
        assert found.startswith('10:41: conflict: broker "kafka:9092" is on another machine and there is no TLS'), found
        assert problems(tmp_path, f"kafka: {{topic: clean, security: {{tls: {{}}, {sasl}}}}}", source=source) == []

    def test_other_cluster_needs_no_security_of_the_source(self, tmp_path):
        assert problems(tmp_path, 'kafka: {topic: ticks, brokers: "localhost:9093"}') == []

    @pytest.mark.parametrize("brokers", ["", ', brokers: "127.0.0.1:9092"'])
    def test_topic_of_the_source(self, tmp_path, brokers):
        assert problems(tmp_path, f"kafka: {{topic: ticks{brokers}}}") == [
            '10:24: conflict: the records of kafka would be read again: "ticks" is a topic of the source'
        ]

    def test_topic_that_the_pattern_of_the_source_matches(self, tmp_path):
        source = 'kafka: {brokers: "localhost:9092", topics_pattern: "ticks.*"}'
        assert problems(tmp_path, "kafka: {topic: ticks.clean}", source=source) == [
            (
                '10:24: conflict: the records of kafka would be read again: "topics_pattern" of the source matches '
                '"ticks.clean"; use another topic, or exclude this one from the pattern: '
                r"'(?!ticks\.clean$)(ticks.*)'"
            )
        ]

    def test_source_without_a_cluster(self, tmp_path):
        assert problems(tmp_path, "kafka: {topic: clean}", source=FILES) == [
            '10:9: missing-field: the records of kafka need "brokers", because the source has none'
        ]
        assert problems(tmp_path, 'kafka: {topic: clean, brokers: "localhost:9092"}', source=FILES) == []

    @pytest.mark.parametrize(
        ("topic", "brokers", "is_problem"),
        [("dead", "", True), ("alive", "", False), ("dead", "localhost:9093", False)],
    )
    def test_topic_of_dead_letters(self, tmp_path, topic, brokers, is_problem):
        brokers = f', brokers: "{brokers}"' if brokers else ""
        sink = f"kafka: {{topic: {topic}{brokers}}}\n    dead_letters: {{kafka: {{topic: dead}}}}"
        assert problems(tmp_path, sink) == (
            [("10:24: conflict: dead letters are written to this topic; see line 11; give one of them another topic")]
            if is_problem
            else []
        )

    @pytest.mark.parametrize(
        ("option", "problem"),
        [
            ('topic: "a b"', '"a b"'),
            ("topic: clean, key: 5", "5"),
            ('topic: clean, key: "%{"', "%{"),
            ("topic: clean, compression: lz4", "lz4"),
            ("topic: clean, timestamp: batch", "batch"),
            ("topic: clean, headers: {h: {template: '%{nope(x)}'}}", "nope"),
            ("topic: clean, headers: [h]", "[h]"),
            ('topic: clean, brokers: "kafka:9092"', '"kafka'),
            ("topic: clean, options: {}", "options"),
        ],
    )
    def test_bad_option_has_its_place(self, tmp_path, option, problem):
        (found,) = problems(tmp_path, f"kafka: {{{option}}}")
        line, column = map(int, found.split(":")[:2])
        assert (line, column) == (10, len("      - kafka: {") + option.index(problem) + 1), found
