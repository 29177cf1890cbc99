"""
Counters in tables with deferred updates are exact: a service is killed with SIGKILL inside micro-batches, starts with
other task slots, another configuration and a new checkpoint, while it compacts the tables, and every event counts once.

`SEED=n` repeats the random choices.
"""

import os
import random
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition

from ingest.api import Store
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.update_rows import update_rows
from sinks.updates.groups import by_row, merged_row
from sinks.updates.merging import Merging
from sinks.updates.processors.sum import Sum
from tests.support.audit import rocksdb_reader
from tests.support.names import unique
from tests.support.protocols import SLOW_WITH_THRIFT
from tests.support.servers import Given, HBase, Kafka, Protocol
from tests.support.service import Service

PARTITIONS = 4
EVENTS_OF_A_KEY = 100  # on average
REFUSED = 37  # every so many events has a value that is no number

Sums = dict[bytes, tuple[int, Decimal]]
"""Row key -> number of events, and the sum of their amounts."""


def events(count: int, chosen: random.Random) -> tuple[list[Given], Sums, int]:
    """Records with keys of Zipf's distribution, the sums of those that can be added, and the number of the others."""
    number_of_keys = count // EVENTS_OF_A_KEY
    weights = [1 / rank for rank in range(1, number_of_keys + 1)]
    keys = chosen.choices(range(number_of_keys), weights, k=count)
    records, hits, amounts = [], Counter[bytes](), Counter[bytes]()
    for number, key in enumerate(keys):
        row = b"page-%05d" % key
        amount = b"many" if number % REFUSED == 0 else b"%d" % chosen.randrange(100)
        records.append(Given(b"page=%s amount=%s" % (row, amount), row, partition=key % PARTITIONS))
        if amount != b"many":
            hits[row] += 1
            amounts[row] += int(amount)
    sums = {row: (hits[row], Decimal(amounts[row])) for row in hits}
    return records, sums, count - sum(hits.values())


def pipeline(kafka: Kafka, topic: str, group: str, store: str, table: str, batch: int) -> dict[str, Any]:
    attributes = {"2hb_": "%{page}", "2hb_c:amount": "%{amount}", "2hb_c:hits": "1"}
    return {
        "source": {
            "kafka": {"brokers": kafka.brokers, "topics": [topic], "group": group, "max_events_per_batch": batch}
        },
        "decorators": [{"kv": {}}, {"template": {"attributes": attributes}}],
        "sinks": [{"attr2hbase": {"store": store, "table": table}}],
        "error_budget": {"share": "50%"},
    }


def merged(store: Store[Any], table: str) -> Sums:
    """The merged rows of a table, which has been compacted in part."""
    merging = Merging(Sum(Sum.settings_class()()))
    sums = {}
    stored = list(update_rows(store, table, RowFormat.recorded(store, table)))
    assert any(row.key.is_merged for row in stored)
    for row, rows in by_row(stored):
        found = merged_row(rows, merging)
        assert found is not None
        assert not found.unmerged
        sums[row] = int(found.columns[b"c:hits"]), Decimal(found.columns[b"c:amount"].decode())
    return sums


class Counting:
    """A service that counts the records of a topic in both stores."""

    def __init__(self, kafka: Kafka, hbase: HBase, protocol: Protocol, folder: Path, count: int) -> None:
        seed = int(os.environ.get("SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
        print(f"SEED={seed}")  # noqa: T201 - read when the test fails
        self.random = random.Random(seed)
        self.topic = kafka.create_topic(unique("hits"), partitions=PARTITIONS)
        self._kafka = kafka
        self._records, self._sums, self._refused = events(count, self.random)
        # a compaction takes the lease of a killed one over after this time
        self._cluster = hbase.store_options(protocol, thrift2=True) | {"timeout": "60s"}
        self.tables = {"to_rocksdb": unique("sums"), "to_hbase": unique("sums")}
        stores = {"to_rocksdb": "embedded", "to_hbase": "cluster"}
        group = unique("counts")
        batch = max(500, count // 200)  # a kill soon after its beginning is still within it
        updates = {"processor": "sum", "columns": ["c"], "compact": {"every": "2s", "older_than": "0s"}}
        self.content: dict[str, Any] = {
            "spark": {"master": "local[2,4]"},
            "stores": {"embedded": {"rocksdb": {"path": str(folder / "store")}}, "cluster": {"hbase": self._cluster}},
            "tables": {
                self.tables[name]: {
                    "store": store,
                    "families": {"c": {}},
                    "updates": updates,
                    **({"distribute": {"hash": 8}} if name == "to_hbase" else {}),
                }
                for name, store in stores.items()
            },
            "pipelines": {
                name: pipeline(kafka, self.topic, f"{group}-{name}", store, self.tables[name], batch)
                for name, store in stores.items()
            },
        }
        self.service = Service(folder, self.content)
        made = self.service.command("table apply")
        assert made.returncode == 0, made.stderr

    def produce(self) -> None:
        self._kafka.produce(self.topic, self._records)

    def kill(self) -> bool:
        """Kill all processes while a micro-batch runs; returns whether one was running then."""
        for each in self.tables:  # so that the tables have committed positions
            self.service.wait_for_batches(1, each)
        name = self.random.choice(list(self.tables))
        checkpoint = self.service.checkpoint(name)
        self.service.wait_for(checkpoint.is_inside_a_batch, f"a batch of {name}", 180)
        time.sleep(self.random.random() * 0.4)  # a random time in the batch is the purpose of the test
        is_inside = checkpoint.is_inside_a_batch()
        self.service.kill_all()
        return is_inside

    def reconfigure(self, *, slots: int, comment: str) -> None:
        """Start with another number of task slots, and with decorators that differ without another result."""
        self.content["spark"] = {"master": f"local[{slots},4]"}
        for each in self.content["pipelines"].values():
            each["decorators"] = [
                {"kv": {}},
                each["decorators"][-1] | {},
                {"static": {"attributes": {"note": comment}}},
            ]
        self.service.write(self.content)

    def forget(self, name: str) -> None:
        """Remove the checkpoint of a pipeline, and the commits of its group, as if it was killed before these."""
        shutil.rmtree(self.service.checkpoint(name).folder)
        group = self.content["pipelines"][name]["source"]["kafka"]["group"]
        consumer = KafkaConsumer(bootstrap_servers=self._kafka.brokers, group_id=group)
        try:
            earlier = {TopicPartition(self.topic, number): OffsetAndMetadata(0, "", -1) for number in range(PARTITIONS)}
            consumer.commit(earlier)
        finally:
            consumer.close()

    def finish(self) -> None:
        """Process the whole topic, stop the service, and compare the sums."""
        ends = self._kafka.ends(self.topic)
        for name in self.tables:
            self.service.wait_for_offsets(ends, name, self.topic)
        for table in self.tables.values():
            self.service.wait_for(partial(self._is_compacted, table), f"a compaction of {table}", 180)
        assert self.service.stop() == 0, self.service.last_lines()
        assert self.found() == dict.fromkeys(self.tables, self._sums)

    def _is_compacted(self, table: str) -> bool:
        return self.service.metric("attr2hbase_compaction_rows_total", table=table) > 0

    def found(self) -> dict[str, Sums]:
        """Pipeline -> its sums."""
        with rocksdb_reader(self.service.folder / "store") as store:
            sums = {"to_rocksdb": merged(store, self.tables["to_rocksdb"])}
        cluster = HBaseStore.of(HBaseSettings.model_validate(self._cluster))
        cluster.open()
        try:
            return sums | {"to_hbase": merged(cluster, self.tables["to_hbase"])}
        finally:
            cluster.close()


@pytest.fixture
def counting(kafka: Kafka, hbase: HBase, protocol: Protocol, tmp_path: Path, request: Any) -> Iterator[Counting]:
    made = Counting(kafka, hbase, protocol, tmp_path, request.param)
    with made.service:
        yield made


@SLOW_WITH_THRIFT
@pytest.mark.parametrize("counting", [5_000], indirect=True)
def test_sums_are_exact_after_a_kill_other_slots_and_a_new_checkpoint(counting: Counting) -> None:
    counting.produce()
    counting.service.start()
    counting.kill()
    counting.reconfigure(slots=3, comment="three slots")
    counting.forget(counting.random.choice(list(counting.tables)))
    counting.service.start("--start-from", "group")
    counting.finish()


@pytest.mark.slow
@pytest.mark.parametrize("counting", [1_000_000], indirect=True)
def test_a_million_events_are_counted_once_over_ten_kills(counting: Counting) -> None:
    counting.produce()
    inside = 0
    for number in range(10):
        counting.service.start(*(["--start-from", "group"] if number == 8 else []))
        inside += counting.kill()
        if number == 4:
            counting.reconfigure(slots=3, comment="three slots")
        if number == 7:
            counting.forget("to_hbase")
            counting.forget("to_rocksdb")
    assert inside >= 7
    counting.service.start()
    counting.finish()
