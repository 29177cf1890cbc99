"""Record batches of a real broker: ranges of offsets, what a fetch has beyond them, aborted transactions."""

import pytest
from kafka import KafkaProducer

from ingest.api import PositionLostError
from ingest.kafka.codecs import Codec
from ingest.kafka.large_batches import examine
from ingest.kafka.record_batches import record_batches
from ingest.kafka.settings import KafkaConnection
from tests.support.names import unique
from tests.support.record_batches import batch_of, send_batch
from tests.support.servers import Kafka

KIB = 1 << 10


def connection(kafka: Kafka) -> KafkaConnection:
    return KafkaConnection.model_validate({"brokers": kafka.brokers})


def test_large_batch_is_found_in_a_range_and_in_a_fetch_that_reaches_beyond_it(kafka: Kafka):
    topic = kafka.create_topic("batches", partitions=2)
    small = batch_of([(b"k", b"v", [])] * 3)
    for batch in (small, small, batch_of([(b"k", bytes(300 * KIB), [])] * 2, Codec.ZSTD), small):
        send_batch(kafka.brokers, topic, batch)
    send_batch(kafka.brokers, topic, small, partition=1)

    def found(begin: int, end: int, fetch_bytes: int) -> list[tuple[int, int, int]]:
        ranges = {(topic, 0): (begin, end), (topic, 1): (0, 3)}
        limits = {"max_bytes": 400 * KIB, "fetch_bytes": fetch_bytes, "max_fetched_bytes": 1 << 30}
        return [(each.partition, each.first, each.last) for each in examine(connection(kafka), ranges, **limits).large]

    large = [(0, 6, 7)]
    assert found(0, 11, 1) == found(7, 8, 1) == large
    assert found(0, 6, 1) == []
    assert found(0, 6, len(small) + 1) == large
    assert found(0, 3, len(small) + 1) == []
    assert found(8, 11, 1 << 20) == []


def test_ranges_are_read_in_order_and_without_a_gap(kafka: Kafka):
    topic = kafka.create_topic("batches")
    for number in range(5):
        send_batch(kafka.brokers, topic, batch_of([(b"k", b"%d" % number, [])] * 2, list(Codec)[number]))
    records = [
        (record.offset, record.value)
        for batch in record_batches(connection(kafka), {(topic, 0): (3, 7)})
        for record in batch.decompressed()
    ]
    assert records == [(offset, b"%d" % (offset // 2)) for offset in range(2, 8)]
    with pytest.raises(PositionLostError, match=f"some of {topic}/0 offsets 3 to 10"):
        next(record_batches(connection(kafka), {(topic, 0): (3, 11)}))


def test_records_of_aborted_transactions_are_left_out(kafka: Kafka):
    topic = kafka.create_topic("batches")
    producer = KafkaProducer(bootstrap_servers=kafka.brokers, transactional_id=unique("transaction"))
    producer.init_transactions()
    for value, end in ((b"a", producer.abort_transaction), (b"b", producer.commit_transaction)):
        producer.begin_transaction()
        producer.send(topic, value)
        producer.flush()
        end()
    producer.close()
    found = list(record_batches(connection(kafka), {(topic, 0): (0, kafka.ends(topic)[0])}))
    assert [record.value for batch in found for record in batch.decompressed()] == [b"b"]
