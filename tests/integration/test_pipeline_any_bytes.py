"""2,000 random records have the same outcome with and without Spark."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.api import Record
from ingest.catalog import Catalog
from ingest.config import load
from ingest.dead_letters.envelope import DeadLetter
from ingest.dead_letters.files import FileDeadLetters
from tests.support import ticks
from tests.support.any_bytes import FORMATS, pipeline_of, random_records, table
from tests.support.audit import assert_same_table, rocksdb_table, table_of
from tests.support.names import unique
from tests.support.servers import Kafka
from tests.support.service import Service
from tests.support.without_spark import WithoutSpark

PARTITIONS = 1  # order is guaranteed only within a partition


@pytest.fixture(scope="module")
def topic(kafka: Kafka) -> str:
    config = {"message.timestamp.after.max.ms": str(2**63 - 1)}
    topic = kafka.create_topic("any", partitions=PARTITIONS, config=config)
    kafka.produce(topic, random_records(2_000, partitions=PARTITIONS, seed=11))
    return topic


@pytest.fixture(scope="module")
def service(kafka: Kafka, topic: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that has read the records in every format."""
    folder = tmp_path_factory.mktemp("any")
    content = {
        "stores": {"local": ticks.rocksdb(folder / "store")},
        "tables": {f"t_{name}": table("local") for name in FORMATS},
        "pipelines": {
            name: pipeline_of(
                name, {"brokers": kafka.brokers, "topics": [topic], "group": unique(name)}, "local", f"t_{name}"
            )
            for name in FORMATS
        },
    }
    with Service(folder, content) as service:
        assert service.run_once() == 0, service.last_lines()
        yield service


@pytest.mark.parametrize("name", FORMATS)
def test_random_records_have_the_same_outcome_without_spark(
    name: str, service: Service, kafka: Kafka, topic: str, tmp_path: Path
) -> None:
    configuration = load(service.file, env={}, lookup=Catalog())
    alone = WithoutSpark(configuration, name, tmp_path)
    time_ms = service.checkpoint(name).time_ms(0)
    expected: list[DeadLetter] = []
    stored = 0
    for partition in range(PARTITIONS):
        counts, dead_letters = alone.run(
            [one for one in records_of(kafka, topic) if one.partition == partition], time_ms
        )
        expected += map(DeadLetter.from_json, dead_letters)
        stored += counts.stored

    assert service.checkpoint(name).commits() == [0]
    (acknowledged,) = [line for line in service.lines() if line.get("pipeline") == name and "stored" in line]
    assert (acknowledged["read"], acknowledged["stored"]) == (2_000, stored)
    assert acknowledged["stored"] + acknowledged["dropped"] + acknowledged["dead_lettered"] == 2_000
    found = [entry.dead_letter for entry in FileDeadLetters(service.folder / "data" / "state", name).entries()]
    assert {each.id: each for each in found} == {each.id: each for each in expected}
    assert_same_table(
        table_of(alone.store, f"t_{name}", versions=10), rocksdb_table(service.folder / "store", f"t_{name}")
    )


def records_of(kafka: Kafka, topic: str) -> list[Record]:
    """The records of a topic, read without the product."""
    return [
        Record(topic, one.partition, one.offset, one.key, one.value, one.timestamp, tuple(map(tuple, one.headers)))
        for one in kafka.records(topic)
    ]
