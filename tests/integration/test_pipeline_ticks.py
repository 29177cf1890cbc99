"""
Ticks of four partitions into RocksDB and HBase, and into a topic beside HBase: every row is stored, every cell has one
version with the time of its batch, the topic has every record, and the consumer groups have no lag.

One service runs all pipelines; the tests depend on their order.
"""

from collections import Counter
from collections.abc import Iterator

import pytest
from kafka import TopicPartition
from kafka.structs import OffsetAndMetadata

from ingest.kafka.producer import partition_of_key
from tests.support import ticks
from tests.support.audit import assert_same_table, hbase_older_versions, hbase_table, rocksdb_table, table_of
from tests.support.names import unique
from tests.support.servers import HBase, Kafka
from tests.support.service import Service
from tests.support.ticks import Ticks

COUNT, BATCH = 8_000, 6_000  # the last batch is not full
BUFFER = "128KiB"  # so that a task needs more than one call
TO_ROCKSDB, TO_HBASE, WITHOUT_THRIFT = "to_rocksdb", "to_hbase", "without_thrift"
PIPELINES = (TO_ROCKSDB, TO_HBASE, WITHOUT_THRIFT)

pytestmark = pytest.mark.one_protocol("one service writes with both")


@pytest.fixture(scope="module")
def topic(kafka: Kafka) -> Ticks:
    return Ticks.produced(kafka, COUNT)


@pytest.fixture(scope="module")
def groups() -> dict[str, str]:
    return {name: unique(name) for name in PIPELINES}


@pytest.fixture(scope="module")
def tables() -> dict[str, str]:
    return {name: unique(name) for name in PIPELINES}


@pytest.fixture(scope="module")
def clean(kafka: Kafka) -> str:
    """The topic that the pipeline of HBase writes, too."""
    return kafka.create_topic("clean", partitions=3)


def copies(kafka: Kafka, clean: str) -> dict[tuple[int, bytes, bytes, int, tuple[tuple[str, bytes], ...]], int]:
    """All that tells a record from another one, also its partition -> how often it is there."""
    found = kafka.records(clean)
    return Counter(
        (
            each.partition,
            each.key,
            each.value,
            each.timestamp,
            tuple((str(name), value) for name, value in each.headers),
        )
        for each in found
    )


@pytest.fixture(scope="module")
def service(
    kafka: Kafka,
    hbase: HBase,
    topic: Ticks,
    clean: str,
    groups: dict[str, str],
    tables: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Service]:
    """A service that has read the whole topic."""
    folder = tmp_path_factory.mktemp("ticks")
    to_topic = {"topic": clean, "value": "%{'2hb_colfam:value'}", "headers": {"row": "%{2hb_}"}, "compression": "zstd"}
    stores = {TO_ROCKSDB: "embedded", TO_HBASE: "cluster", WITHOUT_THRIFT: "native"}
    content = {
        "stores": {
            "embedded": ticks.rocksdb(folder / "store"),
            "cluster": {"hbase": hbase.store_options()},
            "native": {"hbase": hbase.store_options("rpc")},
        },
        "tables": {tables[name]: ticks.table(store) for name, store in stores.items()},
        "pipelines": {
            name: ticks.pipeline(
                kafka,
                topic.topic,
                store,
                tables[name],
                group=groups[name],
                max_events_per_batch=BATCH,
                sinks=[
                    {"attr2hbase": {"store": store, "table": tables[name], "write_buffer_size": BUFFER}},
                    *([{"kafka": to_topic}] if name == TO_HBASE else []),
                ],
            )
            for name, store in stores.items()
        },
    }
    with Service(folder, content) as service:
        applied = service.command("table apply")
        assert applied.returncode == 0, applied.stderr
        assert service.run_once() == 0, service.last_lines()
        yield service


class TestAfterOneRun:
    def test_rocksdb_has_the_rows_of_memory(self, service: Service, topic: Ticks, tables: dict[str, str]) -> None:
        expected = topic.expected(service.checkpoint(TO_ROCKSDB), "t")
        found = rocksdb_table(service.folder / "store", tables[TO_ROCKSDB], versions=ticks.VERSIONS)
        assert len(found) == topic.count
        assert_same_table(table_of(expected, "t", versions=ticks.VERSIONS), found)

    @pytest.mark.parametrize("name", [TO_HBASE, WITHOUT_THRIFT])
    def test_hbase_has_the_rows_of_memory(
        self, service: Service, hbase: HBase, topic: Ticks, tables: dict[str, str], name: str
    ) -> None:
        checkpoint = service.checkpoint(name)
        expected = topic.expected(checkpoint, "t")
        found = hbase_table(hbase, tables[name])
        assert len(found) == topic.count
        assert_same_table(table_of(expected, "t", versions=ticks.VERSIONS), found)
        times = [checkpoint.time_ms(number) for number in checkpoint.commits()]
        assert hbase_older_versions(hbase, tables[name], times, found) == {}

    def test_topic_has_each_event_once(self, kafka: Kafka, service: Service, topic: Ticks, clean: str) -> None:
        del service  # has read the whole topic
        found = copies(kafka, clean)
        records = {(record.key, record.timestamp): record.value for record in kafka.records(topic.topic)}
        assert {(key, at): value for _, key, value, at, _ in found} == {
            place: value.partition(b":")[2] for place, value in records.items()
        }
        assert {headers for *_, headers in found} == {(("row", topic.row(number)),) for number in range(topic.count)}
        assert set(found.values()) == {1}
        assert {partition for partition, *_ in found} == {0, 1, 2}
        assert all(partition == partition_of_key(key, range(3)) for partition, key, *_ in found)

    def test_batches_are_bounded_and_their_times_increase(self, service: Service, topic: Ticks) -> None:
        for name in PIPELINES:
            batches = list(service.checkpoint(name).batches(topic.topic))
            times = [batch.time_ms for batch in batches]
            sizes = [sum(batch.ends.values()) - sum(batch.starts.values()) for batch in batches]
            assert times == sorted(set(times))
            assert sum(sizes) == topic.count
            assert max(sizes) <= BATCH

    def test_groups_are_at_the_end(self, kafka: Kafka, service: Service, groups: dict[str, str], topic: Ticks) -> None:
        for group in groups.values():
            assert kafka.committed(group, topic.topic) == topic.ends

    def test_log_counts_every_event_once(self, service: Service, topic: Ticks) -> None:
        for name in PIPELINES:
            lines = [line for line in service.lines() if line.get("pipeline") == name and "stored" in line]
            assert sum(line["stored"] for line in lines) == topic.count


def test_groups_are_repaired_on_an_idle_topic_and_a_batch_run_again_changes_nothing(
    kafka: Kafka,
    service: Service,
    hbase: HBase,
    groups: dict[str, str],
    topic: Ticks,
    clean: str,
    tables: dict[str, str],
) -> None:
    """
    After a crash between the commit log and the group, the group is behind or has no offset. Two other pipelines were
    killed after the last batch was stored and before it was acknowledged.
    """
    again = (TO_HBASE, WITHOUT_THRIFT)
    with kafka.admin() as admin:
        admin.delete_groups([groups[TO_ROCKSDB]])
        admin.alter_group_offsets(groups[TO_ROCKSDB], {TopicPartition(topic.topic, 0): OffsetAndMetadata(17, "", -1)})
    assert kafka.committed(groups[TO_ROCKSDB], topic.topic) == {0: 17}
    commits = {name: service.checkpoint(name).commits() for name in PIPELINES}
    before = {name: hbase_table(hbase, tables[name]) for name in again}
    sent = copies(kafka, clean)
    times = {}
    for name in again:
        number = service.checkpoint(name).forget_commit()
        times[name] = service.checkpoint(name).time_ms(number)

    assert service.run_once() == 0, service.last_lines()
    assert {name: service.checkpoint(name).commits() for name in PIPELINES} == commits
    for group in groups.values():
        assert kafka.committed(group, topic.topic) == topic.ends
    for name, time_ms in times.items():
        checkpoint = service.checkpoint(name)
        assert not checkpoint.is_inside_a_batch()
        assert checkpoint.time_ms(checkpoint.commits()[-1]) == time_ms
        assert_same_table(before[name], hbase_table(hbase, tables[name]))
        assert hbase_older_versions(hbase, tables[name], [time_ms], before[name]) == {}
    last = list(service.checkpoint(TO_HBASE).batches(topic.topic))[-1]
    rows = {topic.row(number) for number in topic.numbers(last.starts, last.ends)}
    twice = {record for record in sent if record[-1][0][1] in rows}
    assert copies(kafka, clean) == {record: 2 if record in twice else 1 for record in sent}
    assert len(twice) == len(rows) < topic.count
