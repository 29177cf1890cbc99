"""
F22, F24: records are read unchanged with every codec and every format of record batches.

Kafka 4 refuses produce requests of the formats v0 and v1, but reads such batches from logs of earlier versions. The
test writes them into the log of a stopped broker.
"""

import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from random import Random

import pytest
from kafka.record.legacy_records import LegacyRecordBatch, LegacyRecordBatchBuilder
from kafka.record.memory_records import MemoryRecords

from tests.support.audit import rocksdb_table
from tests.support.by_key import PIPELINE, content_of
from tests.support.kafka_sender import KafkaSender, ProducerRecord
from tests.support.ledger.report import add_row
from tests.support.names import unique
from tests.support.servers import Kafka
from tests.support.service import Service

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
COUNT = 300
"""Records of each codec."""
AT_MS = 1_308_748_686_334
LEGACY = tuple(product((0, 1), (0, LegacyRecordBatchBuilder.CODEC_GZIP)))
"""Format and codec."""


@pytest.mark.slow
def test_records_are_unchanged_by_codec_and_idempotence(kafka: Kafka, tmp_path: Path) -> None:
    """F22 and F24: bodies and keys of arbitrary bytes, large batches, sent by Kafka's Java client."""
    started = time.monotonic()
    topic, group = kafka.create_topic("codecs"), unique("group")
    expected: dict[bytes, bytes] = {}
    with KafkaSender(kafka) as sender:
        for codec, idempotent in product(CODECS, ("true", "false")):
            rows = random_rows(f"{codec}{idempotent}")
            options = {"compression.type": codec, "enable.idempotence": idempotent, "linger.ms": "50", "acks": "all"}
            records = [ProducerRecord(0, key, body, [("2hb_colfam:h", body[:50])]) for key, body in rows.items()]
            assert sender.send(topic, records, options) == COUNT
            expected |= rows
    found = formats(kafka, topic)
    with Service(tmp_path, content_of(kafka, tmp_path, topic, group)) as service:
        assert service.run_once() == 0, service.last_lines()
        rows = rocksdb_table(tmp_path / "store", "t")
    assert {key: [cell.value for cell in cells] for key, cells in rows.items()} == {
        key: [body[:50], body] for key, body in expected.items()
    }
    assert len(found) == len(CODECS), found
    add_row(
        "F22 F24 codecs, arbitrary bytes",
        f"{len(CODECS)} codecs with and without idempotence",
        time.monotonic() - started,
        stored=len(expected),
    )


@pytest.fixture
def upgraded_kafka(servers_folder: Path) -> Iterator[Kafka]:
    """A separate broker, whose log the test writes."""
    kafka = Kafka(servers_folder / "kafka-upgraded")
    try:
        kafka.start()
        yield kafka
    finally:
        kafka.close()


@pytest.mark.slow
def test_record_formats_of_earlier_brokers_are_read(upgraded_kafka: Kafka, tmp_path: Path) -> None:
    """F22: v0 has no timestamps, v0 and v1 have no headers; v2 follows in the same log."""
    kafka, started = upgraded_kafka, time.monotonic()
    topic = kafka.create_topic("old")
    expected = random_rows("old", COUNT * len(LEGACY))
    kafka.stop()
    put_into_log(kafka, topic, list(expected.items()))
    kafka.start()
    assert kafka.ends(topic) == {0: len(expected)}
    new = random_rows("new")
    with KafkaSender(kafka) as sender:
        sender.send(topic, [ProducerRecord(0, key, body) for key, body in new.items()], {"compression.type": "zstd"})
    found = formats(kafka, topic)
    assert {magic for magic, _ in found} == {0, 1, 2}
    with Service(tmp_path, content_of(kafka, tmp_path, topic, unique("group"))) as service:
        assert service.run_once() == 0, service.last_lines()
        assert service.checkpoint(PIPELINE).acknowledged(topic) == kafka.ends(topic)
        rows = rocksdb_table(tmp_path / "store", "t")
    assert {key: [cell.value for cell in cells] for key, cells in rows.items()} == {
        key: [body] for key, body in (expected | new).items()
    }
    proof = f"formats and codecs in the log: {sorted(found)}"
    add_row("F22 formats v0 v1 v2", proof, time.monotonic() - started, stored=len(expected) + len(new))


def random_rows(seed: str, count: int = COUNT) -> dict[bytes, bytes]:
    """Random key -> body, from 0 bytes on."""
    random = Random(seed)
    pieces = (bytes(range(256)), b"\0" * 9, b"\xff\xfe", "😀שלום:".encode(), b"", b"x" * 10_000)
    found = {}
    for number in range(count):
        key = seed.encode() + b"\0%d\xff" % number + random.randbytes(random.randrange(8))
        found[key] = random.choice(pieces) + random.randbytes(random.choice((0, 1, 30, 300)))
    return found


def put_into_log(kafka: Kafka, topic: str, rows: Sequence[tuple[bytes, bytes]]) -> None:
    """Write the only segment of a topic of a stopped broker in the legacy formats."""
    content = b""
    for number, (magic, codec) in enumerate(LEGACY):
        base = number * COUNT
        builder = LegacyRecordBatchBuilder(magic, codec, 1 << 30)
        for index, (key, body) in enumerate(rows[base : base + COUNT]):
            # offsets in a compressed v1 batch are relative
            assert builder.append(index if codec and magic else base + index, AT_MS, key, body) is not None
        batch = bytes(builder.build())
        if codec:  # the offset of a compressed batch is that of its last record
            batch = (base + COUNT - 1).to_bytes(8, "big") + batch[8:]
        content += batch
    folder = kafka.server.folder / "data"
    for path in (folder / f"{topic}-0").iterdir():
        if path.suffix in (".index", ".timeindex", ".snapshot"):
            path.unlink()
    (folder / ".kafka_cleanshutdown").unlink()  # so that the broker recovers the log as after a crash
    segment_of(kafka, topic).write_bytes(content)


def segment_of(kafka: Kafka, topic: str) -> Path:
    """The first segment of a topic's only partition."""
    return kafka.server.folder / "data" / f"{topic}-0" / "00000000000000000000.log"


def formats(kafka: Kafka, topic: str) -> set[tuple[int, int]]:
    """(format, codec) of all batches in the broker's log."""
    records = MemoryRecords(segment_of(kafka, topic).read_bytes())
    found = set()
    while records.has_next():
        batch = records.next_batch()
        legacy = isinstance(batch, LegacyRecordBatch)
        found.add((batch._magic, batch._attributes & 7) if legacy else (2, batch.compression_type))
    return found
