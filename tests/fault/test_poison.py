"""F12: events that can never be written, among many that can; they do not affect each other."""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import thriftpy2
from thriftpy2.rpc import client_context

from ingest.dead_letters.files import FileDeadLetters
from tests.support.names import unique
from tests.support.servers import Given, HBase, Kafka
from tests.support.service import Service

COUNT = 10_000
PIPELINE = "poison"
SERVER_LIMIT = 2_000
OUR_LIMIT = 5_000
OLD, NEW = b"old", b"new"

TABLES_WITH_VALUES = """
struct TTableName { 1: optional binary ns, 2: required binary qualifier }
struct TColumnFamilyDescriptor { 1: required binary name }
struct TTableDescriptor {
  1: required TTableName tableName,
  2: optional list<TColumnFamilyDescriptor> columns,
  3: optional map<binary, binary> attributes
}
service TableService { void createTable(1: required TTableDescriptor desc, 2: list<binary> splitKeys) }
"""

BAD = {
    1_000: ("no_row_key", [("2hb_cf:v", b"1")]),
    2_000: ("empty_row_key", [("2hb_", b""), ("2hb_cf:v", b"1")]),
    3_000: ("row_key_too_long", [("2hb_", b"k" * 32_768), ("2hb_cf:v", b"1")]),
    4_000: ("unknown_family", [("2hb_", b"r4000"), ("2hb_cf:v", OLD), ("2hb_web:path", b"/")]),
    5_000: ("family_not_allowed", [("2hb_", b"r5001"), ("2hb_cf:v", OLD), ("2hb_raw:line", b"whole")]),
    6_000: ("value_too_large", [("2hb_", b"r6000"), ("2hb_cf:v", b"x" * (OUR_LIMIT + 1))]),
    7_000: ("write_rejected", [("2hb_", b"r7000"), ("2hb_cf:v", b"x" * (SERVER_LIMIT + 1))]),
}


def test_seven_bad_events_of_ten_thousand(kafka: Kafka, hbase: HBase, tmp_path: Path) -> None:
    """Seven kinds of bad events: attr2hbase refuses six, HBase refuses the last without naming the row."""
    topic, table = kafka.create_topic("poison"), unique("poison")
    create_table_with_limit(hbase, table, ["cf", "raw"], SERVER_LIMIT)
    kafka.produce(topic, [Given("", headers=headers_of(number)) for number in range(COUNT)])
    strict = {"families": {"deny": ["raw"], "on_unknown": "error"}, "columns": {"max_value_bytes": f"{OUR_LIMIT}B"}}
    with Service(tmp_path, content_of(kafka, hbase, topic, table, **strict)) as service:
        assert service.run_once() == 0, service.last_lines()
        assert service.checkpoint(PIPELINE).commits() == [0], "all in one batch"
        found = hbase.rows(table)
        assert len(found) == COUNT - len(BAD)
        assert found.keys() == {b"r%d" % number for number in range(COUNT) if number not in BAD}
        dead_letters = {entry.dead_letter.record.offset: entry.dead_letter for entry in dead_letters_of(service)}
        assert {offset: each.code for offset, each in dead_letters.items()} == {
            offset: code for offset, (code, _) in BAD.items()
        }
        assert f"exceeds limit of {SERVER_LIMIT} bytes" in dead_letters[7_000].message

        # write a newer value of row r4000; row r5001 has a newer value in the first batch
        kafka.produce(topic, [Given("", headers=[("2hb_", b"r4000"), ("2hb_cf:v", NEW)])])
        service.write(content_of(kafka, hbase, topic, table, families={"on_unknown": "create"}))
        assert service.run_once() == 0, service.last_lines()
        replayed = service.ingest("dead-letters replay", "--output", "json")
        assert replayed.returncode == 1, replayed.stderr
        report = json.loads(replayed.stdout)
        assert (report["selected"], report["replayed"]) == (7, 2)
        assert report["failed_again"] == {
            "no_row_key": 1,
            "empty_row_key": 1,
            "row_key_too_long": 1,
            "write_rejected": 2,
        }

        batch_ms, later_ms = (service.checkpoint(PIPELINE).time_ms(number) for number in (0, 1))
        found = hbase.rows(table)
        assert len(found) == COUNT - len(BAD) + 1
        assert found[b"r4000"] == {b"cf:v": (NEW, later_ms), b"web:path": (b"/", batch_ms - 1)}
        assert found[b"r5001"] == {b"cf:v": (b"5001", batch_ms), b"raw:line": (b"whole", batch_ms - 1)}


def headers_of(number: int) -> Sequence[tuple[str, bytes]]:
    if number in BAD:
        return BAD[number][1]
    return [("2hb_", b"r%d" % number), ("2hb_cf:v", b"%d" % number)]


def content_of(kafka: Kafka, hbase: HBase, topic: str, table: str, **sink: Any) -> dict[str, Any]:
    thrift2 = {"host": "127.0.0.1", "port": hbase.thrift2_port}
    return {
        "stores": {"logs": {"hbase": {"host": "127.0.0.1", "port": hbase.port, "thrift2": thrift2}}},
        "pipelines": {
            PIPELINE: {
                "source": {"kafka": {"brokers": kafka.brokers, "topics": [topic], "group": topic}},
                "sinks": [{"attr2hbase": {"table": table, "on_missing_key": "error", **sink}}],
            }
        },
    }


def dead_letters_of(service: Service) -> list[Any]:
    return list(FileDeadLetters(service.folder / "data" / "state", PIPELINE).entries())


def create_table_with_limit(hbase: HBase, table: str, families: Sequence[str], limit: int) -> None:
    """Create a table with its own limit of the cell size."""
    interface = thriftpy2.load_fp(io.StringIO(TABLES_WITH_VALUES), module_name="tables_with_values_thrift")
    descriptor = interface.TTableDescriptor(
        tableName=interface.TTableName(qualifier=table.encode()),
        columns=[interface.TColumnFamilyDescriptor(name=family.encode()) for family in families],
        attributes={b"hbase.server.keyvalue.maxsize": str(limit).encode()},
    )
    with client_context(interface.TableService, hbase.host, hbase.thrift2_port, socket_timeout=60_000) as client:
        client.createTable(descriptor, [])
