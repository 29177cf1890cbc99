"""Valid files: every option, and the defaults."""

import pickle
from pathlib import Path

import pytest

from ingest.api import FamilySpec, OnError, TableSpec
from ingest.catalog import Catalog
from ingest.config import Kind, load
from ingest.config.keys import TOP_KEYS
from ingest.config.options import DeadLetterFiles, DeadLetterTopic

SMALLEST = """\
version: 1
stores: {logs: memory}
pipelines:
  ticks:
    source: {kafka: {brokers: "localhost:9092", topics: [ticks]}}
    sinks: [{attr2hbase: {table: mytable}}]
"""

EVERYTHING = """\
# yaml-language-server: $schema=attr2hbase.json
version: 1
include: []
plugins: []
secrets: {directory: SECRETS}
state_dir: /var/lib/ingest
service:
  http: {listen: "0.0.0.0:9465", insecure: true}
  log: {level: debug, format: console}
  stop_timeout: 45s
registry: {url: "https://registry:8081/", insecure: false}
dump: {root: ./dumps, tables: [mytable], at: "02:30", keep: 3d, format: zstd, max_rate: 1000}
spark:
  master: local[3,4]
  driver_memory: 2GiB
  conf: {spark.sql.session.timeZone: UTC}
stores:
  logs: {rocksdb: {path: ./data, sync: false}}
  mem: {memory: }
tables:
  mytable:
    store: logs
    families:
      colfam: {versions: 3, ttl: 30d, compression: zstd, bloom: rowcol}
      other:
    splits: [{b64: /w==}, a]
chains:
  inner: [{value: {attribute: x, value: "1"}}]
  outer: [{chain: inner}, {value: {attribute: y, value: "2"}}]
pipelines:
  ticks:
    description: all of it
    source:
      kafka:
        brokers: ["k1.example:9093", "k2.example:9093"]
        topics_pattern: tick.*
        group: mine
        start: 2026-01-31T12:00:00+01:00
        max_events_per_batch: 5000
        max_event_bytes: 2MiB
        format: flume_avro
        tombstones: delete
        security: {tls: {}, sasl: {mechanism: scram_sha_512, username: u, password: "${secret:pw}"}}
        options: {fetch.max.bytes: 1000}
    decorators:
      - chain: outer
      - avro: {header: confluent}
      - value: {attribute: "2hb_", value: "%{key}", label: key, when: "%{key} != ''", on_error: drop}
    sinks:
      - attr2hbase:
          store: mem
          table: copies
          attr_prefix: "2hb_"
          sys_family: sys
          write_body: raw:body
          on_missing_key: error
          write_buffer_size: 1MiB
          write_to_wal: false
          timestamp: event
          rules:
            - {when: "%{priority} == 'DEBUG'", write_to_wal: false}
            - {when: "%{priority} == 'FATAL'", durability: sync}
            - {when: "%{a} == 'b'", delete: {family: cf}}
          families: {allow: [sys, raw, colfam], deny: [web], on_unknown: drop, max_created: 3}
          columns: {max_per_row: 10, max_value_bytes: 1KiB, name_pattern: "[a-z]+"}
    dead_letters: {kafka: {topic: dead}}
    on_error: stop
    error_budget: {share: 1%, min_events: 10, window: 1h}
    timezone: Europe/Berlin
    attributes: {existing: error}
    trigger: {every: 2s}
    max_rate: 700
  lines:
    source: {files: {path: ./in, format: json, max_event_bytes: 1KiB}}
    sinks: [{attr2hbase: {store: logs, table: "%{topic}"}}]
tests:
  - name: one
    pipeline: ticks
    given:
      - {body: "1:2", attributes: {a: {b64: /w==}}, host: h, priority: WARN, timestamp_ms: 1, nanos: 2, key: k}
      - record: {value: null, key: k, headers: [[host, h], [a, null]], topic: t, partition: 1, offset: 2}
    expect:
      kept: 1
      dropped: {tombstone: 1}
      failed: 0
      puts:
        - {table: copies, row: k, cells: {"cf:q": v}, wal: true, timestamp_ms: 1, store: mem, sink: attr2hbase}
        - {durability: sync}
      events: [{body: b, attributes: {a: x, gone: null}, host: h, priority: WARN, timestamp_ms: 1, nanos: 2}]
"""


def configured(tmp_path, text, **env):
    path = tmp_path / "pipeline.yaml"
    path.write_text(text)
    return load(path, env=env, lookup=Catalog())


def everything(tmp_path):
    (tmp_path / "pw").write_text("hunter2-canary\n")
    return configured(tmp_path, EVERYTHING.replace("SECRETS", str(tmp_path)))


def test_defaults_of_a_file(tmp_path):
    found = configured(tmp_path, SMALLEST)
    assert [problem.kind for problem in found.report.problems] == [Kind.MISSING_ROW_KEY]
    assert found.local_dir == Path("./data/state")
    assert (found.plugins, found.tables, found.tests) == ((), {}, ())
    assert found.service.http.listen == "127.0.0.1:9464"
    assert (found.service.log.level, found.service.log.format) == ("info", "json")
    assert found.service.stop_timeout == 30.0
    assert (found.spark.master, found.spark.driver_memory, found.spark.conf) == (None, None, {})


def test_case_of_the_only_pipeline_need_not_name_it(tmp_path):
    found = configured(tmp_path, SMALLEST + 'tests: [{name: one, given: [{body: "1"}], expect: {kept: 1}}]\n')
    assert [(case.name, case.pipeline) for case in found.tests] == [("one", "ticks")]


@pytest.mark.parametrize("slash", ["", "/"])
def test_state_in_hdfs(tmp_path, slash):
    text = SMALLEST + f"state_dir: hdfs://nn:8020/ingest/state{slash}\n"
    found = configured(tmp_path, text)
    assert (found.state_url, found.local_dir) == ("hdfs://nn:8020/ingest/state", Path("./data/state"))
    found = configured(tmp_path, text + "local_dir: /var/lib/ingest\n")
    assert (found.state_url, found.local_dir) == ("hdfs://nn:8020/ingest/state", Path("/var/lib/ingest"))


def test_defaults_of_a_pipeline(tmp_path):
    pipeline = configured(tmp_path, SMALLEST).pipelines["ticks"]
    assert pipeline.decorators == ()
    assert (pipeline.dead_letters.kind, pipeline.dead_letters.settings) == ("files", DeadLetterFiles())
    assert pipeline.on_error is OnError.DEAD_LETTER
    budget = pipeline.error_budget
    assert (budget.share, budget.min_events, budget.window) == (0.05, 1000, 300.0)
    assert (pipeline.timezone, pipeline.existing, pipeline.trigger_every_s) == ("UTC", "replace", 0.0)
    assert (pipeline.max_rate, pipeline.description) == (None, "")


def test_defaults_of_sources_and_sinks(tmp_path):
    pipeline = configured(tmp_path, SMALLEST).pipelines["ticks"]
    source = pipeline.source.settings
    assert (source.group, source.start.at, source.max_event_bytes) == ("attr2hbase-ticks", "earliest", 1 << 20)
    assert (source.format, source.tombstones, source.options) == ("raw", "drop", {})
    sink = pipeline.sinks[0].settings
    assert (sink.store, sink.attr_prefix, sink.sys_family, sink.write_body) == ("logs", "2hb_", None, None)
    assert (sink.on_missing_key, sink.write_buffer_size, sink.write_to_wal) == ("error", 2 << 20, True)
    assert (sink.timestamp, sink.rules, sink.families.allow, sink.families.deny) == ("batch", [], None, [])
    assert (sink.families.on_unknown, sink.families.max_created) == (None, 20)
    assert (sink.columns.max_per_row, sink.columns.max_value_bytes, sink.columns.name_pattern) == (None, None, None)


def test_every_option_of_a_file_is_read(tmp_path):
    found = everything(tmp_path)
    assert found.report.errors == ()
    assert set(found.effective) == set(TOP_KEYS) - {"local_dir"}  # only for state in HDFS
    assert found.local_dir == Path("/var/lib/ingest")
    assert found.service.http.listen == "0.0.0.0:9465"
    assert (found.service.log.level, found.service.log.format, found.service.stop_timeout) == ("debug", "console", 45)
    assert (found.dump.root, found.dump.tables, found.dump.at_s) == ("./dumps", ["mytable"], 9_000)
    assert (found.dump.keep, found.dump.format, found.dump.max_rate) == (259_200, "zstd", 1_000)
    assert (found.spark.master, found.spark.driver_memory) == ("local[3,4]", 2 << 30)
    assert found.spark.conf == {"spark.sql.session.timeZone": "UTC"}
    assert found.stores["logs"].settings.sync is False
    assert found.tables["mytable"].store == "logs"
    assert found.tables["mytable"].spec() == TableSpec(
        "mytable",
        (FamilySpec(b"colfam", 3, 30 * 86400, "zstd", "rowcol"), FamilySpec(b"other")),
        (b"a", b"\xff"),
    )


def test_every_option_of_a_pipeline_is_read(tmp_path):
    pipeline = everything(tmp_path).pipelines["ticks"]
    source = pipeline.source.settings
    assert source.brokers == "k1.example:9093,k2.example:9093"
    assert (source.topics, source.topics_pattern, source.group) == (None, "tick.*", "mine")
    assert source.start.time_ms == 1769857200000
    assert (source.format, source.tombstones) == ("flume_avro", "delete")
    assert source.security.sasl.password.get_secret_value() == "hunter2-canary"
    assert [(each.kind, each.chain) for each in pipeline.decorators] == [
        ("value", ("outer", "inner")),
        ("value", ("outer",)),
        ("avro", ()),
        ("value", ()),
    ]
    assert pipeline.decorators[3].settings.on_error is OnError.DROP
    assert (pipeline.on_error, pipeline.timezone, pipeline.existing) == (OnError.STOP, "Europe/Berlin", "error")
    assert (pipeline.trigger_every_s, pipeline.error_budget.share, pipeline.error_budget.window) == (2.0, 0.01, 3600.0)
    assert pipeline.max_rate == 700
    dead_letters = pipeline.dead_letters.settings
    assert isinstance(dead_letters, DeadLetterTopic)
    assert dead_letters.connection().brokers == source.brokers
    assert dead_letters.connection().security == source.security


def test_test_case_keeps_its_events_as_written(tmp_path):
    (case,) = everything(tmp_path).tests
    assert (case.name, case.pipeline, case.location.line) == ("one", "ticks", 77)
    assert case.given[0]["attributes"] == {"a": {"b64": "/w=="}}
    assert case.given[1] == {
        "record": {
            "value": None, "key": "k", "headers": [["host", "h"], ["a", None]], "topic": "t", "partition": 1,
            "offset": 2,
        }
    }  # fmt: skip
    assert case.expect.puts[0].cells == {"cf:q": "v"}
    assert case.locations[("expect", "kept")].line == 83


def test_configuration_can_be_pickled(tmp_path):
    found = everything(tmp_path)
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301 - our own


class TestFingerprint:
    def of(self, tmp_path, text, **env):
        return configured(tmp_path, text, **env).pipelines["ticks"].fingerprint

    def test_does_not_depend_on_comments_and_order(self, tmp_path):
        other = SMALLEST.replace("version: 1\n", "").replace('"localhost:9092"', '"${K:localhost:9092}"')
        other = "# a comment\n" + other + "    description: x\n    max_rate: 5\nversion: 1\n"
        assert self.of(tmp_path, other) == self.of(tmp_path, SMALLEST)

    def test_differs_if_a_decorator_of_a_chain_differs(self, tmp_path):
        text = SMALLEST + "    decorators: [{chain: c}]\nchains: {c: [{value: {attribute: a, value: VALUE}}]}\n"
        assert self.of(tmp_path, text) != self.of(tmp_path, text.replace("VALUE", "other"))

    def test_does_not_depend_on_tables_that_the_pipeline_cannot_write(self, tmp_path):
        def tables(families: str, *, table: str) -> str:
            text = SMALLEST.replace("table: mytable", f'table: "{table}"')
            return text + f"tables: {{mytable: {{families: {{a: {{}}}}}}, other: {{families: {{{families}: {{}}}}}}}}\n"

        own = [self.of(tmp_path, tables(families, table="mytable")) for families in "ab"]
        any_table = [self.of(tmp_path, tables(families, table="%{t}")) for families in "ab"]
        assert (own[0] == own[1], any_table[0] == any_table[1]) == (True, False)
        assert self.of(tmp_path, SMALLEST) != own[0]

    def test_differs_if_the_content_of_a_file_differs(self, tmp_path):
        """A micro-batch that was interrupted would write other rows with it."""
        schema = tmp_path / "s.avsc"
        text = SMALLEST + f"    decorators: [{{avro: {{schema_file: {schema}}}}}]\n"
        found = []
        for name in ("a", "b", "a"):
            schema.write_text(f'{{"type": "record", "name": "r", "fields": [{{"name": "{name}", "type": "long"}}]}}')
            found.append(self.of(tmp_path, text))
        assert found[0] == found[2] != found[1]

    @pytest.mark.parametrize(
        "decorator",
        ["hmac: {attributes: [a], secret: '${secret:K}'}", "value: {attribute: a, value: 'x${secret:K}'}"],
    )
    def test_differs_if_a_secret_of_a_decorator_differs(self, tmp_path, decorator):
        """The row key may be made of it."""
        folder = tmp_path / "secrets"
        folder.mkdir()
        text = f"secrets: {{directory: {folder}}}\n" + SMALLEST + f"    decorators: [{decorator}]\n"
        found = []
        for secret in ("one", "two", "one"):
            (folder / "K").write_text(secret)
            found.append(self.of(tmp_path, text))
        assert found[0] == found[2] != found[1]
        assert "one" not in found[0]

    def test_does_not_depend_on_secrets_with_which_something_is_connected(self, tmp_path):
        text = SMALLEST.replace("[ticks]", "[ticks], security: {sasl: {mechanism: plain, username: u, password: $P}}")
        text = text.replace("$P", '"${P}"')
        assert self.of(tmp_path, text, P="a") == self.of(tmp_path, text, P="b")
