"""F18: an unclean leader election cuts records off that were read; the pipeline stops instead of skipping others."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.audit import rocksdb_table
from tests.support.kafka_cluster import KafkaCluster
from tests.support.ledger.report import add_row
from tests.support.names import unique
from tests.support.service import START_S, Service
from tests.support.waiting import reached

REPLICATED, LOST, NEW = 100, 50, 20
ELECTION_S = 120.0  # a broker is fenced after 3 s; its start takes longer


@pytest.fixture
def cluster(servers_folder: Path) -> Iterator[KafkaCluster]:
    made = KafkaCluster(servers_folder / unique("cluster"))
    try:
        made.start()
        yield made
    finally:
        made.close()


def content(cluster: KafkaCluster, topic: str) -> dict[str, object]:
    return {
        "stores": {"kept": {"rocksdb": {"path": "./store"}}},
        "pipelines": {
            "cut": {
                "source": {"kafka": {"brokers": cluster.brokers, "topics": [topic], "group": unique("group")}},
                "decorators": [
                    {"value": {"attribute": "2hb_", "value": "%{body}"}},
                    {"value": {"attribute": "2hb_f:offset", "value": "%{offset}"}},
                ],
                "sinks": [{"attr2hbase": {"table": "t"}}],
            }
        },
    }


@pytest.mark.slow
def test_truncated_log_stops_the_pipeline(cluster: KafkaCluster, tmp_path: Path) -> None:
    started = time.monotonic()
    topic = cluster.create_topic("cut", [2, 3], {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"})
    producer = cluster.broker(1)
    producer.produce(topic, [f"replicated {number}" for number in range(REPLICATED)])
    with Service(tmp_path, content(cluster, topic)) as service:
        service.start()
        service.wait_for_offsets({0: REPLICATED}, "cut", topic)

        cluster.broker(3).kill()
        assert reached(lambda: cluster.leader(topic) == (2, [2]), ELECTION_S)
        producer.produce(topic, [f"lost {number}" for number in range(LOST)])
        service.wait_for_offsets({0: REPLICATED + LOST}, "cut", topic)
        cluster.broker(2).kill()
        cluster.broker(3).start()
        assert reached(lambda: cluster.leader(topic)[0] == 3, ELECTION_S), "broker 3 leads with the records it has"

        reason = f"{topic}/0 ends at offset {REPLICATED}, but was read up to {REPLICATED + LOST}"
        assert service.wait_for_exit(START_S) == 1
        assert reason in service.last_lines()

        # at the start too
        before = len(service.log.read_text())
        assert service.run_once() == 1
        assert reason in service.log.read_text()[before:]

        # the recovery that the message names reads what remains, and records with offsets that were read before
        # by another producer: the sequence numbers of the first one are ahead of those in the log
        cluster.broker(3).produce(topic, [f"new {number}" for number in range(NEW)])
        service.checkpoint("cut").remove()
        assert service.run_once("--start-from", "earliest") == 0, service.last_lines()
    rows = rocksdb_table(tmp_path / "store", "t")
    counts = {"replicated": REPLICATED, "lost": LOST, "new": NEW}
    assert rows.keys() == {f"{kind} {number}".encode() for kind, count in counts.items() for number in range(count)}
    proof = f"broker 3 leads with {REPLICATED} of {REPLICATED + LOST} records"
    add_row("F18 unclean election", proof, time.monotonic() - started, stored=len(rows))
