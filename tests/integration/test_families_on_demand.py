"""Five hundred unknown families asked for at once, on a live HBase table and in RocksDB: the limit holds."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from ingest.dead_letters.files import FileDeadLetters
from tests.support.audit import hbase_table, rocksdb_table
from tests.support.names import unique
from tests.support.servers import Given, HBase, Kafka
from tests.support.service import Service

LIMIT = 20
TO_HBASE, TO_ROCKSDB = "to_hbase", "to_rocksdb"


def asking_for(numbers: Iterable[int]) -> list[Given]:
    """Events that each ask for a family of their own."""
    return [
        Given(b"x", key=b"%04d" % number, headers=[(f"2hb_made{number:04d}:q", b"%d" % number)]) for number in numbers
    ]


@pytest.mark.slow
def test_limit_is_filled_once_and_the_rest_are_dead_letters(kafka: Kafka, hbase: HBase, tmp_path: Path) -> None:
    """
    Twenty families, nineteen of them made: the twentieth, which is not declared either, an operator has made.

    After the restart the limit is still reached, and what was made before is still written.
    """
    topic, table = kafka.create_topic("families", partitions=4), hbase.create_table("families", families=["theirs"])
    stores = {TO_HBASE: "cluster", TO_ROCKSDB: "embedded"}
    content = {
        "stores": {
            "cluster": {
                "hbase": {
                    "host": hbase.host,
                    "port": hbase.port,
                    "thrift2": {"host": hbase.host, "port": hbase.thrift2_port},
                }
            },
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
        kafka.produce(topic, asking_for(range(500)))
        assert service.run_once() == 0, service.last_lines()
        check(service, hbase, table, made, {TO_HBASE: 481, TO_ROCKSDB: 480})

        kafka.produce(topic, asking_for([*range(1_000, 1_030), 3]))
        assert service.run_once() == 0, service.last_lines()
        check(service, hbase, table, made, {TO_HBASE: 511, TO_ROCKSDB: 510})


def check(service: Service, hbase: HBase, table: str, made: dict[str, range], refused: dict[str, int]) -> None:
    found = {TO_HBASE: hbase_table(hbase, table), TO_ROCKSDB: rocksdb_table(service.folder / "store", table)}
    for name, numbers in made.items():
        families = {b"made%04d" % number for number in numbers}
        assert set(found[name]) == {b"%04d" % number for number in numbers}
        assert {cell.family for row in found[name].values() for cell in row} == families
        letters = [entry.dead_letter for entry in FileDeadLetters(service.folder / "data" / "state", name).entries()]
        assert Counter(letter.code for letter in letters) == {"unknown_family": refused[name]}
    with hbase.connection() as connection:
        there = set(connection.table(table).families())
    assert there == {b"theirs"} | {b"made%04d" % number for number in made[TO_HBASE]}
