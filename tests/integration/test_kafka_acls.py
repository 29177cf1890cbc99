"""The rights that docs/operations/network.md names are sufficient, on a broker with an authorizer."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)

from ingest.spark.jars import fetch
from tests.support import ticks
from tests.support.audit import rocksdb_table
from tests.support.local import free_ports
from tests.support.servers import Given, Kafka
from tests.support.service import Service

USER, PASSWORD, PIPELINE = "attr2hbase", "f4b17c02", "web"
GROUP = f"attr2hbase-{PIPELINE}"


class Guarded:
    """A broker: tests connect as its super user, the service as a user without any right but those granted."""

    def __init__(self, folder: Path) -> None:
        self.kafka = Kafka(folder)
        (port, controller), (client,) = self.kafka.server._ports(), free_ports(1)
        self.brokers = f"127.0.0.1:{client}"
        login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
        self.kafka.server._properties = {
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller},CLIENT://{self.brokers}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port},CLIENT://{self.brokers}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,CLIENT:SASL_PLAINTEXT",
            "listener.name.client.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.client.plain.sasl.jaas.config": f'{login} user_{USER}="{PASSWORD}";',
            "inter.broker.listener.name": "PLAINTEXT",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }
        self.kafka.start()

    def grant(self, operation: ACLOperation, kind: ResourceType, name: str) -> None:
        pattern = ResourcePattern(kind, name)
        with self.kafka.admin() as admin:
            admin.create_acls([ACL(f"User:{USER}", "*", operation, ACLPermissionType.ALLOW, pattern)])

    def revoke(self, kind: ResourceType, name: str) -> None:
        pattern = ResourcePatternFilter(kind, name, ACLResourcePatternType.LITERAL)
        any_of = ACLFilter(f"User:{USER}", None, ACLOperation.ANY, ACLPermissionType.ANY, pattern)
        with self.kafka.admin() as admin:
            admin.delete_acls([any_of])


@pytest.fixture
def guarded(servers_folder: Path) -> Iterator[Guarded]:
    fetch()
    found = Guarded(servers_folder / "guarded-kafka")
    yield found
    found.kafka.close()


def content(guarded: Guarded, topic: str, dead: str, clean: str = "") -> dict[str, Any]:
    security = {"sasl": {"mechanism": "plain", "username": USER, "password": "${KAFKA_PASSWORD}"}, "insecure": True}
    return {
        "stores": {"embedded": ticks.rocksdb(Path("store"))},
        "pipelines": {
            PIPELINE: {
                "source": {"kafka": {"brokers": guarded.brokers, "topics": [topic], "security": security}},
                "dead_letters": {"kafka": {"topic": dead}},
                "error_budget": {"share": "100%"},
                "decorators": [
                    {"json": {"prefix": "2hb_f:"}},
                    {"value": {"attribute": "2hb_", "value": "%{key}"}},
                ],
                "sinks": [{"attr2hbase": {"table": "t"}}, *([{"kafka": {"topic": clean}}] if clean else [])],
            }
        },
    }


@pytest.mark.slow
def test_named_rights_are_sufficient(guarded: Guarded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    kafka = guarded.kafka
    topic, dead, clean = (kafka.create_topic(name) for name in ("web", "web-dead", "web-clean"))
    kafka.produce(topic, [Given('{"a": 1}', key="k1"), Given("not JSON", key="k2")])
    guarded.grant(ACLOperation.READ, ResourceType.TOPIC, topic)
    guarded.grant(ACLOperation.READ, ResourceType.GROUP, GROUP)
    guarded.grant(ACLOperation.WRITE, ResourceType.TOPIC, dead)
    guarded.grant(ACLOperation.DESCRIBE_CONFIGS, ResourceType.TOPIC, dead)
    guarded.grant(ACLOperation.WRITE, ResourceType.TOPIC, clean)
    with Service(tmp_path, content(guarded, topic, dead, clean)) as service:
        assert service.run_once() == 0, service.last_lines()
        # twice: the store has no table in the first attempt
        assert {record.key for record in kafka.records(clean)} == {b"k1"}
        assert rocksdb_table(tmp_path / "store", "t").keys() == {b"k1"}
        assert kafka.committed(GROUP, topic) == {0: 2}
        assert [json.loads(record.value)["code"] for record in kafka.records(dead)] == ["bad_json"]

        examined = json.loads(service.ingest("doctor", "--output", "json").stdout)
        assert [each for each in findings(examined) if each["check"] in {"topic_rights", "group", "login"}] == []

        # READ on the dead-letter topic is for the commands alone
        assert service.ingest("dead-letters list").returncode != 0
        guarded.grant(ACLOperation.READ, ResourceType.TOPIC, dead)
        listed = service.ingest("dead-letters list")
        assert listed.returncode == 0, listed.stderr
        assert "bad_json" in listed.stdout

        # without READ on the group the pipeline runs; only the group's offsets are old
        guarded.revoke(ResourceType.GROUP, GROUP)
        kafka.produce(topic, [Given('{"a": 1}', key="k3")])
        assert service.run_once() == 0, service.last_lines()
        assert rocksdb_table(tmp_path / "store", "t").keys() == {b"k1", b"k3"}
        assert kafka.committed(GROUP, topic) == {0: 2}


def findings(examined: Any) -> list[dict[str, Any]]:
    return list(examined["findings"])
