"""Bootstraps from RocksDB into a real HBase and back, with the times of all cells, while the source is written."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ingest.api import FamilySpec, Put, Store, TableSpec
from ingest.clock import now_ms
from sinks.bootstrap.delete_log import DeleteLog
from sinks.bootstrap.reopening_store import LONG_RETRY
from sinks.feed.client import FeedClient
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.support.bootstraps import bootstrap, completed, dumped_beside, following, random_mutations, rows_of
from tests.support.feeds import FeedFixture
from tests.support.names import unique
from tests.support.servers import HBase, Protocol

KEYS = [b"%02x" % number for number in range(0, 256, 3)] + [b"\xff\xfe", "é😀".encode()]

EVENTS = [b"event-0", b"event-1", b"event-2"]


def of_hbase(hbase: HBase, protocol: Protocol) -> HBaseStore:
    return HBaseStore.of(HBaseSettings(**{"timeout": "60s"} | hbase.store_options(protocol, thrift2=True)))


@pytest.fixture(params=["to HBase", "from HBase"])
def stores(
    request: pytest.FixtureRequest, hbase: HBase, protocol: Protocol, tmp_path: Path
) -> Iterator[tuple[Store[Any], Store[Any]]]:
    """Source and target; the source is open."""
    of_rocksdb = RocksDBStore(RocksDBSettings(path=str(tmp_path / "db"), sync=False))
    found: list[Store[Any]] = [of_rocksdb, of_hbase(hbase, protocol)]
    source, target = found if request.param == "to HBase" else reversed(found)
    source.open()
    yield source, target
    source.close()
    target.close()


def test_copy_in_the_other_kind_of_store(stores: tuple[Store[Any], Store[Any]], tmp_path: Path) -> None:
    source, target = stores
    is_concurrent = isinstance(target, HBaseStore)
    random = Random(7)
    table, copy = unique("orders"), unique("copy")
    writer = FeedFixture(source, table, shards=2, time_ms=now_ms() - 60_000)
    source.ensure_table(TableSpec(table, (FamilySpec(b"e"),)))

    def write(batches: int) -> None:
        for _ in range(batches):
            at = writer.time_ms
            writer.batch({row: random_mutations(random, row, at) for row in random.sample(KEYS, 12)}, at)

    write(8)
    writer.batch({row: [Put(row, {b"d:a": b"first", b"e:a": b""}, 100)] for row in EVENTS})
    positions = FeedClient(source, table).latest()
    dumped = dumped_beside(lambda: rows_of(source, table), lambda: write(2))
    # with times of their own: an older, an equal and a newer one than in the dump
    writer.batch({row: [Put(row, {b"d:a": b"later"}, 100 + number)] for number, row in enumerate(EVENTS, start=-1)})
    log = DeleteLog(tmp_path / "deletes") if is_concurrent else None
    feed = following(source, positions, log, table=table, clock=now_ms)
    run = completed(bootstrap(dumped, target, feed, table=copy, retry=LONG_RETRY, saved_rows=10))
    found = run.verify()
    assert found is not None
    assert found.is_equal
    assert found.source == found.target
    assert found.target.rows > 30
    write(1)
    again = completed(bootstrap(dumped, target, feed, table=copy, retry=LONG_RETRY))
    assert again.progress.changes == run.progress.changes + 12
    target.open()
    assert rows_of(target, copy) == rows_of(source, table)
