"""Commands with the sink `kafka`: what they show of its records."""

import re
from pathlib import Path
from textwrap import dedent

import pytest
import yaml

from tests.support.kafka_server import KafkaServer

GUIDES = Path(__file__).resolve().parents[4] / "docs" / "guides"
FILE = """\
version: 1
secrets: {directory: ./secrets}
state_dir: ./state
pipelines:
  p:
    source: {files: {path: "./*.log"}}
    decorators:
      - value: {attribute: user, value: "u-%{offset}"}
    sinks:
      - kafka:
          topic: clean
          brokers: "BROKER"
          key: "%{user}"
          headers: {h: "%{none}"}
          security: {sasl: {mechanism: plain, username: u, password: "${secret:kafka_password}"}}
tests:
  - {name: one, given: [{body: "56"}], expect: {}}
"""
PLAIN = FILE.replace(
    '          security: {sasl: {mechanism: plain, username: u, password: "${secret:kafka_password}"}}\n', ""
)


@pytest.fixture
def file(folder):
    (folder / "secrets").mkdir(mode=0o700)
    (folder / "secrets" / "kafka_password").write_text("hunter22")
    (folder / "secrets" / "kafka_password").chmod(0o600)
    (folder / "e.jsonl").write_text('{"body": "hunter22 \\\\u0000", "timestamp_ms": 1500000000000}\n')

    def write(text=FILE, broker="localhost:9092", name="p.yaml"):
        (folder / name).write_text(text.replace("BROKER", broker))
        return name

    return write


def test_explain_shows_the_record_with_secrets_masked(ingest, file):
    result = ingest("explain", file(), "--events", "e.jsonl")
    assert result.code == 0, result.err
    assert "  kafka: clean\n    key = u-0\n    value = ***" in result.out
    assert "timestamp_ms = 1500000000000" in result.out
    assert "hunter22" not in result.out


def test_graph_has_the_topic(ingest, file):
    out = ingest("graph", file()).out
    assert '[("clean<br>a topic")]' in out
    assert "p1_sink1 --> table1" in out


def test_update_of_a_test_writes_the_records(ingest, file, folder):
    result = ingest("test", file(PLAIN), "--update")
    assert result.code == 0, result.err
    written = '{sink: "kafka", topic: "clean", record: {key: "u-0", value: "56", timestamp_ms: 0}}'
    assert written in (folder / "p.yaml").read_text()
    assert ingest("test", "p.yaml").code == 0
    file((folder / "p.yaml").read_text().replace('"56", timestamp', '"57", timestamp'))
    result = ingest("test", "p.yaml")
    assert result.code == 1
    assert "writes.0.record.value" in result.out or "writes[0].record.value" in result.out, result.out
    assert ingest("test", "p.yaml", "--update").code == 0
    assert written in (folder / "p.yaml").read_text()


def test_diff_compares_the_records(ingest, file):
    file(PLAIN, name="old.yaml")
    file(PLAIN.replace("u-%{offset}", "v-%{offset}"))
    result = ingest("diff", "old.yaml", "p.yaml", "--events", "e.jsonl")
    assert result.code == 1, result.err
    assert "u-0" in result.out
    assert "v-0" in result.out
    assert "timestamp_ms" not in result.out


@pytest.mark.parametrize(("topic", "code", "found"), [("clean", 0, "partitions: 3"), ("none", 3, "")])
def test_validate_connect_looks_for_the_topic(ingest, file, folder, topic, code, found):
    (folder / "a.log").touch()
    server = KafkaServer(lambda _batch: None, {"clean": 3})
    result = ingest(
        "validate",
        file(PLAIN.replace("topic: clean", f"topic: {topic}"), f"127.0.0.1:{server.port}"),
        "--connect",
        "--output",
        "json",
    )
    server.close()
    (answer,) = (each for each in result.json["connections"] if each["what"] == 'sink "kafka" of pipeline "p"')
    assert (result.code, answer["where"], answer["found"]) == (code, "p.yaml:10:9", found)
    if topic == "none":
        assert answer["error"]["message"] == 'no topic "none" in the cluster'
    assert server.batches == []


def test_examples_of_the_guide_are_valid_and_their_test_passes(ingest, folder):
    blocks = re.findall(r"^( *)```yaml\n(.*?)^ *```", (GUIDES / "kafka-sink.md").read_text(), re.MULTILINE | re.DOTALL)
    whole, sinks, tests = (yaml.safe_load(dedent(block)) for _, block in blocks)
    pipeline = whole["pipelines"]["ticks"]
    pipeline["sinks"] += sinks["sinks"]
    pipeline["decorators"] += [{"template": {"attributes": {"2hb_": "%{symbol}", "2hb_f:q": "%{body}"}}}]
    tests["tests"][0]["expect"]["writes"].append({"sink": "others"})
    head = {"version": 1, "state_dir": "./state", "stores": {"s": {"memory": {}}}}
    (folder / "p.yaml").write_text(yaml.safe_dump(head | whole | tests))
    result = ingest("test", "p.yaml")
    assert result.code == 0, result.err + result.out
