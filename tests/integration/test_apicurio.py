"""Apicurio's registry: a server of Confluent's API that others have written."""

import io
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import fastavro
import pytest

from decorators.avro import Avro
from decorators.protobuf import Protobuf
from ingest.api import Decorator
from ingest.api.errors import PackageMissingError
from ingest.api.schemas import SchemaType
from ingest.registry import protobuf
from ingest.registry.client import RegistryClient
from ingest.registry.options import RegistryOptions
from tests.support import ticks
from tests.support.apicurio import attributes_of, registered, serving_apicurio
from tests.support.audit import rocksdb_table
from tests.support.commands import Folder
from tests.support.names import unique
from tests.support.proxy import Proxy
from tests.support.registry import with_id
from tests.support.servers import Kafka
from tests.support.service import Service

pytestmark = pytest.mark.slow
ADDRESS = {"type": "record", "name": "a.Address", "fields": [{"name": "city", "type": "string"}]}
USER = {"type": "record", "name": "User", "fields": [{"name": "home", "type": "a.Address"}]}
MONEY = 'syntax = "proto3"; package common; message Money { int64 cents = 1; }'
ORDER = """syntax = "proto3"; package shop; import "common/money.proto"; import "google/protobuf/timestamp.proto";
message Order { common.Money price = 1; google.protobuf.Timestamp at = 2; }
"""
EACH, AWAY_S = 1_000, 30.0
"""Values of a schema in a part of the topic, and how long the registry is away."""


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the API."""
    with serving_apicurio(tmp_path_factory.mktemp("apicurio")) as url:
        yield url


def confluent(kind: type[Decorator[Any]]) -> Decorator[Any]:
    return kind(kind.settings_class().model_validate({"header": "confluent"}))


def test_avro_with_a_reference(registry: str) -> None:
    registered(registry, "address", ADDRESS, "AVRO")
    reference = {"name": "a.Address", "subject": "address", "version": 1}
    schema_id = registered(registry, "users-value", USER, "AVRO", [reference])
    whole = {**USER, "fields": [{"name": "home", "type": ADDRESS}]}
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(whole), {"home": {"city": "Rome"}})
    value = with_id(schema_id, stream.getvalue())
    assert attributes_of(registry, confluent(Avro), value) == {"home.city": b"Rome"}


def test_protobuf_with_a_reference(registry: str) -> None:
    registered(registry, "money", MONEY, "PROTOBUF")
    reference = {"name": "common/money.proto", "subject": "money", "version": 1}
    schema_id = registered(registry, "orders-value", ORDER, "PROTOBUF", [reference])
    value = with_id(schema_id, b"\0" + b"\x0a\x03\x08\xfa\x01" + b"\x12\x02\x08\x01")
    assert attributes_of(registry, confluent(Protobuf), value) == {
        "price.cents": b"250",
        "at": b"1970-01-01T00:00:01Z",
    }


def test_protobuf_schemas_are_texts(registry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So they need the compiler, as the guide says."""
    monkeypatch.setattr(protobuf.importlib.util, "find_spec", lambda _name: None)
    schema_id = registered(registry, "plain-value", MONEY, "PROTOBUF")
    with pytest.raises(PackageMissingError):
        RegistryClient(RegistryOptions(url=registry)).schema(schema_id)


def test_unknown_id_and_json(registry: str) -> None:
    client = RegistryClient(RegistryOptions(url=registry))
    assert client.schema(2**31 - 1) is None
    text = '{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}'
    found = client.schema(registered(registry, "j", text, "JSON"))
    assert found is not None
    assert found.type is SchemaType.JSON


def test_a_service_whose_registry_is_away_for_half_a_minute(registry: str, kafka: Kafka, tmp_path: Path) -> None:
    """Three versions in Avro and a message in protobuf; a restart and a replay without the registry."""
    fields = [{"name": "id", "type": "int"}, {"name": "name", "type": "string"}, {"name": "size", "type": "long"}]
    versions = [{"type": "record", "name": "Item", "fields": fields[: number + 1]} for number in range(3)]
    items, orders = (kafka.create_topic(name, partitions=2) for name in ("items", "orders"))
    ids = [registered(registry, f"{items}-value", version, "AVRO") for version in versions]
    registered(registry, "price", MONEY, "PROTOBUF")
    reference = {"name": "common/money.proto", "subject": "price", "version": 1}
    of_orders = registered(registry, f"{orders}-value", ORDER, "PROTOBUF", [reference])

    def of_version(number: int) -> Iterator[bytes]:
        schema = fastavro.parse_schema(versions[number])
        for item in range(number * EACH, (number + 1) * EACH):
            stream = io.BytesIO()
            fastavro.schemaless_writer(stream, schema, {"id": item, "name": f"n{item}", "size": 2**40 + item})
            yield with_id(ids[number], stream.getvalue())

    def priced(first: int) -> Iterator[bytes]:
        for cents in range(first, first + EACH):
            amount = b"\x08" + bytes([cents & 127 | 128, cents >> 7])
            yield with_id(of_orders, b"\0\x0a" + bytes([len(amount)]) + amount)

    def pipeline(topic: str, table: str, decorator: dict[str, Any], key: str) -> dict[str, Any]:
        row = {"value": {"attribute": "2hb_", "value": f"%{{{key}}}", "on_missing": "error"}}
        whole = ticks.pipeline(kafka, topic, "s", table, group=unique(table))
        return {**whole, "decorators": [decorator, row], "replay": {"keep": "1d"}}

    address = urlsplit(registry)
    with Proxy((str(address.hostname), int(address.port or 0))) as proxy:
        avro = {"avro": {"header": "confluent", "prefix": "2hb_colfam:"}}
        protobuf = {"protobuf": {"header": "confluent", "prefix": "2hb_colfam:"}}
        content = {
            "registry": {"url": f"http://127.0.0.1:{proxy.port}{address.path}"},
            "stores": {"s": ticks.rocksdb(tmp_path / "store")},
            "tables": {"items": ticks.table("s"), "orders": ticks.table("s")},
            "pipelines": {
                "items": pipeline(items, "items", avro, "'2hb_colfam:id'"),
                "orders": pipeline(orders, "orders", protobuf, "'2hb_colfam:price.cents'"),
            },
        }
        with Service(tmp_path, content) as service:
            kafka.produce(items, of_version(0))
            kafka.produce(orders, priced(1_000))
            service.start()
            for topic, name in ((items, "items"), (orders, "orders")):
                service.wait_for_offsets(kafka.ends(topic), name, topic)
            proxy.refuse()
            proxy.reset_all()
            kafka.produce(items, of_version(1))
            kafka.produce(orders, priced(2_000))
            service.wait_for_state("blocked", "items")
            assert service.pipelines()["items"]["reason"].startswith("registry_unavailable")
            service.wait_for_offsets(kafka.ends(orders), "orders", orders)  # its schema is known
            time.sleep(AWAY_S)  # the length of the outage
            proxy.listen()
            service.wait_for_offsets(kafka.ends(items), "items", items)
            kafka.produce(items, of_version(2))
            service.wait_for_offsets(kafka.ends(items), "items", items)
            proxy.refuse()
            service.kill_all()
            kafka.produce(items, of_version(2))
            kafka.produce(orders, priced(3_000))
            service.start()
            for topic, name in ((items, "items"), (orders, "orders")):
                service.wait_for_offsets(kafka.ends(topic), name, topic)
            assert service.stop() == 0
            command = Folder(tmp_path)
            before = {table: rocksdb_table(tmp_path / "store", table) for table in ("items", "orders")}
            for name in ("items", "orders"):
                whole = ("--from", "2000-01-01T00:00:00Z", "--to", "2100-01-01T00:00:00Z")
                command("replay", "--pipeline", name, *whole)
            after = {table: rocksdb_table(tmp_path / "store", table) for table in ("items", "orders")}
    assert after == before
    expected = {b"%d" % item: item // EACH + 1 for item in range(3 * EACH)}
    newest = {row: {cell.qualifier for cell in cells} for row, cells in before["items"].items()}
    assert {row: len(columns) for row, columns in newest.items()} == expected
    assert before["orders"].keys() == {b"%d" % cents for cents in range(1_000, 4_000)}
