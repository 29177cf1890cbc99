"""
The broker of a sink `kafka` is killed and frozen, workers and the service are killed: no record is missing in the
topic, copies are equal in every byte, and only micro-batches that ran again have some.
"""

import random
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ingest.dead_letters.files import FileDeadLetters
from ingest.kafka.producer import partition_of_key
from tests.support.audit import rocksdb_table
from tests.support.servers import Given, Kafka
from tests.support.service import Service
from tests.support.waiting import reached

pytestmark = pytest.mark.slow

PIPELINE, PARTITIONS, SINK_PARTITIONS = "fan_out", 3, 4
RECORDS, CHUNK = 240_000, 2_000
LAST = 3_000
TIME_MS = 1_600_000_000_000
TOO_LARGE = range(0, 20_000, 997)
"""Numbers of the records that the broker of the sink refuses."""
SEED = 54


class Feeder(threading.Thread):
    """Produces records, with pauses, until all are there; record `i` is in partition `i % PARTITIONS`."""

    def __init__(self, kafka: Kafka, topic: str) -> None:
        super().__init__(name="feeder")
        self._kafka = kafka
        self._topic = topic
        self._paced = threading.Event()

    def run(self) -> None:
        for first in range(0, RECORDS, CHUNK):
            self.produce(first, first + CHUNK)
            self._paced.wait(0.5)

    def produce(self, first: int, end: int) -> None:
        """The records of some numbers."""
        self._kafka.produce(self._topic, map(given, range(first, end)))

    def finish(self) -> None:
        """Produce the rest without pauses."""
        self._paced.set()
        self.join()


def given(number: int) -> Given:
    # of random bytes, of which no compression makes fewer
    size = 300_000 if number in TOO_LARGE else 100
    body = random.Random(number).randbytes(size)
    return Given(body, key=b"k%d" % (number % 5_000), partition=number % PARTITIONS, timestamp_ms=TIME_MS + number)


def number_of(place: bytes) -> int:
    """The number of a record at `PARTITION/OFFSET` of the source."""
    partition, offset = map(int, place.split(b"/"))
    return offset * PARTITIONS + partition


def content(kafka: Kafka, other: Kafka, topic: str, clean: str, folder: Path) -> dict[str, Any]:
    return {
        "stores": {"s": {"rocksdb": {"path": str(folder / "store")}}},
        "pipelines": {
            PIPELINE: {
                "source": {"kafka": {"brokers": kafka.brokers, "topics": [topic], "max_events_per_batch": 6_000}},
                "error_budget": {"share": "100%"},
                "decorators": [
                    {"value": {"attribute": "number", "value": "%{partition}/%{offset}"}},
                    {"value": {"attribute": "2hb_", "value": "%{number}"}},
                    {"value": {"attribute": "2hb_f:key", "value": "%{key}"}},
                ],
                "sinks": [
                    {"attr2hbase": {"table": "t"}},
                    {
                        "kafka": {
                            "topic": clean,
                            "brokers": other.brokers,
                            "headers": {"place": "%{number}"},
                            "compression": "zstd",
                        }
                    },
                ],
            }
        },
    }


@pytest.fixture
def other(servers_folder: Path) -> Iterator[Kafka]:
    """The broker of the sink."""
    kafka = Kafka(servers_folder / "kafka-of-sink")
    try:
        kafka.start()
        yield kafka
    finally:
        kafka.close()


def test_no_record_is_lost_and_copies_are_equal(kafka: Kafka, other: Kafka, tmp_path: Path) -> None:
    topic = kafka.create_topic("in", partitions=PARTITIONS)
    clean = other.create_topic("clean", partitions=SINK_PARTITIONS, config={"max.message.bytes": "200000"})
    feeder = Feeder(kafka, topic)
    chance = random.Random(SEED)
    with Service(tmp_path, content(kafka, other, topic, clean, tmp_path)).start() as service:
        service.wait_for_state("running", PIPELINE)
        feeder.start()

        def blocked_by_sink() -> bool:
            code, text = service.get("/readyz")
            return code == 503 and "store_unavailable" in text

        service.wait_for_batches(2, PIPELINE)
        for _ in range(3):
            service.wait_for(lambda: bool(service.workers()), "a worker")
            service.kill(chance.choice(service.workers()))
            service.wait_for_batches(1, PIPELINE)

        other.kill()
        service.wait_for(blocked_by_sink, "blocked", 120.0)
        commits = service.checkpoint(PIPELINE).commits()
        assert not reached(lambda: service.checkpoint(PIPELINE).commits() != commits, 5.0)
        other.start()
        service.wait_for_state("running", PIPELINE)
        service.wait_for_batches(2, PIPELINE)

        other.pause()
        service.wait_for(blocked_by_sink, "blocked", 120.0)
        other.resume()
        service.wait_for_batches(2, PIPELINE)

        service.kill_all()
        other.kill()
        service.start()
        service.wait_for(blocked_by_sink, "blocked at the start", 120.0)
        other.start()
        service.wait_for_batches(2, PIPELINE)
        feeder.finish()
        service.wait_for_offsets(kafka.ends(topic), PIPELINE, topic)
        feeder.produce(RECORDS, RECORDS + LAST)
        service.wait_for_offsets(kafka.ends(topic), PIPELINE, topic)
        assert service.stop() == 0, service.last_lines()
    assert_complete(kafka, other, topic, clean, tmp_path)


def assert_complete(kafka: Kafka, other: Kafka, topic: str, clean: str, folder: Path) -> None:
    source = {
        b"%d/%d" % (record.partition, record.offset): (record.key, record.value, record.timestamp)
        for record in kafka.records(topic)
    }
    assert len(source) == RECORDS + LAST
    too_large = {place for place in source if number_of(place) in TOO_LARGE}
    assert len(too_large) == len(TOO_LARGE)

    copies: dict[bytes, list[tuple[int, int]]] = defaultdict(list)
    for record in other.records(clean):
        ((name, place),) = record.headers
        assert name == "place"
        assert source[place] == (record.key, record.value, record.timestamp)
        copies[place].append((record.partition, record.offset))
    assert copies.keys() == source.keys() - too_large, "lost"
    for place, found in copies.items():
        assert {partition for partition, _ in found} == {partition_of_key(source[place][0], range(SINK_PARTITIONS))}

    twice = [place for place, found in copies.items() if len(found) > 1]
    assert twice
    # no fault was left when the last ones were produced, and the broker refuses none of them
    assert max(map(number_of, twice)) < RECORDS

    # the last copies of a key are in the order of the source, within its partition
    newest: dict[tuple[bytes, bytes], int] = {}
    for place in sorted(copies, key=lambda each: tuple(map(int, each.split(b"/")))):
        key = source[place][0], place.partition(b"/")[0]
        offset = max(at for _, at in copies[place])
        assert offset > newest.get(key, -1), (place, copies[place])
        newest[key] = offset

    letters = [entry.dead_letter for entry in FileDeadLetters(folder / "data" / "state", PIPELINE).entries()]
    assert {b"%d/%d" % letter.record.place[1:] for letter in letters} == too_large
    assert {(letter.code, letter.component) for letter in letters} == {("record_too_large", "kafka")}
    assert rocksdb_table(folder / "store", "t").keys() == source.keys()
