"""The Kafka clients with a real broker: admin, group offsets, producer, topic tail, dead letters."""

import threading
from functools import partial

import kafka as client
import pytest
from kafka.producer.sender import Sender

from ingest.api import (
    ConflictError,
    Disposition,
    IngestError,
    NotFoundError,
    Record,
    SourceUnavailableError,
)
from ingest.dead_letters.envelope import DeadLetter
from ingest.dead_letters.kafka import KafkaDeadLetters
from ingest.dead_letters.topic_records import in_headers, in_json
from ingest.kafka.admin import KafkaAdmin
from ingest.kafka.errors import GroupInUseError
from ingest.kafka.offsets import GroupOffsets
from ingest.kafka.producer import KafkaProducer
from ingest.kafka.settings import KafkaConnection
from ingest.kafka.stored import Stored, TopicSettings
from ingest.kafka.tail import TopicTail
from ingest.service.kafka.group import offsets_of_group
from tests.support.names import unique
from tests.support.servers import Given, Kafka
from tests.support.waiting import reached

UNREACHABLE = {"brokers": "127.0.0.1:1"}


@pytest.fixture
def connection(kafka: Kafka) -> KafkaConnection:
    return KafkaConnection.model_validate({"brokers": kafka.brokers})


@pytest.fixture
def admin(connection):
    with KafkaAdmin(connection) as admin:
        yield admin


@pytest.fixture
def producer(connection):
    producer = KafkaProducer(connection)
    yield producer
    producer.close()


@pytest.fixture
def group(connection):
    group = GroupOffsets(connection, unique("group"))
    yield group
    group.close()


# Admin


def test_cluster_id_is_stable(kafka, connection, admin):
    with KafkaAdmin(connection) as other:
        assert admin.cluster_id() == other.cluster_id() != ""


def test_topics_and_their_partitions(kafka, admin):
    one, three = kafka.create_topic("asked"), kafka.create_topic("asked", partitions=3)
    assert admin.partitions([three, one]) == {three: 3, one: 1}
    assert admin.partitions([]) == {}


@pytest.mark.parametrize("name", ["nowhere", "no topic's name"])
def test_missing_topic_is_named_and_not_created(kafka, admin, name):
    there = kafka.create_topic("there")
    for _ in range(2):
        with pytest.raises(NotFoundError) as caught:
            admin.partitions([there, name])
        assert caught.value.message == f'no topic "{name}" in the cluster'


def test_pattern_matches_whole_names_of_topics_that_are_not_internal(kafka, admin, group):
    group.committed(["x"])  # creates __consumer_offsets
    first, second = kafka.create_topic("match"), kafka.create_topic("match")
    assert admin.topics_matching(f"{first}|{second[:-1]}") == [first]
    assert admin.topics_matching("__.*") == []


def test_topic_is_created_once_with_its_settings(admin):
    name = unique("made")
    config = {"max.message.bytes": "2000", "retention.ms": "5000", "retention.bytes": "-1", "cleanup.policy": "compact"}
    admin.create_topic(name, partitions=2, config=config)
    assert (admin.partitions([name]), admin.settings(name)) == ({name: 2}, TopicSettings(2000, 5000, -1, "compact"))
    with pytest.raises(ConflictError):
        admin.create_topic(name)


def test_record_limit_is_that_of_the_topic_or_the_producer(kafka, admin):
    assert admin.settings(kafka.create_topic("limit")).max_message_bytes == 1048588
    huge = kafka.create_topic("limit", config={"max.message.bytes": str(2**30)})
    assert admin.settings(huge).max_message_bytes == 32 * 1024 * 1024
    with pytest.raises(NotFoundError):
        admin.settings("nowhere")


def test_earliest_and_end_offsets(kafka, admin):
    topic = kafka.create_topic("offsets", partitions=2)
    kafka.produce(topic, [Given("v", partition=0, timestamp_ms=time) for time in (1000, 2000, 3000)])
    assert admin.earliest([topic]) == {(topic, 0): 0, (topic, 1): 0}
    assert admin.ends([topic]) == {(topic, 0): 3, (topic, 1): 0}
    assert admin.high_watermarks([topic]) == {(topic, 0): 3, (topic, 1): 0}
    assert admin.ends([]) == {}


def test_open_transaction_limits_the_end_but_not_the_high_watermark(kafka, admin):
    topic = kafka.create_topic("open")
    kafka.produce(topic, [Given("v")])
    producer = client.KafkaProducer(bootstrap_servers=kafka.brokers, transactional_id=unique("open"))
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(topic, b"held")
    producer.flush()
    assert (admin.ends([topic]), admin.high_watermarks([topic])) == ({(topic, 0): 1}, {(topic, 0): 2})
    producer.abort_transaction()
    producer.close()


# Offsets of groups


def test_committed_offsets_can_be_read_by_other_clients(kafka, connection):
    topic, name = kafka.create_topic("group", partitions=3), unique("group")
    group = GroupOffsets(connection, name)
    assert group.committed([topic]) == {}
    group.commit({(topic, 0): 5, (topic, 2): 0})
    group.close()
    assert kafka.committed(name, topic) == {0: 5, 2: 0}
    other = GroupOffsets(connection, name)
    assert other.committed([topic, "another"]) == {(topic, 0): 5, (topic, 2): 0}
    assert other.committed([]) == {}
    other.close()


def test_metadata_is_stored_with_offsets(kafka, group):
    topic, other = kafka.create_topic("noted", partitions=2), kafka.create_topic("other")
    group.commit({(topic, 0): 5}, note="17")
    group.commit({(topic, 1): 5}, note="18")
    group.commit({(other, 0): 0}, note="99")
    assert group.committed_with_notes([topic]) == {(topic, 0): (5, "17"), (topic, 1): (5, "18")}


def test_offsets_are_lowered_only_by_a_reset(kafka, group):
    topic = kafka.create_topic("group", partitions=2)
    group.commit({(topic, 0): 5, (topic, 1): 5})
    group.commit({(topic, 0): 4, (topic, 1): 6})
    assert group.committed([topic]) == {(topic, 0): 5, (topic, 1): 6}
    group.commit({(topic, 0): 1, (topic, 1): 2}, lower=True)
    assert group.committed([topic]) == {(topic, 0): 1, (topic, 1): 2}
    group.commit({})


def test_commit_to_a_missing_topic_is_refused(group):
    with pytest.raises(NotFoundError, match='topic "nowhere" partition 0'):
        group.commit({("nowhere", 0): 1})


def test_offsets_of_a_group_with_members_are_refused(kafka, connection):
    topic, name = kafka.create_topic("group"), unique("group")
    member = client.KafkaConsumer(bootstrap_servers=kafka.brokers, group_id=name)
    group = GroupOffsets(connection, name)
    try:
        # a member that joins before it knows the partitions of a new topic gets none
        assert reached(lambda: member.partitions_for_topic(topic), 30)
        member.subscribe([topic])
        assert reached(lambda: member.poll(timeout_ms=100) or member.assignment(), 60)
        with pytest.raises(IngestError) as caught:
            group.commit({(topic, 0): 1})
        assert caught.value.code == "group_in_use"
        assert [each.client_id for each in group.members()] == [member.config["client_id"]]
        with pytest.raises(GroupInUseError, match="has 1 active member, which would read the same records"):
            offsets_of_group(connection, name, [topic])
    finally:
        group.close()
        member.close()


# Producer


def test_sent_records_are_complete(kafka, producer):
    topic = kafka.create_topic("sent", partitions=2)
    producer.send(topic, b"k", b"v", [("h", b"1"), ("h", b"")], 1, 77)
    producer.send(topic, b"k", None, (), 1)
    producer.send(topic, None, b"", (), 1)
    producer.flush()
    first, second, third = kafka.records(topic)
    assert (first.key, first.value, list(first.headers), first.timestamp) == (
        b"k",
        b"v",
        [("h", b"1"), ("h", b"")],
        77,
    )
    assert (second.key, second.value, third.key, third.value) == (b"k", None, None, b"")


def test_the_same_key_goes_to_the_same_partition(kafka, producer):
    topic = kafka.create_topic("keys", partitions=4)
    for number in range(40):
        producer.send(topic, b"key%d" % (number % 4), b"v")
        producer.flush()
    found = {(record.key, record.partition) for record in kafka.records(topic)}
    assert len(found) == 4


def test_many_small_records_fit_a_low_limit(kafka, producer):
    topic = kafka.create_topic("split", config={"max.message.bytes": "4000"})
    for number in range(200):
        producer.send(topic, b"%d" % number, b"x" * 500)
    producer.flush()
    assert kafka.ends(topic) == {0: 200}


def test_too_large_record_fails_only_its_flush(kafka, producer):
    topic = kafka.create_topic("large", config={"max.message.bytes": "2000"})
    producer.send(topic, b"k", b"x" * 3000)
    with pytest.raises(IngestError) as caught:
        producer.flush()
    assert (caught.value.code, caught.value.disposition) == ("record_too_large", Disposition.STOP)
    producer.send(topic, b"k", b"small")
    producer.flush()
    assert [record.value for record in kafka.records(topic)] == [b"small"]


@pytest.mark.parametrize(
    ("key", "value", "headers", "code"),
    [
        (None, None, (), "bad_record"),
        (b"k", b"v", [("h", None)], "bad_record"),
        (b"k", b"v", [("\udcff", b"")], "bad_record"),
        (b"k", b"x" * (33 * 1024 * 1024), (), "record_too_large"),
    ],
)
def test_record_that_cannot_be_sent_does_not_affect_others(kafka, producer, key, value, headers, code):
    topic = kafka.create_topic("bad")
    producer.send(topic, b"k", b"good")
    with pytest.raises(IngestError) as caught:
        producer.send(topic, key, value, headers)
    assert caught.value.code == code
    producer.flush()
    assert [record.value for record in kafka.records(topic)] == [b"good"]


def test_sending_to_a_missing_topic_does_not_create_it(kafka, producer, admin):
    name = unique("nowhere")
    with pytest.raises(IngestError, match=name):
        producer.send(name, b"k", b"v")
    with pytest.raises(NotFoundError):
        admin.partitions([name])


# Topic tail


def test_tail_ends_at_the_end_offset_of_the_call(kafka, connection):
    topic = kafka.create_topic("tail", partitions=2)
    kafka.produce(topic, [Given(f"{number}", partition=number % 2) for number in range(2500)])
    found = TopicTail(connection).read(topic)
    kafka.produce(topic, [Given("late", partition=0)])
    records = list(found)
    assert len(records) == 2500
    for partition in (0, 1):
        own = [stored for stored in records if stored.partition == partition]
        assert [stored.offset for stored in own] == list(range(1250))
        assert [stored.value for stored in own] == [b"%d" % (2 * number + partition) for number in range(1250)]


def test_tail_of_an_empty_or_missing_topic(kafka, connection):
    assert list(TopicTail(connection).read(kafka.create_topic("empty"))) == []
    with pytest.raises(NotFoundError):
        TopicTail(connection).read("nowhere")


def test_tail_reads_only_committed_records(kafka, connection):
    topic = kafka.create_topic("transactions")
    sender = client.KafkaProducer(bootstrap_servers=kafka.brokers, transactional_id=unique("id"))
    try:
        sender.init_transactions()
        for value, keep in ((b"kept", True), (b"aborted", False)):
            sender.begin_transaction()
            sender.send(topic, value)
            sender.flush()
            if keep:
                sender.commit_transaction()
            else:
                sender.abort_transaction()
    finally:
        sender.close()
    assert [stored.value for stored in TopicTail(connection).read(topic)] == [b"kept"]
    assert TopicTail(connection).read_at(topic, 0, 2) is None


def test_record_is_read_by_partition_and_offset(kafka, connection):
    topic = kafka.create_topic("place", partitions=2)
    kafka.produce(topic, [Given("a", partition=1), Given("b", partition=1), Given(None, key="c", partition=1)])
    tail = TopicTail(connection)
    assert tail.read_at(topic, 1, 1) == Stored(1, 1, b"b")
    assert tail.read_at(topic, 1, 2) == Stored(1, 2, None, b"c")
    kafka.produce(topic, [Given("d", headers=[("h", b"1"), ("h", b"")], partition=1)])
    assert tail.read_at(topic, 1, 3) == Stored(1, 3, b"d", None, (("h", b"1"), ("h", b"")))
    assert [tail.read_at(topic, *place) for place in ((1, 4), (0, 0), (7, 0))] == [None, None, None]


def test_newest_records_of_two_topics(kafka, connection):
    busy, quiet = kafka.create_topic("busy", partitions=2), kafka.create_topic("quiet")
    kafka.produce(busy, [Given(f"{number}", partition=number % 2) for number in range(2_000)])
    kafka.produce(quiet, [Given("x", key=b"\xff", headers=[("h", b"1")], timestamp_ms=5), Given(None, key="k")])
    found = list(TopicTail(connection).newest([busy, quiet], 1_000))
    assert len(found) == 1_000
    assert Record(quiet, 0, 0, b"\xff", b"x", 5, (("h", b"1"),)) in found
    assert [record.value for record in found if record.topic == quiet] == [b"x", None]
    for partition in (0, 1):
        own = [record.offset for record in found if (record.topic, record.partition) == (busy, partition)]
        assert own == list(range(501, 1_000))


def test_newest_and_first_records_beside_ends_of_transactions_and_aborted_records(kafka, connection):
    topic = kafka.create_topic("newest")
    sender = client.KafkaProducer(bootstrap_servers=kafka.brokers, transactional_id=unique("id"))
    sender.init_transactions()
    for number in range(12):
        sender.begin_transaction()
        sender.send(topic, b"%d" % number)
        sender.flush()
        if number < 8:
            sender.commit_transaction()
        else:
            sender.abort_transaction()
    sender.close()
    for count in (1, 5, 100):
        found = [int(record.value) for record in TopicTail(connection).newest([topic], count)]
        assert found == list(range(max(0, 8 - count), 8))
        assert [int(each.value) for each in TopicTail(connection).since([topic], 0, count)] == list(
            range(min(count, 8))
        )


def test_newest_records_of_an_empty_or_missing_topic(kafka, connection):
    assert list(TopicTail(connection).newest([kafka.create_topic("empty")], 5)) == []
    with pytest.raises(NotFoundError):
        TopicTail(connection).newest(["nowhere"], 5)


def test_first_records_from_a_time_on(kafka, connection):
    one, two = kafka.create_topic("one", partitions=2), kafka.create_topic("two")
    kafka.produce(one, [Given(f"{ms}", partition=ms % 2, timestamp_ms=ms) for ms in range(1, 21)])
    kafka.produce(two, [Given("early", timestamp_ms=1)])
    tail = TopicTail(connection)
    assert sorted(record.timestamp_ms for record in tail.since([one, two], 11, 4)) == [11, 12, 13, 14]
    assert sorted(record.timestamp_ms for record in tail.since([one], 19, 100)) == [19, 20]
    assert list(tail.since([one, two], 21, 4)) == []


# Unavailable cluster


def _admin(connection):
    KafkaAdmin(connection)


def _commit(connection):
    GroupOffsets(connection, "g").commit({("t", 0): 1})


def _send(connection):
    KafkaProducer(connection).send("t", b"k", b"v")


def _tail(connection):
    TopicTail(connection).read("t")


@pytest.mark.parametrize("call", [_admin, _commit, _send, _tail])
def test_missing_broker_is_reported(call):
    with pytest.raises(SourceUnavailableError, match=r"127\.0\.0\.1:1.*connection refused") as missing:
        call(KafkaConnection.model_validate(UNREACHABLE))
    assert "is a Kafka broker running there" in (missing.value.hint or "")


def test_reason_of_a_failed_connection_is_reported(kafka):
    security = {"sasl": {"mechanism": "plain", "username": "u", "password": "p"}}
    connection = KafkaConnection.model_validate({"brokers": kafka.brokers, "security": security})

    def reason() -> str:
        with pytest.raises(SourceUnavailableError) as caught:
            KafkaAdmin(connection)
        return str(caught.value)

    # the client reports its last attempt, which may have had no time left
    assert reached(lambda: "IllegalSaslState" in reason(), 60)


def test_clients_without_a_connection_leave_no_thread():
    before = threading.active_count()
    for call in (_admin, _send):
        with pytest.raises(SourceUnavailableError):
            call(KafkaConnection.model_validate(UNREACHABLE))
    assert threading.active_count() == before


def test_frozen_broker_is_reported(kafka, connection):
    kafka.pause()
    with pytest.raises(SourceUnavailableError):
        _send(connection)


def test_call_to_a_frozen_broker_ends(kafka, admin):
    topic = kafka.create_topic("frozen")
    admin.partitions([topic])
    kafka.pause()
    with pytest.raises(SourceUnavailableError):
        admin.ends([topic])
    kafka.resume()

    def has_leader() -> bool:
        try:
            return admin.ends([topic]) == {(topic, 0): 0}
        except SourceUnavailableError:  # the controller may have fenced the frozen broker
            return False

    assert reached(has_leader, 60)


# Dead letters


def _dead_letter(offset: int, value: bytes = b"v") -> DeadLetter:
    key = None if offset % 2 else b"k"
    return DeadLetter(
        record=Record("t", 0, offset, key, value, 5, (("h", b"1"), ("h", None))),
        fan_out=0,
        attributes={"a": b"1"},
        pipeline="p",
        component="split",
        code="decorate",
        message="no",
        batch_time_ms=77,
        fingerprint="f",
    )


@pytest.fixture(params=[in_json, partial(in_headers, sinks=["split"])], ids=["json", "headers"])
def queue(request, kafka, connection, tmp_path):
    topic = kafka.create_topic("dead", partitions=2, config={"max.message.bytes": "4000"})
    queue = KafkaDeadLetters(
        topic,
        pipeline="p",
        state=tmp_path,
        admin=lambda: KafkaAdmin(connection),
        producer=lambda: KafkaProducer(connection),
        reader=lambda: TopicTail(connection),
        envelope=request.param,
    )
    yield queue
    queue.close()


def test_dead_letters_are_listed_once_and_read_by_position(queue):
    dead_letters = [_dead_letter(number) for number in range(20)]
    for _ in range(2):  # a batch that was not acknowledged is published again
        queue.publish([each.to_json() for each in dead_letters], 3, 77)
    entries = list(queue.entries())
    assert sorted(entry.dead_letter.record.offset for entry in entries) == list(range(20))
    assert queue.read(entries[4].position).dead_letter == entries[4].dead_letter
    with pytest.raises(NotFoundError):
        queue.read("0:1000")


@pytest.mark.parametrize("size", [2800, 2900, 3000, 3100, 3200, 5000, 100_000])
def test_dead_letters_around_the_record_limit_of_the_topic_are_complete(queue, size):
    dead_letter = _dead_letter(1, b"x" * size)
    queue.publish([dead_letter.to_json(), _dead_letter(2).to_json()], 3, 77)
    assert {entry.dead_letter.record.offset: entry.dead_letter for entry in queue.entries()} == {
        1: dead_letter,
        2: _dead_letter(2),
    }


# An outage


@pytest.mark.parametrize("queue", [in_json], indirect=True)
def test_outage_is_reported_and_after_it_the_clients_work(kafka, connection, group, queue, monkeypatch):
    """One outage for all clients, because a restart of the broker takes seconds of CPU."""
    read, committed = kafka.create_topic("gone"), kafka.create_topic("group")
    left = kafka.create_topic("left", partitions=2)
    group.commit({(committed, 0): 1})
    queue.publish([_dead_letter(1).to_json()], 1, 70)
    senders = _senders()
    producer = KafkaProducer(connection)
    producer.send(left, b"k", b"before", partition=0)
    producer.flush()
    kafka.produce(read, ["x" * 100_000] * 100)
    found = TopicTail(connection).read(read)
    next(found)
    kafka.kill()

    monkeypatch.setattr("ingest.kafka.tail._STALLED_S", 2.0)
    with pytest.raises(SourceUnavailableError):
        list(found)
    with pytest.raises(SourceUnavailableError):
        group.commit({(committed, 0): 2})
    monkeypatch.setattr("ingest.kafka.producer._STALLED_S", 0.1)
    for partition in (0, 1):
        producer.send(left, b"k", b"during the outage", partition=partition)
    with pytest.raises(SourceUnavailableError):
        producer.flush()
    assert reached(lambda: senders >= _senders(), 10)
    monkeypatch.setattr("ingest.kafka.producer._STALLED_S", 2.0)
    with pytest.raises(SourceUnavailableError):
        queue.publish([_dead_letter(2).to_json()], 2, 77)

    kafka.start()
    group.commit({(committed, 0): 3})
    assert group.committed([committed]) == {(committed, 0): 3}
    queue.publish([_dead_letter(2).to_json()], 2, 77)
    assert {entry.dead_letter.record.offset for entry in queue.entries()} == {1, 2}
    # the lost producer sends nothing later
    assert [record.value for record in kafka.records(left)] == [b"before"]


def _senders():
    """The threads of producers of kafka-python."""
    return {thread for thread in threading.enumerate() if isinstance(thread, Sender)}
