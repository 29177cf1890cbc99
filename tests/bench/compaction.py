"""
The compaction of counters, beside a plain scan and write of as many rows; then scans of the merged rows, beside a table
without updates that has the same rows. Over one connection, or in one RocksDB.
"""

import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, nullcontext
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from ingest import garbage_collector
from ingest.api import FamilySpec, Put, Scan, Store, TableSpec
from ingest.api.table_reader import TableReader
from ingest.service.rewriting.compaction import CompactionResult, compaction_steps
from ingest.service.rewriting.table_group import TableGroup
from sinks.hbase.rpc.store import RpcStore
from sinks.hbase.settings import HBaseSettings
from sinks.owning.committed_position import COMMITTED, CommittedPosition
from sinks.rewriting.compaction import InProcess
from sinks.rewriting.store_calls import StoreCalls
from sinks.rewriting.update_readers import MergedReader
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rowkeys.row_format import UPDATES
from sinks.scanning.plain_reader import PlainReader
from sinks.updates.keys import UpdateKey, update_id_of
from sinks.updates.merging import Merging
from sinks.updates.numbers import NumberSettings
from sinks.updates.options import CompactionOptions
from sinks.updates.processors.sum import Sum
from tests.support.names import unique
from tests.support.place import Here
from tests.support.region_calls import flush, major_compact
from tests.support.servers import HBase

FAMILY = FamilySpec(b"c", versions=1)
COLUMNS = (b"c:bytes", b"c:errors", b"c:hits")
HOUR_MS = 3_600_000
FIRST_MS = 1_785_000_000_000 // HOUR_MS * HOUR_MS
IDENTITY = '{"columns": [], "options": {"type": "int64"}, "processor": "sum"}'
"""Of the updates in the table's record, as a pipeline file declares them."""
MERGING = Merging(Sum(NumberSettings(type="int64")))
CALL_ROWS = 5_000
COMPACTED_S = 600.0
HBASE, ROCKSDB = "HBase by native RPC", "RocksDB"


class Figures(NamedTuple):
    """
    Figures of a store.

    Attributes:
        write_per_s: update rows a second of the write.
        scan_per_s: the same of a scan of all of them as they are stored.
        compaction_per_s: the same of the compaction, which reads and deletes each and writes a row for each key.
        plain_us: of a scan, a row of the table without updates; the median of runs in turns.
        merged_us: the same, a merged row.
    """

    write_per_s: float
    scan_per_s: float
    compaction_per_s: float
    plain_us: float
    merged_us: float

    @property
    def compaction_share(self) -> float:
        """The rate of the compaction, relative to a scan and a write of as many rows."""
        return self.compaction_per_s * (1 / self.scan_per_s + 1 / self.write_per_s)


class Size(NamedTuple):
    """
    The size of a table with updates.

    Attributes:
        keys: number of logical rows.
        updates: number of update rows of each.
    """

    keys: int
    updates: int

    @property
    def rows(self) -> int:
        """Number of update rows."""
        return self.keys * self.updates

    @property
    def last_ms(self) -> int:
        """Batch time of the last updates."""
        return FIRST_MS + self.updates - 1

    def puts(self) -> Iterator[Put]:
        """The update rows of all micro-batches, each of which updates all keys; in the order of the keys."""
        for time_ms in range(FIRST_MS, FIRST_MS + self.updates):
            start = update_id_of(time_ms, 0)
            for key in range(self.keys):
                row = UpdateKey(row_of(key), start).encoded()
                yield Put(row, dict.fromkeys(COLUMNS, _number(amount(key, time_ms))), time_ms)

    def merged(self) -> Iterator[Put]:
        """The rows that a read returns, with the time of their last update."""
        for key in range(self.keys):
            yield Put(row_of(key), dict.fromkeys(COLUMNS, _number(self.total(key))), self.last_ms)

    def total(self, key: int) -> int:
        """The sum of the updates of a key."""
        return sum(amount(key, time_ms) for time_ms in range(FIRST_MS, FIRST_MS + self.updates))


SIZE = Size(keys=50_000, updates=4)


def row_of(key: int) -> bytes:
    """The logical row key of a number."""
    return b"/shop/item/%08d" % key


def amount(key: int, time_ms: int) -> int:
    """What a micro-batch adds to each column of a key."""
    return (key + time_ms) % 97


def on_hbase(hbase: HBase, runs: int) -> Figures:
    """The figures of HBase by native RPC; its tables have a major compaction before they are read."""
    settings = HBaseSettings.model_validate(hbase.store_options("rpc"))
    with closing(RpcStore(settings)) as store:
        store.open()

        def settle(table: str) -> None:
            flush(store, table)
            major_compact(store, table, COMPACTED_S)

        return measured(store, settle, SIZE, runs)


def on_rocksdb(folder: Path, runs: int) -> Figures:
    """The figures of RocksDB; tables are in files before they are read."""
    with closing(RocksDBStore(RocksDBSettings(path=str(folder / "store")))) as store:
        store.open()
        return measured(store, store.flush_removed, SIZE, runs)


def measured(store: Store[Any], settle: Callable[[str], None], size: Size, runs: int) -> Figures:
    """
    The figures of an open store.

    Args:
        store: open for writing.
        settle: removes what is deleted from the files of a table, as far as the store does so at all.
        size: of the table with updates.
        runs: of the scans.

    Raises:
        RuntimeError: a scan or the compaction has found other rows than were written.
    """
    garbage_collector.collect_rarely()  # as the command does
    updated, plain = unique("updated"), unique("plain")
    create_updated(store, updated, size)
    store.ensure_table(TableSpec(plain, (FAMILY,)))
    write_s = write(store, updated, size.puts())
    scan_s = timed(lambda: check_rows(store, updated, size.rows))
    compaction_s = timed(lambda: _compact(store, updated, size))
    write(store, plain, size.merged())
    for table in (updated, plain):
        settle(table)
    readers: dict[str, TableReader] = {
        "plain": PlainReader.of(store, plain),
        "merged": MergedReader.of(store, updated, MERGING),
    }
    if list(readers["plain"].scan(Scan())) != list(readers["merged"].scan(Scan())):
        raise RuntimeError("the merged rows differ from those of the plain table")
    found: dict[str, list[float]] = {name: [] for name in readers}
    for _ in range(runs):
        for name, reader in readers.items():
            found[name].append(timed(lambda reader=reader: sum(1 for _ in reader.scan(Scan()))))  # type: ignore[misc]
    plain_us, merged_us = (statistics.median(found[name]) / size.keys * 1e6 for name in ("plain", "merged"))
    return Figures(size.rows / write_s, size.rows / scan_s, size.rows / compaction_s, plain_us, merged_us)


def create_updated(store: Store[Any], table: str, size: Size, splits: tuple[bytes, ...] = ()) -> None:
    """A table with deferred updates, with its committed position at the last of them."""
    store.ensure_table(TableSpec(table, (FAMILY,), splits))
    for name, value in ((UPDATES, IDENTITY), (COMMITTED, CommittedPosition(size.last_ms, {}).to_text())):
        if not store.set_property(table, name, None, value):
            raise RuntimeError(f'the table "{table}" has the property "{name}" already')


def write(store: Store[Any], table: str, puts: Iterable[Put]) -> float:
    """Write rows, many in a call; returns the seconds of all calls."""
    seconds, remaining = 0.0, iter(puts)
    while rows := list(islice(remaining, CALL_ROWS)):
        seconds += timed(lambda rows=rows: store.apply(table, rows))  # type: ignore[misc]
    return seconds


def check_rows(store: Store[Any], table: str, rows: int) -> None:
    """
    Scan a table as it is stored.

    Raises:
        RuntimeError: it has another number of rows.
    """
    found = sum(1 for _ in store.scan(table, Scan()))
    if found != rows:
        raise RuntimeError(f"the scan returned {found} of {rows} rows")


def timed(call: Callable[[], object]) -> float:
    """Seconds of a call."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def _compact(store: Store[Any], table: str, size: Size) -> None:
    calls = StoreCalls(lambda: nullcontext(store))
    declared = TableSpec(table, (FAMILY,), updates=IDENTITY)
    group = TableGroup("bench", {"store": [table]}, {"store": calls}, Path("no-replay"))
    engine = InProcess(calls, MERGING)
    options = CompactionOptions(older_than="0s")
    *_, last = compaction_steps(
        declared, options, calls, group, Here(), lambda target, check: partial(engine.run_slice, target, check)
    )
    counts = CompactionResult.from_json(last.result or {}).counts
    if (counts.written, counts.replaced) != (size.keys, size.rows):
        raise RuntimeError(f"{counts.replaced} of {size.rows} update rows were merged into {counts.written} rows")


def _number(value: int) -> bytes:
    return value.to_bytes(8)
