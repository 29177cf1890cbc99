"""The door to Kafka, at a real broker: questions, offsets of groups, sending, reading to the end, dead letters."""

import threading

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
from ingest.kafka.admin import KafkaAdmin
from ingest.kafka.offsets import GroupOffsets
from ingest.kafka.producer import KafkaProducer
from ingest.kafka.settings import KafkaConnection
from ingest.kafka.stored import Stored, TopicSettings
from ingest.kafka.tail import TopicTail
from tests.support.names import unique
from tests.support.servers import Given, Kafka
from tests.support.waiting import reached

DEAD = {"brokers": "127.0.0.1:1"}


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


# Questions


def test_a_cluster_has_one_id(kafka, connection, admin):
    with KafkaAdmin(connection) as other:
        assert admin.cluster_id() == other.cluster_id() != ""


def test_topics_and_their_partitions(kafka, admin):
    one, three = kafka.create_topic("asked"), kafka.create_topic("asked", partitions=3)
    assert admin.partitions([three, one]) == {three: 3, one: 1}
    assert admin.partitions([]) == {}


@pytest.mark.parametrize("name", ["nowhere", "no topic's name"])
def test_a_missing_topic_is_named_and_not_made(kafka, admin, name):
    there = kafka.create_topic("there")
    for _ in range(2):
        with pytest.raises(NotFoundError) as caught:
            admin.partitions([there, name])
        assert caught.value.message == f'no topic "{name}" in the cluster'


def test_a_pattern_matches_whole_names_of_topics_that_are_not_kafkas_own(kafka, admin, group):
    group.committed(["x"])  # makes __consumer_offsets
    first, second = kafka.create_topic("match"), kafka.create_topic("match")
    assert admin.topics_matching(f"{first}|{second[:-1]}") == [first]
    assert admin.topics_matching("__.*") == []


def test_a_topic_is_made_once_with_its_settings(admin):
    name = unique("made")
    config = {"max.message.bytes": "2000", "retention.ms": "5000", "retention.bytes": "-1", "cleanup.policy": "compact"}
    admin.create_topic(name, partitions=2, config=config)
    assert (admin.partitions([name]), admin.settings(name)) == ({name: 2}, TopicSettings(2000, 5000, -1, "compact"))
    with pytest.raises(ConflictError):
        admin.create_topic(name)


def test_the_limit_of_a_record_is_the_topics_or_the_producers(kafka, admin):
    assert admin.settings(kafka.create_topic("limit")).max_message_bytes == 1048588
    huge = kafka.create_topic("limit", config={"max.message.bytes": str(2**30)})
    assert admin.settings(huge).max_message_bytes == 32 * 1024 * 1024
    with pytest.raises(NotFoundError):
        admin.settings("nowhere")


def test_offsets_of_both_ends(kafka, admin):
    topic = kafka.create_topic("offsets", partitions=2)
    kafka.produce(topic, [Given("v", partition=0, timestamp_ms=time) for time in (1000, 2000, 3000)])
    assert admin.earliest([topic]) == {(topic, 0): 0, (topic, 1): 0}
    assert admin.ends([topic]) == {(topic, 0): 3, (topic, 1): 0}
    assert admin.high_watermarks([topic]) == {(topic, 0): 3, (topic, 1): 0}
    assert admin.ends([]) == {}


def test_an_open_transaction_ends_a_topic_for_readers_and_counts_as_there(kafka, admin):
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


def test_committed_offsets_are_seen_by_others(kafka, connection):
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


def test_notes_are_kept_with_offsets(kafka, group):
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


def test_a_topic_that_is_gone_is_told(group):
    with pytest.raises(NotFoundError, match='topic "nowhere" partition 0'):
        group.commit({("nowhere", 0): 1})


def test_offsets_are_not_committed_over_members(kafka, connection):
    topic, name = kafka.create_topic("group"), unique("group")
    member = client.KafkaConsumer(topic, bootstrap_servers=kafka.brokers, group_id=name)
    group = GroupOffsets(connection, name)
    try:
        while not member.assignment():
            member.poll(timeout_ms=100)
        with pytest.raises(IngestError) as caught:
            group.commit({(topic, 0): 1})
        assert caught.value.code == "group_in_use"
    finally:
        group.close()
        member.close()


def test_offsets_go_on_after_the_broker_was_away(kafka, group):
    topic = kafka.create_topic("group")
    group.commit({(topic, 0): 1})
    kafka.kill()
    with pytest.raises(SourceUnavailableError):
        group.commit({(topic, 0): 2})
    kafka.start()
    group.commit({(topic, 0): 3})
    assert group.committed([topic]) == {(topic, 0): 3}


# Sending


def test_sent_records_are_whole(kafka, producer):
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


def test_many_small_records_pass_a_low_limit(kafka, producer):
    topic = kafka.create_topic("split", config={"max.message.bytes": "4000"})
    for number in range(200):
        producer.send(topic, b"%d" % number, b"x" * 500)
    producer.flush()
    assert kafka.ends(topic) == {0: 200}


def test_a_record_that_is_too_large_fails_the_flush_and_no_later_one(kafka, producer):
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
def test_a_record_that_can_not_be_sent_leaves_the_others(kafka, producer, key, value, headers, code):
    topic = kafka.create_topic("bad")
    producer.send(topic, b"k", b"good")
    with pytest.raises(IngestError) as caught:
        producer.send(topic, key, value, headers)
    assert caught.value.code == code
    producer.flush()
    assert [record.value for record in kafka.records(topic)] == [b"good"]


def test_sending_to_a_topic_that_is_missing_makes_none(kafka, producer, admin):
    name = unique("nowhere")
    with pytest.raises(IngestError, match=name):
        producer.send(name, b"k", b"v")
    with pytest.raises(NotFoundError):
        admin.partitions([name])


def test_a_flush_without_the_broker_fails_and_the_records_can_be_sent_again(kafka, producer):
    topic = kafka.create_topic("away")
    producer.send(topic, b"k", b"before")
    producer.flush()
    kafka.kill()
    producer.send(topic, b"k", b"while away")
    with pytest.raises(SourceUnavailableError):
        producer.flush()
    producer.flush()  # tells a failure once
    kafka.start()
    producer.send(topic, b"k", b"while away")
    producer.flush()
    assert [record.value for record in kafka.records(topic)] == [b"before", b"while away"]


def test_what_a_lost_broker_leaves_behind_goes_on_nowhere(kafka, connection, monkeypatch):
    monkeypatch.setattr("ingest.kafka.producer._FLUSH_TIMEOUT_S", 0.1)
    topic = kafka.create_topic("left", partitions=2)
    threads = {thread for thread in threading.enumerate() if isinstance(thread, Sender)}
    producer = KafkaProducer(connection)
    producer.send(topic, b"k", b"before", partition=0)
    producer.flush()
    kafka.kill()
    for partition in (0, 1):
        producer.send(topic, b"k", b"while away", partition=partition)
    with pytest.raises(SourceUnavailableError):
        producer.flush()
    assert reached(lambda: threads >= {each for each in threading.enumerate() if isinstance(each, Sender)}, 10)
    kafka.start()
    assert [record.value for record in kafka.records(topic)] == [b"before"]


# Reading to the end


def test_a_tail_ends_where_the_topic_ended_at_the_call(kafka, connection):
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


def test_a_tail_of_an_empty_or_missing_topic(kafka, connection):
    assert list(TopicTail(connection).read(kafka.create_topic("empty"))) == []
    with pytest.raises(NotFoundError):
        TopicTail(connection).read("nowhere")


def test_a_tail_reads_what_is_committed_and_ends_after_what_is_not(kafka, connection):
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


def test_one_record_by_its_place(kafka, connection):
    topic = kafka.create_topic("place", partitions=2)
    kafka.produce(topic, [Given("a", partition=1), Given("b", partition=1), Given(None, key="c", partition=1)])
    tail = TopicTail(connection)
    assert tail.read_at(topic, 1, 1) == Stored(1, 1, b"b")
    assert tail.read_at(topic, 1, 2) == Stored(1, 2, None)
    assert [tail.read_at(topic, *place) for place in ((1, 3), (0, 0), (7, 0))] == [None, None, None]


def test_a_tail_notices_that_the_broker_is_gone(kafka, connection):
    topic = kafka.create_topic("gone")
    kafka.produce(topic, ["x" * 100_000] * 100)
    found = TopicTail(connection).read(topic)
    next(found)
    kafka.kill()
    with pytest.raises(SourceUnavailableError):
        list(found)


# A cluster that is away


def _ask(connection):
    KafkaAdmin(connection)


def _commit(connection):
    GroupOffsets(connection, "g").commit({("t", 0): 1})


def _send(connection):
    KafkaProducer(connection).send("t", b"k", b"v")


def _tail(connection):
    TopicTail(connection).read("t")


@pytest.mark.parametrize("call", [_ask, _commit, _send, _tail])
def test_no_broker_is_an_error_and_no_hang(call):
    with pytest.raises(SourceUnavailableError, match=r"127\.0\.0\.1:1.*ECONNREFUSED"):
        call(KafkaConnection.model_validate(DEAD))


def test_why_a_connection_fails_is_told(kafka):
    security = {"sasl": {"mechanism": "plain", "username": "u", "password": "p"}}
    connection = KafkaConnection.model_validate({"brokers": kafka.brokers, "security": security})

    def reason() -> str:
        with pytest.raises(SourceUnavailableError) as caught:
            KafkaAdmin(connection)
        return str(caught.value)

    # the client tells of its last attempt, for which there may have been no time left
    assert reached(lambda: "IllegalSaslState" in reason(), 60)


def test_clients_that_can_not_connect_leave_no_thread():
    before = threading.active_count()
    for call in (_ask, _send):
        with pytest.raises(SourceUnavailableError):
            call(KafkaConnection.model_validate(DEAD))
    assert threading.active_count() == before


def test_a_frozen_broker_is_an_error_and_no_hang(kafka, connection):
    kafka.pause()
    with pytest.raises(SourceUnavailableError):
        _send(connection)


def test_questions_to_a_broker_that_froze_end(kafka, admin):
    topic = kafka.create_topic("frozen")
    admin.partitions([topic])
    kafka.pause()
    with pytest.raises(SourceUnavailableError):
        admin.ends([topic])
    kafka.resume()
    assert admin.ends([topic]) == {(topic, 0): 0}


# Dead letters


def _letter(offset: int, value: bytes = b"v") -> DeadLetter:
    return DeadLetter(
        record=Record("t", 0, offset, b"k", value, 5, (("h", b"1"),)),
        fan_out=0,
        attributes={"a": b"1"},
        pipeline="p",
        component="split",
        code="decorate",
        message="no",
        batch_time_ms=77,
        fingerprint="f",
    )


@pytest.fixture
def queue(kafka, connection, tmp_path):
    topic = kafka.create_topic("dead", partitions=2, config={"max.message.bytes": "4000"})
    queue = KafkaDeadLetters(
        topic,
        pipeline="p",
        state_dir=tmp_path,
        admin=lambda: KafkaAdmin(connection),
        producer=lambda: KafkaProducer(connection),
        reader=lambda: TopicTail(connection),
    )
    yield queue
    queue.close()


def test_dead_letters_are_listed_once_and_read_by_position(queue):
    letters = [_letter(number) for number in range(20)]
    for _ in range(2):  # a batch that was not acknowledged is published again
        queue.publish([letter.to_json() for letter in letters], 3, 77)
    entries = list(queue.entries())
    assert sorted(entry.dead_letter.record.offset for entry in entries) == list(range(20))
    assert queue.read(entries[4].position).dead_letter == entries[4].dead_letter
    with pytest.raises(NotFoundError):
        queue.read("0:1000")


@pytest.mark.parametrize("size", [2800, 2900, 3000, 3100, 3200, 5000, 100_000])
def test_dead_letters_around_the_limit_of_the_topic_are_whole(queue, size):
    letter = _letter(1, b"x" * size)
    queue.publish([letter.to_json(), _letter(2).to_json()], 3, 77)
    assert {entry.dead_letter.record.offset: entry.dead_letter for entry in queue.entries()} == {
        1: letter,
        2: _letter(2),
    }


def test_dead_letters_wait_for_the_broker(kafka, queue):
    queue.publish([_letter(1).to_json()], 1, 70)
    kafka.kill()
    with pytest.raises(SourceUnavailableError):
        queue.publish([_letter(2).to_json()], 2, 77)
    kafka.start()
    queue.publish([_letter(2).to_json()], 2, 77)
    assert {entry.dead_letter.record.offset for entry in queue.entries()} == {1, 2}
