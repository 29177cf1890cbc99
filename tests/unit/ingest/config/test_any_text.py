"""Any text is either a valid configuration or has problems; it never crashes the reader."""

import re
import string

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ingest.api import ConfigError
from ingest.catalog import Catalog
from ingest.config import bind, read

CATALOG = Catalog()
GOOD = """\
version: 1
service: {http: {listen: "127.0.0.1:9464"}, log: {level: info}}
spark: {master: "local[2]", conf: {a: b}}
stores: {logs: {rocksdb: {path: ./data}}, mem: memory}
tables: {t: {store: logs, families: {cf: {versions: 1, ttl: 5s}}, splits: [a]}}
chains: {c: [{mask: {attributes: [a]}}]}
pipelines:
  p:
    source: {kafka: {brokers: "localhost:9092", topics: [t], start: {t: {"0": 1}}, options: {client.id: x}}}
    decorators:
      - chain: c
      - split: {separator: ":", index: 0, attribute: "2hb_cf:a", when: "%{a} == 'b'"}
      - regex: {pattern: "(a)(b)", index: 1, attribute: x}
      - value: {attribute: "2hb_", value: "%{key}-%{nanos}-${HOST:x}"}
    sinks: [{attr2hbase: {store: logs, table: t, families: {allow: [cf]}, rules: [{when: "%{a} == 'b'", delete: row}]}}]
    error_budget: {share: 5%, window: 1m}
    timezone: UTC
tests: [{name: n, pipeline: p, given: [{body: "a"}, {record: {value: x}}], expect: {kept: 1, puts: [{row: a}]}}]
"""
TOKENS = re.findall(r"[\w$%.]+|\s+|.", GOOD)
PARTS = [
    *dict.fromkeys(TOKENS), "&a ", "*a ", "!!x ", "---\n", "? ", "- ", "|\n", ">\n", "''", '"', "${", "${secret:a}",
    "$${", "%{", "%", "null", "~", "-1", "1e999", "9" * 500, ".nan", "\t", "\x00", "\u2028", "\U0001f600", "#", "<<: ",
    "{}", "[]", "9999999999999GiB", "1:30", "0x1", "\r", "\ufeff",
]  # fmt: skip


def result(folder, text):
    path = folder / "p.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        document = read(path, {"HOST": "h"})
        bind(document, CATALOG)
    except ConfigError as error:
        return error.report
    return None


def check(folder, text):
    report = result(folder, text)
    if report is not None:
        assert report.errors != ()
        assert report.to_text() != ""


def test_unmutated_file_is_valid(tmp_path):
    assert result(tmp_path, GOOD) is None


mutations = st.lists(
    st.tuples(
        st.sampled_from(["replace", "insert", "remove", "swap"]),
        st.integers(0, len(TOKENS) - 1),
        st.sampled_from(PARTS),
    ),
    min_size=1,
    max_size=4,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(mutations)
def test_mutated_file_does_not_crash(tmp_path, changes):
    tokens = list(TOKENS)
    for change, index, part in changes:
        match change:
            case "replace":
                tokens[index] = part
            case "insert":
                tokens[index] = part + tokens[index]
            case "remove":
                tokens[index] = ""
            case "swap":
                tokens[index], tokens[index - 1] = tokens[index - 1], tokens[index]
    check(tmp_path, "".join(tokens))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.text(st.characters() | st.sampled_from(string.punctuation + " \n"), max_size=200))
@example("a: &a [*a]")
@example("? - a\n: b")
@example("!<tag:yaml.org,2002:str> a: b")
@example("%YAML 1.1\n---\na: b")
@example("\ud800")
@example("include: ['\\0']")
@example("include: .")
@example("secrets: {exec: ['/bin/false']}\nstate_dir: ${secret:a}")
def test_any_text_does_not_crash(tmp_path, text):
    check(tmp_path, text)
