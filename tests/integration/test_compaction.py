"""Compaction on Spark, and rollback, of tables with deferred updates in a real HBase."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ingest import failpoint
from ingest.api import FamilySpec, Put, TableSpec
from ingest.formats.times import moment
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.owning.committed_position import COMMITTED, CommittedPosition
from sinks.rewriting.rolled_back import rolled_back
from sinks.rewriting.table_lease import LEASE
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.mutations import with_physical_keys
from sinks.rowkeys.row_format import UPDATES, RowFormat
from sinks.scanning.update_rows import update_rows
from sinks.updates.groups import by_row, merged_row
from sinks.updates.intervals import Interval
from sinks.updates.keys import UpdateKey, update_id_of
from tests.support.commands import Folder
from tests.support.counters import HOUR, IDENTITY, T
from tests.support.names import unique
from tests.support.protocols import SLOW_WITH_RPC
from tests.support.servers import HBase, Protocol
from tests.support.update_rows import SUM

ROWS = [b"row-%04d" % number for number in range(500)]
TIMES = [T + number * HOUR // 3 for number in range(6)]
BUCKETS = 4


class Counters:
    """Two tables with the same updates, one of them salted; regions of the other one start within a row."""

    def __init__(self, hbase: HBase, protocol: Protocol, folder: Path) -> None:
        options = hbase.store_options(protocol, thrift2=True)
        self.store = HBaseStore.of(HBaseSettings.model_validate(options))
        self.salted, self.plain = unique("salted"), unique("plain")
        self.folder = folder
        pipelines = {
            f"write-{table}": {
                "source": {"files": {"path": "./in"}},
                "sinks": [
                    {
                        "hbase": {
                            "table": table,
                            "row_key": {"template": "%{host}"},
                            "cells": [{"family": "c", "qualifier": "hits", "value": "1"}],
                        }
                    }
                ],
            }
            for table in (self.salted, self.plain)
        }
        updates = {"families": {"c": {}}, "updates": {"processor": "sum"}}
        content = {
            "version": 1,
            "service": {"http": {"listen": "127.0.0.1:1"}},
            "spark": {"master": "local[2]"},
            "stores": {"cluster": {"hbase": options}},
            "tables": {self.salted: updates | {"distribute": {"hash": BUCKETS}}, self.plain: updates},
            "pipelines": pipelines,
        }
        (folder / "pipeline.yaml").write_text(json.dumps(content))

    def fill(self) -> None:
        """Create both tables, with their records and updates."""
        inside = tuple(UpdateKey(row, update_id_of(TIMES[2], 0)).encoded() for row in ROWS[100::150])
        for table, buckets, splits in (
            (self.salted, BUCKETS, Distribution(BUCKETS).splits()),
            (self.plain, None, inside),
        ):
            self.store.ensure_table(TableSpec(table, (FamilySpec(b"c"),), splits, buckets))
            assert self.store.set_property(table, UPDATES, None, IDENTITY)
            assert self.store.set_property(table, COMMITTED, None, CommittedPosition(TIMES[-1], {}).to_text())
            physical_key = RowFormat.recorded(self.store, table).physical_key()
            for time_ms in TIMES:
                puts = [
                    Put(UpdateKey(row, update_id_of(time_ms, 0)).encoded(), {b"c:hits": b"1"}, time_ms) for row in ROWS
                ]
                self.store.apply(table, puts if physical_key is None else with_physical_keys(puts, physical_key))

    def values(self, table: str) -> dict[bytes, bytes]:
        """Row -> merged value."""
        rows = update_rows(self.store, table, RowFormat.recorded(self.store, table))
        return {row: merged_row(group, SUM).columns[b"c:hits"] for row, group in by_row(rows)}

    def update_rows(self, table: str) -> int:
        """Number of update rows."""
        return sum(1 for _ in update_rows(self.store, table, RowFormat.recorded(self.store, table)))

    def ingest(self, *arguments: str, code: int = 0, **variables: str) -> dict[str, Any]:
        """Run a command in a process of its own; returns its JSON."""
        done = Folder(self.folder, **variables)(*arguments, "--output", "json", code=code)
        return json.loads(done.stdout) if code == 0 else {"err": done.stderr}


@pytest.fixture
def counters(hbase: HBase, protocol: Protocol, tmp_path: Path) -> Iterator[Counters]:
    made = Counters(hbase, protocol, tmp_path)
    with closing(made.store):
        made.store.open()
        made.fill()
        yield made


@SLOW_WITH_RPC
def test_table_is_compacted_on_spark_and_rolled_back(counters: Counters) -> None:
    done = counters.ingest("compact", counters.salted, "--older-than", "0s")
    assert (done["logical_rows"], done["update_rows"], done["written"], done["replaced"]) == (500, 3_000, 1_000, 3_000)
    assert counters.values(counters.salted) == dict.fromkeys(ROWS, b"6")
    assert counters.update_rows(counters.salted) == 1_000
    assert LEASE not in counters.store.properties(counters.salted)

    interval = ("--from", moment(T), "--to", moment(T + HOUR - 1), "--yes")
    done = counters.ingest("rollback", counters.salted, *interval)
    assert (done["logical_rows"], done["deleted"], done["straddling"]) == (500, 500, 0)
    assert counters.values(counters.salted) == dict.fromkeys(ROWS, b"3")
    assert rolled_back(counters.store, counters.salted) == (Interval(T, T + HOUR - 1),)


@pytest.mark.slow
@pytest.mark.parametrize("point", ["merged_rows_written", "covered_rows_deleted"])
def test_killed_compaction_is_run_again(counters: Counters, point: str) -> None:
    """Killed between the write of merged rows and the deletes, or between two calls; its lease is taken over."""
    sums = dict.fromkeys(ROWS, b"6")
    command = ("compact", counters.plain, "--older-than", "0s")
    counters.ingest(
        *command,
        code=-9,
        **{failpoint.VARIABLE: f"{point}:1:kill", failpoint.FOLDER_VARIABLE: str(counters.folder / "points")},
    )
    assert counters.values(counters.plain) == sums
    assert counters.update_rows(counters.plain) != 1_000
    assert counters.ingest(*command)["logical_rows"] == 500
    assert counters.values(counters.plain) == sums
    assert counters.update_rows(counters.plain) == 1_000
