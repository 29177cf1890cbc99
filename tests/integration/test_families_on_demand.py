"""Five hundred unknown families at once, in an HBase table and in RocksDB: the limit is kept."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from ingest.dead_letters.files import FileDeadLetters
from tests.support.audit import hbase_table, rocksdb_table
from tests.support.names import unique
from tests.support.servers import Given, HBase, Kafka, Protocol
from tests.support.service import Service

LIMIT = 20
TO_HBASE, TO_ROCKSDB = "to_hbase", "to_rocksdb"


def events_of(numbers: Iterable[int]) -> list[Given]:
    """Events with a different family each."""
    return [
        Given(b"x", key=b"%04d" % number, headers=[(f"2hb_made{number:04d}:q", b"%d" % number)]) for number in numbers
    ]


@pytest.mark.slow
def test_events_beyond_the_limit_of_families_become_dead_letters(
    kafka: Kafka, hbase: HBase, protocol: Protocol, tmp_path: Path
) -> None:
    """
    The limit of 20 includes one family that an operator has added to the HBase table.

    After a restart the limit is still reached, and events of existing families are still written.
    """
    topic, table = kafka.create_topic("families", partitions=4), hbase.create_table("families", families=["operator"])
    stores = {TO_HBASE: "cluster", TO_ROCKSDB: "embedded"}
    content = {
        "stores": {
            "cluster": {"hbase": hbase.store_options(protocol, thrift2=True)},
            "embedded": {"rocksdb": {"path": str(tmp_path / "store")}},
        },
        "pipelines": {
            name: {
                "source": {"kafka": {"brokers": kafka.brokers, "topics": [topic], "group": unique(name)}},
                "decorators": [{"value": {"attribute": "2hb_", "value": "%{key}"}}],
                "error_budget": {"share": "100%"},
                "sinks": [{"attr2hbase": {"store": store, "table": table, "families": {"max_created": LIMIT}}}],
            }
            for name, store in stores.items()
        },
    }
    made = {TO_HBASE: range(LIMIT - 1), TO_ROCKSDB: range(LIMIT)}
    with Service(tmp_path, content) as service:
        kafka.produce(topic, events_of(range(500)))
        assert service.run_once() == 0, service.last_lines()
        check(service, hbase, table, made, {TO_HBASE: 481, TO_ROCKSDB: 480})

        kafka.produce(topic, events_of([*range(1_000, 1_030), 3]))
        assert service.run_once() == 0, service.last_lines()
        check(service, hbase, table, made, {TO_HBASE: 511, TO_ROCKSDB: 510})


def check(service: Service, hbase: HBase, table: str, made: dict[str, range], refused: dict[str, int]) -> None:
    found = {TO_HBASE: hbase_table(hbase, table), TO_ROCKSDB: rocksdb_table(service.folder / "store", table)}
    for name, numbers in made.items():
        families = {b"made%04d" % number for number in numbers}
        assert set(found[name]) == {b"%04d" % number for number in numbers}
        assert {cell.family for row in found[name].values() for cell in row} == families
        dead_letters = [
            entry.dead_letter for entry in FileDeadLetters(service.folder / "data" / "state", name).entries()
        ]
        assert Counter(each.code for each in dead_letters) == {"unknown_family": refused[name]}
    with hbase.connection() as connection:
        families = set(connection.table(table).families())
    assert families == {b"operator"} | {b"made%04d" % number for number in made[TO_HBASE]}
