"""Kafka to HBase: attr2hbase, the ceilings of its protocols, and peers; one topic, an empty table."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ingest.api import Event, FamilySpec, Record, TableSpec
from ingest.api.buckets import splits_of
from ingest.api.feeds import feed_table
from ingest.catalog import Catalog
from ingest.config import load
from ingest.plan.assemble import live_chain, live_decoder, live_mappers, plan_of
from sinks.hbase.settings import HBaseSettings, Thrift2Settings
from sinks.hbase.store import HBaseStore
from sinks.writing.buffer import Chunk, WriteBuffer
from tests.bench import ceiling, neighbour
from tests.bench.base_build import is_of_base, python_of, without_base
from tests.bench.committing import Flink, HappybaseConsumers
from tests.bench.flume import Flume
from tests.bench.neighbour import NEIGHBOURS
from tests.bench.peer import Peer
from tests.bench.rungs import TASKS, product
from tests.bench.watching import Processes, Sample, processes_of
from tests.bench.workload import COLUMNS, FAMILY, MAX_EVENTS_PER_BATCH, PIPELINE, TABLE, Workload, dealt, written
from tests.support.names import unique
from tests.support.servers import HBase, Kafka
from tests.support.waiting import reached

LARGE = Workload(body_bytes=10_000)
FLUME_FILE, FLUME_MEMORY = "flume file channel", "flume memory channel"
FLUME_LARGE = f"{FLUME_FILE}, body of 10 KB"
FLUME = {
    FLUME_FILE: ("file", Workload()),
    FLUME_MEMORY: ("memory", Workload()),
    FLUME_LARGE: ("file", LARGE),
}
"""Name -> channel and workload."""
FLINK, HAPPYBASE = "flink sql", "happybase consumers"
LEAST = {FLINK: 300_000}
"""Least number of events of a peer in a short run: Flink commits each second, and must not read all before."""
CEILING, NATIVE_CEILING = "ceiling", "ceiling native RPC"
CEILINGS: dict[str, tuple[type[ceiling.Client], int]] = {
    CEILING: (ceiling.ThriftClient, TASKS),
    NATIVE_CEILING: (ceiling.NativeClient, TASKS),
    "ceiling, 1 connection": (ceiling.ThriftClient, 1),
    "ceiling, 4 connections": (ceiling.ThriftClient, 4),
}
"""Name -> client and number of connections that send prepared rows; the first two have as many as attr2hbase."""
THRIFT, NO_WAL = "hbase", "hbase, no WAL"
SPREAD, UNSPREAD = "hbase, 16 buckets", "hbase, without buckets"
NATIVE, FILES = "hbase native RPC", "hbase native RPC, bulk load"
NATIVE_FEED, NATIVE_NO_FEED = "hbase native RPC, feed", "hbase native RPC, without feed"
PRODUCTS: dict[str, tuple[Workload, dict[str, Any], dict[str, Any]]] = {
    THRIFT: (Workload(), {}, {}),
    SPREAD: (Workload(buckets=16), {}, {}),
    UNSPREAD: (Workload(), {}, {}),
    NATIVE: (Workload(), {"protocol": "rpc"}, {}),
    FILES: (Workload(bulk_load="auto"), {"protocol": "rpc"}, {}),
    NATIVE_NO_FEED: (Workload(), {"protocol": "rpc"}, {}),
    NATIVE_FEED: (Workload(feed=True), {"protocol": "rpc"}, {}),
    NO_WAL: (Workload(sink={"write_to_wal": False}), {}, {}),
    "hbase, 1 connection": (Workload(), {}, {"spark": {"master": "local[1,4]"}}),
    "hbase, 4 connections": (Workload(), {"connections": 2}, {}),
    "hbase, 1 cell": (Workload(cells=1), {}, {}),
    "hbase, 3 cells": (Workload(cells=3), {}, {}),
    "hbase, 30 cells": (Workload(cells=30), {}, {}),
    "hbase, body of 100 B": (Workload(body_bytes=100), {}, {}),
    "hbase, body of 1 KB": (Workload(body_bytes=1_000), {}, {}),
    "hbase, body of 10 KB": (LARGE, {}, {}),
    "hbase native RPC, body of 10 KB": (LARGE, {"protocol": "rpc"}, {}),
}
"""
Name -> workload, options of the store, further sections of the pipeline file.

`protocol` is not an option of the store: rpc names the masters in place of the Thrift server.
"""
ON_THREE = "8 regions on three region servers"
FILES_ON_THREE = f"{FILES}, {ON_THREE}"
CLUSTER: dict[str, tuple[Workload, dict[str, Any], dict[str, Any]]] = {
    f"hbase, {ON_THREE}": (Workload(buckets=8), {}, {}),
    f"hbase native RPC, {ON_THREE}": (Workload(buckets=8), {"protocol": "rpc"}, {}),
    FILES_ON_THREE: (Workload(buckets=8, bulk_load="auto"), {"protocol": "rpc"}, {}),
}
"""As `PRODUCTS`, for an HBase whose master and region servers are processes of their own."""
PEER_RUNGS = (FILES, NATIVE, FLUME_FILE, FLINK, HAPPYBASE, FLUME_MEMORY, NATIVE_CEILING)
THRIFT_RUNGS = (THRIFT, CEILING)
COMPARED = (NATIVE,)
"""Those that the base build runs too."""
SPREAD_RUNGS = (SPREAD, UNSPREAD)
FEED_RUNGS = (NATIVE_FEED, NATIVE_NO_FEED)
ROW_RUNGS = ("hbase, 1 cell", "hbase, 3 cells", "hbase, 30 cells", "hbase, body of 100 B", "hbase, body of 1 KB")
LARGE_RUNGS = ("hbase, body of 10 KB", "hbase native RPC, body of 10 KB", FLUME_LARGE)
OTHER_RUNGS = (
    NO_WAL, "hbase, 1 connection", "hbase, 4 connections", "ceiling, 1 connection", "ceiling, 4 connections",
)  # fmt: skip
PROPERTIES = {
    "hbase.hregion.memstore.flush.size": str(256 << 20),
    "hbase.hstore.compaction.min": "6",
    "hbase.hstore.blockingStoreFiles": "30",
    "hbase.regionserver.region.split.policy": "org.apache.hadoop.hbase.regionserver.DisabledRegionSplitPolicy",
}
"""
Used for attr2hbase and for all peers; the first three are recommended by docs/performance.md for continuous writes.

Without the last one HBase splits the only region at 512 MiB, which 3,000,000 events reach, so a run would also measure
that split, and the ceilings would have to follow it.
"""
HEAP, THRIFT_HEAP, CLUSTER_HEAP = "2g", "1g", "1g"
BODIES_BYTES = 1_200_000_000
"""Limit of the bytes in a topic of padded lines, which would else be gigabytes."""
BATCH_MS = 1_785_000_000_000
COUNTED_S = 60.0
"""A peer is measured until near the end of its topic; so long it may take for the rest."""
_KEYS = b"FirstKeyOnlyFilter() AND KeyOnlyFilter()"


class HBaseRungs:
    """
    The benchmarks over one topic and one HBase.

    Args:
        events: number of lines in the topic, which are those of the plain workload.
        counts: whether the rows of the table are counted after each run, which takes longer than the run.
        base: commit of the base build; empty if there is none.
    """

    def __init__(
        self,
        kafka: Kafka,
        hbase: HBase,
        *,
        topic: str,
        partitions: int,
        events: int,
        folder: Path,
        counts: bool = False,
        base: str = "",
    ) -> None:
        self._kafka = kafka
        self._hbase = hbase
        self._topic = topic
        self._partitions = partitions
        self._events = events
        self._folder = folder
        self._counts = counts
        self._base = base
        self._catalog = Catalog()
        self._topics: dict[tuple[int | None, int], str] = {(None, events): topic}
        self._prepared: dict[type[ceiling.Client], list[ceiling.Prepared]] = {}

    def run(self, rung: str, turn: str) -> Sample:
        """Run one benchmark once, into an empty table."""
        folder = self._folder / f"{rung.replace(' ', '-')}-{turn}"
        folder.mkdir(parents=True)
        if rung in NEIGHBOURS:
            content = Workload().content(
                brokers=self._kafka.brokers,
                topic=self._topic,
                group=unique("bench"),
                store={"rocksdb": {"path": "./store"}},
            )
            return neighbour.run(rung, folder, content, self._events, kafka=self._kafka, hbase=self._hbase)
        plain = without_base(rung)
        if (given := PRODUCTS.get(plain) or CLUSTER.get(plain)) is not None:
            workload, options, sections = given
            self.empty_table(workload)
            events = self._events_of(workload)
            content = self.content(workload, self._topic_of(workload, events), **options)
            # several micro-batches, since the first half is the warm-up
            source = content["pipelines"][PIPELINE]["source"]["kafka"]
            source["max_events_per_batch"] = min(MAX_EVENTS_PER_BATCH, events // 4)
            python = python_of(self._base) if is_of_base(rung) else sys.executable
            sample = product(folder, content | sections, events, self.servers, python)
            self._count(rung, workload.table, events)
            return sample
        self.empty_table()
        if rung not in CEILINGS:
            workload = FLUME[rung][1] if rung in FLUME else Workload()
            events = max(self._events_of(workload), LEAST.get(rung, 0))
            peer = self.peer(rung, folder, self._topic_of(workload, events), body=workload.body_bytes is not None)
            with peer.running():
                sample = peer.measured(events, self.servers)
                self._count(rung, TABLE, events)
            return sample
        client, connections = CEILINGS[rung]
        if client not in self._prepared:
            self._prepared[client] = list(client.prepared(self._chunks()))
        sample = ceiling.run(client, self._hbase, self._prepared[client], connections, self.servers)
        self._count(rung, TABLE, self._events)
        return sample

    def content(self, workload: Workload, topic: str, **options: object) -> dict[str, Any]:
        """A pipeline file for this HBase."""
        address = self._hbase.store_options(str(options.pop("protocol", "thrift")))
        if workload.bulk_load:
            options["staging"] = str(self._folder / "staging")
        store = {"hbase": {**address, **options}}
        return workload.content(brokers=self._kafka.brokers, topic=topic, group=unique("bench"), store=store)

    def empty_table(self, workload: Workload | None = None) -> None:
        """Delete the tables of all workloads, and create that of one; with buckets each of them has a region."""
        workload = workload or Workload()
        with self._hbase.connection() as connection:
            names = {name.decode() for name in connection.tables()}
            tables = {each.table for each, _, _ in (*PRODUCTS.values(), *CLUSTER.values())}
            for table in names & (tables | set(map(feed_table, tables))):
                connection.delete_table(table, disable=True)
        settings = HBaseSettings(
            host=self._hbase.host,
            port=self._hbase.port,
            thrift2=Thrift2Settings(host=self._hbase.host, port=self._hbase.thrift2_port),
        )
        store = HBaseStore.of(settings)
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

    def _topic_of(self, workload: Workload, events: int) -> str:
        place = (workload.body_bytes, events)
        if place not in self._topics:
            self._topics[place] = self._kafka.create_topic(f"bench{place[0]}", partitions=self._partitions)
            self._kafka.produce(self._topics[place], dealt(workload.lines(events), self._partitions))
        return self._topics[place]

    def _events_of(self, workload: Workload) -> int:
        events = self._events * len(COLUMNS) // max(len(COLUMNS), workload.cells)
        return min(events, BODIES_BYTES // (workload.body_bytes or 1))

    def peer(self, rung: str, folder: Path, topic: str, *, body: bool = False, keyed: bool = False) -> Peer:
        """
        A peer that writes a topic to the table of the plain workload.

        Args:
            body: whether Flume also stores the line.
            keyed: whether Flume's row key is the path of the line.
        """
        zookeeper = self._hbase.server.endpoints["zookeeper"]
        given = {"brokers": self._kafka.brokers, "topic": topic, "table": TABLE}
        if rung == FLINK:
            return Flink(folder, zookeeper=zookeeper, tasks=TASKS, **given)
        if rung == HAPPYBASE:
            return HappybaseConsumers(folder, port=self._hbase.port, consumers=TASKS, **given)
        channel, _ = FLUME[rung]
        return Flume(folder, zookeeper=zookeeper, channel=channel, sinks=TASKS, body=body, keyed=keyed, **given)

    def _count(self, rung: str, table: str, events: int) -> None:
        """
        Wait until a table has a row for each event, if rows are counted.

        Raises:
            RuntimeError: it has another number.
        """
        if not self._counts:
            return
        rows = 0

        def are_all() -> bool:
            nonlocal rows
            with self._hbase.connection() as connection:
                rows = sum(1 for _ in connection.table(table).scan(filter=_KEYS, batch_size=10_000))
            return rows >= events

        if not reached(are_all, COUNTED_S) or rows != events:
            raise RuntimeError(f"{rung} stored {rows} rows of {events} events")

    def _chunks(self) -> Iterator[Chunk]:
        """The chunks that attr2hbase would write for the topic."""
        folder = self._folder / "chunks"
        folder.mkdir(exist_ok=True)
        file = written(self.content(Workload(), self._topic), folder)
        configuration = load(file, env=dict(os.environ), lookup=self._catalog)
        plan = plan_of(configuration, configuration.pipelines[PIPELINE], self._catalog)
        decode, chain = live_decoder(plan).decode, live_chain(plan).run
        ((part, mapper),) = live_mappers(plan)
        buffer = WriteBuffer(part.settings.write_buffer_size)
        for index, line in enumerate(Workload().lines(self._events)):
            record = Record(self._topic, index % self._partitions, index // self._partitions, None, line, BATCH_MS)
            for outcome in chain(decode(record)):
                if isinstance(outcome, Event):
                    for mapped in mapper.map(outcome, BATCH_MS):
                        yield from buffer.add(*mapped)
        yield from buffer.take()
