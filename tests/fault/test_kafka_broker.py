"""
F15, F31: the broker is killed, frozen or slow, or the dead-letter topic is unavailable. The pipeline is blocked, skips
nothing, and resumes without a restart.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic

from tests.support.ledger.fixture import LedgerRuns
from tests.support.ledger.run import LedgerRun
from tests.support.local import free_ports
from tests.support.proxied_kafka import proxied_kafka
from tests.support.proxy import Proxy
from tests.support.servers import Kafka
from tests.support.waiting import reached

BLOCKED_WITHIN_S = 180.0  # a reading task reports a failure after two minutes
SMALL_LIMIT = "2000"


@pytest.fixture
def other_kafka(servers_folder: Path) -> Iterator[Kafka]:
    """A second broker."""
    kafka = Kafka(servers_folder / "kafka-other")
    try:
        kafka.start()
        yield kafka
    finally:
        kafka.close()


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with Proxy(("127.0.0.1", free_ports(1)[0])) as proxy:
        yield proxy


@pytest.fixture
def slow_kafka(servers_folder: Path, proxy: Proxy) -> Iterator[Kafka]:
    with proxied_kafka(servers_folder / "kafka-slow", proxy) as kafka:
        yield kafka


@pytest.mark.slow
def test_broker_killed_and_frozen(kafka: Kafka, ledger_run: LedgerRuns) -> None:
    run = ledger_run("F15 broker killed, frozen", batch_size=500)
    run.produce(6_000)
    run.start()
    with run.produce_in_background(500):
        run.wait_acknowledged(0.2)
        pid = kafka.server.process.pid
        kafka.kill()
        assert_blocked(run)
        assert kafka.server.process.pid is None
        run.proven(f"broker {pid} killed")
        kafka.start()
        assert_resumes(run)
        kafka.pause()
        assert_blocked(run)
        kafka.resume()
        run.proven("broker frozen until blocked was reported")
        assert_resumes(run)
    run.finish()


@pytest.mark.slow
def test_broker_behind_a_slow_connection(slow_kafka: Kafka, proxy: Proxy, ledger_run: LedgerRuns) -> None:
    run = ledger_run("F15 broker slow", kafka=slow_kafka, brokers=f"127.0.0.1:{proxy.port}", batch_size=500)
    run.produce(3_000)
    proxy.behave(bytes_per_s=100_000, delay_s=0.2)
    run.start()
    run.wait_acknowledged(0.5)
    assert proxy.counts.down_bytes > 100_000
    run.proven(f"{proxy.counts.down_bytes} bytes at 100 kB/s, {proxy.counts.exchanges} responses 0.2 s late")
    proxy.behave(stalled=True)
    assert_blocked(run)
    run.proven("connection stalled until blocked was reported")
    proxy.heal()
    assert_resumes(run)
    run.finish()


@pytest.mark.slow
def test_dead_letter_topic_unavailable(other_kafka: Kafka, ledger_run: LedgerRuns) -> None:
    """The dead-letter topic is missing, its broker is killed, its max.message.bytes is lowered."""
    run = ledger_run("F31 dead-letter topic unavailable", dead_kafka=other_kafka, dead_letters="kafka", batch_size=500)
    delete(other_kafka, run.dead_topic)
    run.begin()
    assert run.service.wait_for_exit(60) == 3, run.service.last_lines()
    run.proven("topic missing at the start: refused")
    create(other_kafka, run.dead_topic, SMALL_LIMIT)
    run.start()
    delete(other_kafka, run.dead_topic)
    run.produce(6_000)
    assert_blocked(run)
    assert run.service.checkpoint(run.pipeline).commits() == []
    run.proven("topic deleted: nothing committed")
    create(other_kafka, run.dead_topic, SMALL_LIMIT)
    assert_resumes(run)

    pid = other_kafka.server.process.pid
    other_kafka.kill()
    assert_blocked(run)
    run.proven(f"its broker {pid} killed")
    run.kill()
    other_kafka.start()  # for the audit of its dead letters
    run.check_while_dead()
    run.start()
    assert_resumes(run)

    with other_kafka.admin() as admin:
        lower = {"max.message.bytes": "900"}
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, run.dead_topic, configs=lower)])
    run.produce(6_000)
    assert run.service.wait_for_exit(120) == 1, run.service.last_lines()
    assert "record_too_large" in run.service.last_lines() or "MessageSizeTooLarge" in run.service.last_lines()
    run.check_while_dead()
    run.proven("max.message.bytes lowered to 900: stopped")
    run.start()
    run.finish()
    in_topic = [record.value for record in other_kafka.records(run.dead_topic)]
    assert any(b'"pointer":"' in value for value in in_topic), "large dead letters are in files"


def delete(kafka: Kafka, topic: str) -> None:
    """Delete a topic."""
    with kafka.admin() as admin:
        admin.delete_topics([topic])
        assert reached(lambda: topic not in admin.list_topics(), 30)


def create(kafka: Kafka, topic: str, limit: str) -> None:
    """Create a topic with a limit of the record size."""
    with kafka.admin() as admin:
        config = {"retention.ms": "-1", "max.message.bytes": limit}
        admin.create_topics([NewTopic(topic, 1, 1, topic_configs=config)])
        admin.wait_for_topics([topic])


def assert_blocked(run: LedgerRun) -> None:
    """The pipeline is blocked, alive and not ready, and acknowledges nothing."""
    run.service.wait_for_state("blocked", run.pipeline, BLOCKED_WITHIN_S)
    before = run.service.checkpoint(run.pipeline).commits()
    assert (run.service.get("/livez")[0], run.service.get("/readyz")[0]) == (200, 503)
    # longer than an attempt to reach a broker
    assert not reached(lambda: run.service.checkpoint(run.pipeline).commits() != before, 12)
    assert run.service.is_running, run.service.last_lines()


def assert_resumes(run: LedgerRun) -> None:
    """The pipeline acknowledges batches again, without a restart."""
    run.service.wait_for_batches(1, run.pipeline)
    run.service.wait_for_state("running", run.pipeline)
