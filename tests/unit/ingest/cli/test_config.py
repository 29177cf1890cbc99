import json

import yaml


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


def test_schema(ingest):
    result = ingest("config", "schema")
    assert (result.code, json.loads(result.out)["title"]) == (0, "attr2hbase pipelines")
    assert ingest("config", "schema", "--output", "json").json == json.loads(result.out)
