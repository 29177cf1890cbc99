"""Rate into RocksDB by number of events, partitions, task slots, attributes and column names."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench.rungs import product
from tests.bench.watching import Sample, processes_of
from tests.bench.workload import FAMILY, MAX_EVENTS_PER_BATCH, PIPELINE, SEED, STORE, TABLE, Workload, dealt
from tests.support.names import unique
from tests.support.servers import Kafka


class Case(NamedTuple):
    """
    One size.

    Attributes:
        events: number of events in the topic.
        partitions: number of partitions of the topic.
        lines: makes a number of lines.
        content: makes the pipeline file for brokers and a topic.
    """

    events: int
    partitions: int
    lines: Callable[[int], Iterator[bytes]]
    content: Callable[[str, str], dict[str, Any]]


def cases() -> dict[str, Case]:
    """Name -> size."""
    found: dict[str, Case] = {}
    for events in (100_000, 1_000_000, 10_000_000):
        found[f"{events:,} events"] = _plain(events, 4)
    for partitions in (1, 4, 16, 64):
        found[f"{partitions} partitions"] = _plain(1_000_000, partitions)
    for slots in (1, 2):
        found[f"local[{slots}]"] = _plain(1_000_000, 4, spark={"master": f"local[{slots},4]"})
    for attributes in (1, 9, 30, 100, 300):
        found[f"{attributes} attributes an event"] = _json(9_000_000 // max(9, attributes), attributes, attributes)
    for names in (10, 1_000, 10_000, 100_000):
        found[f"{names:,} column names"] = _json(300_000, 3, names)
    return found


def run(case: Case, kafka: Kafka, folder: Path) -> Sample:
    """Produce a topic of this size and run the service over it."""
    topic = kafka.create_topic("scale", partitions=case.partitions)
    kafka.produce(topic, dealt(case.lines(case.events), case.partitions))
    folder.mkdir(parents=True)
    content = case.content(kafka.brokers, topic)
    source = content["pipelines"][PIPELINE]["source"]["kafka"]
    # several micro-batches, since the first half is the warm-up
    source["max_events_per_batch"] = min(MAX_EVENTS_PER_BATCH, case.events // 4)
    return product(folder, content, case.events, processes_of(kafka.server.process))


def _plain(events: int, partitions: int, **sections: dict[str, Any]) -> Case:
    def content(brokers: str, topic: str) -> dict[str, Any]:
        store = {"rocksdb": {"path": "./store"}}
        return Workload().content(brokers=brokers, topic=topic, group=unique("scale"), store=store) | sections

    return Case(events, partitions, Workload().lines, content)


def _json(events: int, attributes: int, names: int) -> Case:
    """JSON events with `attributes` members each, out of `names` different names."""

    def lines(count: int) -> Iterator[bytes]:
        chosen = random.Random(SEED)
        for number in range(count):
            members = {
                f"c{(number * attributes + index) % names}": f"{chosen.random():.6f}" for index in range(attributes)
            }
            yield json.dumps(members).encode()

    def content(brokers: str, topic: str) -> dict[str, Any]:
        return {
            "version": 1,
            "stores": {STORE: {"rocksdb": {"path": "./store"}}},
            "tables": {TABLE: {"families": {FAMILY: {}}}},
            "pipelines": {
                PIPELINE: {
                    "source": {"kafka": {"brokers": brokers, "topics": [topic], "group": unique("scale")}},
                    "decorators": [
                        {"json": {"prefix": f"2hb_{FAMILY}:"}},
                        {"value": {"attribute": "2hb_", "value": "%{topic}:%{partition}:%{offset}"}},
                    ],
                    "sinks": [{"attr2hbase": {"table": TABLE}}],
                }
            },
        }

    return Case(events, 4, lines, content)
