"""Kafka to HBase: attr2hbase, the ceiling of the Thrift server, and Flume; one topic, an empty table."""

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil

from ingest.api import Event, FamilySpec, Record, TableSpec
from ingest.api.buckets import splits_of
from ingest.catalog import Catalog
from ingest.config import load
from ingest.plan.assemble import live_chain, live_decoder, live_mappers, plan_of
from sinks.hbase.settings import HBaseSettings, Thrift2Settings
from sinks.hbase.store import HBaseStore
from sinks.hbase.thrift.connection import Connection
from sinks.hbase.thrift.encoding import Encoder
from sinks.hbase.thrift.message import METHOD
from sinks.writing.buffer import Chunk, WriteBuffer
from tests.bench import neighbour
from tests.bench.flume import Flume
from tests.bench.neighbour import NEIGHBOURS
from tests.bench.rungs import TASKS, product
from tests.bench.watching import Processes, Sample, follow, processes_of
from tests.bench.workload import FAMILY, MAX_EVENTS_PER_BATCH, PIPELINE, TABLE, Workload, in_turn, written
from tests.support.names import unique
from tests.support.servers import HBase, Kafka

FLUME = {"flume file channel": "file", "flume memory channel": "memory"}
CEILINGS = {"ceiling": TASKS, "ceiling, 1 connection": 1, "ceiling, 4 connections": 4}
"""Name -> number of connections that send prepared messages; the first has as many as attr2hbase."""
SPREAD = "hbase, 16 buckets"
DIRECT = "hbase direct"
PRODUCTS: dict[str, tuple[Workload, dict[str, Any], dict[str, Any]]] = {
    "hbase": (Workload(), {}, {}),
    SPREAD: (Workload(buckets=16), {}, {}),
    DIRECT: (Workload(), {"protocol": "rpc"}, {}),
    "hbase, no WAL": (Workload(sink={"write_to_wal": False}), {}, {}),
    "hbase, 1 connection": (Workload(), {}, {"spark": {"master": "local[1,4]"}}),
    "hbase, 4 connections": (Workload(), {"connections": 2}, {}),
    "hbase, 1 cell": (Workload(cells=1), {}, {}),
    "hbase, 3 cells": (Workload(cells=3), {}, {}),
    "hbase, 30 cells": (Workload(cells=30), {}, {}),
    "hbase, body of 100 B": (Workload(body_bytes=100), {}, {}),
    "hbase, body of 1 KB": (Workload(body_bytes=1_000), {}, {}),
    "hbase, body of 10 KB": (Workload(body_bytes=10_000), {}, {}),
}
"""
Name -> workload, options of the store, further sections of the pipeline file.

`protocol` is not an option of the store: rpc names the masters in place of the Thrift server.
"""
GOAL_RUNGS = ("hbase", SPREAD, "ceiling", *FLUME, *NEIGHBOURS)
PROPERTIES = {
    "hbase.hregion.memstore.flush.size": str(256 << 20),
    "hbase.hstore.compaction.min": "6",
    "hbase.hstore.blockingStoreFiles": "30",
}
"""Recommended by docs/performance.md for continuous writes; used for attr2hbase and for all peers."""
HEAP, THRIFT_HEAP = "2g", "1g"
BODIES_BYTES = 400_000_000
"""Limit of the bytes in a topic of padded lines, which would else be gigabytes."""
BATCH_MS = 1_785_000_000_000


class HBaseRungs:
    """
    The benchmarks over one topic and one HBase.

    Args:
        events: number of lines in the topic, which are those of the plain workload.
    """

    def __init__(self, kafka: Kafka, hbase: HBase, *, topic: str, partitions: int, events: int, folder: Path) -> None:
        self._kafka = kafka
        self._hbase = hbase
        self._topic = topic
        self._partitions = partitions
        self._events = events
        self._folder = folder
        self._catalog = Catalog()
        self._topics: dict[int | None, str] = {None: topic}
        self._messages: list[tuple[bytes, int]] = []

    def run(self, rung: str, number: int) -> Sample:
        """Run one benchmark once, into an empty table."""
        folder = self._folder / f"{rung.replace(' ', '-')}-{number}"
        folder.mkdir(parents=True)
        if rung in NEIGHBOURS:
            content = Workload().content(
                brokers=self._kafka.brokers,
                topic=self._topic,
                group=unique("bench"),
                store={"rocksdb": {"path": "./store"}},
            )
            return neighbour.run(rung, folder, content, self._events, kafka=self._kafka, hbase=self._hbase)
        if rung in PRODUCTS:
            workload, options, sections = PRODUCTS[rung]
            self.empty_table(workload)
            events = self._events_of(workload)
            content = self.content(workload, self._topic_of(workload), **options)
            # several micro-batches, since the first half is the warm-up
            source = content["pipelines"][PIPELINE]["source"]["kafka"]
            source["max_events_per_batch"] = min(MAX_EVENTS_PER_BATCH, events // 4)
            return product(folder, content | sections, events, self.servers)
        self.empty_table()
        return self._ceiling(CEILINGS[rung]) if rung in CEILINGS else self._flume(rung, folder)

    def content(self, workload: Workload, topic: str, **options: object) -> dict[str, Any]:
        """A pipeline file for this HBase."""
        address = self._hbase.store_options(str(options.pop("protocol", "thrift")))
        store = {"hbase": {**address, **options}}
        return workload.content(brokers=self._kafka.brokers, topic=topic, group=unique("bench"), store=store)

    def empty_table(self, workload: Workload | None = None) -> None:
        """Delete the tables of all workloads, and create that of one; with buckets each of them has a region."""
        workload = workload or Workload()
        with self._hbase.connection() as connection:
            names = {name.decode() for name in connection.tables()}
            for table in names.intersection(each.table for each, _, _ in PRODUCTS.values()):
                connection.delete_table(table, disable=True)
        settings = HBaseSettings(
            host=self._hbase.host,
            port=self._hbase.port,
            thrift2=Thrift2Settings(host=self._hbase.host, port=self._hbase.thrift2_port),
        )
        store = HBaseStore(settings)
        store.open()
        try:
            splits = () if workload.buckets is None else splits_of(workload.buckets)
            family = FamilySpec(FAMILY.encode(), versions=1)
            store.ensure_table(TableSpec(workload.table, (family,), splits=splits, buckets=workload.buckets))
        finally:
            store.close()

    @property
    def servers(self) -> Processes:
        """Processes of Kafka and HBase."""
        return processes_of(self._kafka.server.process, *self._hbase.server.processes)

    def _topic_of(self, workload: Workload) -> str:
        length = workload.body_bytes
        if length not in self._topics:
            self._topics[length] = self._kafka.create_topic(f"bench{length}", partitions=self._partitions)
            self._kafka.produce(
                self._topics[length], in_turn(workload.lines(self._events_of(workload)), self._partitions)
            )
        return self._topics[length]

    def _events_of(self, workload: Workload) -> int:
        return min(self._events, BODIES_BYTES // (workload.body_bytes or 1))

    def _ceiling(self, connections: int) -> Sample:
        """Send prepared messages over connections: the upper bound for a client of the Thrift server."""
        if not self._messages:
            self._messages = list(self._made())
        sent = [0] * connections
        failed: list[BaseException] = []

        def send(number: int, messages: Sequence[tuple[bytes, int]]) -> None:
            connection = Connection(HBaseSettings(host=self._hbase.host, port=self._hbase.port))
            connection.open()
            try:
                for message, rows in messages:
                    connection.call(lambda client, message=message: client.send(METHOD, message))
                    sent[number] += rows
            except BaseException as error:  # noqa: BLE001 - raised below
                failed.append(error)
            finally:
                connection.close()

        threads = [
            threading.Thread(target=send, args=(number, self._messages[number::connections]))
            for number in range(connections)
        ]
        for thread in threads:
            thread.start()
        try:
            return follow(
                self._events,
                lambda: sum(sent),
                its=lambda: [psutil.Process()],
                servers=self.servers,
                runs=lambda: not failed,
            )
        finally:
            for thread in threads:
                thread.join()
            if failed:
                raise failed[0]

    def _flume(self, rung: str, folder: Path) -> Sample:
        flume = Flume(
            folder,
            brokers=self._kafka.brokers,
            topic=self._topic,
            table=TABLE,
            zookeeper=self._hbase.server.endpoints["zookeeper"],
            channel=FLUME[rung],
            sinks=TASKS,
        )
        return flume.run(self._events, self.servers)

    def _made(self) -> Iterator[tuple[bytes, int]]:
        """The calls that attr2hbase would make for the topic: (message, number of rows)."""
        folder = self._folder / "made"
        folder.mkdir()
        file = written(self.content(Workload(), self._topic), folder)
        configuration = load(file, env=dict(os.environ), lookup=self._catalog)
        plan = plan_of(configuration, configuration.pipelines[PIPELINE], self._catalog)
        decode, chain = live_decoder(plan).decode, live_chain(plan).run
        ((part, mapper),) = live_mappers(plan)
        encoder = Encoder(HBaseSettings(host=self._hbase.host, port=self._hbase.port))
        chunks: list[Chunk] = []
        buffer = WriteBuffer(part.settings.write_buffer_size, chunks.append)
        for index, line in enumerate(Workload().lines(self._events)):
            record = Record(self._topic, index % self._partitions, index // self._partitions, None, line, BATCH_MS)
            for outcome in chain(decode(record)):
                if isinstance(outcome, Event):
                    for mapped in mapper.map(outcome, BATCH_MS):
                        buffer.add(*mapped)
            while chunks:
                yield from self._calls(encoder, chunks.pop())
        buffer.flush()
        for chunk in chunks:
            yield from self._calls(encoder, chunk)

    @staticmethod
    def _calls(encoder: Encoder, chunk: Chunk) -> Iterator[tuple[bytes, int]]:
        for call in encoder.calls(chunk.table, chunk.mutations, tuple):
            yield call.message, len(call.indexes)
