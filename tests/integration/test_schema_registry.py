"""A service whose topic has values of a schema registry: away in the middle, and away at a restart."""

import io
from pathlib import Path
from typing import Any

import fastavro
import pytest

from tests.support import ticks
from tests.support.audit import Table, rocksdb_table
from tests.support.names import unique
from tests.support.registry import Registry, serving_registry, with_id
from tests.support.servers import Kafka
from tests.support.service import Service

FIELDS = [{"name": "id", "type": "int"}, {"name": "name", "type": "string"}, {"name": "size", "type": "long"}]
VERSIONS: list[dict[str, Any]] = [{"type": "record", "name": "User", "fields": FIELDS[: n + 1]} for n in range(3)]
COUNT = 300  # of each version


def values_of(version: int, schema_id: int) -> list[bytes]:
    schema = fastavro.parse_schema(VERSIONS[version])
    found = []
    for number in range(COUNT):
        stream = io.BytesIO()
        content = {"id": version * COUNT + number, "name": f"n{number}", "size": 2**40}
        fastavro.schemaless_writer(stream, schema, content)
        found.append(with_id(schema_id, stream.getvalue()))
    return found


def columns_of(table: Table) -> dict[bytes, frozenset[bytes]]:
    """Row -> its columns."""
    return {
        row: frozenset(family + b":" + qualifier for family, qualifier, *_ in cells) for row, cells in table.items()
    }


@pytest.mark.slow
def test_nothing_is_lost_while_the_registry_is_away(kafka: Kafka, tmp_path: Path) -> None:
    topic, registry = kafka.create_topic("users", partitions=2), Registry()
    with serving_registry(registry):
        url = registry.url
        ids = [registry.register(version) for version in VERSIONS]
        pipeline = {
            **ticks.pipeline(kafka, topic, "s", "t", group=unique("users")),
            "decorators": [
                {"avro": {"header": "confluent", "prefix": "2hb_colfam:"}},
                {"value": {"attribute": "2hb_", "value": "%{'2hb_colfam:id'}"}},
            ],
        }
        content = {
            "registry": {"url": url},
            "stores": {"s": ticks.rocksdb(tmp_path / "store")},
            "tables": {"t": ticks.table("s")},
            "pipelines": {"users": pipeline},
        }
        with Service(tmp_path, content) as service:
            kafka.produce(topic, values_of(0, ids[0]))
            service.start()
            service.wait_for_offsets(kafka.ends(topic), "users", topic)
            registry.broken = 503, b""
            kafka.produce(topic, values_of(1, ids[1]))
            service.wait_for_state("blocked", "users")
            assert service.pipelines()["users"]["reason"].startswith("registry_unavailable")
            service.kill_all()
            registry.broken = None
            service.start()
            service.wait_for_offsets(kafka.ends(topic), "users", topic)
            registry.broken = 503, b""
            service.kill_all()
            kafka.produce(topic, [*values_of(1, ids[1]), with_id(2**31, b"x")])
            service.start()
            service.wait_for_offsets(kafka.ends(topic), "users", topic)
            assert service.stop() == 0
    rows = columns_of(rocksdb_table(tmp_path / "store", "t"))
    assert len(rows) == 2 * COUNT
    assert rows[b"5"] == {b"colfam:id"}
    assert rows[b"305"] == {b"colfam:id", b"colfam:name"}
    letters = list((tmp_path / "data" / "state" / "dead-letters").rglob("*"))
    assert any("unknown_schema" in each.read_text() for each in letters if each.is_file())
