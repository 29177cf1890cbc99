"""A pipeline file with tables in an embedded store, and dumps of them in this process."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson

from ingest.api import FamilySpec, Put, TableSpec
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.service.dumps.dump import sources_of
from ingest.service.dumps.options import DumpRunOptions
from ingest.service.dumps.plan import tables_of
from ingest.service.dumps.steps import SLICE_S, TableCounts, dump_steps
from ingest.service.jobs.place import OwnProcess
from ingest.spark.jobs.dump import DumpWork, joined, task_result
from sinks.dumps.ranges import DumpRange, DumpSlice, Limits
from sinks.owning.committed_position import COMMITTED, CommittedPosition
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.mutations import with_physical_keys
from sinks.rowkeys.row_format import UPDATES
from sinks.updates.keys import UpdateKey, update_id_of

FILE = """
version: 1
service: {http: {listen: "127.0.0.1:1"}}  # no service answers there
stores: {local: {rocksdb: {path: ./data}}}
tables:
  answer:testclient1: {families: {f: {}}}
  salted: {families: {f: {}}, distribute: {hash: 4}}
  counters: {families: {c: {}}, updates: {processor: sum}}
  empty: {families: {f: {}}}
pipelines:
  hits:
    source: {files: {path: "*.jsonl"}}
    decorators: [json]
    sinks:
      - hbase: {table: counters, row_key: {template: "%{host}"}, cells: [{family: c, qualifier: hits, value: "1"}]}
"""
IDENTITY = '{"columns": [], "options": {"type": "decimal"}, "processor": "sum"}'
TABLE = "answer:testclient1"
COMMITTED_MS = 3_000
_starts_ms = count(1_424_736_000_000, 60_000)


class InProcess:
    """
    Dumps in this process; what it returns has been plain data, as that of a task of Spark.

    Attributes:
        ranges: number of ranges of each slice.
    """

    tasks = 1

    def __init__(self) -> None:
        self.ranges: list[int] = []

    def run_slice(self, work: DumpWork, ranges: Sequence[DumpRange]) -> DumpSlice:
        self.ranges.append(len(ranges))
        return joined([orjson.loads(orjson.dumps(task_result(work, ranges)))])


def written(folder: Path, rows: int = 3) -> Configuration:
    """Write the file and the rows of the tables; the working directory must be the folder."""
    (folder / "p.yaml").write_text(FILE)
    with opened() as store:
        store.ensure_table(TableSpec(TABLE, (FamilySpec(b"f"),)))
        store.apply(TABLE, [Put(b"row-%04d" % number, {b"f:q": b"v%d" % number}, 7) for number in range(rows)])
        store.ensure_table(TableSpec("salted", (FamilySpec(b"f"),), buckets=4))
        puts = [Put(b"key-%d" % number, {b"f:q": b"1"}, 7) for number in range(rows)]
        store.apply("salted", with_physical_keys(puts, Distribution(4).physical))
        store.set_property("counters", UPDATES, None, IDENTITY)
        store.ensure_table(TableSpec("counters", (FamilySpec(b"c"),)))
        for time_ms in (1_000, 2_000, COMMITTED_MS, 4_000):  # the last one is above the committed position
            put = Put(UpdateKey(b"host", update_id_of(time_ms, 0)).encoded(), {b"c:hits": b"2"}, time_ms)
            store.apply("counters", [put])
        store.set_property("counters", COMMITTED, None, CommittedPosition(COMMITTED_MS, {}).to_text())
        store.ensure_table(TableSpec("empty", (FamilySpec(b"f"),)))
    return load("p.yaml", env={}, lookup=Catalog())


@contextmanager
def opened():
    """The store in the working directory."""
    store = RocksDBStore(RocksDBSettings(path="./data", sync=False))
    store.open()
    try:
        yield store
    finally:
        store.close()


class Made(SimpleNamespace):
    """The result of a dump, with the counts of its tables."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        super().__init__(**content)
        self.tables = {name: TableCounts(**counts) for name, counts in content["tables"].items()}
        self.is_exact = content["consistency"] == "point-in-time"


def dumped(
    configuration: Configuration,
    engine: InProcess | None = None,
    *,
    root: str = "./dumps",
    limits: Limits | None = None,
    slice_s: float = SLICE_S,
    **options: Any,
) -> Made:
    """Make a dump in this process, a minute after the one before."""
    start_ms = next(_starts_ms)
    chosen = DumpRunOptions.model_validate(options).completed(configuration.dump)
    with ExitStack() as opened, ExitStack() as views:
        place = OwnProcess(configuration, Catalog(), opened)
        *_, last = dump_steps(
            root,
            chosen,
            [*tables_of(configuration, chosen.tables)],
            partial(sources_of, place, views),
            lambda _tables: engine or InProcess(),
            place,
            limits=limits,
            slice_s=slice_s,
            clock_ms=lambda: start_ms,
        )
    return Made(last.result or {})
