"""Blobs of 2 MiB through Kafka into a store, with kills: each stored once and read back, nothing left behind."""

import hashlib
import json
import random
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaProducer

from ingest.api import Scan, Store
from sinks.blobs.blob_options import BlobOptions
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.pointers import Pointer
from sinks.blobs.tables import CHECKSUM, BlobTables
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.support.blob_findings import findings
from tests.support.memory import described, watched
from tests.support.names import unique
from tests.support.servers import HBase, Kafka
from tests.support.service import Service
from tests.support.waiting import reached

EVENTS = 2_000
KILLS = 5
BLOCKED_ATTEMPTS = 20
BYTES = 2 << 20
PIPELINE = "large"
SWEEP_AFTER = "60s"
GROWTH = 1.25
"""Of the memory of all processes, from the first third after the kills to the last one."""


def source_of(number: int) -> int:
    """Every third event has the blob of the one before."""
    return number - 1 if number % 3 == 2 else number


def row_of(number: int) -> str:
    """The last fifth replaces the rows of the first one, whose blobs nothing needs any more."""
    return f"{number % (EVENTS * 4 // 5):05}"


class Blobs:
    """What is sent."""

    def __init__(self) -> None:
        self._noise = random.Random(1).randbytes(1 << 10)

    def blob(self, number: int) -> bytes:
        head = b"%08d" % source_of(number)
        return head + (self._noise * (BYTES // len(self._noise)))[len(head) :]

    def last(self) -> dict[str, int]:
        """Row -> the event whose blob it has at the end."""
        return {row_of(number): number for number in range(EVENTS)}

    def produce(self, kafka: Kafka, topic: str) -> None:
        """Send all, compressed: kafka-python computes checksums at 10 MB/s."""
        producer = KafkaProducer(bootstrap_servers=kafka.brokers, compression_type="gzip", max_request_size=4 << 20)
        try:
            for number in range(EVENTS):
                producer.send(topic, self.blob(number), key=row_of(number).encode(), partition=int(row_of(number)) % 2)
                if number % 20 == 19:
                    producer.flush()
        finally:
            producer.close()


def content(kafka: Kafka, topic: str, store: dict[str, Any]) -> dict[str, Any]:
    source = {
        "brokers": kafka.brokers,
        "topics": [topic],
        "group": unique("large"),
        "max_event_bytes": "3MiB",
        "max_events_per_batch": EVENTS // 40,
    }
    return {
        "spark": {"driver_memory": "1GiB"},
        "stores": {"store": store},
        "tables": {
            topic: {"families": {"f": {"versions": 1}}, "blobs": {"threshold": "1MiB", "sweep_after": SWEEP_AFTER}}
        },
        "pipelines": {
            PIPELINE: {
                "source": {"kafka": source},
                "decorators": [{"value": {"attribute": "2hb_", "value": "%{key}"}}],
                "sinks": [{"attr2hbase": {"table": topic, "write_body": "f:body"}}],
            }
        },
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rocksdb", "rpc"])
def test_2000_blobs_of_2_mib_over_five_kills(
    kafka: Kafka, request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    blobs, chosen = Blobs(), random.Random(kind)
    topic = kafka.create_topic("blobs", partitions=2, config={"max.message.bytes": str(4 << 20)})
    blobs.produce(kafka, topic)
    if kind == "rocksdb":
        options: dict[str, Any] = {"path": str(tmp_path / "store")}
        with Service(tmp_path, content(kafka, topic, {"rocksdb": options})) as service:
            copied(service, kafka, topic, chosen)
        check(RocksDBStore(RocksDBSettings.model_validate(options), read_only=True), topic, blobs)
    else:
        hbase: HBase = request.getfixturevalue("hbase")
        options = hbase.store_options("rpc")
        with Service(tmp_path, content(kafka, topic, {"hbase": options})) as service:
            created(service)
            copied(service, kafka, topic, chosen)
        check(HBaseStore.of(HBaseSettings.model_validate(options)), topic, blobs)
    shutil.rmtree(tmp_path, ignore_errors=True)


def created(service: Service) -> None:
    """The tables are created only after many attempts, each of which has fetched events: memory suffices for all."""
    service.start()
    service.wait_for_state("blocked", PIPELINE)
    attempts = service.metric("attr2hbase_batch_attempts_total", pipeline=PIPELINE)
    service.wait_for(
        lambda: service.metric("attr2hbase_batch_attempts_total", pipeline=PIPELINE) >= attempts + BLOCKED_ATTEMPTS,
        "attempts",
        300,
    )
    assert service.ingest("table apply").returncode == 0
    service.wait_for_batches(1, PIPELINE, timeout_s=300)
    service.kill_all()


def copied(service: Service, kafka: Kafka, topic: str, chosen: random.Random) -> None:
    """Run the service over its kills to the end of the topic, then sweep until nothing is left to delete."""
    for _ in range(KILLS):
        service.start()
        service.wait_for_batches(chosen.randint(1, 2), PIPELINE, timeout_s=300)
        service.wait_for(lambda: service.checkpoint(PIPELINE).is_inside_a_batch(), "a batch", 60)
        service.kill_all()
    with watched(service.start()) as memory:
        service.wait_for_batches(2, PIPELINE, timeout_s=300)
        begin_s = time.monotonic()
        service.wait_for_offsets(kafka.ends(topic), PIPELINE, topic, timeout_s=1_800)
        end_s = time.monotonic()
    third_s = (end_s - begin_s) / 3
    early, late = memory.between(begin_s, begin_s + third_s), memory.between(end_s - third_s, end_s)
    assert sum(late.values()) <= sum(early.values()) * GROWTH, f"{described(early)}; later {described(late)}"

    def is_swept() -> bool:
        swept = service.ingest("admin blob sweep", topic, "--output", "json", timeout_s=600)
        assert swept.returncode == 0, swept.stderr
        counts = json.loads(swept.stdout)
        return not any(counts[name] for name in ("purged", "unreferenced", "storing"))

    assert reached(is_swept, 300)
    assert service.stop() == 0, service.last_lines()


def check(store: Store[Any], topic: str, sent: Blobs) -> None:
    """Each row has its bytes; each blob is stored once; there is nothing else."""
    store.open()
    try:
        found = BlobStore(store, f"{topic}_blobs", BlobOptions())
        ids: set[bytes] = set()
        for row, number in sent.last().items():
            blob = sent.blob(number)
            stored = store.get(topic, row.encode())
            assert stored is not None
            pointer = Pointer.of_value(stored.cells[0].value)
            assert pointer is not None
            assert pointer.blob == hashlib.sha256(blob).digest(), row
            if pointer.blob not in ids:
                assert found.open(pointer.blob).read() == blob
            ids.add(pointer.blob)
        tables = BlobTables(f"{topic}_blobs")
        known = [row.key for row in store.scan(tables.meta, Scan())]
        assert {blob for blob in known if found.stat(blob).is_readable} == ids
        blocks = sum(1 for _ in store.scan(tables.value, Scan(columns=(CHECKSUM,))))
        assert blocks == len(ids) * -(-BYTES // BlobOptions().block_bytes)
        assert sum(1 for _ in store.scan(tables.refs, Scan())) == len(sent.last())
        assert findings(found) == []
    finally:
        store.close()
