"""What a producer tells of its records, with a server whose answers are chosen; see `tests/integration` for links."""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence

import pytest
from kafka.producer.sender import Sender

from ingest.api import Disposition, IngestError, SourceError, SourceUnavailableError
from ingest.kafka.clients import unsent
from ingest.kafka.producer import KafkaProducer, SentRecord, give_up
from ingest.kafka.settings import KafkaConnection
from tests.support.kafka_server import KafkaServer, Produced, Refusal
from tests.support.waiting import reached

MESSAGE_TOO_LARGE, NOT_ENOUGH_REPLICAS, ACCESS_DENIED, INVALID_TIMESTAMP, INVALID_RECORD = 10, 19, 29, 32, 87
Batch = Sequence[Produced]
Answer = Callable[[Batch], Refusal | None]
TOPICS = {"t": 1, "parts": 3}


class Servers:
    """`server, producer = start(answer)`."""

    def __init__(self) -> None:
        self.closed_at_end: list[tuple[KafkaServer, KafkaProducer]] = []

    def __call__(self, answer: Answer = lambda _batch: None) -> tuple[KafkaServer, KafkaProducer]:
        server = KafkaServer(answer, TOPICS)
        producer = KafkaProducer(KafkaConnection.model_validate({"brokers": f"127.0.0.1:{server.port}"}))
        self.closed_at_end.append((server, producer))
        return server, producer


@pytest.fixture
def start() -> Iterator[Servers]:
    servers = Servers()
    yield servers
    for server, producer in servers.closed_at_end:
        producer.close()
        server.close()


@pytest.fixture
def silent(start: Servers) -> Iterator[tuple[KafkaServer, KafkaProducer]]:
    """A server that reads and does not answer, until the end of the test."""
    ended = threading.Event()

    def answer(_batch: Batch) -> None:
        ended.wait(10)

    yield start(answer)
    ended.set()


@pytest.fixture
def short_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.kafka.producer._STALLED_S", 0.2)
    monkeypatch.setattr("ingest.kafka.producer._WATCH_S", 0.05)


def refusing(code: int, *keys: bytes) -> Answer:
    """Refuses the records with these keys, as a broker does."""

    def answer(batch: Batch) -> Refusal | None:
        bad = {at: f"bad {record.key!r}" for at, record in enumerate(batch) if record.key in keys}
        return Refusal(code, bad) if bad else None

    return answer


def keys(records: Batch) -> list[bytes | None]:
    return [record.key for record in records]


def senders() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if isinstance(thread, Sender)}


# Accepted records


def test_record_arrives_as_it_is_given(start: Servers) -> None:
    server, producer = start()
    sent = producer.send("parts", b"k", b"v", [("h", b"x"), ("h", b"")], 2, 5)
    assert not sent.is_durable
    producer.flush()
    assert sent.is_durable
    assert server.accepted == [Produced("parts", 2, b"k", b"v", 5, (("h", b"x"), ("h", b"")))]


def test_partition_key_determines_the_partition_as_a_key_does(start: Servers) -> None:
    server, producer = start()
    names = [b"key-%d" % number for number in range(20)]
    for name in names:
        producer.send("parts", name, b"by key")
        producer.send("parts", None, name, partition_key=name)
    producer.flush()
    by_key = {record.key: record.partition for record in server.accepted if record.key is not None}
    found = {record.value: record.partition for record in server.accepted if record.key is None}
    assert found == by_key
    assert set(found.values()) == {0, 1, 2}


def test_tombstone_without_a_time_has_that_of_the_clock(start: Servers) -> None:
    server, producer = start()
    producer.send("t", b"k", None)
    producer.flush()
    (record,) = server.accepted
    assert (record.key, record.value, record.headers) == (b"k", None, ())
    assert record.timestamp_ms > 0


def test_flush_without_records_does_not_connect(start: Servers) -> None:
    server, producer = start()
    producer.flush()
    producer.close()
    assert server.sockets == []


def test_closed_producer_connects_again(start: Servers) -> None:
    server, producer = start()
    for key in (b"1", b"2"):
        producer.send("t", key, b"v")
        producer.flush()
        producer.close()
    assert keys(server.accepted) == [b"1", b"2"]
    assert server.connections == 2


def test_close_ends_the_thread_of_the_connection(start: Servers) -> None:
    before = senders()
    _, producer = start()
    sent = producer.send("t", b"k", b"v")
    producer.close()
    assert senders() <= before
    assert sent.is_durable


def test_close_does_not_wait_for_ever_for_records_that_were_not_flushed(
    silent: tuple[KafkaServer, KafkaProducer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may be lost, and the next flush is about later records alone."""
    monkeypatch.setattr("ingest.kafka.producer._CLOSE_S", 0.1)
    before = senders()
    _, producer = silent
    sent = producer.send("t", b"k", b"v")
    producer.close()
    assert reached(lambda: senders() <= before, 10)
    assert not sent.is_durable
    producer.flush()


def test_client_that_is_given_up_waits_for_nothing_when_it_is_freed(
    silent: tuple[KafkaServer, KafkaProducer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its finalizer closes it again, which would wait for the records that it cannot send, and print an error."""
    _, producer = silent
    producer.send("t", b"k", b"v")
    client = producer._client
    give_up(client)
    flushed: list[float] = []
    monkeypatch.setattr(client, "flush", flushed.append)
    client.close(timeout=1)
    assert flushed == []


def test_record_above_the_window_is_the_only_one_on_its_way(start: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.kafka.producer._WINDOW_BYTES", 500)
    server, producer = start()
    large = producer.send("t", b"1", bytes(1000))
    small = producer.send("t", b"2", b"v")
    assert (large.is_durable, small.is_durable) == (True, False)
    producer.flush()
    assert [keys(batch) for batch in server.batches] == [[b"1"], [b"2"]]


def test_connection_that_ends_before_the_answer_is_no_failure(start: Servers) -> None:
    ended: list[Batch] = []

    def answer(batch: Batch) -> None:
        if not ended:
            ended.append(batch)
            raise ConnectionResetError

    server, producer = start(answer)
    sent = producer.send("t", b"k", b"v")
    producer.flush()
    assert sent.is_durable
    assert server.connections == 2


# Refused records


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_refused_record_is_named_and_the_earlier_ones_are_durable(start: Servers, bad: int) -> None:
    server, producer = start(refusing(INVALID_RECORD, b"%d" % bad))
    sent = [producer.send("t", b"%d" % number, b"v") for number in range(3)]
    with pytest.raises(IngestError) as caught:
        producer.flush()
    assert caught.value.code == "bad_record"
    assert caught.value.message == (
        f'sending the record with key "{bad}" to topic "t" failed: InvalidRecord: bad b\'{bad}\''
    )
    assert [record.is_durable for record in sent] == [number < bad for number in range(3)]
    assert keys(server.accepted) == [b"%d" % number for number in range(bad)]
    producer.flush()  # it was told


def test_several_refused_records_name_the_first(start: Servers) -> None:
    _, producer = start(refusing(MESSAGE_TOO_LARGE, b"1", b"2"))
    for number in range(3):
        producer.send("t", b"%d" % number, b"v")
    with pytest.raises(IngestError, match='record with key "1"') as caught:
        producer.flush()
    assert caught.value.code == "record_too_large"


def test_refused_time_of_a_record_is_its_fault(start: Servers) -> None:
    server, producer = start(refusing(INVALID_TIMESTAMP, b"k"))
    sent = producer.send("t", b"k", b"v", (), None, 5)
    with pytest.raises(IngestError) as caught:
        producer.flush()
    assert (caught.value.code, caught.value.disposition) == ("record_time_refused", Disposition.STOP)
    assert (sent.is_durable, sent.time_refused) == (False, "")
    assert [[record.timestamp_ms for record in batch] for batch in server.batches] == [[5], [5]]  # then by itself


def test_refused_time_of_the_clock_is_left_out_until_the_flush(start: Servers) -> None:
    """A record with a time of its own keeps it."""

    def answer(batch: Batch) -> Refusal | None:
        bad = {at: "ahead" for at, record in enumerate(batch) if record.timestamp_ms > 5 and record.topic == "t"}
        return Refusal(INVALID_TIMESTAMP, bad) if bad else None

    server, producer = start(answer)
    first = producer.send("t", b"1", b"v")
    own = producer.send("t", b"2", b"v", (), None, 5)
    last = producer.send("t", b"3", b"v")
    producer.flush()
    assert [(record.key, record.timestamp_ms) for record in server.accepted] == [(b"1", -1), (b"2", 5), (b"3", -1)]
    assert [record.is_durable for record in (first, own, last)] == [True, True, True]
    assert [record.time_refused for record in (first, own, last)] == [
        "[Error 32] InvalidTimestampError: ahead",
        "",
        "[Error 32] InvalidTimestampError: ahead",
    ]
    later = producer.send("parts", b"4", b"v")
    producer.flush()
    assert later.time_refused == ""
    assert server.accepted[-1].timestamp_ms > 5


def test_record_that_is_refused_without_a_time_too(start: Servers) -> None:
    _, producer = start(refusing(INVALID_TIMESTAMP, b"k"))
    producer.send("t", b"k", b"v")
    with pytest.raises(IngestError) as caught:
        producer.flush()
    assert caught.value.code == "record_time_refused"


def test_each_refused_record_is_told_and_the_others_are_durable(start: Servers) -> None:
    server, producer = start(refusing(MESSAGE_TOO_LARGE, b"1", b"3"))
    told: list[tuple[object, str]] = []
    producer = KafkaProducer(
        KafkaConnection.model_validate({"brokers": f"127.0.0.1:{server.port}"}),
        on_refused=lambda record, why: told.append((record.about, why.code)),
    )
    start.closed_at_end.append((server, producer))
    sent = [producer.send("t", b"%d" % number, b"v") for number in range(5)]
    for number, record in enumerate(sent):
        record.about = number
    producer.flush()
    assert told == [(1, "record_too_large"), (3, "record_too_large")]
    assert [record.is_durable for record in sent] == [True, False, True, False, True]
    assert keys(server.accepted) == [b"0", b"2", b"4"]
    assert server.connections == 2  # a refused record alone ends none
    producer.send("t", b"5", b"v")
    producer.flush()
    assert keys(server.accepted)[-1] == b"5"


def refused_of_a_thousand(start: Servers, answer: Answer) -> tuple[KafkaServer, list[tuple[int, str]]]:
    """Send a thousand records, in few requests; what was told of them."""
    are_sent = threading.Event()

    def answered(batch: Batch) -> Refusal | None:
        are_sent.wait(10)  # else the number of requests would depend on the time of `send`
        return answer(batch)

    server, _ = start(answered)
    told: list[tuple[int, str]] = []
    producer = KafkaProducer(
        KafkaConnection.model_validate({"brokers": f"127.0.0.1:{server.port}"}),
        on_refused=lambda record, why: told.append((int(record.key or b""), why.code)),
    )
    start.closed_at_end.append((server, producer))
    for number in range(1_000):
        producer.send("t", b"%d" % number, b"v", timestamp_ms=5)
    are_sent.set()
    producer.flush()
    return server, told


FIRST_REQUESTS = 7  # those in flight before the last record is sent, and the one of all others


@pytest.fixture
def _busy_sender() -> Iterator[None]:
    """The thread of the client gets every chance to send a part of a group."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


# 2^10 records are divided ten times; kafka-python also divides what is too large by itself, before
@pytest.mark.usefixtures("_busy_sender")
@pytest.mark.parametrize(("code", "divisions"), [(MESSAGE_TOO_LARGE, 20), (INVALID_TIMESTAMP, 10)])
def test_few_requests_find_a_refused_record_among_many(start: Servers, code: int, divisions: int) -> None:
    def answer(batch: Batch) -> Refusal | None:
        return Refusal(code) if b"700" in keys(batch) else None

    server, told = refused_of_a_thousand(start, answer)
    assert [number for number, _ in told] == [700]
    assert sorted(map(int, filter(None, keys(server.accepted)))) == [at for at in range(1_000) if at != 700]
    assert len(server.batches) <= FIRST_REQUESTS + 2 * divisions + 2


def test_records_that_the_broker_names_are_known_at_once_however_many(start: Servers) -> None:
    """Each by itself would take a second or more of a window."""

    def answer(batch: Batch) -> Refusal | None:
        old = {at: "out of range" for at, record in enumerate(batch) if record.key != b"700"}
        return Refusal(INVALID_TIMESTAMP, old) if old else None

    server, told = refused_of_a_thousand(start, answer)
    assert sorted(told) == [(at, "record_time_refused") for at in range(1_000) if at != 700]
    assert keys(server.accepted) == [b"700"]
    assert len(server.batches) <= FIRST_REQUESTS + 3


def test_refused_records_are_told_but_an_outage_is_an_error(start: Servers) -> None:
    server, _ = start(lambda _batch: Refusal(ACCESS_DENIED))
    producer = KafkaProducer(
        KafkaConnection.model_validate({"brokers": f"127.0.0.1:{server.port}"}),
        on_refused=lambda *_: pytest.fail("told"),
    )
    start.closed_at_end.append((server, producer))
    producer.send("t", b"k", b"v")
    with pytest.raises(SourceError, match="TopicAuthorizationFailed"):
        producer.flush()


def test_discarded_records_are_no_error_of_the_next_flush(silent: tuple[KafkaServer, KafkaProducer]) -> None:
    before = senders()
    _, producer = silent
    sent = producer.send("t", b"k", b"v")
    producer.discard()
    assert reached(lambda: senders() <= before, 10)
    assert not sent.is_durable
    producer.flush()


def test_error_that_is_no_records_fault_is_told_at_once(start: Servers) -> None:
    server, producer = start(lambda _batch: Refusal(ACCESS_DENIED))
    sent = [producer.send("parts", b"k", b"v", (), number) for number in range(3)]
    with pytest.raises(SourceError, match='sending to topic "parts" failed: TopicAuthorizationFailed') as caught:
        producer.flush()
    assert caught.value.code == "access_denied"
    assert len(server.batches) <= 3  # none is sent again
    assert [record.is_durable for record in sent] == [False, False, False]
    producer.flush()


@pytest.mark.parametrize(("code", "error"), [(ACCESS_DENIED, "access_denied"), (INVALID_RECORD, "bad_record")])
def test_acknowledged_record_is_durable_though_an_earlier_one_failed(start: Servers, code: int, error: str) -> None:
    """And is not sent again."""
    server, producer = start(refusing(code, b"0"))
    sent = [producer.send("parts", b"%d" % number, b"v", (), number) for number in (0, 1)]
    assert reached(lambda: all(record.answer.is_done for record in sent), 10)
    with pytest.raises(IngestError) as caught:
        producer.flush()
    assert caught.value.code == error
    assert [record.is_durable for record in sent] == [False, True]
    assert keys(server.accepted) == [b"1"]


def test_record_alone_that_fails_as_another_does_is_not_named(start: Servers) -> None:
    """The broker first blames a record; when each is sent alone, it denies access."""
    answers = iter([Refusal(INVALID_RECORD, {0: "bad"})])
    _, producer = start(lambda _batch: next(answers, Refusal(ACCESS_DENIED)))
    producer.send("t", b"k", b"v")
    with pytest.raises(SourceError, match='sending records to topic "t" failed') as caught:
        producer.flush()
    assert caught.value.code == "access_denied"


def test_error_that_passes_is_repeated_and_then_the_reason(start: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.kafka.producer._RETRIES", 1)
    server, producer = start(lambda _batch: Refusal(NOT_ENOUGH_REPLICAS))
    producer.send("t", b"k", b"v")
    with pytest.raises(SourceUnavailableError, match="NotEnoughReplicas"):
        producer.flush()
    assert len(server.batches) == 2


# Records that cannot be sent


@pytest.mark.parametrize(
    ("value", "headers", "reason"),
    [
        ("text", (), "Unsupported type"),
        (b"v", [("h", None)], "headers items must be"),  # Kafka has headers without a value, kafka-python sends none
        (b"v", [("\ud800", b"x")], "surrogates not allowed"),
    ],
)
def test_record_that_cannot_be_encoded_leaves_the_others_queued(
    start: Servers, value: bytes, headers: Sequence[tuple[str, bytes | None]], reason: str
) -> None:
    server, producer = start()
    first = producer.send("t", b"1", b"v")
    with pytest.raises(IngestError, match=f'record cannot be sent to topic "t": .*{reason}') as caught:
        producer.send("t", b"2", value, headers)
    assert caught.value.code == "bad_record"
    producer.send("t", b"3", b"v")
    producer.flush()
    assert first.is_durable
    assert keys(server.accepted) == [b"1", b"3"]


def test_record_above_the_size_of_a_request_leaves_the_others_queued(
    start: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.kafka.producer.MAX_REQUEST_BYTES", 1000)
    server, producer = start()
    producer.send("t", b"1", b"v")
    with pytest.raises(IngestError) as caught:
        producer.send("t", b"2", b"x" * 2000)
    assert caught.value.code == "record_too_large"
    producer.flush()
    assert keys(server.accepted) == [b"1"]


@pytest.mark.parametrize("earlier", [False, True])
def test_topic_without_an_answer_loses_the_records_before_it(
    start: Servers, monkeypatch: pytest.MonkeyPatch, earlier: bool
) -> None:
    """The flush tells of those, once; it has nothing to tell if there are none."""
    monkeypatch.setattr("ingest.kafka.producer.ANSWER_MS", 200)
    before = senders()
    _, producer = start()
    if earlier:
        producer.send("t", b"1", b"v")
    with pytest.raises(SourceUnavailableError, match='sending to topic "nowhere" failed'):
        producer.send("nowhere", b"2", b"v")
    assert reached(lambda: senders() <= before, 10), "the next record connects again"
    if earlier:
        with pytest.raises(SourceUnavailableError, match="nowhere"):
            producer.flush()
    producer.flush()


# No progress


@pytest.mark.usefixtures("short_timeouts")
def test_records_wait_only_beyond_the_window(
    silent: tuple[KafkaServer, KafkaProducer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The flush also raises an outage that a `send` has raised, once: earlier records are lost with it."""
    _, producer = silent
    size = SentRecord("t", b"1", b"x" * 100, [("h", b"x")], None, None).size
    monkeypatch.setattr("ingest.kafka.producer._WINDOW_BYTES", 2 * size)
    sent = [producer.send("t", b"%d" % number, b"x" * 100, [("h", b"x")]) for number in range(2)]
    with pytest.raises(SourceUnavailableError, match=r'topic "t" failed: no progress for 0\.2 s'):
        producer.send("t", b"2", b"x" * 100, [("h", b"x")])
    assert [record.is_durable for record in sent] == [False, False]
    with pytest.raises(SourceUnavailableError, match="no progress"):
        producer.flush()
    producer.flush()


def test_exception_of_the_client_is_about_all_records_that_it_has(
    start: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one of metadata that change meanwhile: the caller's record is not at fault, and the others are not durable."""
    size = SentRecord("t", b"1", b"v", (), None, None).size
    monkeypatch.setattr("ingest.kafka.producer._WINDOW_BYTES", size)
    _, producer = start()
    producer.send("t", b"1", b"v")

    def fail(_client: object) -> None:
        raise ValueError("Unrecognized partition")

    monkeypatch.setattr("ingest.kafka.producer.unsent", fail)
    with pytest.raises(SourceUnavailableError, match="the Kafka client has failed: ValueError: Unrecognized partition"):
        producer.send("t", b"2", b"v")
    with pytest.raises(SourceUnavailableError, match="Unrecognized partition"):
        producer.flush()


def test_window_has_room_again_for_each_acknowledged_record(start: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    size = SentRecord("t", b"1", b"v", (), None, None).size
    monkeypatch.setattr("ingest.kafka.producer._WINDOW_BYTES", size)
    server, producer = start()
    sent = [producer.send("t", b"%d" % number, b"v") for number in range(4)]
    assert [record.is_durable for record in sent] == [True, True, True, False]
    producer.flush()
    assert [len(batch) for batch in server.batches] == [1, 1, 1, 1]


def test_acknowledged_records_leave_room_for_as_many_others(start: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    size = SentRecord("t", b"1", b"v", (), None, None).size
    monkeypatch.setattr("ingest.kafka.producer._WINDOW_BYTES", 2 * size)
    _, producer = start()
    producer.send("t", b"k", b"v")
    producer.close()  # the next records have the whole window
    sent = [producer.send("t", b"%d" % number, b"v") for number in range(2)]
    assert reached(lambda: all(record.answer.succeeded() for record in sent), 10)
    sent += [producer.send("t", b"%d" % number, b"v") for number in (2, 3)]
    assert [record.is_durable for record in sent] == [True, True, False, False]


def test_answer_may_take_longer_than_a_look_at_the_progress(start: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.kafka.producer._WATCH_S", 0.001)
    looks = 0

    def looked(client: object) -> dict[int, int]:
        nonlocal looks
        looks += 1
        return unsent(client)

    def answer(_batch: Batch) -> None:
        assert reached(lambda: looks > 10, 10)

    monkeypatch.setattr("ingest.kafka.producer.unsent", looked)
    _, producer = start(answer)
    sent = producer.send("t", b"1", b"v")
    producer.flush()
    assert sent.is_durable


@pytest.mark.usefixtures("short_timeouts")
def test_link_that_is_slow_is_no_failure(start: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    """While bytes leave this machine, an answer may take any time."""
    looks = 0

    def looked(_client: object) -> dict[int, int]:
        nonlocal looks
        looks += 1
        return {1: 1_000_000 - looks}

    def answer(_batch: Batch) -> None:
        assert reached(lambda: looks > 10, 10)  # more than twice the time without progress

    monkeypatch.setattr("ingest.kafka.producer.unsent", looked)
    _, producer = start(answer)
    sent = producer.send("t", b"1", b"v")
    producer.flush()
    assert sent.is_durable


@pytest.mark.usefixtures("short_timeouts")
def test_flush_without_progress_leaves_no_thread_and_the_next_record_connects_again(start: Servers) -> None:
    released = threading.Event()

    def answer(_batch: Batch) -> None:
        released.wait(10)

    before = senders()
    server, producer = start(answer)
    sent = producer.send("t", b"1", b"v")
    with pytest.raises(SourceUnavailableError, match="no progress"):
        producer.flush()
    assert not sent.is_durable
    assert reached(lambda: senders() <= before, 10)
    released.set()
    again = producer.send("t", b"1", b"v")
    producer.flush()
    assert again.is_durable
    assert server.connections == 2


# Names and sizes


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (None, "a record without a key"),
        (b"", 'the record with key ""'),
        (b"a" * 200, f'the record with key "{"a" * 200}"'),
        (b"a" * 201, f'the record with key "{"a" * 200}…"'),
        (b"\xff", r'the record with key "\xff"'),
    ],
)
def test_name_of_a_record(key: bytes | None, name: str) -> None:
    assert SentRecord("t", key, b"v", (), None, None).name == name


def test_size_of_a_record_counts_all_that_it_holds() -> None:
    least = SentRecord("t", None, None, (), None, None).size
    assert SentRecord("t", b"12", b"345", [("h", b"6789"), ("none", None)], None, None).size == least + 2 + 3 + 5 + 4
