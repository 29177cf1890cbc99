"""
Ticks: records "TS:VALUE" with unique keys, and the expected table.

Expected tables are computed without the product's pipeline, from the records and the times in the checkpoint.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ingest.api import FamilySpec, Put, TableSpec
from sinks.memory import MemoryStore
from tests.support.checkpoint import CheckpointReader
from tests.support.servers import Given, Kafka

FIRST_MS = 1_308_748_686_334
VERSIONS = 10
FAMILY = FamilySpec(b"colfam", versions=VERSIONS)


@dataclass(frozen=True)
class Ticks:
    """
    A topic of ticks; record number i is in partition i % partitions, at offset i // partitions.

    Attributes:
        topic: name of the topic, which has no other records.
    """

    topic: str
    count: int
    partitions: int

    @classmethod
    def produced(cls, kafka: Kafka, count: int, *, partitions: int = 4) -> "Ticks":
        """A new topic with `count` ticks."""
        ticks = cls(kafka.create_topic("ticks", partitions=partitions), 0, partitions)
        return ticks.more(kafka, count)

    def more(self, kafka: Kafka, count: int) -> "Ticks":
        """The same topic after `count` more ticks."""
        kafka.produce(self.topic, (self._given(number) for number in range(self.count, self.count + count)))
        grown = Ticks(self.topic, self.count + count, self.partitions)
        assert kafka.ends(self.topic) == grown.ends
        return grown

    @property
    def ends(self) -> dict[int, int]:
        """Partition -> offset after its last record."""
        return {part: len(range(part, self.count, self.partitions)) for part in range(self.partitions)}

    def row(self, number: int) -> bytes:
        """Row key of a record: its key and nanos."""
        partition, offset = number % self.partitions, number // self.partitions
        nanos = _time_ms(number) * 1_000_000 + offset % 10_000 * 100 + partition % 100
        return b"%s-%d" % (_key(number), nanos)

    def columns(self, number: int) -> dict[bytes, bytes]:
        """Cells of a record."""
        at, value = _pair(number)
        return {b"colfam:ts": b"%d" % at, b"colfam:value": b"%d" % value}

    def numbers(self, starts: Mapping[int, int], ends: Mapping[int, int]) -> Iterator[int]:
        """Numbers of the records between offsets."""
        for partition, end in ends.items():
            for offset in range(starts.get(partition, 0), end):
                yield offset * self.partitions + partition

    def expected(self, checkpoint: CheckpointReader, table: str) -> MemoryStore:
        """The table after all acknowledged batches, each record with the time of its batch."""
        store = MemoryStore()
        store.open()
        store.ensure_table(TableSpec(table, (FAMILY,)))
        for batch in checkpoint.batches(self.topic):
            # sorted by key, which is fastest for the memory store
            numbers = sorted(self.numbers(batch.starts, batch.ends))
            store.apply(table, [Put(self.row(number), self.columns(number), batch.time_ms) for number in numbers])
        return store

    def expected_of_events(self, table: str) -> MemoryStore:
        """The table after all records, each with its own time."""
        store = MemoryStore()
        store.open()
        store.ensure_table(TableSpec(table, (FAMILY,)))
        numbers = range(self.count)
        store.apply(table, [Put(self.row(number), self.columns(number), _time_ms(number)) for number in numbers])
        return store

    def _given(self, number: int) -> Given:
        at, value = _pair(number)
        return Given(
            b"%d:%d" % (at, value),
            key=_key(number),
            partition=number % self.partitions,
            timestamp_ms=_time_ms(number),
        )


def pipeline(
    kafka: Kafka, topic: str, store: str, table: str, *, group: str, max_events_per_batch: int = 200_000, **more: Any
) -> dict[str, Any]:
    """The tick pipeline as plain data."""
    return {
        "source": {
            "kafka": {
                "brokers": kafka.brokers,
                "topics": [topic],
                "group": group,
                "max_events_per_batch": max_events_per_batch,
            }
        },
        "decorators": decorators(),
        "sinks": [{"attr2hbase": {"store": store, "table": table}}],
        **more,
    }


def decorators() -> Sequence[Mapping[str, Any]]:
    """The decorators of the tick pipeline."""
    return [
        {"split": {"separator": ":", "index": 0, "attribute": "2hb_colfam:ts"}},
        {"split": {"separator": ":", "index": 1, "attribute": "2hb_colfam:value"}},
        {"value": {"attribute": "2hb_", "value": "%{key}-%{nanos}"}},
    ]


def rocksdb(folder: Path) -> dict[str, Any]:
    """A store in a folder."""
    return {"rocksdb": {"path": str(folder)}}


def table(store: str, family: str = "colfam") -> dict[str, Any]:
    """A table that keeps VERSIONS versions."""
    return {"store": store, "families": {family: {"versions": VERSIONS}}}


def _key(number: int) -> bytes:
    return b"k%07d" % number


def _pair(number: int) -> tuple[int, int]:
    return 2_238_947_398 + number, number * 37 % 1_000


def _time_ms(number: int) -> int:
    return FIRST_MS + number // 7
