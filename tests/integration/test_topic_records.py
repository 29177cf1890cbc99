"""`explain --topic` and `diff --topic` with a real Kafka."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from kafka import KafkaAdminClient

from ingest.cli import main
from ingest.dry_run import source_records
from tests.support.registry import Registry, serving_registry
from tests.support.servers import Given, Kafka

FILE = """
version: 1
stores: {logs: {memory: {}}}
pipelines:
  p:
    source: {kafka: {brokers: "%s", topics: [%s]}}
    decorators: [{value: {attribute: "2hb_", value: "%%{key}"}}, {value: {attribute: "2hb_f:q", value: "%%{body}"}}]
    sinks: [{attr2hbase: {table: t}}]
"""


def test_explain_of_the_newest_records_and_those_from_a_time_on(
    kafka: Kafka, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    topic = kafka.create_topic("explained")
    kafka.produce(topic, [Given(f"b{ms}", key=f"k{ms}", timestamp_ms=ms * 1_000) for ms in range(1, 10)])
    file = tmp_path / "p.yaml"
    file.write_text(FILE % (kafka.brokers, topic))

    def rows_of(*options: str) -> list[str]:
        capfd.readouterr()
        assert main(["explain", str(file), *options, "--output", "json"]) == 0
        return [json.loads(line)["puts"][0]["row"] for line in capfd.readouterr().out.splitlines()]

    assert rows_of("--topic", "2") == ["k8", "k9"]
    assert rows_of("--topic", "3", "--at", "1970-01-01T00:00:04Z") == ["k4", "k5", "k6"]
    assert rows_of("--topic", "3", "--at", "1971-01-01") == []


def test_schemas_of_the_records_are_looked_up(kafka: Kafka, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A record that is given is decoded with what the service has looked up; nothing is stored for it."""
    topic = kafka.create_topic("registered")
    with serving_registry(Registry()) as registry:
        schema = {"type": "record", "name": "r", "fields": [{"name": "q", "type": "string"}]}
        value = b"\0" + registry.register(schema).to_bytes(4, "big") + b"\x02v"
        kafka.produce(topic, [Given(value, key="k")])
        decorators = 'decorators: [{avro: {header: confluent, prefix: "2hb_f:"}}, {value'
        text = FILE.replace("decorators: [{value", decorators, 1) % (kafka.brokers, topic)
        old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
        old.write_text(f'{text}registry: {{url: "{registry.url}"}}\n')
        new.write_text(old.read_text().replace('"%{key}"', '"%{key}x"'))
        for command, expected in ((["explain", str(old)], 0), (["diff", str(old), str(new)], 1)):
            capfd.readouterr()
            assert main([*command, "--topic", "1", "--output", "json"]) == expected
            shown = capfd.readouterr().out
            assert ("schema_not_cached" in shown, '"k' in shown) == (False, True)
        registry.broken = 503, b""
        assert main(["explain", str(old), "--topic", "1", "--output", "json"]) == 0
        assert "the registry cannot say it" in capfd.readouterr().out
    assert not list(tmp_path.rglob("schemas"))


def test_no_consumer_group_is_made(kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.create_topic("ungrouped")
    kafka.produce(topic, [Given("b", key="k")])
    file = tmp_path / "p.yaml"
    file.write_text(FILE % (kafka.brokers, topic))
    with closing(KafkaAdminClient(bootstrap_servers=kafka.brokers)) as admin:
        before = admin.list_groups()
        assert main(["explain", str(file), "--topic", "1"]) == 0
        assert admin.list_groups() == before


def test_diff_of_the_records_from_a_time_on_and_of_a_bounded_number_of_bytes(
    kafka: Kafka, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = kafka.create_topic("compared")
    kafka.produce(topic, [Given(f"b{ms}", key=f"k{ms}", timestamp_ms=ms * 1_000) for ms in range(1, 10)])
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(FILE % (kafka.brokers, topic))
    drop = "    decorators: [{filter: {drop: \"%{body} == 'b5'\", reason: five, label: guard}}, {value"
    new.write_text(old.read_text().replace("    decorators: [{value", drop, 1))
    capfd.readouterr()
    options = ("--topic", "3", "--at", "1970-01-01T00:00:04Z", "--output", "json")
    assert main(["diff", str(old), str(new), *options]) == 1
    found = json.loads(capfd.readouterr().out)
    (transition,) = found["transitions"]
    (example,) = transition["examples"]
    assert (found["events"], transition["new"]["component"], example["offset"]) == (3, "guard", 4)
    assert (found["limit_bytes"], found["events_of"]) == (
        None,
        "the records of its topics from 1970-01-01T00:00:04Z on",
    )
    (option,) = found["options"]
    assert (option["path"], option["new"]["reason"]) == (["decorators", "filter (guard)"], "five")
    monkeypatch.setattr(source_records, "SAMPLE_BYTES", 400)
    assert main(["diff", str(old), str(new), "--topic", "9", "--output", "json"]) in (0, 1)
    shown = capfd.readouterr()
    found = json.loads(shown.out)
    assert (1 <= found["events"] < 9, found["limit_bytes"]) == (True, 400)
    assert " of 9 are compared, as many as have 0 MiB" in shown.err
    assert found["events_of"] == "the newest records of its topics"
