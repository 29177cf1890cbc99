"""Feeds of tables in a real HBase: shards, the row before a change, deletes, buckets and deferred updates."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from ingest.api import Delete, FamilySpec, FeedSpec, Mutation, Put, TableSpec
from ingest.clock import now_ms
from sinks.feed.changes import Op
from sinks.feed.stream import SplitRequest
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.writing.sending import Sender, ThreadSender
from tests.support.fed_table import FedTable
from tests.support.names import unique
from tests.support.servers import HBase, Protocol
from tests.support.update_rows import SUM


@pytest.fixture(scope="module")
def store(hbase: HBase, protocol: Protocol) -> Iterator[HBaseStore]:
    made = HBaseStore(HBaseSettings(**{"timeout": "60s"} | hbase.store_options(protocol, thrift2=True)))
    made.open()
    yield made
    made.close()


def connections(store: HBaseStore) -> list[Sender]:
    return [ThreadSender(HBaseStore(store.settings)) for _ in range(2)]


@pytest.mark.parametrize("buckets", [None, 4], ids=["plain", "salted"])
@pytest.mark.parametrize("before", [False, True], ids=["changes", "before"])
def test_4c1_4c16_all_changes_make_the_table(store: HBaseStore, buckets: int | None, before: bool) -> None:
    feed = FeedSpec(3_600_000, shards=2, before=before)
    spec = TableSpec(unique("fed"), (FamilySpec(b"f"), FamilySpec(b"g")), buckets=buckets, feed=feed)
    base_ms = now_ms()
    with closing(FedTable(store, spec, connect=lambda: connections(store))) as table:

        def put(row: bytes, value: bytes, at: int, column: bytes = b"f:q") -> Mutation:
            return Put(row, {column: value, b"g:\xff": b"\xfe"}, base_ms + at)

        table.run(base_ms, {0: [put(b"pk%d" % number, b"1", 0) for number in range(20)], 1: [put(b"z", b"1", 0)]})
        table.request(SplitRequest(1, b"\x01" if buckets else b"pk5"))
        table.run(base_ms + 10, {0: [put(b"pk3", b"2", 10), Delete(b"pk4", base_ms + 10), put(b"pk4", b"3", 10)]})
        later_ms = base_ms + 20
        table.run(later_ms, {0: [Delete(b"pk3", later_ms), Delete(b"pk5", later_ms, b"g")]})
        found = table.changes()
        assert len(found) == 25
        ops = [change.op for _, change in sorted(found, key=lambda each: each[1].time_ms) if change.row == b"pk3"]
        assert ops == ([Op.PUT_ROW, Op.UPDATE_ROW, Op.DELETE_ROW] if before else [Op.PUT, Op.PUT, Op.DELETE])
        assert table.replica() == table.rows()
        assert [shard.until_ms for shard in table.stream().shards] == [base_ms + 10, None, None, None]


def test_4c8_a_batch_that_runs_again_writes_the_same_feed(store: HBaseStore) -> None:
    spec = TableSpec(unique("fed"), (FamilySpec(b"f"),), feed=FeedSpec(3_600_000, before=True))
    base_ms = now_ms()
    with closing(FedTable(store, spec, connect=lambda: connections(store))) as table:
        splits = {0: [Put(b"a", {b"f:q": b"1"}, base_ms)], 1: [Put(b"b", {b"f:q": b"1"}, base_ms)]}
        table.run(base_ms, splits, moves=False)
        before = table.changes()
        table.run(base_ms, splits)
        assert table.changes() == before
        assert {change.op for _, change in before} == {Op.PUT_ROW}


def test_4c16_the_changes_of_deferred_updates_make_the_table(store: HBaseStore) -> None:
    feed = FeedSpec(3_600_000, shards=2)
    spec = TableSpec(unique("fed"), (FamilySpec(b"f"),), buckets=4, updates="{}", feed=feed)
    base_ms = now_ms()
    with closing(FedTable(store, spec, connect=lambda: connections(store), merging=SUM)) as table:
        for at in (0, 10):
            puts = [Put(b"r%d" % (number % 7), {b"f:n": b"1"}, base_ms + at) for number in range(20)]
            table.run(base_ms + at, {0: puts[:10], 3: puts[10:]})
        assert {change.op for _, change in table.changes()} == {Op.UPDATE}
        assert table.replica() == table.rows()
