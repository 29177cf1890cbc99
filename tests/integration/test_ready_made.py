"""The prepared batches of the benchmark are accepted by a broker and read by a consumer."""

import pytest

from tests.bench.ready_made import ReadyMade, batch
from tests.support.servers import Kafka

pytestmark = pytest.mark.integration


def test_batches_can_be_sent_repeatedly(kafka: Kafka):
    topic = kafka.create_topic("ready", partitions=2)
    first, second = batch([(b"k", b"a"), (None, b"b")]), batch([(None, b"c")])
    with ReadyMade(kafka.server.port, topic) as producer:
        assert producer.send({0: first, 1: second}) == {0: 0, 1: 0}
        assert producer.send({1: first}) == {1: 1}
    read = [(record.partition, record.offset, record.key, record.value) for record in kafka.records(topic)]
    assert read == [
        (0, 0, b"k", b"a"),
        (0, 1, None, b"b"),
        (1, 0, None, b"c"),
        (1, 1, b"k", b"a"),
        (1, 2, None, b"b"),
    ]


def test_refused_batch_is_reported(kafka: Kafka):
    topic = kafka.create_topic("ready")
    refused = pytest.raises(RuntimeError, match="refused a batch for partition 5")
    with ReadyMade(kafka.server.port, topic) as producer, refused:
        producer.send({5: batch([(None, b"a")])})
