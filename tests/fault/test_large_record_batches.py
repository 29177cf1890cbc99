"""
A record batch that the memory of Spark cannot hold does not stop the service for good.

The limit is lowered to 1 MiB, so the batches here are harmless; SIGKILL stands for the lack of memory.
"""

import json
from pathlib import Path

import pytest

from ingest.kafka.codecs import Codec
from tests.support.audit import rocksdb_table
from tests.support.by_key import PIPELINE, content_of
from tests.support.names import unique
from tests.support.record_batches import batch_of, send_batch
from tests.support.servers import Given, Kafka
from tests.support.service import Service

COUNT = 40
"""Records before and after the large batches, in each partition."""
LARGE = [(b"large%d" % number, bytes(400 << 10), []) for number in range(4)]
"""Key, value and headers; the third batch has one of these records, and can be read."""


@pytest.mark.slow  # two starts of Spark
def test_service_goes_around_large_batches_after_one_death(kafka: Kafka, tmp_path: Path) -> None:
    topic, folder = kafka.create_topic("large", partitions=2), tmp_path / "points"
    small = [given_of(number, partition=number % 2) for number in range(2 * COUNT)]
    kafka.produce(topic, small)
    assert send_batch(kafka.brokers, topic, batch_of(LARGE, Codec.ZSTD)) == COUNT
    kafka.produce(topic, [given_of(2 * COUNT, partition=0), given_of(2 * COUNT + 1, partition=0)])
    assert send_batch(kafka.brokers, topic, batch_of(LARGE[:3], Codec.GZIP), partition=1) == COUNT
    assert (
        send_batch(kafka.brokers, topic, batch_of(LARGE[:1], Codec.SNAPPY), partition=1) == COUNT + 3
    )  # below the limit
    ends = {0: COUNT + 6, 1: COUNT + 4}
    content = content_of(kafka, tmp_path, topic, unique("group"), max_decompressed_bytes="1MiB")
    with Service(tmp_path, content) as service:
        service.start(env={"INGEST_FAILPOINT": "after_poll:1:hold", "INGEST_FAILPOINT_FOLDER": str(folder)})
        service.wait_for((folder / "after_poll").exists, "a task that reads", 180)
        first, jvm = service.pid, service.jvm()
        assert jvm is not None
        service.kill(jvm)
        service.wait_for_offsets(ends, PIPELINE, topic, 120)
        second = service.jvm()
        assert (service.pid, second is not None and second.pid != jvm.pid) == (first, True)
        assert service.metric("attr2hbase_events_read_total") == sum(ends.values())
        assert service.metric("attr2hbase_events_stored_total") == 2 * COUNT + 3
        assert service.metric("attr2hbase_events_dead_lettered_total", error="record_batch_too_large") == 7
        kafka.produce(topic, [Given(b"next", b"next", partition=1)])
        service.wait_for_offsets({1: COUNT + 5}, PIPELINE, topic, 60)
        assert service.stop() == 0
        assert [
            line["message"] for line in service.lines() if line["message"].startswith("Spark is started again")
        ] == ["Spark is started again, without what has ended its Java process"]
        listed = service.command("dead-letters list", "--output", "json").stdout.splitlines()
        refused = service.command("dead-letters replay")
        service.write(content_of(kafka, tmp_path, topic, unique("group"), max_decompressed_bytes="4MiB"))
        replayed = service.command("dead-letters replay", "--output", "json")
    keys = {b"k%d" % number for number in range(2 * COUNT + 2)} | {b"next"} | {key for key, _, _ in LARGE}
    assert rocksdb_table(tmp_path / "store", "t").keys() == keys
    assert [
        (each["record"]["partition"], each["record"]["offset"], each["unread"]["end"], each["events"])
        for each in map(json.loads, listed)
    ] == [(0, COUNT, COUNT + 4, 4), (1, COUNT, COUNT + 3, 3)]
    assert (refused.returncode, "or larger than max_decompressed_bytes of the source" in refused.stderr) == (1, True)
    assert (replayed.returncode, json.loads(replayed.stdout)["replayed"]) == (0, 2)


def given_of(number: int, *, partition: int) -> Given:
    """A small record."""
    return Given(b"v%d" % number, b"k%d" % number, partition=partition)
