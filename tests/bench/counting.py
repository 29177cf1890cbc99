"""
Counting events by key in HBase, by native RPC: read-modify-write, HBase's increment, and deferred updates.

Each run counts in one process over one connection, as one task does. All ways share the decoder, the decorators and the
mapping of the sink, and all writes are in the WAL. Without Kafka and Spark, whose cost is the same for each way. After
each run the counters must be exact.
"""

import os
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from itertools import accumulate
from pathlib import Path
from struct import Struct
from typing import NamedTuple

import psutil

from ingest import garbage_collector
from ingest.api import Batch, Event, FamilySpec, Put, Record, Scan, TableSpec, TaskSpec
from ingest.catalog import Catalog
from ingest.config import load
from ingest.pipeline.splits import first_places, ranked
from ingest.plan.assemble import live_chain, live_decoder, live_mappers, live_task, plan_of
from ingest.plan.plan import Plan
from ingest.receipt import TaskStatus
from sinks.hbase.protobuf import data, number
from sinks.hbase.rpc.attempts import Attempts
from sinks.hbase.rpc.cells import decoded
from sinks.hbase.rpc.cluster import Cluster
from sinks.hbase.rpc.regions import CLIENT_SERVICE, Region, RegionCache
from sinks.hbase.rpc.requests import columns_message, region_specifier
from sinks.hbase.rpc.store import RpcStore
from sinks.hbase.rpc.stream import Address
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.rewriting.update_readers import MergedReader
from sinks.rowkeys.row_format import RowFormat
from sinks.updates.feature import Updates
from sinks.writing.messages import Prepared
from tests.bench.watching import Usage, processes_of
from tests.bench.workload import PIPELINE, SEED, STORE, written
from tests.support.names import unique
from tests.support.region_calls import increment
from tests.support.servers import HBase

KEYS = 10_000
PARTITIONS = 2
"""Splits of a task: a topic of four partitions, read by two tasks."""
BATCHES = 2
"""Micro-batches of a run; the first is the warm-up and is not measured."""
FAMILY, COLUMN = b"c", b"c:hits"
FIRST_MS = 1_785_000_000_000
GET_ROWS = 1_000
TIMEOUT_S = 60.0

READ_MODIFY_WRITE = "get and put for each event"
INCREMENT = "increment for each event"
UPDATES_OF_EVENTS = "update row for each event"
READ_MODIFY_WRITE_OF_ROWS = "get and put for each row of a micro-batch"
UPDATES_OF_SPLITS = "update row for each row of a split"

Count = Callable[[Sequence[Record], int], None]
"""Counts the records of a micro-batch with this time; they are durable when it returns."""
_INT64 = Struct(">q")


class Counted(NamedTuple):
    """
    One run.

    Attributes:
        per_s: events a second.
        cpu_s_per_million: CPU seconds of this process for a million events.
        servers_cpu_s_per_million: the same of HBase.
        rows_a_key: number of stored rows for each logical row.
    """

    per_s: float
    cpu_s_per_million: float
    servers_cpu_s_per_million: float
    rows_a_key: float


class Way(NamedTuple):
    """
    A way to count.

    Attributes:
        counting: opens its connection.
        events: number of events of a run, of all micro-batches.
        updates: whether the table has deferred updates.
    """

    counting: Callable[[Plan, str, HBase], AbstractContextManager[Count]]
    events: int
    updates: bool = False


def run(hbase: HBase, folder: Path, runs: int) -> dict[str, dict[str, float]]:
    """
    Name of a way -> its figures, of runs in turns after one that only warms up the server.

    Raises:
        RuntimeError: counters are not exact.
    """
    garbage_collector.collect_rarely()  # as a worker process does
    folder.mkdir(parents=True)
    found: dict[str, list[Counted]] = {name: [] for name in WAYS}
    for turn in range(1 + runs):
        for name, way in WAYS.items():
            counted = run_once(way, hbase, folder)
            if turn:
                found[name].append(counted)
    return {name: _figures(each) | {"events": WAYS[name].events // BATCHES} for name, each in found.items()}


def run_once(way: Way, hbase: HBase, folder: Path) -> Counted:
    """Count into a new table; only the last micro-batch is measured."""
    table = unique("counters")
    plan = plan_for(table, hbase, folder, updates=way.updates)
    batches = micro_batches(way.events)
    with closing(HBaseStore.of(_settings(hbase))) as store:
        store.open()
        store.ensure_table(TableSpec(table, (FamilySpec(FAMILY, versions=1),)))
        if way.updates:
            store.set_property(table, Updates.name, None, plan.tables_with(Updates)[STORE][table].identity())
        with (
            way.counting(plan, table, hbase) as count,
            Usage(lambda: [psutil.Process()]) as own,
            Usage(processes_of(*hbase.server.processes)) as servers,
        ):
            for index, records in enumerate(batches):
                started, own_s, servers_s = time.perf_counter(), own.cpu_s(), servers.cpu_s()
                count(records, FIRST_MS + index)
            took_s, own_s, servers_s = time.perf_counter() - started, own.cpu_s() - own_s, servers.cpu_s() - servers_s
        wanted = Counter(page for records in batches for page in map(_page, records))
        events = len(batches[-1])
        rows_a_key = _rows_a_key(store, table, plan, wanted)
        return Counted(events / took_s, own_s / events * 1e6, servers_s / events * 1e6, rows_a_key)


def plan_for(table: str, hbase: HBase, folder: Path, *, updates: bool) -> Plan:
    """The plan of a pipeline that counts the pages of lines in a table."""
    content = {
        "version": 1,
        "stores": {STORE: {"hbase": hbase.store_options("rpc")}},
        "tables": {
            table: {
                "families": {FAMILY.decode(): {"versions": 1}},
                **({"updates": {"processor": {"sum": {"type": "int64"}}}} if updates else {}),
            }
        },
        "pipelines": {
            PIPELINE: {
                "source": {"kafka": {"brokers": "127.0.0.1:1", "topics": ["hits"], "group": "bench"}},
                "decorators": [{"split": {"separator": " ", "index": 0, "attribute": "page"}}],
                "sinks": [
                    {
                        "hbase": {
                            "table": table,
                            "row_key": {"template": "%{page}"},
                            "cells": [
                                {
                                    "family": FAMILY.decode(),
                                    "qualifier": COLUMN.partition(b":")[2].decode(),
                                    "value": "1",
                                    "encoding": "int64",
                                }
                            ],
                        }
                    }
                ],
            }
        },
    }
    catalog = Catalog()
    configuration = load(written(content, folder), env=dict(os.environ), lookup=catalog)
    return plan_of(configuration, configuration.pipelines[PIPELINE], catalog)


def micro_batches(events: int) -> list[list[Record]]:
    """The events as records of a task, one partition after the other in each micro-batch; the same for every run."""
    weights = [*accumulate(1 / rank for rank in range(1, KEYS + 1))]  # Zipf's law
    ranks = random.Random(SEED).choices(range(KEYS), cum_weights=weights, k=events)
    lines = [b"/shop/item/%05d firefox" % rank for rank in ranks]
    of_partition = events // BATCHES // PARTITIONS
    return [
        [
            Record("hits", partition, offset, None, lines[offset * PARTITIONS + partition], FIRST_MS)
            for partition in range(PARTITIONS)
            for offset in range(batch * of_partition, (batch + 1) * of_partition)
        ]
        for batch in range(BATCHES)
    ]


@contextmanager
def _read_modify_write(plan: Plan, table: str, hbase: HBase) -> Iterator[Count]:
    """
    A get and a put for each event, in the order of the sink.

    No two of these calls can be sent together, since the row of the next event may be the same.
    """
    with closing(RpcStore(_settings(hbase))) as store:
        store.open()

        def count(records: Sequence[Record], time_ms: int) -> None:
            for put in puts_of(plan, records, time_ms):
                row = store.get(table, put.row, columns=(COLUMN,))
                before = 0 if row is None else _number(row.cells[0].value)
                store.apply(table, [_with_value(put, before + _number(put.columns[COLUMN]))])

        yield count


@contextmanager
def _read_modify_write_of_rows(plan: Plan, table: str, hbase: HBase) -> Iterator[Count]:
    """
    The events of a micro-batch are added by row in memory; then the rows are read and written, many in a call.

    It is exact as long as no micro-batch runs again and nothing else writes the rows.
    """
    addresses = [Address(*each) for each in _settings(hbase).addresses]
    with (
        closing(RpcStore(_settings(hbase))) as store,
        closing(Cluster(addresses, may_leave_machine=False)) as cluster,
    ):
        store.open()
        cluster.open()
        (region,) = RegionCache(cluster).of(table, Attempts(TIMEOUT_S).deadline_s).all

        def count(records: Sequence[Record], time_ms: int) -> None:
            amounts, puts = Counter[bytes](), dict[bytes, Put]()
            for put in puts_of(plan, records, time_ms):
                amounts[put.row] += _number(put.columns[COLUMN])
                puts[put.row] = put
            rows = [*amounts]
            for first in range(0, len(rows), GET_ROWS):
                for row, value in values_of(cluster, region, rows[first : first + GET_ROWS]).items():
                    amounts[row] += _number(value)
            store.apply(table, [_with_value(puts[row], amounts[row]) for row in rows])

        yield count


@contextmanager
def _increment(plan: Plan, table: str, hbase: HBase) -> Iterator[Count]:
    """HBase's increment, a call for each event."""
    with closing(RpcStore(_settings(hbase))) as store:
        store.open()

        def count(records: Sequence[Record], time_ms: int) -> None:
            for put in puts_of(plan, records, time_ms):
                increment(store, table, put.row, COLUMN, _number(put.columns[COLUMN]))

        yield count


@contextmanager
def _updates(plan: Plan, table: str, hbase: HBase, *, of_events: bool) -> Iterator[Count]:
    """A task of the pipeline; with `of_events` each record is a split of its own, so nothing is combined."""
    declared = RowFormat(None, plan.tables_with(Updates)[STORE][table].identity())
    prepared = Prepared(families={table: frozenset([FAMILY])}, declared={table: declared}).packed()
    with closing(live_task(plan)) as task:

        def count(records: Sequence[Record], time_ms: int) -> None:
            splits = ranked(record.place for record in records) if of_events else ranked(first_places(records))
            spec = TaskSpec(
                Batch(str(time_ms), time_ms, "1"), call_timeout_s=TIMEOUT_S, prepared={STORE: prepared}, splits=splits
            )
            receipt = task.run(records, spec)
            if receipt.status is not TaskStatus.DURABLE:
                raise RuntimeError(f"{receipt.status}: {receipt.message}")

        yield count


WAYS: Mapping[str, Way] = {
    READ_MODIFY_WRITE: Way(_read_modify_write, 20_000),
    INCREMENT: Way(_increment, 20_000),
    UPDATES_OF_EVENTS: Way(partial(_updates, of_events=True), 200_000, updates=True),
    READ_MODIFY_WRITE_OF_ROWS: Way(_read_modify_write_of_rows, 200_000),
    UPDATES_OF_SPLITS: Way(partial(_updates, of_events=False), 200_000, updates=True),
}
"""
Name -> way. Calls for single events are so slow that fewer events suffice: enough that the server has compiled its code
during the warm-up.
"""


def puts_of(plan: Plan, records: Sequence[Record], time_ms: int) -> Iterator[Put]:
    """The puts that the sink maps records to, in their order."""
    decode, chain = live_decoder(plan).decode, live_chain(plan).run
    ((_, mapper),) = live_mappers(plan)
    for record in records:
        event = decode(record)
        assert isinstance(event, Event)
        for outcome in chain(event):
            assert isinstance(outcome, Event)
            for _, mutation in mapper.map(outcome, time_ms):
                assert isinstance(mutation, Put)
                yield mutation


def values_of(cluster: Cluster, region: Region, rows: Sequence[bytes]) -> dict[bytes, bytes]:
    """Row -> value of the counter, of those of a region that have one; read with one call."""
    assert region.server is not None
    deadline_s = Attempts(TIMEOUT_S).deadline_s
    answer = cluster.call(region.server, CLIENT_SERVICE, "Multi", gets(region.name, rows), deadline_s)
    return {row: cell.value for row, cell in decoded(answer.cells)}


def gets(region: bytes, rows: Sequence[bytes]) -> bytes:
    """A MultiRequest with a get of the counter for each row."""
    # Client.proto: RegionAction has region 1, action 3; Action has index 1, get 3; Get has row 1, column 2
    columns = columns_message(2, (COLUMN,))
    actions = [data(3, number(1, at) + data(3, data(1, row) + columns)) for at, row in enumerate(rows)]
    return data(1, data(1, region_specifier(region)) + b"".join(actions))


def _rows_a_key(store: HBaseStore, table: str, plan: Plan, wanted: Counter[bytes]) -> float:
    if STORE not in plan.tables_with(Updates):
        rows, found = len(wanted), {row.key: _number(row.cells[0].value) for row in store.scan(table, Scan())}
    else:
        merged = MergedReader.of(store, table, plan.tables_with(Updates)[STORE][table].merging()).rows
        rows, found = 0, {}
        for row in merged.scan(Scan()):
            rows += row.update_rows
            found[row.row] = _number(row.columns[COLUMN])
    if found != wanted:
        raise RuntimeError(f"the counters are not exact: {sum(found.values())} of {wanted.total()} events")
    return rows / len(wanted)


def _figures(counted: Sequence[Counted]) -> dict[str, float]:
    rates = [each.per_s for each in counted]
    return {
        "per_s": statistics.median(rates),
        "lowest_per_s": min(rates),
        "highest_per_s": max(rates),
        "cpu_s_per_million": statistics.median(each.cpu_s_per_million for each in counted),
        "servers_cpu_s_per_million": statistics.median(each.servers_cpu_s_per_million for each in counted),
        "rows_a_key": counted[-1].rows_a_key,
    }


def _settings(hbase: HBase) -> HBaseSettings:
    return HBaseSettings.model_validate(hbase.store_options("rpc"))


def _page(record: Record) -> bytes:
    assert record.value is not None
    return record.value.partition(b" ")[0]


def _with_value(put: Put, value: int) -> Put:
    return Put(put.row, {COLUMN: _INT64.pack(value)}, put.timestamp_ms, put.durability)


def _number(value: bytes) -> int:
    (found,) = _INT64.unpack(value)
    return int(found)
