"""
A table is copied into the other kind of store while a service writes it and a region server is killed.

Sizes: `BOOTSTRAP_ROWS` rows before the dump, `BOOTSTRAP_RATE` events per second during it.
"""

import json
import os
import random
import signal
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from ingest import failpoint
from ingest.api import Row, Store
from ingest.clock import now_ms
from sinks.bootstrap.reopening_store import ReopeningStore
from sinks.feed.client import FeedClient
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.support.bootstraps import dump_files, random_mutations, rows_of
from tests.support.commands import Folder
from tests.support.feeds import FeedFixture
from tests.support.hbase_cluster import HBaseCluster, running_cluster
from tests.support.names import unique
from tests.support.order_events import OrderEvents
from tests.support.protocols import SLOW_WITH_RPC
from tests.support.servers import HBase, Kafka, Protocol
from tests.support.service import Service
from tests.support.waiting import reached

ROWS = int(os.environ.get("BOOTSTRAP_ROWS", "20000"))
RATE = int(os.environ.get("BOOTSTRAP_RATE", "500"))
DUMP_S = 20.0
RECOVERY_S = 300.0
NO_SERVICE = {"service": {"http": {"listen": "127.0.0.1:1"}}}
"""Of a file for commands alone: no service answers there."""


@pytest.fixture(scope="module")
def cluster(servers_folder: Path) -> Iterator[HBase]:
    with running_cluster(servers_folder / "bootstrap", region_servers=2, thrift2=True) as hbase:
        yield hbase


def content(store: dict[str, Any], kafka: Kafka, events: OrderEvents, tables: dict[str, str]) -> dict[str, Any]:
    """A pipeline that writes one table with batch times and one with the times of the events."""
    feed = {"families": {"d": {}}, "feed": {"shards": 4, "expiration": "24h"}}
    return {
        "stores": {"source": store},
        "tables": dict.fromkeys(tables.values(), feed),
        "pipelines": {
            "orders": {
                "source": {
                    "kafka": {
                        "brokers": kafka.brokers,
                        "topics": [events.topic],
                        "group": unique("group"),
                        "tombstones": "delete",
                    }
                },
                "decorators": [
                    {"value": {"attribute": "2hb_", "value": "%{key}"}},
                    {"value": {"attribute": "2hb_d:value", "value": "%{body}"}},
                ],
                "sinks": [
                    {"attr2hbase": {"table": table, "timestamp": times, "label": times}}
                    for times, table in tables.items()
                ],
            }
        },
    }


def copies(folder: Path, store: dict[str, Any], tables: dict[str, Any]) -> Folder:
    """A folder with a pipeline file that has the store of the copies, and these tables."""
    folder.mkdir()
    pipeline = {"source": {"files": {"path": "./in"}}, "sinks": [{"attr2hbase": {"table": next(iter(tables))}}]}
    plain = {
        "version": 1,
        **NO_SERVICE,
        "stores": {"copies": store},
        "tables": tables,
        "pipelines": {"unused": pipeline},
    }
    (folder / "pipeline.yaml").write_text(json.dumps(plain))
    return Folder(folder)


def bootstrapped(folder: Folder, service: Service, dumps: Path, table: str, *options: str) -> dict[str, Any]:
    """Run the command; returns its result."""
    feed, to = f"{service.file}:{table}", f"copies:{table}-copy"
    command = ["dump", "bootstrap", "--dump", str(dumps), "--feed", feed, "--to", to]
    found: dict[str, Any] = json.loads(folder(*command, *options, "--output", "json").stdout)
    return found


def killed(cluster: HBase) -> None:
    """Kill a region server, and start it again."""
    server = cluster.server
    assert isinstance(server, HBaseCluster)
    process = next(iter(server.region_servers.values()))
    process.kill()
    time.sleep(1)
    server.start_one(process)


def assert_equal(source: Store[Any], target: Store[Any], table: str) -> int:
    """Compare two tables cell by cell; returns the number of rows."""
    found = 0
    pairs = zip_longest(ReopeningStore(source).rows(table), ReopeningStore(target).rows(f"{table}-copy"))
    one: Row | None
    other: Row | None
    for one, other in pairs:
        assert one == other
        found += 1
    return found


def test_killed_bootstrap_resumes(tmp_path: Path) -> None:
    """Between rows and progress, and after it; while the feed is applied beside the rows."""
    source = RocksDBStore(RocksDBSettings(path=str(tmp_path / "source")))
    source.open()
    chosen = random.Random(3)
    writer = FeedFixture(source, "orders", shards=2, time_ms=now_ms() - 60_000)
    keys = [b"%03d" % number for number in range(200)]
    writer.put(*keys)
    positions = FeedClient(source, "orders").latest()
    rows = rows_of(source)
    dump_files(str(tmp_path / "dumps"), "orders", [rows[first : first + 40] for first in range(0, 200, 40)], positions)
    for _ in range(20):
        at = writer.time_ms
        writer.batch({row: random_mutations(chosen, row, at) for row in chosen.sample(keys, 15)}, at)
    pipeline = {
        "source": {"files": {"path": "./in"}},
        "sinks": [{"attr2hbase": {"store": "source", "table": "orders"}}],
    }
    stores = {name: {"rocksdb": {"path": str(tmp_path / name)}} for name in ("source", "copies")}
    plain = {"version": 1, **NO_SERVICE, "stores": stores, "pipelines": {"orders": pipeline}}
    (tmp_path / "pipeline.yaml").write_text(json.dumps(plain))
    command = ["dump", "bootstrap", "--dump", "dumps", "--to", "copies:copy"]
    command += ["--feed", "pipeline.yaml:orders", "--concurrent", "--output", "json"]
    for number, point in enumerate(["bootstrap_written:1", "bootstrap_saved:2", "bootstrap_written:4"]):
        points = {failpoint.VARIABLE: f"{point}:kill", failpoint.FOLDER_VARIABLE: str(tmp_path / f"points{number}")}
        Folder(tmp_path, **points)(*command, code=-signal.SIGKILL)
    found = json.loads(Folder(tmp_path)(*command).stdout)
    assert (found["rows"], found["verified"]["equal"]) == (200, True)
    copies = RocksDBStore(RocksDBSettings(path=str(tmp_path / "copies")))
    copies.open()
    assert rows_of(copies, "copy") == rows_of(source)
    copies.close()
    source.close()


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["from HBase", "to HBase"])
@SLOW_WITH_RPC
def test_copy_of_a_table_that_is_written_while_a_region_server_is_killed(
    kafka: Kafka, cluster: HBase, protocol: Protocol, tmp_path: Path, direction: str
) -> None:
    check_copies(kafka, cluster, protocol, tmp_path, direction)


@pytest.mark.slow
@pytest.mark.one_protocol("a Thrift server loads no files")
def test_copy_by_files_of_a_table_that_is_written_while_a_region_server_is_killed(
    kafka: Kafka, cluster: HBase, tmp_path: Path
) -> None:
    check_copies(kafka, cluster, "rpc", tmp_path, "to HBase", {"bulk_load": {"from": 1}})


def check_copies(
    kafka: Kafka,
    cluster: HBase,
    protocol: Protocol,
    tmp_path: Path,
    direction: str,
    table_options: Mapping[str, object] = MappingProxyType({}),
) -> None:
    """Copy a table with batch times and one with the times of events, with these options, and compare them."""
    of_hbase: dict[str, Any] = {"hbase": cluster.store_options(protocol, thrift2=True) | {"timeout": "60s"}}
    if table_options:
        of_hbase["hbase"] = cluster.store_options("rpc") | {"timeout": "60s", "staging": str(tmp_path / "staging")}
    of_rocksdb = {"rocksdb": {"path": str(tmp_path / "db")}}
    source, target = (of_hbase, of_rocksdb) if direction == "from HBase" else (of_rocksdb, of_hbase)
    events = OrderEvents(kafka, rows=ROWS, rate=RATE, seed=21)
    tables = {times: unique(f"orders_{times}") for times in ("batch", "event")}
    dumps = tmp_path / "dumps"
    declared = {"store": "copies", "families": {"d": {}}, **table_options}
    folder = copies(tmp_path / "copies", target, {f"{table}-copy": declared for table in tables.values()})
    with Service(tmp_path / "service", content(source, kafka, events, tables)) as service:
        applied = service.ingest("table apply")
        assert applied.returncode == 0, applied.stderr
        events.all_rows()
        service.start()
        service.wait_for_offsets(events.ends, "orders", events.topic, RECOVERY_S + ROWS / 1_000)
        with events.in_background(), ThreadPoolExecutor(1) as pool:
            rate = str(max(1_000, int(2 * ROWS / DUMP_S)))
            options = ("--root", str(dumps), "--max-rate", rate, "--min-ranges", "64")
            dump = pool.submit(service.ingest, "dump run", *options, timeout_s=RECOVERY_S + ROWS / 500)
            assert reached(lambda: any(dumps.glob("_run-*/*/*.json.gz")), RECOVERY_S, 0.1)
            if direction == "from HBase":
                killed(cluster)
            done = dump.result()
            assert done.returncode == 0, done.stderr
            load = pool.submit(bootstrapped, folder, service, dumps, tables["batch"], "--no-verify")
            if direction == "to HBase":
                killed(cluster)
            loaded = load.result()
            assert loaded["rows"] > ROWS * 0.9
            assert bool(loaded["bulk_load"]["files"]) is bool(table_options)
            concurrent = bootstrapped(folder, service, dumps, tables["event"], "--concurrent", "--no-verify")
            assert concurrent["rows"] > ROWS * 0.9
        service.wait_for_offsets(events.ends, "orders", events.topic, RECOVERY_S)
        for times, table in tables.items():
            options = ("--concurrent",) if times == "event" else ()
            found = bootstrapped(folder, service, dumps, table, *options)
            assert found["changes"] > RATE
            assert found["verified"]["equal"], found
            assert found["verified"]["source"] == found["verified"]["target"]
        assert service.stop() == 0, service.last_lines()
    hbase = HBaseStore.of(HBaseSettings.model_validate(of_hbase["hbase"]))
    rocksdb = RocksDBStore(RocksDBSettings.model_validate(of_rocksdb["rocksdb"]))
    stores: tuple[Store[Any], Store[Any]] = (hbase, rocksdb) if direction == "from HBase" else (rocksdb, hbase)
    try:
        for table in tables.values():
            assert assert_equal(*stores, table) > ROWS * 0.9
    finally:
        for each in stores:
            each.close()
