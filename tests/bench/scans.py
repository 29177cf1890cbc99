"""Scans of a table with buckets, beside one scanner of a plain table with the same rows, over one connection."""

import statistics
import time
from contextlib import ExitStack

from ingest import garbage_collector
from ingest.api import FamilySpec, Put, Scan, TableSpec
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.scanning.plain_reader import PlainReader
from sinks.writing.buffer import Chunk
from sinks.writing.sending import ThreadSender
from tests.bench.workload import COLUMNS, FAMILY
from tests.support.servers import HBase

PLAIN, SALTED = "plain table", "16 buckets"
BY_THRIFT, BY_NATIVE = "Thrift", "native RPC"
BUCKETS = 16
CHUNK_ROWS = 5_000
TIMEOUT_S = 120.0


def rows_per_s(hbase: HBase, rows: int, runs: int) -> dict[str, float]:
    """Name of a scan, as `scan_of` returns it -> rows a second, the median of runs in turns."""
    garbage_collector.collect_rarely()  # as the command does
    settings = {
        BY_THRIFT: HBaseSettings(host=hbase.host, port=hbase.port),
        BY_NATIVE: HBaseSettings(bootstrap_servers=hbase.bootstrap_servers),
    }
    tables = {PLAIN: ("scan_plain", None), SALTED: ("scan_salted", BUCKETS)}
    found: dict[str, list[float]] = {}
    with ExitStack() as opened:
        stores = {protocol: HBaseStore.of(each) for protocol, each in settings.items()}
        for store in stores.values():
            opened.callback(store.close)
            store.open()
        for table, buckets in tables.values():
            stores[BY_NATIVE].ensure_table(TableSpec(table, (FamilySpec(FAMILY.encode()),), buckets=buckets))
            _fill(ThreadSender(HBaseStore.of(settings[BY_NATIVE])), table, rows)
        for _ in range(runs):
            for protocol, store in stores.items():
                for name, (table, _buckets) in tables.items():
                    rates = found.setdefault(scan_of(name, protocol), [])
                    rates.append(_rate(PlainReader.of(store, table), rows))
    return {name: statistics.median(rates) for name, rates in found.items()}


def scan_of(table: str, protocol: str) -> str:
    """The name of a scan in the results."""
    return f"{table}, {protocol}"


def _fill(sender: ThreadSender, table: str, rows: int) -> None:
    columns = [f"{FAMILY}:{column}".encode() for column in COLUMNS]
    sender.begin(TIMEOUT_S)
    for start in range(0, rows, CHUNK_ROWS):
        numbers = range(start, min(rows, start + CHUNK_ROWS))
        puts = [Put(b"row-%09d" % number, dict.fromkeys(columns, b"value %d" % number), 1) for number in numbers]
        sender.submit(Chunk(table, puts))
    sender.wait()
    sender.close()


def _rate(reader: PlainReader, rows: int) -> float:
    started = time.perf_counter()
    found = sum(1 for _ in reader.scan(Scan()))
    if found != rows:
        raise RuntimeError(f"the scan returned {found} of {rows} rows")
    return rows / (time.perf_counter() - started)
