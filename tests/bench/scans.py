"""Scans of a table with buckets through a Thrift server, beside one scanner of a plain table with the same rows."""

import statistics
import time

from ingest import garbage_collector
from ingest.api import FamilySpec, Put, Scan, TableSpec
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.scanning.table_reader import TableReader
from sinks.writing.buffer import Chunk
from sinks.writing.sending import ThreadSender
from tests.bench.workload import COLUMNS, FAMILY
from tests.support.servers import HBase

PLAIN, SALTED = "plain table", "16 buckets"
BUCKETS = 16
CHUNK_ROWS = 5_000
PATIENCE_S = 120.0


def rows_per_s(hbase: HBase, rows: int, runs: int) -> dict[str, float]:
    """Name of a scan -> rows a second, the median of runs in turns."""
    garbage_collector.collect_rarely()  # as the command does
    settings = HBaseSettings(host=hbase.host, port=hbase.port)
    store = HBaseStore(settings)
    store.open()
    try:
        for name, buckets in (("scan_plain", None), ("scan_salted", BUCKETS)):
            store.ensure_table(TableSpec(name, (FamilySpec(FAMILY.encode()),), buckets=buckets))
            _fill(ThreadSender(HBaseStore(settings)), name, rows)
        readers = {PLAIN: TableReader(store, "scan_plain"), SALTED: TableReader(store, "scan_salted")}
        found: dict[str, list[float]] = {name: [] for name in readers}
        for _ in range(runs):
            for name, reader in readers.items():
                found[name].append(_rate(reader, rows))
    finally:
        store.close()
    return {name: statistics.median(rates) for name, rates in found.items()}


def _fill(sender: ThreadSender, table: str, rows: int) -> None:
    columns = [f"{FAMILY}:{column}".encode() for column in COLUMNS]
    sender.begin(PATIENCE_S)
    for start in range(0, rows, CHUNK_ROWS):
        numbers = range(start, min(rows, start + CHUNK_ROWS))
        puts = [Put(b"row-%09d" % number, dict.fromkeys(columns, b"value %d" % number), 1) for number in numbers]
        sender.submit(Chunk(table, puts))
    sender.wait()
    sender.close()


def _rate(reader: TableReader, rows: int) -> float:
    started = time.perf_counter()
    found = sum(1 for _ in reader.scan(Scan()))
    if found != rows:
        raise RuntimeError(f"the scan returned {found} of {rows} rows")
    return rows / (time.perf_counter() - started)
