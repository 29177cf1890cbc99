"""Large events through a small driver."""

import random
import shutil
from pathlib import Path

import pytest

from ingest.api import Scan
from tests.support import ticks
from tests.support.audit import rocksdb_reader
from tests.support.names import unique
from tests.support.servers import Given, Kafka
from tests.support.service import Service

COUNT = 50_000
BYTES = 64 * 1024
PARTITIONS = 4


@pytest.mark.slow
def test_50_000_events_of_64_kib_with_a_driver_of_1_gib(kafka: Kafka, tmp_path: Path) -> None:
    """3 GiB in one micro-batch: nothing between the source and the store may hold it whole."""
    noise = random.Random(1).randbytes(BYTES - 8)
    topic = kafka.create_topic("large", partitions=PARTITIONS)
    for first in range(0, COUNT, 1_000):  # the producer holds what is not sent yet
        numbers = range(first, first + 1_000)
        kafka.produce(topic, (Given(b"%08d" % n + noise, key=b"%08d" % n, partition=n % PARTITIONS) for n in numbers))
    content = {
        "spark": {"driver_memory": "1GiB"},
        "stores": {"kept": ticks.rocksdb(tmp_path / "store")},
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
                assert [cell.value for cell in row.cells] == [row.key + noise]
                found += 1
        assert found == COUNT
    finally:
        shutil.rmtree(tmp_path, ignore_errors=True)
        with kafka.admin() as admin:
            admin.delete_topics([topic])
