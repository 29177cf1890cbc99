"""Large events with little driver memory."""

import random
import shutil
from pathlib import Path

import pytest
from kafka import KafkaProducer

from ingest.api import Scan
from tests.support import ticks
from tests.support.audit import rocksdb_reader
from tests.support.names import unique
from tests.support.servers import Kafka
from tests.support.service import Service

COUNT = 50_000
BYTES = 64 * 1024
PARTITIONS = 4


@pytest.mark.slow
def test_50_000_events_of_64_kib_with_a_driver_of_1_gib(kafka: Kafka, tmp_path: Path) -> None:
    """3 GiB in one micro-batch: no process may have all of it in memory."""
    noise = random.Random(1).randbytes(512) * (BYTES // 512)
    topic = kafka.create_topic("large", partitions=PARTITIONS)
    _produce(kafka, topic, noise)
    content = {
        "spark": {"driver_memory": "1GiB"},
        "stores": {"local": ticks.rocksdb(tmp_path / "store")},
        "pipelines": {
            "large": {
                "source": {"kafka": {"brokers": kafka.brokers, "topics": [topic], "group": unique("large")}},
                "decorators": [{"value": {"attribute": "2hb_", "value": "%{key}"}}],
                "sinks": [{"attr2hbase": {"table": "t", "write_body": "raw:line"}}],
            }
        },
    }
    try:
        with Service(tmp_path, content) as service:
            assert service.run_once(timeout_s=900) == 0, service.last_lines()
            assert service.checkpoint("large").commits() == [0]
        with rocksdb_reader(tmp_path / "store") as store:
            found = 0
            for row in store.scan("t", Scan(page_rows=100)):
                assert row.key == b"%08d" % found
                assert [cell.value for cell in row.cells] == [row.key + noise[8:]]
                found += 1
        assert found == COUNT
    finally:
        shutil.rmtree(tmp_path, ignore_errors=True)
        with kafka.admin() as admin:
            admin.delete_topics([topic])


def _produce(kafka: Kafka, topic: str, noise: bytes) -> None:
    """Produce the events; compressed, because kafka-python computes checksums at 10 MB/s."""
    producer = KafkaProducer(
        bootstrap_servers=kafka.brokers, compression_type="gzip", linger_ms=50, batch_size=512 * 1024
    )
    try:
        for number in range(COUNT):
            key = b"%08d" % number
            producer.send(topic, key + noise[8:], key=key, partition=number % PARTITIONS)
        producer.flush()
    finally:
        producer.close()
    assert sum(kafka.ends(topic).values()) == COUNT
