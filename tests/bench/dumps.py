"""Dumps of a table in each format, beside a plain scan: by one process, of HBase or of a view of RocksDB."""

import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from ingest import garbage_collector
from ingest.api import FamilySpec, Put, Scan, Store, TableSpec
from sinks.dumps.layout import FileFormat
from sinks.dumps.ranges import PAGE_ROWS, DumpRange, DumpTarget, RangeDump
from sinks.dumps.table_files import write_table_file
from sinks.files.local_root import LocalRoot
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rowkeys.row_format import RowFormat
from tests.support.names import unique
from tests.support.servers import HBase

HBASE, ROCKSDB = "HBase by native RPC", "RocksDB"
SCAN = "scan"
ROWS = 200_000
CALL_ROWS = 5_000
TIME_MS = 1_785_000_000_000
Rates = Mapping[str, float]
"""Rows a second, of the scan and of a dump in each format."""


def on_hbase(hbase: HBase, folder: Path, runs: int) -> Rates:
    """The rates of HBase by native RPC."""
    with closing(HBaseStore.of(HBaseSettings.model_validate(hbase.store_options("rpc")))) as store:
        store.open()
        table = _filled(store)
        return _measured(store, table, folder, runs)


def on_rocksdb(folder: Path, runs: int) -> Rates:
    """The rates of a frozen view of RocksDB."""
    with closing(RocksDBStore(RocksDBSettings(path=str(folder / "store"), sync=False))) as store:
        store.open()
        table = _filled(store)
        view = store.freeze()
        with closing(RocksDBStore.reader(view.settings)) as reader:
            reader.open()
            return _measured(reader, table, folder, runs)


def _filled(store: Store[Any]) -> str:
    """A table with the rows of an access log."""
    table = unique("dumped")
    store.ensure_table(TableSpec(table, (FamilySpec(b"web"),)))
    for first in range(0, ROWS, CALL_ROWS):
        store.apply(table, [_put(number) for number in range(first, first + CALL_ROWS)])
    return table


def _put(number: int) -> Put:
    columns = {
        b"web:agent": b"Mozilla/5.0 (X11; Linux x86_64; rv:%d.0)" % (number % 120),
        b"web:bytes": b"%d" % (number * 7_919 % 100_000),
        b"web:path": b"/shop/item/%d.html?page=%d" % (number * 31 % 5_000, number % 17),
        b"web:status": b"200",
    }
    return Put(
        b"10.%d.%d.%d-%08d" % (number % 7, number % 251, number % 241, number), columns, TIME_MS + number // 5_000
    )


def _measured(store: Store[Any], table: str, folder: Path, runs: int) -> Rates:
    """
    The median rates of runs in turns.

    Raises:
        RuntimeError: a run has read another number of rows.
    """
    garbage_collector.collect_rarely()  # as the tasks do
    ways: dict[str, Callable[[], int]] = {SCAN: partial(_scan, store, table)}
    ways |= {each.name.lower(): partial(_dump, store, table, folder, each) for each in FileFormat}
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(runs):
        for name, way in ways.items():
            started_s = time.perf_counter()
            if way() != ROWS:
                raise RuntimeError(f"{name}: not all rows were read")
            found[name].append(time.perf_counter() - started_s)
    return {name: ROWS / statistics.median(seconds) for name, seconds in found.items()}


def _scan(store: Store[Any], table: str) -> int:
    with closing(store.scan(table, Scan(page_rows=PAGE_ROWS))) as rows:
        return sum(1 for _ in rows)


def _dump(store: Store[Any], table: str, folder: Path, file_format: FileFormat) -> int:
    root = LocalRoot(folder / "dumps")

    def write(table: str, part: int, rows: Any) -> Any:
        return write_table_file(root, f"_run-{file_format.name}", table, part, rows, file_format)

    dump = RangeDump(store, {table: DumpTarget(table, RowFormat())}, {}, write)
    ended = dump.run_slice([DumpRange(table, b"", None, 0)], lambda: True)
    return sum(part.file.rows for part in ended.parts if part.file is not None)
