"""Record batches as a broker has them in its log, of any codec."""

import struct
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from kafka import KafkaAdminClient
from kafka.protocol.producer import ProduceRequest
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.util import calc_crc32c

from ingest.kafka.codecs import Codec

AT_MS = 1_308_748_686_334
HEADER = DefaultRecordBatchBuilder.HEADER_STRUCT
CONTROL, TRANSACTIONAL = 0x20, 0x10
LENGTH_END, CHECKSUM_END = 12, 21

Fields = tuple[bytes | None, bytes | None, Sequence[tuple[str, bytes | None]]]
"""Key, value and headers of a record."""


def batch_of(
    records: Sequence[Fields],
    codec: Codec = Codec.NONE,
    *,
    first: int = 0,
    producer: int = -1,
    damage: tuple[bytes, bytes] = (b"", b""),
    attributes: int = 0,
) -> bytes:
    """
    A record batch; its records are a millisecond apart.

    Args:
        records: at least one.
        codec: of the batch.
        first: offset of the first record.
        producer: of a transaction; -1 for none.
        damage: bytes of the records before their compression, and those in their place.
        attributes: more of them.
    """
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1 << 30)  # encodes records; it is slow at checksums
    for number, (key, value, headers) in enumerate(records):
        builder.append(number, AT_MS + number, key, value, list(headers))
    data = bytes(builder._buffer[HEADER.size :]).replace(*damage)
    if codec is not Codec.NONE:
        data = pa.compress(data, codec=codec.name.lower(), asbytes=True)
    is_transactional = producer >= 0
    bits = codec | attributes | (TRANSACTIONAL if is_transactional else 0)
    last = len(records) - 1
    transaction = (producer, 0, 0) if is_transactional else (-1, -1, -1)
    after_checksum = (bits, last, AT_MS, AT_MS + last, *transaction, len(records))
    length = HEADER.size - LENGTH_END + len(data)
    unchecked = HEADER.pack(first, length, -1, 2, 0, *after_checksum) + data
    checksum = calc_crc32c(memoryview(unchecked)[CHECKSUM_END:])
    return HEADER.pack(first, length, -1, 2, checksum, *after_checksum) + data


def control_batch(first: int, *, producer: int, is_abort: bool) -> bytes:
    """The end of a transaction."""
    key = struct.pack(">hh", 0, 0 if is_abort else 1)
    return batch_of([(key, b"\0" * 6, [])], first=first, producer=producer, attributes=CONTROL)


def send_batch(brokers: str, topic: str, batch: bytes, partition: int = 0) -> int:
    """
    Send a record batch as it is, which no producer of a client library does; returns its first offset.

    Args:
        brokers: of a cluster with a single broker.
        topic: that exists.
        batch: as `batch_of` makes it.
        partition: of the topic.
    """
    admin = KafkaAdminClient(bootstrap_servers=brokers)
    try:
        node = admin.describe_cluster()["brokers"][0]["broker_id"]
        data = ProduceRequest.TopicProduceData
        partitions = [data.PartitionProduceData(index=partition, records=batch)]
        request = ProduceRequest(
            transactional_id=None,
            acks=-1,
            timeout_ms=60_000,
            topic_data=[data(name=topic, partition_data=partitions)],
            min_version=3,
            max_version=9,
        )

        async def send() -> Any:
            return await admin._manager.send(request, node)

        answer = admin._manager.run(send)
        (sent,) = answer.responses[0].partition_responses
        assert sent.error_code == 0, sent
        return int(sent.base_offset)
    finally:
        admin.close()
