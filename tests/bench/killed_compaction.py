"""
`attr2hbase compact` of a large table in HBase, with two tasks: killed with SIGKILL half way, then run again until it
ends.

After both, a scan must return the exact sums. The second run is measured.
"""

import json
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import psutil

from ingest import garbage_collector
from ingest.api import Scan
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.rewriting.update_readers import MergedReader
from sinks.updates.keys import encoded_row
from tests.bench.compaction import (
    COLUMNS,
    FAMILY,
    MERGING,
    Size,
    check_rows,
    create_updated,
    row_of,
    timed,
    write,
)
from tests.bench.rungs import LONG_LIVED, TASKS
from tests.bench.workload import PIPELINE, STORE
from tests.support.names import unique
from tests.support.servers import HBase
from tests.support.service import Service

SIZE = Size(keys=1_000_000, updates=10)
NAME = f"compaction of {SIZE.rows:,} update rows"
REGIONS = 4
"""Twice as many as tasks, so that half of the regions are compacted when the first tasks have one left."""
SAMPLE_S = 1.0
TIMEOUT_S = 3_600.0
CLOCK_S = 5.0
"""Added to the time until the lease of the killed process may be taken over."""


class Killed(NamedTuple):
    """
    Figures of the compaction.

    Attributes:
        write_per_s: update rows a second of a write of all update rows over one connection.
        scan_per_s: the same of a scan of them over one connection, as they are stored.
        compaction_per_s: the same of the second run of the compaction.
        memory_growth: of the resident memory of its processes, from the second quarter of that run to the last.
        peak_mib: of their resident memory.
    """

    write_per_s: float
    scan_per_s: float
    compaction_per_s: float
    memory_growth: float
    peak_mib: float


def run(hbase: HBase, folder: Path, size: Size = SIZE) -> Killed:
    """
    Write the table, compact it twice, and check its sums after each.

    Raises:
        RuntimeError: a sum is not exact, or the compaction has failed.
    """
    garbage_collector.collect_rarely()
    table = unique("updated")
    splits = tuple(encoded_row(row_of(size.keys * number // REGIONS)) for number in range(1, REGIONS))
    with closing(HBaseStore.of(HBaseSettings.model_validate(hbase.store_options("rpc")))) as store:
        store.open()
        create_updated(store, table, size, splits)
        write_s = write(store, table, size.puts())
        scan_s = timed(lambda: check_rows(store, table, size.rows))
        with Service(folder, content(hbase, table)) as service:
            _start(service, table)
            half = row_of(size.keys // 2)
            service.wait_for(lambda: _is_merged(store, table, half), "half of the regions", TIMEOUT_S)
            service.kill_all()
            check_sums(store, table, size)
            before = sum(1 for _ in store.scan(table, Scan()))
            service.out.write_bytes(b"")
            memory = _memory_of(_start(service, table))
            if service.wait_for_exit(TIMEOUT_S) != 0:
                raise RuntimeError(f"the compaction has failed: {service.last_lines()}")
            seconds = json.loads(service.out.read_text())["seconds"]
        check_sums(store, table, size)
        check_rows(store, table, size.keys)
    return Killed(size.rows / write_s, size.rows / scan_s, before / seconds, growth(memory), max(memory))


def growth(memory: Sequence[float]) -> float:
    """
    The relative growth of samples from the second quarter to the last; the first is the start of Spark.

    Raises:
        RuntimeError: there are fewer than eight samples.
    """
    quarter = len(memory) // 4
    if quarter < 2:
        raise RuntimeError("the compaction was too short; choose more keys")
    return median(memory[-quarter:]) / median(memory[quarter : 2 * quarter]) - 1


def check_sums(store: HBaseStore, table: str, size: Size) -> None:
    """
    Compare the merged rows of a table with the sums of its updates.

    Raises:
        RuntimeError: a row is missing, or has other values.
    """
    key = 0
    with closing(MergedReader.of(store, table, MERGING).scan(Scan())) as rows:
        for row in rows:
            values = {int.from_bytes(cell.value) for cell in row.cells}
            if (row.key, values, len(row.cells)) != (row_of(key), {size.total(key)}, len(COLUMNS)):
                raise RuntimeError(f"row {row.key!r} is not exact: {values}, expected {size.total(key)}")
            key += 1
    if key != size.keys:
        raise RuntimeError(f"the scan returned {key} of {size.keys} rows")


def content(hbase: HBase, table: str) -> dict[str, Any]:
    """A pipeline file with the table."""
    cells = [
        {"family": FAMILY.name.decode(), "qualifier": column.partition(b":")[2].decode(), "value": "1"}
        | {"encoding": "int64"}
        for column in COLUMNS
    ]
    return {
        "spark": {"master": f"local[{TASKS}]"},
        "stores": {STORE: {"hbase": hbase.store_options("rpc")}},
        "tables": {
            table: {
                "families": {FAMILY.name.decode(): {"versions": FAMILY.versions}},
                "updates": {"processor": {"sum": {"type": "int64"}}},
            }
        },
        "pipelines": {
            PIPELINE: {
                "source": {"files": {"path": "./in"}},
                "sinks": [{"hbase": {"table": table, "row_key": {"template": "%{page}"}, "cells": cells}}],
            }
        },
    }


def _start(service: Service, table: str) -> Service:
    command = [sys.executable, "-m", "ingest", "compact", "-f", str(service.file), table, "--older-than", "0s"]
    return service.start_command([*command, "--output", "json"], env=LONG_LIVED)


def _is_merged(store: HBaseStore, table: str, row: bytes) -> bool:
    """Whether a logical row has one update row left."""
    with closing(store.scan(table, Scan(prefix=encoded_row(row), limit=2))) as rows:
        return sum(1 for _ in rows) == 1


def _memory_of(service: Service) -> list[float]:
    """The resident memory of its processes until they end, in MiB."""
    samples: list[float] = []
    while service.is_running:
        resident = 0
        for process in service.processes():
            try:
                resident += process.memory_info().rss
            except psutil.Error:  # it has ended
                continue
        samples.append(resident / 2**20)
        time.sleep(SAMPLE_S)
    return samples
