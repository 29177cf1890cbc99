"""Kafka over TLS with a password and with a client certificate, and the errors of connections that are refused."""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.audit import rocksdb_table
from tests.support.in_process import run_here
from tests.support.names import unique
from tests.support.secured_kafka import SECRETS, SecuredKafka
from tests.support.service import START_S, Service

EVENTS = 500


@pytest.fixture(scope="module")
def secured(servers_folder: Path) -> Iterator[SecuredKafka]:
    made = SecuredKafka.started(servers_folder / unique("secured"))
    yield made
    made.kafka.close()


def refused(secured: SecuredKafka) -> dict[str, tuple[dict[str, Any], str]]:
    """Pipeline -> options of a connection that the client or the broker refuses, and the reason."""
    other_ca = str(secured.other_authority.certificate)
    return {
        "wrong_authority": (secured.scram(ca_file=other_ca), "self-signed certificate in certificate chain"),
        "wrong_host": (secured.foreign(), "certificate is not valid for '127.0.0.1'"),
        "wrong_password": (secured.scram("wrong"), "invalid credentials with SASL mechanism SCRAM-SHA-512"),
        "no_certificate": (secured.without_certificate(), "bad certificate"),
    }


HINTS = {
    "wrong_authority": "check ca_file under security: {tls: …}",
    "wrong_host": "the broker's certificate must have the host of `brokers`",
    "wrong_password": "check mechanism, user and password under `security: {sasl: …}`",
    "no_certificate": "check key_file under security: {tls: …}",
}


def content(folder: Path, topic: str, connections: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """A pipeline into RocksDB for each connection, with a table of the same name."""
    (folder / "secrets").mkdir()
    for name, value in SECRETS.items():
        (folder / "secrets" / name).write_text(value)
    return {
        "secrets": {"directory": str(folder / "secrets")},
        "stores": {"kept": {"rocksdb": {"path": str(folder / "store")}}},
        "pipelines": {
            name: {
                "source": {"kafka": {**connection, "topics": [topic], "group": unique("group")}},
                "decorators": [
                    {"value": {"attribute": "2hb_f:body", "value": "%{body}"}},
                    {"value": {"attribute": "2hb_", "value": "%{topic}-%{partition}-%{offset}"}},
                ],
                "sinks": [{"attr2hbase": {"table": name}}],
            }
            for name, connection in connections.items()
        },
    }


def is_blocked(service: Service, name: str, reason: str) -> bool:
    """Whether a pipeline is blocked for a reason, with the hint for it."""
    found = service.pipelines()[name]
    return found["state"] == "blocked" and reason in found["reason"] and HINTS[name] in found["reason"]


def test_events_arrive_and_refused_connections_say_why(secured: SecuredKafka, tmp_path: Path) -> None:
    """All in one service: pipelines that are refused do not affect the others."""
    topic = secured.kafka.create_topic("secured", partitions=2)
    secured.kafka.produce(topic, [f"event {number}" for number in range(EVENTS)])
    accepted = {"scram": secured.scram(), "mutual": secured.mutual()}
    wrong = refused(secured)
    connections = accepted | {name: options for name, (options, _) in wrong.items()}
    with Service(tmp_path, content(tmp_path, topic, connections)) as service:
        service.start()
        for name in accepted:
            service.wait_for_offsets(secured.kafka.ends(topic), name, topic)
        for name, (_, reason) in wrong.items():
            # on a busy machine an attempt may time out before the broker has refused it
            service.wait_for(partial(is_blocked, service, name, reason), f"{name}: {reason}", START_S)
        assert service.stop() == 0
    for name in accepted:
        rows = rocksdb_table(tmp_path / "store", name)
        assert sorted(cell.value for row in rows.values() for cell in row) == sorted(
            b"event %d" % n for n in range(EVENTS)
        )


def test_doctor_names_what_is_wrong(secured: SecuredKafka, tmp_path: Path) -> None:
    topic = secured.kafka.create_topic("examined")
    wrong = refused(secured)
    connections = {"scram": secured.scram(), "mutual": secured.mutual()}
    connections |= {name: options for name, (options, _) in wrong.items()}
    file = tmp_path / "pipeline.yaml"
    file.write_text(json.dumps({"version": 1, **content(tmp_path, topic, connections)}))
    done = run_here(["doctor", str(file), "--output", "json"], tmp_path)
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)["findings"]
    problems = [(each["check"], f"{each['message']}; {each['hint']}") for each in found]
    for name, (_, reason) in wrong.items():
        check = "tls" if name in ("wrong_authority", "wrong_host") else "kafka"
        assert [text for kind, text in problems if kind == check and reason in text], problems
