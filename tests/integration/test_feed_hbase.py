"""Feeds of tables in a real HBase: shards, the row before a change, deletes, buckets and deferred updates."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ingest.api import Delete, FamilySpec, FeedSpec, Mutation, Put, TableSpec
from ingest.api.feeds import feed_table
from ingest.clock import now_ms
from sinks.feed.change_feed import SplitRequest
from sinks.feed.changes import Op
from sinks.feed.client import FeedClient, IteratorType
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.writing.sending import Sender, ThreadSender
from tests.support.fed_table import FedTable
from tests.support.hbase_admin import Admin
from tests.support.names import unique
from tests.support.servers import Given, HBase, Kafka, Protocol
from tests.support.service import Service
from tests.support.update_rows import SUM


@pytest.fixture(scope="module")
def store(hbase: HBase, protocol: Protocol) -> Iterator[HBaseStore]:
    made = HBaseStore.of(HBaseSettings(**{"timeout": "60s"} | hbase.store_options(protocol, thrift2=True)))
    made.open()
    yield made
    made.close()


def connections(store: HBaseStore) -> list[Sender]:
    return [ThreadSender(HBaseStore.of(store.settings)) for _ in range(2)]


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
        assert [shard.until_ms for shard in table.feed().shards] == [base_ms + 10, None, None, None]


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


@pytest.mark.slow
def test_4c15_a_feed_that_cannot_be_written_acknowledges_nothing(
    store: HBaseStore, hbase: HBase, protocol: Protocol, kafka: Kafka, tmp_path: Path
) -> None:
    table, topic, group = unique("fed"), kafka.create_topic(unique("topic"), partitions=1), unique("group")
    content = {
        "stores": {"s": {"hbase": hbase.store_options(protocol, thrift2=True) | {"timeout": "20s"}}},
        "tables": {table: {"families": {"f": {}}, "feed": {"shards": 1}}},
        "pipelines": {
            "p": {
                "source": {"kafka": {"brokers": kafka.brokers, "topics": [topic], "group": group}},
                "decorators": [
                    {"value": {"attribute": "2hb_", "value": "%{key}"}},
                    {"value": {"attribute": "2hb_f:q", "value": "%{body}"}},
                ],
                "sinks": [{"attr2hbase": {"table": table}}],
            }
        },
    }

    def produce(*keys: bytes) -> None:
        kafka.produce(topic, [Given(b"v", key=key, partition=0) for key in keys])

    def lag() -> float:
        return service.metric("attr2hbase_lag_records", pipeline="p")

    with Service(tmp_path, content) as service, Admin(hbase.server) as admin:
        assert service.ingest("table apply").returncode == 0
        service.start()
        produce(b"a", b"b")
        service.wait_for_offsets({0: 2}, "p", topic)
        admin.ask("disable", feed_table(table))
        produce(b"c", b"d", b"e")
        service.wait_for_state("blocked", "p")
        service.wait_for(lambda: lag() == 3, "a lag of 3")
        assert kafka.committed(group, topic) == {0: 2}
        assert service.checkpoint("p").acknowledged(topic) == {0: 2}
        admin.ask("enable", feed_table(table))
        service.wait_for_offsets({0: 5}, "p", topic)
        service.wait_for(lambda: lag() == 0, "no lag")
        assert service.stop() == 0, service.last_lines()
    client = FeedClient(store, table)
    page = client.records(client.iterator(1, IteratorType.TRIM_HORIZON))
    assert [record.change.row for record in page.records] == [b"a", b"b", b"c", b"d", b"e"]
