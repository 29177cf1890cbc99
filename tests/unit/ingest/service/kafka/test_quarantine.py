"""Dead letters and counts of record batches that are not read."""

from types import SimpleNamespace
from typing import Any

import pytest

from ingest.api import IngestError, OnError, RecordPlace
from ingest.dead_letters.envelope import DeadLetter, PlaceRange
from ingest.kafka.codecs import MAX_BATCH_BYTES
from ingest.kafka.large_batches import Examination, LargeBatch
from ingest.receipt import Counts
from ingest.service.kafka import quarantine as quarantine_module
from ingest.service.kafka.quarantine import Quarantine, Ranges
from ingest.sources.kafka import KafkaSourceSettings, max_decompressed_bytes
from ingest.spark.streaming.guard import Guarded

MIB = 1 << 20
RANGES = {("t", 0): (100, 200), ("t", 1): (0, 50)}
READ: list[tuple[Ranges, list[RecordPlace]]] = []
"""What is read, and the places of the batches that are not."""


def settings(**options: Any) -> KafkaSourceSettings:
    return KafkaSourceSettings.model_validate({"brokers": "localhost:9092", "topics": ["t"], **options})


def batch(first: int, last: int, *, partition: int = 0, records: int | None = None) -> LargeBatch:
    count = last - first + 1 if records is None else records
    return LargeBatch("t", partition, first, last, count, 1_308_748_686_334, "zstd", 22_499, 128 * MIB)


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch):
    """Makes a quarantine of a pipeline with a failure action, without Spark."""

    def read(_session: object, _connection: object, ranges: Ranges, left_out: list[LargeBatch]) -> str:
        READ.append((ranges, [(each.topic, each.partition, each.first) for each in left_out]))
        return "frame"

    READ.clear()
    monkeypatch.setattr(quarantine_module, "read_kafka_apart", read)
    monkeypatch.setattr(quarantine_module, "task_memory_bytes", lambda _session: 1024 * MIB)
    monkeypatch.setattr(quarantine_module, "max_tasks", lambda _session: 2)

    def of(on_error: OnError = OnError.DEAD_LETTER) -> Quarantine:
        pipeline: Any = SimpleNamespace(name="p", fingerprint="f", on_error=on_error)
        return Quarantine(pipeline, settings(), session=None)  # type: ignore[arg-type]

    return of


def places(dead_letters: tuple[bytes, ...]) -> list[tuple[RecordPlace, int | None, int]]:
    """Place, end and number of records of each dead letter."""
    found = [DeadLetter.from_json(line) for line in dead_letters]
    return [(each.record.place, each.by_place and each.by_place.end, each.events) for each in found]


def test_dead_letter_has_the_place_of_the_batch_and_the_reason(make):
    guarded = make().guarded(RANGES, 1_000, Examination([batch(110, 119)]))
    (line,) = guarded.dead_letters
    found = DeadLetter.from_json(line)
    assert (found.record.place, found.by_place, found.events) == (("t", 0, 110), PlaceRange(120), 10)
    assert (found.component, found.code, found.batch_time_ms) == ("source", "record_batch_too_large", 1_000)
    assert (found.record.value, found.record.timestamp_ms) == (None, 1_308_748_686_334)
    assert found.message == (
        "record batch of 21.97 KiB (zstd) has more than 128.00 MiB when it is decompressed; its 10 records, "
        "offsets 110 to 119, are in the topic only"
    )
    assert guarded.counts == Counts(records=10, read=10, dead_lettered_by={("record_batch_too_large", "source"): 10})
    assert READ == [(RANGES, [("t", 0, 110)])]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (batch(90, 109), [(("t", 0, 100), 110, 10)]),  # the micro-batch before has its beginning
        (batch(195, 204), [(("t", 0, 195), 200, 5)]),
        (batch(50, 300), [(("t", 0, 100), 200, 100)]),
        (batch(110, 119, records=3), [(("t", 0, 110), 120, 3)]),  # of a compacted topic
        (batch(200, 209), []),  # only fetched with the last record: it is of a later micro-batch
        (batch(90, 99), []),
    ],
)
def test_each_micro_batch_has_a_dead_letter_of_its_own_offsets(make, found, expected):
    guarded = make().guarded(RANGES, 1_000, Examination([found]))
    assert places(guarded.dead_letters) == expected
    assert guarded.counts.read == sum(count for _, _, count in expected)
    assert [(RANGES, [("t", 0, found.first)])] == READ  # it is not decompressed in any case


def test_micro_batch_that_spark_can_hold_runs_as_it_is(make):
    assert make().guarded(RANGES, 1_000, Examination()) is None


def test_heavy_micro_batch_is_read_apart_as_a_whole(make):
    assert make().guarded(RANGES, 1_000, Examination([], is_heavy=True)) == Guarded("frame", (), Counts())
    assert READ == [(RANGES, [])]


def test_failure_action_drop_counts_and_publishes_nothing(make):
    guarded = make(OnError.DROP).guarded(RANGES, 1_000, Examination([batch(110, 119)]))
    assert guarded.dead_letters == ()
    assert guarded.counts == Counts(records=10, read=10, dropped={"on_error": 10})


def test_failure_action_stop_stops(make):
    with pytest.raises(IngestError, match=r"t/0/110: record batch of .* on_error is stop") as caught:
        make(OnError.STOP).guarded(RANGES, 1_000, Examination([batch(110, 119)]))
    assert caught.value.code == "record_batch_too_large"


@pytest.mark.parametrize(("tasks", "limit"), [(1, 256 * MIB), (2, 128 * MIB), (None, 64 * MIB), (64, 32 * MIB)])
def test_fetches_of_all_tasks_may_have_a_quarter_of_the_memory(make, monkeypatch: pytest.MonkeyPatch, tasks, limit):
    monkeypatch.setattr(quarantine_module, "max_tasks", lambda _session: tasks)
    assert make().max_fetched_bytes == limit


@pytest.mark.parametrize(
    ("option", "memory", "limit"),
    [
        (None, 1024 * MIB, 128 * MIB),
        (None, 8192 * MIB, MAX_BATCH_BYTES),  # a Python task does not read larger ones either
        ("64MiB", 8192 * MIB, 64 * MIB),
        ("256MiB", 512 * MIB, 256 * MIB),
    ],
)
def test_limit_is_that_of_the_file_or_an_eighth_of_the_memory(option, memory, limit):
    options = {} if option is None else {"max_decompressed_bytes": option}
    assert max_decompressed_bytes(settings(**options), memory) == limit
