import json

import yaml

PLUGIN = """\
from ingest.api import Decorator, Settings

class Shout(Decorator[Settings]):
    "Shout."
    kind = "shout"

    def decorate(self, event):
        event.body = event.body.upper()
        return True
"""


def test_show_expands_and_masks(ingest, pipeline, monkeypatch):
    monkeypatch.setenv("KAFKA", "kafka.example.com:9093")
    (pipeline / "secrets").mkdir()
    (pipeline / "secrets" / "kafka").write_text("hunter2")
    (pipeline / "p.yaml").write_text(
        """
version: 1
secrets: {directory: ./secrets}
stores: {logs: {memory: {}}}
pipelines:
  p:
    source:
      kafka:
        brokers: "${KAFKA}"
        topics: [ticks]
        security: {tls: {}, sasl: {mechanism: plain, username: u, password: "${secret:kafka}"}}
    decorators: [{value: {attribute: "2hb_", value: "%{key}%{offset}"}}]
    sinks: [{attr2hbase: {table: t}}]
"""
    )
    result = ingest("config", "show", "p.yaml")
    assert result.code == 0, result.err
    kafka = yaml.safe_load(result.out)["pipelines"]["p"]["source"]["kafka"]
    assert kafka["brokers"] == "kafka.example.com:9093"
    assert kafka["security"]["sasl"] == {"mechanism": "plain", "username": "u", "password": "***"}
    assert "hunter2" not in result.out + result.err
    assert "hunter2" not in ingest("config", "show", "p.yaml", "--output", "json").out


def test_show_as_json(ingest, pipeline):
    shown = ingest("config", "show", "pipeline.yaml", "--output", "json").json
    assert shown["stores"] == {"logs": {"rocksdb": {"path": "./data"}}}


def test_show_with_defaults(ingest, pipeline):
    (pipeline / "p.yaml").write_text(
        """
version: 1
stores: {logs: memory}
tables: {t: {families: {f: {ttl: 30d}, g: {}}}}
chains: {keys: [{value: {attribute: "2hb_", value: "%{key}%{offset}"}}]}
pipelines:
  p:
    source: {files: {path: ./in}}
    decorators: [{chain: keys}, trim, {value: {attribute: "2hb_f:q", value: "%{body}"}}]
    sinks: [{attr2hbase: {table: t, families: {deny: [h]}}}]
"""
    )
    shown = yaml.safe_load(ingest("config", "show", "p.yaml", "--defaults").out)
    assert ingest("config", "show", "p.yaml", "--defaults", "--output", "json").json == shown
    family = {"versions": 1, "ttl": None, "compression": "none", "bloom": "row", "attributes": {}}
    assert shown["tables"]["t"] == {
        "store": None,
        "families": {"f": family | {"ttl": "30d"}, "g": family},
        "splits": [],
        "distribute": None,
        "updates": None,
        "columns": {},
        "feed": None,
        "bulk_load": None,
        "blobs": None,
    }
    assert (shown["state_dir"], shown["service"]["http"]["listen"]) == ("data/state", "127.0.0.1:9464")
    found = shown["pipelines"]["p"]
    assert found["source"]["files"] == {
        "path": "./in",
        "format": "raw",
        "encoding": "utf8",
        "max_event_bytes": "1MiB",
    }
    assert found["error_budget"] == {"share": "5%", "min_events": 1000, "window": "5m"}
    assert found["dead_letters"] == {"files": {}}
    chain, trim, value = found["decorators"]
    assert (chain, trim["trim"]["label"]) == ({"chain": "keys"}, None)
    assert value["value"]["on_missing"] == "empty"
    (sink,) = (each["attr2hbase"] for each in found["sinks"])
    assert (sink["on_missing_key"], sink["timestamp"], sink["families"]["max_created"]) == ("error", "batch", 20)
    assert sink["families"]["deny"] == ["h"]


def test_schema_is_the_same_json_in_both_outputs(ingest):
    result = ingest("config", "schema")
    assert (result.code, json.loads(result.out)["title"]) == (0, "attr2hbase pipelines")
    assert ingest("config", "schema", "--output", "json").json == json.loads(result.out)


def test_schema_of_a_file_has_its_plugins(ingest, folder):
    (folder / "shouting.py").write_text(PLUGIN)
    (folder / "p.yaml").write_text("version: 1\nplugins: [shouting]\npipelines: {unfinished: {source: }}\n")
    found = ingest("config", "schema", "p.yaml").json
    assert "shout" in found["$defs"]["any_decorators"]["anyOf"][0]["properties"]


def test_schema_of_a_file_without_its_plugin_is_an_error(ingest, folder):
    (folder / "p.yaml").write_text("version: 1\nplugins: [no_such_plugin]\npipelines: {}\n")
    result = ingest("config", "schema", "p.yaml")
    assert (result.code, result.out) == (2, "")
    assert 'p.yaml:2:11: unknown-reference: there is no module "no_such_plugin"' in result.err
