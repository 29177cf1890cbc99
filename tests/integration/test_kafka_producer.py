"""The producer with a real broker: what is durable, records that a broker refuses, links that are slow or dead."""

import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from kafka.codec import zstd_decode

from ingest.api import (
    Batch,
    Disposition,
    ErrorBudgetSpentError,
    Event,
    EventError,
    IngestError,
    NotFoundError,
    Origin,
    SinkContext,
    SourceUnavailableError,
    TaskSpec,
    WriteCounts,
)
from ingest.kafka.clients import sending_at_once
from ingest.kafka.producer import KafkaProducer
from ingest.kafka.settings import KafkaConnection
from sinks.kafka.refused import unpacked
from sinks.kafka.sink import Kafka as KafkaSink
from tests.support.local import free_ports
from tests.support.names import unique
from tests.support.proxied_kafka import proxied_kafka
from tests.support.proxy import Proxy
from tests.support.servers import Given, Kafka

HOUR_MS = 3_600_000


@pytest.fixture
def producer(kafka: Kafka) -> Iterator[KafkaProducer]:
    producer = KafkaProducer(KafkaConnection.model_validate({"brokers": kafka.brokers}))
    yield producer
    producer.close()


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    with Proxy(("127.0.0.1", free_ports(1)[0])) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def far_kafka(servers_folder: Path, proxy: Proxy) -> Iterator[Kafka]:
    """A broker behind the proxy."""
    with proxied_kafka(servers_folder / "kafka-far", proxy) as kafka:
        yield kafka


@pytest.fixture
def far_producer(far_kafka: Kafka, proxy: Proxy) -> Iterator[KafkaProducer]:
    """Connects through the proxy."""
    producer = KafkaProducer(KafkaConnection.model_validate({"brokers": f"127.0.0.1:{proxy.port}"}))
    yield producer
    proxy.heal()
    producer.close()


@pytest.fixture
def short_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection is given up after three seconds without progress, and a request for metadata after one."""
    monkeypatch.setattr("ingest.kafka.producer._STALLED_S", 3.0)
    monkeypatch.setattr("ingest.kafka.producer._WATCH_S", 0.1)
    monkeypatch.setattr("ingest.kafka.producer.ANSWER_MS", 1_000)


def values(kafka: Kafka, topic: str) -> list[bytes]:
    return [record.value for record in kafka.records(topic)]


# Records that the broker refuses


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_record_an_hour_ahead_is_named_and_its_neighbours_are_durable_or_unknown(
    kafka: Kafka, producer: KafkaProducer, bad: int
) -> None:
    topic = kafka.create_topic("ahead")
    now_ms = int(time.time() * 1000)
    times = [now_ms + 2 * HOUR_MS if number == bad else now_ms for number in range(3)]
    sent = [producer.send(topic, b"key-%d" % number, b"v", (), None, at) for number, at in enumerate(times)]
    with pytest.raises(IngestError) as caught:
        producer.flush()
    assert (caught.value.code, caught.value.disposition) == ("record_time_refused", Disposition.STOP)
    begin = (
        f'sending the record with key "key-{bad}" to topic "{topic}" failed: InvalidTimestamp: Timestamp {times[bad]}'
    )
    assert caught.value.message.startswith(begin)
    assert "LogAppendTime" in str(caught.value.hint)
    assert [record.is_durable for record in sent] == [number < bad for number in range(3)]
    assert len(values(kafka, topic)) == bad
    # no longer than that: later records have their times
    producer.send(topic, b"k", b"later")
    producer.flush()
    assert kafka.records(topic)[-1].timestamp >= now_ms


def test_batches_of_other_partitions_are_not_blamed(kafka: Kafka, producer: KafkaProducer) -> None:
    """kafka-python fails them with the error of the one that the broker has refused."""
    topic = kafka.create_topic("ahead", partitions=3)
    now_ms = int(time.time() * 1000)
    for partition in (0, 1, 2):
        producer.send(topic, b"good-%d" % partition, b"v", (), partition, now_ms)
    producer.send(topic, b"bad", b"v", (), 2, now_ms + 2 * HOUR_MS)
    with pytest.raises(IngestError, match=r'record with key "bad"') as caught:
        producer.flush()
    assert caught.value.code == "record_time_refused"
    assert len(values(kafka, topic)) == 3


def test_several_records_with_bad_times(kafka: Kafka, producer: KafkaProducer) -> None:
    """kafka-python then says InvalidRecord of each."""
    topic = kafka.create_topic("ahead")
    for number in range(3):
        producer.send(topic, b"key-%d" % number, b"v", (), None, int(time.time() * 1000) + 2 * HOUR_MS)
    with pytest.raises(IngestError, match=r'record with key "key-0".* InvalidTimestamp: ') as caught:
        producer.flush()
    assert caught.value.code == "record_time_refused"


@pytest.mark.parametrize("refusing", [True, False])
def test_record_without_a_time_of_its_own_needs_no_right_clock(
    kafka: Kafka, producer: KafkaProducer, refusing: bool
) -> None:
    """The broker refuses every time before its own, which that of this machine is once the record arrives."""
    topic = kafka.create_topic("clock", config={"message.timestamp.before.max.ms": "0"} if refusing else {})
    given_ms = int(time.time() * 1000) + HOUR_MS // 2
    for number in range(2):
        producer.send(topic, b"key-%d" % number, b"now")
    producer.send(topic, b"key-2", b"given", (), None, given_ms)
    last = producer.send(topic, b"key-3", b"now")
    producer.flush()
    found = kafka.records(topic)
    assert [record.value for record in found] == [b"now", b"now", b"given", b"now"]
    assert [record.timestamp == -1 for record in found] == [refusing, refusing, False, refusing]
    assert found[2].timestamp == given_ms
    assert last.time_refused.startswith("[Error 32] InvalidTimestamp" if refusing else "")
    assert bool(last.time_refused) == refusing


def test_time_is_given_again_after_the_flush(kafka: Kafka, producer: KafkaProducer) -> None:
    refusing = kafka.create_topic("clock", config={"message.timestamp.before.max.ms": "0"})
    topic = kafka.create_topic("clock")
    producer.send(refusing, b"k", b"v")
    producer.flush()
    sent = producer.send(topic, b"k", b"v")
    producer.flush()
    assert sent.time_refused == ""
    assert kafka.records(topic)[0].timestamp > 0


@pytest.mark.parametrize(("key", "name"), [(b"x" * 300, f'the record with key "{"x" * 200}…"'), (b"short", "short")])
def test_record_above_the_limit_of_the_topic_is_named(
    kafka: Kafka, producer: KafkaProducer, key: bytes, name: str
) -> None:
    topic = kafka.create_topic("large", config={"max.message.bytes": "2000"})
    producer.send(topic, b"k", b"small")
    producer.send(topic, key, b"x" * 3000)
    with pytest.raises(IngestError) as caught:
        producer.flush()
    assert caught.value.code == "record_too_large"
    assert name in caught.value.message
    assert values(kafka, topic) == [b"small"]
    producer.send(topic, b"k", b"later")
    producer.flush()
    assert kafka.records(topic)[-1].timestamp > 0


def test_record_without_a_key_in_a_compacted_topic(kafka: Kafka, producer: KafkaProducer) -> None:
    topic = kafka.create_topic("compacted", config={"cleanup.policy": "compact"})
    producer.send(topic, b"k", b"good")
    producer.send(topic, None, b"bad", (), 0)
    with pytest.raises(IngestError, match="sending a record without a key to topic") as caught:
        producer.flush()
    assert caught.value.code == "bad_record"
    assert values(kafka, topic) == [b"good"]


@pytest.mark.usefixtures("short_timeouts")
def test_missing_topic_leaves_nothing_to_report_later(producer: KafkaProducer) -> None:
    with pytest.raises((NotFoundError, SourceUnavailableError)):
        producer.send(unique("nowhere"), b"k", b"v")
    producer.flush()


# Slow and dead links


@pytest.mark.usefixtures("short_timeouts")
def test_slow_link_is_no_outage(far_kafka: Kafka, far_producer: KafkaProducer, proxy: Proxy) -> None:
    """The whole takes longer than a connection may be without progress."""
    topic = far_kafka.create_topic("slow")
    far_producer.send(topic, b"k", b"first")
    far_producer.flush()
    proxy.behave(bytes_per_s=200_000)
    connections = proxy.counts.connections
    sent = [far_producer.send(topic, b"%d" % number, b"x" * 20_000) for number in range(45)]
    far_producer.flush()
    assert {record.is_durable for record in sent} == {True}
    assert proxy.counts.connections == connections
    assert far_kafka.ends(topic) == {0: 46}


@pytest.mark.usefixtures("short_timeouts")
def test_records_that_were_acknowledged_before_an_outage_are_durable(
    far_kafka: Kafka, far_producer: KafkaProducer, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.kafka.producer._WINDOW_BYTES", 50_000)
    topic = far_kafka.create_topic("cut")
    sent = [far_producer.send(topic, b"%d" % number, b"x" * 20_000) for number in range(6)]
    proxy.behave(stalled=True)
    with pytest.raises(SourceUnavailableError, match="no progress for 3 s"):
        far_producer.send(topic, b"refused", b"x" * 20_000)
    durable = [record.is_durable for record in sent]
    assert durable[:4] == [True] * 4  # the window has room for two others
    assert durable[-1] is False
    with pytest.raises(SourceUnavailableError, match="no progress"):
        far_producer.flush()  # reports records that a `send` has lost, once
    far_producer.flush()
    proxy.heal()
    for record in sent:
        if not record.is_durable:
            far_producer.send(topic, record.key, record.value)
    far_producer.flush()
    assert {record.key for record in far_kafka.records(topic)} == {record.key for record in sent}


@pytest.mark.usefixtures("short_timeouts")
def test_records_below_the_window_do_not_wait(far_kafka: Kafka, far_producer: KafkaProducer, proxy: Proxy) -> None:
    topic = far_kafka.create_topic("window")
    far_producer.send(topic, b"k", b"first")
    far_producer.flush()
    proxy.behave(stalled=True)
    exchanges = proxy.counts.exchanges
    for number in range(3):
        far_producer.send(topic, b"%d" % number, b"v")
    assert proxy.counts.exchanges == exchanges
    proxy.heal()
    far_producer.flush()
    assert far_kafka.ends(topic) == {0: 4}


def test_record_above_the_window(kafka: Kafka, producer: KafkaProducer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.kafka.producer._WINDOW_BYTES", 1_000)
    topic = kafka.create_topic("window")
    for number in range(3):
        producer.send(topic, b"%d" % number, b"x" * 2_000)
    producer.flush()
    assert kafka.ends(topic) == {0: 3}


@pytest.mark.usefixtures("short_timeouts")
def test_outage_in_a_send_is_reported_by_the_flush_for_the_earlier_ones(
    far_kafka: Kafka, far_producer: KafkaProducer, proxy: Proxy
) -> None:
    topic, other = far_kafka.create_topic("known"), far_kafka.create_topic("unknown")
    far_producer.send(topic, b"k", b"first")
    far_producer.flush()
    proxy.behave(stalled=True)
    far_producer.send(topic, b"k", b"lost")
    with pytest.raises(SourceUnavailableError):
        far_producer.send(other, b"k", b"v")  # needs metadata
    with pytest.raises(SourceUnavailableError):
        far_producer.flush()
    far_producer.flush()


# The sink


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_records_that_the_broker_refuses_fail_their_events_alone(
    kafka: Kafka, tmp_path: Path, compression: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a producer reads a batch that is too large for the topic, to divide it; consumers of other tests give the codec
    monkeypatch.setattr("kafka.record.default_records.zstd_decode", zstd_decode)
    topic = kafka.create_topic("refusing", partitions=2, config={"max.message.bytes": "20000"})
    sink = KafkaSink(
        KafkaSink.settings_class().model_validate(
            {"topic": topic, "brokers": kafka.brokers, "compression": compression}
        )
    )
    context = SinkContext("p", "kafka", tmp_path)
    now_ms = int(time.time() * 1000)

    def event(number: int) -> Event:
        size = 30_000 if number % 50 == 10 else 100
        at_ms = now_ms + (2 * HOUR_MS if number % 50 == 20 else 0)
        # of random bytes, of which no compression makes fewer
        body = random.Random(number).randbytes(size)
        return Event(body, timestamp_ms=at_ms, key=b"k%d" % number, origin=Origin("s", 0, number))

    events = [event(number) for number in range(300)]
    with closing(sink.writer(context)) as writer, closing(sink.committer(context)) as committer:
        committer.recover()
        batch, requests, codes = Batch("1", 1, "a"), [], {}
        for attempt in range(2):
            writer.begin(TaskSpec(batch), committer.prepare(batch, requests), WriteCounts())
            for each in events:
                try:
                    writer.write(each)
                except EventError as error:
                    assert attempt == 1
                    codes[each.origin.offset] = error.code
            result = writer.flush()
            assert result.run_again == (attempt == 0)
            requests.append(result.payload)
    assert codes == {
        number: code
        for start in range(0, 300, 50)
        for number, code in ((start + 10, "record_too_large"), (start + 20, "record_time_refused"))
    }
    found = kafka.records(topic)
    assert Counter(record.key for record in found) == {
        each.key: 2 for each in events if each.origin.offset not in codes
    }
    for partition in (0, 1):
        # the copies of the last attempt are in the order of the events
        numbers = [int(record.key[1:]) for record in found if record.partition == partition]
        last = numbers[len(numbers) // 2 :]
        assert last == sorted(last)


def test_old_events_are_all_refused_in_few_requests(
    kafka: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker names each: to send them alone would take more time than a write may."""
    topic = kafka.create_topic("old", partitions=2, config={"message.timestamp.before.max.ms": str(HOUR_MS)})
    settings = {"topic": topic, "brokers": kafka.brokers, "compression": "gzip"}
    sink = KafkaSink(KafkaSink.settings_class().model_validate(settings))
    sent: list[object] = []
    monkeypatch.setattr(
        "ingest.kafka.producer.sending_at_once", lambda client: sent.append(client) or sending_at_once(client)
    )
    at_ms = int(time.time() * 1000) - 7 * 24 * HOUR_MS
    with closing(sink.writer(SinkContext("p", "kafka", tmp_path))) as writer:
        writer.begin(TaskSpec(Batch("1", 1, "a")), b"", WriteCounts())
        for number in range(3_000):
            writer.write(Event(b"v", timestamp_ms=at_ms, key=b"k%d" % number, origin=Origin("s", 0, number)))
        refused = unpacked([writer.flush().payload])
        assert Counter(code for code, _ in refused.values()) == {"record_time_refused": 3_000}
        assert len(sent) <= 4
        writer.begin(TaskSpec(Batch("1", 1, "b"), max_failures=100), b"", WriteCounts())
        for number in range(200):
            writer.write(Event(b"v", timestamp_ms=at_ms, key=b"k", origin=Origin("s", 0, number)))
        with pytest.raises(ErrorBudgetSpentError):
            writer.flush()
    assert kafka.records(topic) == []


def test_tombstones_and_keys_are_those_of_kafkas_own_clients(kafka: Kafka, tmp_path: Path) -> None:
    topic, other = kafka.create_topic("sink", partitions=5), kafka.create_topic("client", partitions=5)
    names = [b"key-%d" % number for number in range(50)]
    kafka.produce(other, [Given(b"v", key=name) for name in names])
    sink = KafkaSink(
        KafkaSink.settings_class().model_validate({"topic": topic, "brokers": kafka.brokers, "compression": "gzip"})
    )
    context = SinkContext("p", "kafka", tmp_path)
    assert sink.check(context) == "partitions: 5"
    with closing(sink.writer(context)) as writer:
        writer.begin(TaskSpec(Batch("1", 1, "a")), b"", WriteCounts())
        for name in names:
            writer.write(Event(b"", key=name, tombstone=True, timestamp_ms=5))
        writer.flush()
    found = {record.key: (record.partition, record.value, record.timestamp) for record in kafka.records(topic)}
    assert found == {record.key: (record.partition, None, 5) for record in kafka.records(other)}
