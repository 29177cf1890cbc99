"""Problems of whole files, with exact places."""

import pytest

from ingest.api import ConfigError, ConfigSyntaxError
from ingest.catalog import Catalog
from ingest.config import Kind, load
from tests.support.problems import problems_of

GOOD = """\
version: 1
spark: {master: "local[2,4]"}
stores:
  logs: {rocksdb: {path: ./data}}
tables:
  mytable: {families: {colfam: {versions: 3}}}
chains:
  common:
    - mask: {attributes: [secret]}
pipelines:
  ticks:
    source: {kafka: {brokers: "localhost:9092", topics: [ticks]}}
    decorators:
      - chain: common
      - split: {separator: ":", index: 0, attribute: "2hb_colfam:ts"}
      - value: {attribute: "2hb_", value: "%{key}-%{nanos}"}
    sinks:
      - attr2hbase: {table: mytable}
    dead_letters: {kafka: {topic: ticks-dead}}
tests:
  - name: one
    pipeline: ticks
    given: [{body: "1:2"}]
    expect: {kept: 1}
"""

SPLIT = 'split: {separator: ":", index: 0, attribute: "2hb_colfam:ts"}'
SOURCE = 'source: {kafka: {brokers: "localhost:9092", topics: [ticks]}}'
SINK = "attr2hbase: {table: mytable}"
SINK_FLOW = "{attr2hbase: {table: mytable}}"
VALUE = 'value: {attribute: "2hb_", value: "%{key}-%{nanos}"}'
TEST = "  - name: one\n    pipeline: ticks\n"
CHAIN = "    - mask: {attributes: [secret]}\n"

CASES = {
    "good": ("", "", []),
    # reading
    "syntax": (
        "kept: 1}",
        "kept: 1",
        [
            (
                "25:1: syntax: while parsing a flow mapping: did not find expected ',' or '}'; "
                "this is read as inside the { of line 24; close it"
            )
        ],
    ),
    "syntax, a template without quotes": (
        '"%{key}-%{nanos}"',
        "%{key}",
        [
            (
                "16:43: syntax: while scanning for the next token: found character that cannot start any token; "
                "text that starts with % must be quoted"
            )
        ],
    ),
    "syntax, a variable without quotes": (
        "index: 0",
        "index: ${INDEX}",
        [
            (
                "15:41: syntax: while parsing a flow mapping: did not find expected ',' or '}'; "
                "inside { } and [ ], quote a value that contains ${; it can still be a number"
            )
        ],
    ),
    "syntax, a tab": (
        "    sinks:\n",
        "\tsinks:\n",
        [
            (
                "17:1: syntax: while scanning for the next token: found character that cannot start any token; "
                "indent with spaces, not tabs"
            )
        ],
    ),
    "syntax, a tag": (
        "versions: 3",
        "versions: !!python/name:os.system 3",
        [
            (
                '6:43: syntax: the tag "tag:yaml.org,2002:python/name:os.system" is not allowed; remove it; '
                "use quotes for text"
            )
        ],
    ),
    "syntax, a second document": (
        "tests:\n",
        "---\ntests:\n",
        ["20:1: syntax: a file has one document, this is a second"],
    ),
    "syntax, a list as a key": (
        "kept: 1",
        "[kept]: 1",
        ["24:14: syntax: a key must be text; quote a value that starts with { or ["],
    ),
    "syntax, an unreadable character": ("name: one", "name: o\x07ne", ["21:12: syntax: unreadable character '\\x07'"]),
    "syntax, an unknown alias": ("kept: 1", "kept: *n", ['24:20: syntax: there is no anchor "&n" before this alias']),
    "too-large, nested": (
        "name: one",
        "name: " + "[" * 40 + "]" * 40,
        ["21:41: too-large: nested deeper than 32 levels"],
    ),
    "too-large, an alias in itself": (
        "kept: 1",
        "kept: &a [*a]",
        ['24:24: too-large: the alias "*a" is inside its own anchor'],
    ),
    "too-large, a chain of chains": (
        CHAIN,
        "    - &a {chain: b}\n" + "    - *a\n" * 31 + "  b:\n    - &b {chain: c}\n" + "    - *b\n" * 31 + "  c: []\n",
        ["76:3: too-large: more than 1000 decorators, chains expanded"],
    ),
    "duplicate-key": (
        "versions: 3",
        "versions: 3, versions: 4",
        ['6:46: duplicate-key: "versions" is set twice; first on line 6'],
    ),
    # names of options and components
    "unknown-field, top": (
        "tables:",
        "table:",
        ['5:1: unknown-field: "table" is not a part of a configuration; did you mean "tables"?'],
    ),
    "unknown-field, merge key": (
        "tables:\n",
        "<<: {}\ntables:\n",
        [
            (
                '5:1: unknown-field: "<<" is not a part of a configuration; '
                "YAML 1.2 has no merge keys; use chains or include"
            )
        ],
    ),
    "unknown-field, pipeline": (
        "    sinks:",
        "    on_eror: drop\n    sinks:",
        ['17:5: unknown-field: "on_eror" is not a part of a pipeline; did you mean "on_error"?'],
    ),
    "unknown-field, decorator": (
        'split: {separator: ":",',
        'split: {separater: ":",',
        [
            '15:9: missing-field: split needs "separator"',
            '15:17: unknown-field: "separater" is not an option of split; did you mean "separator"?',
        ],
    ),
    "unknown-field, nested": (
        SINK,
        "attr2hbase: {table: mytable, families: {alow: [colfam]}}",
        ['18:49: unknown-field: "alow" is not an option of families; did you mean "allow"?'],
    ),
    "unknown-field, in a list": (
        SINK,
        "attr2hbase: {table: mytable, rules: [{when: \"%{host} == 'a'\", delet: row}]}",
        ['18:71: unknown-field: "delet" is not an option of rules; did you mean "delete"?'],
    ),
    "unknown-field, a client option that is not allowed": (
        "topics: [ticks]}}",
        "topics: [ticks], options: {sasl.jaas.config: evil}}}",
        [
            (
                '12:76: unknown-field: "sasl.jaas.config" is not allowed here; allowed keys: "check.crcs", '
                '"client.dns.lookup", "client.id", "client.rack", "connections.max.idle.ms", "default.api.timeout.ms", '
                '"fetch.max.bytes", "fetch.max.wait.ms" and 15 more'
            )
        ],
    ),
    "unknown-component, decorator": (
        "split:",
        "spilt:",
        ['15:9: unknown-component: there is no decorator "spilt"; did you mean "split"?'],
    ),
    "not-imported, decorator": (
        "  - split: {",
        "  - not_imported: {class: com.x.Mine, instead: write a regex}\n      - split: {",
        ['15:9: not-imported: "com.x.Mine" was not imported; write a regex'],
    ),
    "not-imported, bare": (
        "  - split: {",
        "  - not_imported\n      - split: {",
        ["15:9: not-imported: a decorator was not imported"],
    ),
    "unknown-component, store": (
        "{rocksdb: {path: ./data}}",
        "{rocks: {path: ./data}}",
        ['4:10: unknown-component: there is no store "rocks"; did you mean "rocksdb"?'],
    ),
    "unknown-component, dead letters": (
        "{kafka: {topic: ticks-dead}}",
        "{s3: {}}",
        ['19:20: unknown-component: there is no dead-letter destination "s3"; there are "files", "kafka"'],
    ),
    "unknown-field, headers of dead letters in files": (
        "{kafka: {topic: ticks-dead}}",
        "{files: {envelope: headers}}",
        [
            (
                '19:28: unknown-field: "envelope" is not an option of files; dead letters in a topic have it: '
                "`dead_letters: {kafka: {topic: …, envelope: headers}}`"
            )
        ],
    ),
    "not-one-of, envelope of dead letters": (
        "{kafka: {topic: ticks-dead}}",
        "{kafka: {topic: ticks-dead, envelope: header}}",
        ['19:57: not-one-of: envelope cannot be "header"; did you mean "headers"?'],
    ),
    "missing-field": (', value: "%{key}-%{nanos}"', "", ['16:9: missing-field: value needs "value"']),
    "missing-field, nested": (
        "versions: 3}}}",
        "versions: 3}}}\n  other: {families: {web: {ttl: 5s, colr: x}}}",
        [
            (
                '7:37: unknown-field: "colr" is not an option of web; it has "attributes", "bloom", "compression", '
                '"ttl", "versions"'
            ),
        ],
    ),
    "missing-field, in a list": (
        SINK,
        "attr2hbase: {table: mytable, rules: [{delete: row}]}",
        ['18:46: missing-field: rules needs "when"'],
    ),
    "missing-field, version": (
        "version: 1\n",
        "",
        ['1:1: missing-field: the file needs "version"; write version: 1'],
    ),
    "missing-field, source": (SOURCE + "\n    ", "", ['11:3: missing-field: pipeline ticks needs "source"']),
    "wrong-type, source without a value": (
        SOURCE,
        "source:",
        ["12:12: wrong-type: a source is written `name: {options}`"],
    ),
    "missing-field, sinks": (
        "    sinks:\n      - " + SINK + "\n",
        "",
        ['11:3: missing-field: pipeline ticks needs "sinks"; write each as `- name: {options}`'],
    ),
    "missing-field, empty sinks": (
        "    sinks:\n      - " + SINK + "\n",
        "    sinks: []\n",
        ['17:5: missing-field: pipeline ticks needs "sinks"; write each as `- name: {options}`'],
    ),
    "missing-field, sinks without a value": (
        "      - " + SINK + "\n",
        "",
        ['17:5: missing-field: pipeline ticks needs "sinks"; write each as `- name: {options}`'],
    ),
    "missing-field, topics": (
        ", topics: [ticks]",
        "",
        ['12:14: missing-field: kafka needs "topics" or "topics_pattern"'],
    ),
    "missing-field, which store": (
        "  logs:",
        "  more: {memory: {}}\n  logs:",
        [
            '7:3: missing-field: table mytable needs "store"; there is more than one: "logs", "more"',
            '19:9: missing-field: attr2hbase needs "store"; there is more than one: "logs", "more"',
        ],
    ),
    "conflict, invalid split points": (
        "versions: 3}}",
        'versions: 3}}, splits: [z, a, "", {b64: YQ==}, a]',
        [
            "6:63: conflict: the empty key cannot be a split point",
            "6:67: conflict: this split point is listed twice",
            "6:80: conflict: this split point is listed twice",
        ],
    ),
    "missing-field, brokers of dead letters": (
        SOURCE,
        "source: {files: {path: x}}",
        [
            (
                "16:43: conflict: %{nanos} is not unique for this source, and no other part of this row key differs "
                "between events; use %{topic}:%{offset}"
            ),
            '19:20: missing-field: dead letters need "brokers", because the source has none',
        ],
    ),
    "missing-field, a rule that does nothing": (
        SINK,
        "attr2hbase: {table: mytable, rules: [{when: \"%{host} == 'a'\"}]}",
        ['18:46: missing-field: a rule needs "durability", "write_to_wal" or "delete"'],
    ),
    "conflict, a durability in two ways": (
        SINK,
        (
            "attr2hbase: {table: mytable, durability: skip, write_to_wal: false, "
            "rules: [{when: exists(a), write_to_wal: true, durability: sync}]}"
        ),
        [
            "18:50: conflict: `durability` and `write_to_wal` say the same; write one of the two; see line 18",
            "18:135: conflict: `durability` and `write_to_wal` say the same; write one of the two; see line 18",
        ],
    ),
    "conflict, a durability that the store lacks": (
        SINK,
        "attr2hbase: {table: mytable, durability: fsync, rules: [{when: exists(a), durability: async}]}",
        [
            "18:50: conflict: the rocksdb store has no durability `fsync`; write `sync` or `skip`",
            "18:95: conflict: the rocksdb store has no durability `async`; write `sync` or `skip`",
        ],
    ),
    "missing-field, an event of a test": (
        '[{body: "1:2"}]',
        "[{host: h}]",
        ['23:13: missing-field: an event needs "body" or "record"'],
    ),
    # values
    "wrong-type, a number for text": (
        'separator: ":"',
        "separator: 5",
        ['15:28: wrong-type: separator must be text, not the number 5; quote it: "5"'],
    ),
    "wrong-type, a boolean for text": (
        "name: one",
        "name: true",
        ['21:11: wrong-type: name must be text, not the boolean true; quote it: "true"'],
    ),
    "wrong-type, text for a number": (
        "index: 0",
        'index: "0"',
        ['15:40: wrong-type: index must be a whole number, not the text "0"; remove the quotes'],
    ),
    "wrong-type, a list for a mapping": (
        "stores:\n  logs: {rocksdb: {path: ./data}}",
        "stores: [logs]",
        [
            "3:9: wrong-type: stores must be a mapping of names to values",
            "5:3: missing-field: table mytable needs a store; declare one under `stores`",
            "17:9: missing-field: attr2hbase needs a store; declare one under `stores`",
        ],
    ),
    "wrong-type, an item of a list": (
        "topics: [ticks]",
        "topics: [ticks, 7]",
        ['12:65: wrong-type: an item of topics must be text, not the number 7; quote it: "7"'],
    ),
    "wrong-type, a topic": (
        "topics: [ticks]",
        "topics: [ticks, a b]",
        ['12:65: wrong-type: "a b" is not the name of a topic'],
    ),
    "wrong-type, of a choice of types": (
        SINK,
        "attr2hbase: {table: mytable, rules: [{when: \"%{host} == 'a'\", delete: 3}]}",
        ['18:79: wrong-type: delete must be a mapping or text, not the number 3; quote it: "3"'],
    ),
    "wrong-type, deeper in a choice of types": (
        SINK,
        "attr2hbase: {table: mytable, rules: [{when: \"%{host} == 'a'\", delete: {family: 3}}]}",
        ['18:88: wrong-type: family must be text, not the number 3; quote it: "3"'],
    ),
    "wrong-type, a name": (
        "  ticks:\n",
        "  a/b:\n",
        [
            '11:3: wrong-type: "a/b" is not a valid name; use only letters, digits, _, - and .',
            '22:15: unknown-reference: there is no pipeline "ticks"; there are "a/b"',
        ],
    ),
    "wrong-type, a port alone to listen at": (
        "spark:",
        "service: {http: {listen: 9464}}\nspark:",
        ['2:26: wrong-type: "9464" is not HOST:PORT; write host:port, as in "127.0.0.1:9464" or "[::1]:9464"'],
    ),
    "wrong-type, a port alone as a broker": (
        '"localhost:9092"',
        "9092",
        ['12:31: wrong-type: "9092" is not a broker; write HOST:PORT, several with commas'],
    ),
    "wrong-type, a broker": (
        '"localhost:9092"',
        '"localhost"',
        ['12:31: wrong-type: "localhost" is not a broker; write HOST:PORT, several with commas'],
    ),
    "out-of-range": (
        "versions: 3",
        "versions: 0",
        ["6:43: out-of-range: versions must be at least 1, not 0"],
    ),
    "out-of-range, a duration": (
        "versions: 3}}}",
        "versions: 3}}, feed: {expiration: 30s}}",
        ["6:67: out-of-range: expiration must be at least 60 s, not 30s"],
    ),
    "out-of-range, a size": (
        '"localhost:9092"',
        '"localhost:9092", max_event_bytes: 0B',
        ["12:66: out-of-range: max_event_bytes must be at least 1 B, not 0B"],
    ),
    "out-of-range, a short control token": (
        "spark:",
        'service: {http: {token: "${TOKEN:short}"}}\nspark:',
        ["2:25: out-of-range: token must have at least 16 characters"],
    ),
    "wrong-type, a control token with a blank at its end": (
        "spark:",
        'service: {http: {token: "${TOKEN:a token of this length }"}}\nspark:',
        ["2:25: wrong-type: token must have printable ASCII characters only, and no blank at its start or end"],
    ),
    "wrong-type, a control token with other characters": (
        "spark:",
        'service: {http: {token: "${TOKEN:ein Schlüssel ohne ASCII}"}}\nspark:',
        ["2:25: wrong-type: token must have printable ASCII characters only, and no blank at its start or end"],
    ),
    "not-one-of": (
        "topics: [ticks]}}",
        "topics: [ticks], tombstones: dropp}}",
        ['12:78: not-one-of: tombstones cannot be "dropp"; did you mean "drop"?'],
    ),
    "not-one-of, time zone": (
        "    sinks:",
        "    timezone: Europe/Berln\n    sinks:",
        ['17:15: not-one-of: "Europe/Berln" is not a time zone; did you mean "Europe/Berlin"?'],
    ),
    "not-one-of, version in quotes": (
        "version: 1",
        'version: "1"',
        ["1:10: not-one-of: version is 1; remove the quotes"],
    ),
    "not-one-of, version": ("version: 1", "version: 2", ["1:10: not-one-of: version is 1"]),
    "not-one-of, start": (
        "topics: [ticks]}}",
        "topics: [ticks], start: yesterday}}",
        [
            (
                '12:73: not-one-of: "yesterday" is not a start; write earliest, latest or a time, '
                'as in "2026-01-31T12:00:00Z"'
            )
        ],
    ),
    "bad-unit, duration": (
        "    sinks:",
        "    trigger: {every: 5}\n    sinks:",
        ['17:22: bad-unit: "5" is not a duration; write a number and one of ms, s, m, h, d, as in "5s"'],
    ),
    "bad-unit, size": (
        SINK,
        "attr2hbase: {table: mytable, write_buffer_size: 2 MBit}",
        [
            (
                '18:57: bad-unit: "2 MBit" is not a size; write a number and one of B, KB, MB, GB, KiB, MiB, GiB, '
                'as in "2MiB"'
            )
        ],
    ),
    "bad-unit, share": (
        "    sinks:",
        "    error_budget: {share: 0.05}\n    sinks:",
        ['17:27: bad-unit: "0.05" is not a percentage; write it as in "5%"'],
    ),
    "bad-pattern": (
        'separator: ":"',
        'separator: "a("',
        ["15:30: bad-pattern: missing ), unterminated subpattern"],
    ),
    "bad-pattern, of columns": (
        SINK,
        "attr2hbase: {table: mytable, columns: {name_pattern: '[a-'}}",
        ["18:63: bad-pattern: unterminated character set"],
    ),
    "bad-expression, template": (
        "%{key}-%{nanos}",
        "%{key}-%{nanos",
        ['16:51: bad-expression: unclosed tag: a "}" is missing; a percent sign itself is written "%%"'],
    ),
    "bad-expression, several in one template": (
        "%{key}-%{nanos}",
        "%{lenght(key)}-%k-%{upper(%{a b})}-%{key}-%{}%",
        [
            '16:46: bad-expression: unknown function "lenght"; did you mean "length"?',
            "16:70: bad-expression: \"a b\" cannot stand in a tag; a name like this must be quoted: %{'a b'}",
            "16:86: bad-expression: empty tag: a name is missing between the braces",
            '16:89: bad-expression: stray "%"; a percent sign itself is written "%%"',
        ],
    ),
    "bad-expression, variable": (
        'separator: ":"',
        'separator: "a${1}"',
        ['15:30: bad-expression: "${1}" is neither a variable nor a secret; write $${ for a literal ${'],
    ),
    "bad-expression, variable that is not closed": (
        'separator: ":"',
        'separator: "a${B"',
        ['15:30: bad-expression: "${" is not closed; write $${ for a literal ${'],
    ),
    # names that lead nowhere
    "undefined-variable": (
        'separator: ":"',
        'separator: "${SEPARATER}"',
        [
            (
                '15:29: undefined-variable: variable SEPARATER is not set; did you mean "SEPARATOR"? '
                "Else set it, or write ${SEPARATER:DEFAULT}"
            )
        ],
    ),
    "undefined-variable, in a list": (
        "topics: [ticks]",
        'topics: ["${TOPIC}"]',
        ["12:59: undefined-variable: variable TOPIC is not set; set it, or write ${TOPIC:DEFAULT}"],
    ),
    "undefined-variable, with a message": (
        'separator: ":"',
        'separator: "${NOWHERE:?ask the owner}"',
        ["15:29: undefined-variable: variable NOWHERE is not set: ask the owner; set it, or write ${NOWHERE:DEFAULT}"],
    ),
    "undefined-variable, reported once": (
        "index: 0",
        'index: "${NOWHERE}"',
        ["15:41: undefined-variable: variable NOWHERE is not set; set it, or write ${NOWHERE:DEFAULT}"],
    ),
    "undefined-variable, in what is checked with others": (
        '"localhost:9092"',
        '"${NOWHERE}"',
        ["12:32: undefined-variable: variable NOWHERE is not set; set it, or write ${NOWHERE:DEFAULT}"],
    ),
    "undefined-secret": (
        'separator: ":"',
        'separator: "${secret:pw}"',
        [
            (
                '15:29: undefined-secret: secret "pw" cannot be read: no source of secrets is configured; '
                "add secrets: {directory: PATH} or {exec: [COMMAND]}"
            )
        ],
    ),
    "unknown-reference, store": (
        SINK,
        "attr2hbase: {table: mytable, store: lgs}",
        ['18:45: unknown-reference: there is no store "lgs"; did you mean "logs"?'],
    ),
    "unknown-reference, store of a sink that depends on it": (
        SINK,
        "attr2hbase: {table: mytable, store: lgs, durability: skip, families: {on_unknown: create}}",
        ['18:45: unknown-reference: there is no store "lgs"; did you mean "logs"?'],
    ),
    "unknown-reference, table": (
        SINK,
        "attr2hbase: {table: mytble}",
        ['18:29: unknown-reference: there is no table "mytble" under `tables`; did you mean "mytable"?'],
    ),
    "unknown-reference, family": (
        SINK,
        "attr2hbase: {table: mytable, sys_family: colfm, families: {on_unknown: error}}",
        ['18:50: unknown-reference: there is no family "colfm" in table "mytable"; did you mean "colfam"?'],
    ),
    "unknown-reference, chain": (
        "chain: common",
        "chain: comon",
        [
            '8:3: unused: warning: chain "common" is not used',
            '14:16: unknown-reference: there is no chain "comon"; did you mean "common"?',
        ],
    ),
    "unknown-reference, pipeline": (
        TEST,
        TEST.replace("ticks", "tick"),
        ['22:15: unknown-reference: there is no pipeline "tick"; did you mean "ticks"?'],
    ),
    "unknown-reference, plugin": (
        "tables:",
        "plugins: [no_such_module]\ntables:",
        [
            (
                '5:11: unknown-reference: there is no module "no_such_module"; '
                "install the package that contains it, or put its file beside the pipeline file"
            )
        ],
    ),
    "unknown-reference, include": (
        "tables:",
        "include: no/such.yaml\ntables:",
        ['5:10: unknown-reference: cannot read "{folder}/no/such.yaml": No such file or directory'],
    ),
    # across options
    "duplicate-label": (
        SPLIT,
        SPLIT.replace("{", "{label: a, ") + "\n      - " + SPLIT.replace("{", "{label: a, "),
        ['16:24: duplicate-label: the label "a" is used twice in pipeline ticks; first on line 15'],
    ),
    "unreachable, after a filter": (
        "split:",
        "filter: {drop: '1 == 1'}\n      - split:",
        [
            (
                '16:9: unreachable: no event reaches this: "filter" on line 15 lets none pass; give it a `when` that '
                "some events do not meet"
            )
        ],
    ),
    "unreachable, after fail without a condition": (
        "split:",
        "fail: {code: NO_SPLIT, message: ''}\n      - split:",
        [
            (
                '16:9: unreachable: no event reaches this: "fail" on line 15 lets none pass; give it a `when` that '
                "some events do not meet"
            )
        ],
    ),
    "reachable, after fail with a condition": (
        "split:",
        "fail: {code: EMPTY, message: 'no text', when: \"%{body} == ''\"}\n      - split:",
        [],
    ),
    "reachable, after a filter of some events": (
        "split:",
        "filter: {drop: '1 == 1', when: \"%{priority} == 'DEBUG'\"}\n      - split:",
        [],
    ),
    "unreachable, after a filter whose `when` is always true": (
        "split:",
        "filter: {drop: '1 == 1', when: '1 == 1'}\n      - split:",
        ['16:9: unreachable: no event reaches this: "filter" on line 15 lets none pass'],
    ),
    "unreachable, when": (
        "index: 0",
        "index: 0, when: '1 == 2'",
        ["15:49: unreachable: split is never used: `when` is never true"],
    ),
    "unreachable, rules": (
        SINK,
        "attr2hbase: {table: mytable, rules: [{when: '1 == 1', delete: row}, {when: \"%{a} == 'b'\", delete: row}]}",
        ["18:77: unreachable: an earlier rule holds for every event"],
    ),
    "conflict, two components in one": (
        VALUE,
        "mask:\n        attributes: [a]",
        [('17:9: conflict: a decorator has one key, not "attributes", "mask"; indent the options of "mask" further')],
    ),
    "conflict, a chain in itself": (CHAIN, "    - chain: common\n", ['9:14: conflict: chain "common" uses itself']),
    "conflict, no TLS": (
        '"localhost:9092"',
        "kafka.example:9092",
        [
            (
                '12:31: conflict: broker "kafka.example:9092" is on another machine and there is no TLS; '
                "add security: {tls: {}}, or {insecure: true} if the network is trusted"
            )
        ],
    ),
    "conflict, topics and a pattern": (
        "topics: [ticks]",
        'topics: [ticks], topics_pattern: "t.*"',
        ['12:82: conflict: "topics" and "topics_pattern" exclude each other'],
    ),
    "conflict, families": (
        SINK,
        "attr2hbase: {table: mytable, families: {allow: [colfam, b], deny: [b]}}",
        ['18:76: conflict: family "b" is both allowed and denied'],
    ),
    "conflict, an embedded store and a cluster": (
        '"local[2,4]"',
        "spark://h:7077",
        [
            (
                '2:17: conflict: store "logs" is embedded: tasks on a cluster cannot write it; '
                "use a local master, or an hbase store"
            )
        ],
    ),
    "conflict, jobs that leave no task slot": (
        'spark: {master: "local[2,4]"}',
        'service: {jobs: {tasks: 2}}\nspark: {master: "local[2,4]"}',
        [('2:25: conflict: "tasks: 2" leaves no task slot to the pipelines: "local[2,4]" has 2; set it to 1 at most')],
    ),
    "conflict, jobs on a single slot": (
        'spark: {master: "local[2,4]"}',
        "service: {jobs: {tasks: 1}}\nspark: {master: local}",
        [
            (
                '2:25: conflict: "tasks: 1" leaves no task slot to the pipelines: "local" has 1; a service with one '
                "slot runs no jobs: remove the option, or give Spark more slots, as in local[2]"
            )
        ],
    ),
    "good, jobs that leave a task slot": (
        'spark: {master: "local[2,4]"}',
        'service: {jobs: {tasks: 1}}\nspark: {master: "local[2,4]"}',
        [],
    ),
    "missing-field, the pipeline of a test": (
        "tests:\n" + TEST,
        '  other:\n    source: {kafka: {brokers: "localhost:9092", topics: [others]}}\n    sinks: ['
        + SINK_FLOW
        + "]\ntests:\n  - name: one\n",
        ['24:5: missing-field: test "one" needs "pipeline"; there is more than one: "other", "ticks"'],
    ),
    "good, a single slot without the option": ("local[2,4]", "local[1]", []),
    "good, jobs and slots of the machine": (
        'spark: {master: "local[2,4]"}',
        'service: {jobs: {tasks: 64}}\nspark: {master: "local[*]"}',
        [],
    ),
    "wrong-type, a state_dir elsewhere": (
        "version: 1\n",
        "version: 1\nstate_dir: s3://nn/state\n",
        ['2:12: wrong-type: state_dir: "s3://nn/state" is a URL; write a path of this machine'],
    ),
    "wrong-type, a state_dir in HDFS without a folder": (
        "version: 1\n",
        "version: 1\nstate_dir: hdfs://nn:8020\nlocal_dir: []\n",
        [
            "2:12: wrong-type: state_dir is not the URL of a folder in HDFS; write hdfs://NAMENODE:PORT/FOLDER",
            "3:12: wrong-type: local_dir must be the path of a folder",
        ],
    ),
    "conflict, rows on this machine and state in HDFS": (
        "version: 1\n",
        "version: 1\nstate_dir: hdfs://nn/state\n",
        [
            (
                '2:12: conflict: store "logs" is on this machine: a driver elsewhere would resume without its rows; '
                "use an hbase store, or a state_dir on this machine"
            ),
        ],
    ),
    "conflict, a local_dir beside a local state_dir": (
        "version: 1\n",
        "version: 1\nlocal_dir: /var/lib/ingest\n",
        ["2:12: conflict: local_dir has no effect: state_dir is a folder of this machine; leave it out"],
    ),
    "wrong-type, a store elsewhere": (
        "./data",
        "file:///data",
        ['4:26: wrong-type: "file:///data" is a URL; write a path of this machine'],
    ),
    "wrong-type, files elsewhere": (
        SOURCE,
        "source: {files: {path: 's3a://bucket/*.log'}}",
        ['12:28: wrong-type: "s3a://bucket/*.log" is a URL; write a path of this machine'],
    ),
    "a colon in a path": ("./data", "./a:b/c", []),
    "conflict, two stores in one place": (
        "tables:\n  mytable: {",
        "  more: {rocksdb: {path: data}}\ntables:\n  mytable: {store: logs, ",
        [
            '5:26: conflict: store "logs" already uses this path',
            '19:9: missing-field: attr2hbase needs "store"; there is more than one: "logs", "more"',
        ],
    ),
    "conflict, dead letters into the source": (
        "ticks-dead",
        "ticks",
        ['19:35: conflict: dead letters would be read again: "ticks" is a topic of the source'],
    ),
    "conflict, dead letters into the source, whose brokers are named again": (
        "topic: ticks-dead",
        'topic: ticks, brokers: "localhost:9092"',
        ['19:35: conflict: dead letters would be read again: "ticks" is a topic of the source'],
    ),
    "conflict, dead letters into the source, one of whose brokers has another name": (
        "topic: ticks-dead",
        'topic: ticks, brokers: ["KAFKA:9093", "127.0.0.1:9092"], security: {insecure: true}',
        ['19:35: conflict: dead letters would be read again: "ticks" is a topic of the source'],
    ),
    "conflict, dead letters into a topic of that name of another cluster": (
        "topic: ticks-dead",
        'topic: ticks, brokers: "localhost:9093"',
        [],
    ),
    "conflict, dead letters into what the source's pattern matches": (
        "topics: [ticks]",
        'topics_pattern: "ticks.*"',
        [
            (
                '19:35: conflict: dead letters would be read again: "topics_pattern" of the source matches '
                '"ticks-dead"; use another topic, or exclude this one from the pattern: '
                "'(?!ticks-dead$)(ticks.*)'"
            )
        ],
    ),
    "conflict, the hint of that": ("topics: [ticks]", 'topics_pattern: "(?!ticks-dead$)(ticks.*)"', []),
    "conflict, a pattern of the beginning alone": ("topics: [ticks]", 'topics_pattern: "ticks"', []),
    "conflict, one group for two pipelines": (
        "tests:\n",
        "  others:\n    "
        + SOURCE.replace("}}", ", group: attr2hbase-ticks}}")
        + "\n    sinks: ["
        + SINK_FLOW
        + "]\ntests:\n",
        ['21:73: conflict: pipeline ticks already uses group "attr2hbase-ticks"; leave it out, or use another'],
    ),
    "conflict, secret in the file": (
        "topics: [ticks]}}",
        "topics: [ticks], security: {sasl: {mechanism: plain, username: u, password: p4ssw0rd}}}}",
        [
            "12:125: conflict: a secret of kafka is in plain text in the file; write ${secret:NAME} or ${VARIABLE}",
        ],
    ),
    "conflict, an open endpoint": (
        "tables:",
        "service: {http: {listen: 0.0.0.0:9464}}\ntables:",
        [
            (
                '5:26: conflict: "0.0.0.0:9464" can be reached from other machines, and the endpoint has no TLS; '
                "add tls: {certificate: …, key: …}, or set insecure: true if the network is trusted"
            )
        ],
    ),
    "wrong-type, an IPv6 address without brackets": (
        "tables:",
        "service: {http: {listen: '::1:9464'}}\ntables:",
        [
            ('5:26: wrong-type: "::1:9464" is not HOST:PORT; write host:port, as in "127.0.0.1:9464" or "[::1]:9464"'),
        ],
    ),
    "warning, a row key of nanos alone": (
        "%{key}-%{nanos}",
        "%{nanos}",
        [
            (
                "16:43: shared-row-key: warning: only %{nanos} makes this row key unique, and only for up to 10000 "
                "events in a partition and a millisecond; add %{key}, or %{topic}-%{partition}-%{offset}"
            )
        ],
    ),
    "warning, a row key that never varies": (
        "%{key}-%{nanos}",
        "k",
        ["16:43: shared-row-key: warning: this row key is the same for every event"],
    ),
}


def problems(path, text):
    path.write_text(text)
    return problems_of(path, {"SEPARATOR": ":"})


@pytest.mark.parametrize("name", CASES)
def test_file_has_these_problems(tmp_path, name):
    old, new, expected = CASES[name]
    assert old in GOOD
    text = GOOD.replace(old, new, 1) if old else GOOD
    assert problems(tmp_path / "p.yaml", text) == [line.replace("{folder}", str(tmp_path)) for line in expected]


@pytest.mark.parametrize(("store", "count"), [("logs", 1), ("other", 0)])
def test_only_a_store_that_a_sink_writes_is_refused_with_a_cluster(tmp_path, store, count):
    text = GOOD.replace('"local[2,4]"', "spark://h:7077").replace("stores:\n", "stores:\n  other: {memory: {}}\n")
    text = text.replace("mytable: {", f"mytable: {{store: {store}, ").replace(
        "table: mytable", f"store: {store}, table: mytable"
    )
    found = [problem for problem in problems(tmp_path / "p.yaml", text) if "is embedded" in problem]
    assert len(found) == count


def test_dead_letters_of_another_cluster_may_match_the_pattern(tmp_path):
    text = GOOD.replace("topics: [ticks]", 'topics_pattern: "ticks.*"')
    assert len(problems(tmp_path / "p.yaml", text)) == 1
    elsewhere = text.replace("{topic: ticks-dead}", '{topic: ticks-dead, brokers: "localhost:9093"}')
    assert problems(tmp_path / "p.yaml", elsewhere) == []


WARNINGS_TESTED_ELSEWHERE = {
    Kind.MISSING_ROW_KEY, Kind.MISSING_CELLS, Kind.NOT_A_CELL, Kind.UNDECLARED_FAMILY, Kind.REPLACED_CELL,
    Kind.SHARED_ROW_KEY, Kind.SAME_TIME, Kind.OTHER_STORE, Kind.UNSTABLE, Kind.REORDERED, Kind.DEPRECATED,
    Kind.DOUBTFUL, Kind.UNUSED, Kind.NOT_AS_FLUME,
}  # fmt: skip


def test_every_kind_is_tested():
    tested = {kind for kind in Kind if any(name.split(",")[0] == kind for name in CASES)}
    assert tested | WARNINGS_TESTED_ELSEWHERE == set(Kind)


TEN_MISTAKES = """\
version: 1
store:
  logs: {rocksdb: {path: ./data}}
pipelines:
  ticks:
    source: {kafka: {brokers: "localhost", topics: [ticks]}}
    decorators:
      - spilt: {separator: ":", index: 0, attribute: a}
      - regex: {pattern: "(a", attribute: b}
      - value: {attribute: 5, value: "%{key}"}
      - value: {attribute: c, value: "%{key"}
      - value: {attribute: d, value: "${NOWHERE}"}
      - value: {attribute: e, value: x, value: y}
    sinks:
      - attr2hbase: {table: t, write_buffer_size: 5}
    trigger: {evry: 1s}
"""


def test_ten_mistakes_are_ten_problems_on_their_lines(tmp_path):
    lines = [
        problem.split(": ")[0].split(":")[0] + " " + problem.split(": ")[1]
        for problem in problems(tmp_path / "p.yaml", TEN_MISTAKES)
    ]
    assert lines == [
        "2 unknown-field",
        "6 wrong-type",
        "8 unknown-component",
        "9 bad-pattern",
        "10 wrong-type",
        "11 bad-expression",
        "12 undefined-variable",
        "13 duplicate-key",
        "15 bad-unit",
        "16 unknown-field",
    ]


def test_report_shows_the_line_with_a_caret(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text(GOOD.replace("index: 0", "index: x"))
    with pytest.raises(ConfigError) as caught:
        load(path, env={}, lookup=Catalog())
    assert caught.value.exit_code == 2
    assert caught.value.report.to_text() == (
        f'{path}:15:40: wrong-type: index must be a whole number, not the text "x"\n'
        '   15 |       - split: {separator: ":", index: x, attribute: "2hb_colfam:ts"}\n'
        "      |                                        ^"
    )
    assert caught.value.report.to_json() == [
        {
            "file": str(path),
            "line": 15,
            "column": 40,
            "kind": "wrong-type",
            "severity": "error",
            "message": 'index must be a whole number, not the text "x"',
            "hint": "",
        }
    ]


@pytest.mark.parametrize(
    ("before", "target", "after"),
    [
        ("", "rows", "x" * 300),
        ("x" * 300, "rows", ""),
        ("x" * 300, "rows", "x" * 300),
        ("x" * 90, "rows", "x" * 90),
        ("x" * 300, "{column: nope}", "x" * 300),
    ],
)
def test_report_shows_the_part_of_a_long_line_around_the_place(tmp_path, before, target, after):
    path = tmp_path / "p.yaml"
    rules = f'attr2hbase: {{rules: [{{when: "exists(a{before})", delete: {target}}}], table: mytable}} # {after}'
    path.write_text(GOOD.replace(SINK, rules))
    with pytest.raises(ConfigError) as caught:
        load(path, env={}, lookup=Catalog())
    _, line, caret = caught.value.report.to_text().splitlines()
    assert len(line) <= 170
    pointed = "delete" if target.startswith("{") else target
    assert line[caret.index("^") :].startswith(pointed)
    assert line.startswith("   18 | " + ("…" if before else "      - attr2hbase:"))
    assert line.endswith("…" if after else "table: mytable} # ")


def test_invalid_yaml_is_a_syntax_error(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text("a: [")
    with pytest.raises(ConfigSyntaxError):
        load(path, env={}, lookup=Catalog())


UNUSUAL_FILES = {
    "empty": (
        b"",
        [
            '1:1: missing-field: the file needs "version"; write version: 1',
            "1:1: missing-field: there is no pipeline; declare one under `pipelines`",
        ],
    ),
    "not UTF-8": (b"a: \xff\n", ["1:4: syntax: the file is not UTF-8 text"]),
    "a list": (b"- a\n", ["1:1: wrong-type: a configuration is a mapping of names to values, not a list"]),
    "text": (b"text\n", ["1:1: wrong-type: a configuration is a mapping of names to values, not text"]),
    "too large": (b"#" * 1_000_001, ["1:1: too-large: the file is larger than 1000000 bytes"]),
}


@pytest.mark.parametrize("name", UNUSUAL_FILES)
def test_unusual_file_has_these_problems(tmp_path, name):
    content, expected = UNUSUAL_FILES[name]
    path = tmp_path / "p.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load(path, env={}, lookup=Catalog())
    assert [str(problem).removeprefix(f"{path}:") for problem in caught.value.report.problems] == expected


def test_alias_bomb_is_too_large(tmp_path):
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert problems(tmp_path / "p.yaml", "\n".join(levels)) == [
        "4:45: too-large: aliases repeat more than 10000 values"
    ]


def test_value_in_a_message_is_escaped_and_cut(tmp_path):
    text = GOOD.replace("index: 0", 'index: "\\e[31m\\n' + "x" * 1000 + '"')
    (problem,) = problems(tmp_path / "p.yaml", text)
    assert problem.startswith('15:40: wrong-type: index must be a whole number, not the text "\\x1b[31m\\nxxx')
    assert problem.endswith("xxx…")
    assert len(problem) < 1_100


def test_dead_letters_of_a_source_that_is_not_kafka_name_their_brokers(tmp_path):
    text = GOOD.replace(SOURCE, "source: {files: {path: x}}").replace("%{key}-%{nanos}", "%{topic}:%{offset}")
    missing = '19:20: missing-field: dead letters need "brokers", because the source has none'
    assert problems(tmp_path / "p.yaml", text) == [missing]
    named = text.replace("topic: ticks-dead", 'topic: ticks, brokers: "localhost:9092"')
    assert problems(tmp_path / "p.yaml", named) == []
