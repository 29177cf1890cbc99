"""The records of a task, with a server whose answers are chosen."""

import threading
from dataclasses import replace

import kafka
import pytest

from ingest.api import (
    Batch,
    ErrorBudgetSpentError,
    Event,
    EventError,
    IngestError,
    LifecycleError,
    Origin,
    SinkResult,
    StoreRefusedError,
    StoreUnavailableError,
    TaskSpec,
    WriteCounts,
)
from ingest.kafka.decompression import read_all_codecs
from sinks.kafka.errors import NoTopicError
from sinks.kafka.refused import packed, unpacked
from sinks.kafka.task_writer import KafkaWriter
from tests.support.kafka_server import Produced, Refusal
from tests.support.kafka_sink import Topics

MESSAGE_TOO_LARGE, NOT_ENOUGH_REPLICAS, ACCESS_DENIED, INVALID_TIMESTAMP = 10, 19, 29, 32
SPEC = TaskSpec(Batch("1000", 1000, "a"))


def event(number: int, key: bytes | None = None, fan_out: int = 0) -> Event:
    key = b"k%d" % number if key is None else key
    return Event(b"v%d" % number, timestamp_ms=number, key=key, origin=Origin("s", 0, number, fan_out))


def run(writer: KafkaWriter, *events: Event, prepared: bytes = b"") -> tuple[SinkResult, WriteCounts]:
    counts = WriteCounts()
    writer.begin(SPEC, prepared, counts)
    for each in events:
        assert writer.write(each) is None
    return writer.flush(), counts


def refusing(code: int, *keys: bytes) -> object:
    def answer(batch: list[Produced]) -> Refusal | None:
        bad = {at: f"bad {record.key!r}" for at, record in enumerate(batch) if record.key in keys}
        return Refusal(code, bad) if bad else None

    return answer


def test_records_are_acknowledged_after_the_flush(topics: Topics) -> None:
    topics.serve()
    result, counts = run(topics.writer(headers={"h": "%{key}"}), event(1), event(2))
    assert result == SinkResult()
    assert topics.server.accepted == [
        Produced("t", 0, b"k1", b"v1", 1, (("h", b"k1"),)),
        Produced("t", 0, b"k2", b"v2", 2, (("h", b"k2"),)),
    ]
    assert (counts.rows_sent, counts.bytes, counts.write_calls, len(counts.flush_s)) == (2, 14, 1, 1)


def test_records_of_a_task_are_sent_before_its_end(topics: Topics) -> None:
    """A task does not hold its records: at most a MiB of them is not acknowledged."""
    topics.serve()
    writer = topics.writer()
    writer.begin(SPEC, b"", WriteCounts())
    for number in range(5):
        writer.write(Event(b"x" * 500_000, origin=Origin("s", 0, number), key=b"k"))
    assert len(topics.server.accepted) >= 2
    writer.flush()
    assert len(topics.server.accepted) == 5


def test_partition_is_that_of_the_key_in_kafkas_clients(topics: Topics) -> None:
    """Source: `Utils.murmur2` of Kafka's Java client, with the partitions of these keys among three."""
    topics.serve()
    run(topics.writer(topic="parts"), *(event(0, key=key) for key in (b"21", b"foobar", b"a-little-bit-long-string")))
    java = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536}
    assert {each.key: each.partition for each in topics.server.accepted} == {
        key: (hash_ & 0x7FFFFFFF) % 3 for key, hash_ in java.items()
    }


def test_records_without_a_key_are_spread_and_go_to_the_same_partitions_again(topics: Topics) -> None:
    topics.serve()
    events = [event(number, key=b"") for number in range(30)]
    run(topics.writer(topic="parts"), *events)
    first = {record.value: record.partition for record in topics.server.accepted}
    run(topics.writer(topic="parts"), *reversed(events))
    again = {record.value: record.partition for record in topics.server.accepted[30:]}
    assert again == first
    assert set(first.values()) == {0, 1, 2}
    assert all(record.key is None for record in topics.server.accepted)


@pytest.mark.parametrize(
    ("code", "name"), [(MESSAGE_TOO_LARGE, "record_too_large"), (INVALID_TIMESTAMP, "record_time_refused")]
)
def test_refused_record_fails_its_event_in_the_next_attempt(topics: Topics, code: int, name: str) -> None:
    topics.serve(refusing(code, b"k2", b"k4"))  # type: ignore[arg-type]
    writer = topics.writer()
    events = [event(number) for number in range(1, 6)]
    result, _ = run(writer, *events)
    assert result.run_again
    found = unpacked([result.payload])
    assert {origin.offset: why[0] for origin, why in found.items()} == {2: name, 4: name}
    assert {record.key for record in topics.server.accepted} == {b"k1", b"k3", b"k5"}

    del topics.server.accepted[:]
    writer.begin(SPEC, packed(found), WriteCounts())
    for each in events:
        if each.origin.offset in {2, 4}:
            with pytest.raises(EventError, match=f'record with key "k{each.origin.offset}"') as caught:
                writer.write(each)
            assert caught.value.code == name
        else:
            writer.write(each)
    assert writer.flush() == SinkResult()
    assert [record.key for record in topics.server.accepted] == [b"k1", b"k3", b"k5"], "all again, in their order"


def test_refused_record_of_a_fan_out_is_that_event_alone(topics: Topics) -> None:
    topics.serve(refusing(MESSAGE_TOO_LARGE, b"bad"))  # type: ignore[arg-type]
    result, _ = run(topics.writer(), event(1, fan_out=0), event(1, b"bad", fan_out=1), event(1, fan_out=2))
    assert set(unpacked([result.payload])) == {Origin("s", 0, 1, 1)}


def test_task_ends_once_more_records_are_refused_than_may_fail(topics: Topics) -> None:
    topics.serve(lambda batch: Refusal(INVALID_TIMESTAMP, dict.fromkeys(range(len(batch)), "too old")))
    writer = topics.writer()
    writer.begin(replace(SPEC, max_failures=2), b"", WriteCounts())
    for number in range(3):
        writer.write(event(number))
    with pytest.raises(ErrorBudgetSpentError, match=r'topic "t" refused 3 records of one task, .*too old'):
        writer.flush()
    writer.begin(replace(SPEC, max_failures=1), b"", WriteCounts())
    for fan_out in range(3):
        writer.write(event(1, fan_out=fan_out))
    assert len(unpacked([writer.flush().payload])) == 3, "they are of one record of the source"


def test_record_that_the_client_refuses_fails_at_once(topics: Topics) -> None:
    topics.serve()
    writer = topics.writer(key={"template": "%{none}"}, value={"template": "%{none}", "on_missing": "unset"})
    writer.begin(SPEC, b"", WriteCounts())
    with pytest.raises(EventError) as caught:
        writer.write(event(1))
    assert caught.value.code == "bad_record"
    large = topics.writer()
    large.begin(SPEC, b"", WriteCounts())
    with pytest.raises(EventError) as caught:
        large.write(Event(b"x" * (33 << 20)))
    assert caught.value.code == "record_too_large"
    large.write(event(2))
    assert large.flush() == SinkResult()
    assert [record.key for record in topics.server.accepted] == [b"k2"]


def test_events_of_a_record_write_a_bounded_size(topics: Topics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sinks.kafka.task_writer.max_record_bytes", lambda _: 10)
    topics.serve()
    writer = topics.writer()
    writer.begin(SPEC, b"", WriteCounts())
    for fan_out in range(3):
        writer.write(event(1, fan_out=fan_out))
    with pytest.raises(EventError) as caught:
        writer.write(event(1, fan_out=3))
    assert caught.value.code == "too_large"


# Outages: the batch is blocked, and nothing of it is acknowledged


def test_unavailable_cluster_blocks_and_asks_for_a_probe_that_writes_nothing(
    topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.kafka.clients.ANSWER_MS", 300)
    topics.serve()
    topics.server.close()
    writer = topics.writer()
    writer.begin(SPEC, b"", WriteCounts())
    assert writer.probe() == b""
    with pytest.raises(StoreUnavailableError):
        writer.write(event(1))
    assert writer.probe()


def test_error_of_another_destination_asks_for_no_probe_of_this_one(topics: Topics) -> None:
    topics.serve()
    writer = topics.writer()
    writer.begin(SPEC, b"", WriteCounts())
    writer.write(event(1))
    assert writer.probe() == b""


def test_error_that_does_not_pass_is_no_outage(topics: Topics, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if kafka-python had its codecs elsewhere."""
    monkeypatch.delattr(kafka.KafkaProducer, "_COMPRESSORS")
    topics.serve()
    writer = topics.writer(compression="zstd")
    writer.begin(SPEC, b"", WriteCounts())
    with pytest.raises(LifecycleError, match="no table of codecs"):
        writer.write(event(1))


def test_denied_access_blocks(topics: Topics) -> None:
    topics.serve(lambda _batch: Refusal(ACCESS_DENIED))
    with pytest.raises(StoreRefusedError):
        run(topics.writer(), event(1))


def test_missing_topic_blocks(topics: Topics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.kafka.producer.ANSWER_MS", 300)
    topics.serve()
    with pytest.raises(IngestError) as caught:
        run(topics.writer(topic="none"), event(1))
    assert isinstance(caught.value, StoreUnavailableError | NoTopicError)


def test_nothing_of_an_abandoned_cycle_is_sent_later(topics: Topics, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if no cycle follows in this process: the next attempt may run in another one."""
    monkeypatch.setattr("ingest.kafka.producer._LINGER_MS", 60_000)
    topics.serve()
    writer = topics.writer()
    writer.begin(SPEC, b"", WriteCounts())
    writer.write(event(1))
    writer.abandon()
    monkeypatch.setattr("ingest.kafka.producer._LINGER_MS", 10)
    assert run(topics.writer(), event(2))[0] == SinkResult()
    assert run(writer, event(3))[0] == SinkResult()
    writer.close()
    # the client may send the record while it is closed, which is before those of the next attempt
    assert [record.key for record in topics.server.accepted] in ([b"k2", b"k3"], [b"k1", b"k2", b"k3"])


def test_connection_lasts_for_many_cycles(topics: Topics) -> None:
    topics.serve()
    writer = topics.writer()
    for number in range(3):
        run(writer, event(number))
    assert topics.server.connections == 1
    writer.close()
    writer.close()


def test_frozen_cluster_is_reported_after_the_time_without_progress(
    topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.kafka.producer._STALLED_S", 0.2)
    monkeypatch.setattr("ingest.kafka.producer._WATCH_S", 0.05)
    ended = threading.Event()
    topics.serve(lambda _batch: ended.wait(10) and None)
    with pytest.raises(StoreUnavailableError, match="no progress"):
        run(topics.writer(), event(1))
    ended.set()


def test_zstd_and_gzip_arrive_as_they_were(topics: Topics) -> None:
    read_all_codecs()  # for the server
    topics.serve()
    for compression in ("zstd", "gzip"):
        run(topics.writer(compression=compression), Event(b"x" * 10_000, key=compression.encode()))
    assert [(record.key, len(record.value or b"")) for record in topics.server.accepted] == [
        (b"zstd", 10_000),
        (b"gzip", 10_000),
    ]
