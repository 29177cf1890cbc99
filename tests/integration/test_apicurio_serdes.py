"""Values that Apicurio's own serializers write, with its registry."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from decorators.avro import Avro
from decorators.json import Json
from decorators.protobuf import Protobuf
from decorators.template import Value
from ingest.api import Decorator
from ingest.api.errors import EventError
from ingest.formats.confluent import HEADER_BYTES, schema_id_of
from ingest.registry.client import RegistryClient
from ingest.registry.options import RegistryOptions
from ingest.registry.protobuf import descriptors
from ingest.testing.events import event_of, settings_of
from tests.support.apicurio import ApicurioSerdes, Serialized, attributes_of, registered, serving_apicurio
from tests.support.java_program import ProgramError
from tests.support.names import unique

pytestmark = pytest.mark.slow

REGISTERING = {"apicurio.registry.auto-register": "true"}
IN_VALUES = {"apicurio.registry.headers.enabled": "false", "apicurio.registry.as-confluent": "true"}
CONTENT_IDS = {"apicurio.registry.use-id": "contentId"}
AS_CONFLUENT = {**REGISTERING, **IN_VALUES, **CONTENT_IDS}
MAP = '{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}'
MONEY = 'syntax = "proto3"; package common; message Money { int64 cents = 1; }'
SHOP = """syntax = "proto3"; package shop; import "common/money.proto"; import "google/protobuf/timestamp.proto";
message Item { message Part { int32 number = 1; } string name = 1; Part part = 2; }
message Order { common.Money price = 1; google.protobuf.Timestamp at = 2; Item item = 3; }
"""
ORDER = b"\x0a\x03\x08\xfa\x01" + b"\x12\x02\x08\x01" + b"\x1a\x05\x0a\x03tea"
ORDERED = {"price.cents": b"250", "at": b"1970-01-01T00:00:01Z", "item.name": b"tea"}
GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "schema-registry.md").read_text("utf-8")
FROM_HEADER = "%{decode(concat('00', substring(encode(apicurio.value.contentId, 'hex'), 8)), 'hex')}%{body}"
SECOND_MESSAGE = "%{decode(concat('00', substring(encode(apicurio.value.contentId, 'hex'), 8), '0202'), 'hex')}%{body}"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of Confluent's API."""
    with serving_apicurio(tmp_path_factory.mktemp("apicurio")) as url:
        yield url


@pytest.fixture(scope="module")
def serdes(registry: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApicurioSerdes]:
    with ApicurioSerdes(registry, tmp_path_factory.mktemp("serdes")) as program:
        yield program


@pytest.fixture(scope="module")
def shop() -> bytes:
    return descriptors("shop/order.proto", SHOP.encode(), {"common/money.proto": MONEY.encode()})


def with_header(kind: type[Decorator[Any]], header: str = "confluent", **options: object) -> Decorator[Any]:
    return kind(kind.settings_class().model_validate({"header": header, **options}))


def record(name: str, *fields: object) -> dict[str, object]:
    return {"type": "record", "name": name, "fields": list(fields)}


def text_field(name: str) -> dict[str, object]:
    return {"name": name, "type": "string"}


def test_two_versions_of_a_record(registry: str, serdes: ApicurioSerdes) -> None:
    topic = unique("users")
    one = record("User", text_field("name"))
    two = record("User", text_field("name"), {"name": "age", "type": ["null", "int"]})
    old = serdes.avro(topic, one, {"name": "ann"}, AS_CONFLUENT)
    new = serdes.avro(topic, two, {"name": "bob", "age": {"int": 7}}, AS_CONFLUENT)
    assert (old.headers, new.headers) == ({}, {})
    assert schema_id_of(old.value) != schema_id_of(new.value)
    assert attributes_of(registry, with_header(Avro), old.value) == {"name": b"ann"}
    assert attributes_of(registry, with_header(Avro), new.value) == {"name": b"bob", "age": b"7"}


def test_a_record_with_references(registry: str, serdes: ApicurioSerdes) -> None:
    """With an option, the serializer registers each named type as an artifact of its own."""
    kind = {"type": "enum", "name": "a.Kind", "symbols": ["HOME", "WORK"]}
    country = record("a.Country", text_field("code"))
    address = record("a.Address", text_field("city"), {"name": "country", "type": country})
    user = record("b.User", {"name": "to", "type": ["null", address]}, {"name": "kind", "type": kind})
    content = {"to": {"a.Address": {"city": "Rome", "country": {"code": "it"}}}, "kind": "WORK"}
    for is_whole, references in (("true", 0), ("false", 3)):
        options = {**AS_CONFLUENT, "apicurio.registry.dereference-schema": is_whole}
        value = serdes.avro(unique("users"), user, content, options).value
        found = RegistryClient(RegistryOptions(url=registry)).schema(schema_id_of(value))
        assert found is not None
        assert len(found.references) == references
        attributes = attributes_of(registry, with_header(Avro), value)
        assert attributes == {"to.city": b"Rome", "to.country.code": b"it", "kind": b"WORK"}


def test_a_key(registry: str, serdes: ApicurioSerdes) -> None:
    key = serdes.avro(unique("users"), "string", "ann", AS_CONFLUENT, part="key").value
    assert attributes_of(registry, with_header(Avro, prefix="id"), key) == {"id": b"ann"}


def test_a_global_id_is_the_content_id_of_another_schema(registry: str, serdes: ApicurioSerdes) -> None:
    """
    Without `use-id` the serializer writes the ID of a version, and Confluent's API has the IDs of contents.

    A start of a producer whose schema is registered already takes a content ID, so those are ahead.
    """
    topic, one = unique("users"), record("One", text_field("one"))
    for _ in range(2):
        serdes.avro(topic, one, {"one": "x"}, AS_CONFLUENT)
    other = registered(registry, unique("other"), record("Other", text_field("other")), "AVRO")
    values = (
        serdes.avro(f"{topic}-{number}", one, {"one": "x"}, {**REGISTERING, **IN_VALUES}).value for number in range(100)
    )
    value = next(each for each in values if schema_id_of(each) == other)
    assert attributes_of(registry, with_header(Avro), value) == {"other": b"x"}


def test_a_message(registry: str, serdes: ApicurioSerdes, shop: bytes) -> None:
    """The serializer writes the name of the message in place of its indexes."""
    value, headers = serdes.protobuf(unique("orders"), shop, "Order", ORDER, AS_CONFLUENT)
    assert headers == {}
    assert value[HEADER_BYTES:] == b"\x07\x0a\x05Order" + ORDER
    assert attributes_of(registry, with_header(Protobuf, "apicurio"), value) == ORDERED
    with pytest.raises(EventError, match="`header: apicurio` reads values of Apicurio's serializers") as caught:
        attributes_of(registry, with_header(Protobuf), value)
    assert caught.value.code == "bad_protobuf"


def test_a_nested_message_is_refused(registry: str, serdes: ApicurioSerdes, shop: bytes) -> None:
    """By the serializer; without its validation it writes the name alone, which its deserializer does not find."""
    topic = unique("parts")
    with pytest.raises(ProgramError, match="Missing message type Part in the protobuf schema"):
        serdes.protobuf(topic, shop, "Item.Part", b"\x08\x07", AS_CONFLUENT)
    unchecked = {**AS_CONFLUENT, "apicurio.registry.serde.validation-enabled": "false"}
    value = serdes.protobuf(topic, shop, "Item.Part", b"\x08\x07", unchecked).value
    with pytest.raises(EventError, match='the schema has no message "Part" at its top level') as caught:
        attributes_of(registry, with_header(Protobuf, "apicurio"), value)
    assert caught.value.code == "bad_protobuf"


def test_an_object(registry: str, serdes: ApicurioSerdes) -> None:
    topic = unique("logs")
    schema_id = registered(registry, f"{topic}-value", MAP, "JSON")
    value, headers = serdes.json(topic, {"level": "warn"}, {**IN_VALUES, **CONTENT_IDS})
    assert (schema_id_of(value), headers) == (schema_id, {})
    assert attributes_of(registry, with_header(Json), value) == {"level": b"warn"}


def test_eight_bytes_of_an_id_are_no_id(registry: str, serdes: ApicurioSerdes) -> None:
    """Without `as-confluent`; the first four of them are 0."""
    options = {**AS_CONFLUENT, "apicurio.registry.as-confluent": "false"}
    value = serdes.avro(unique("users"), record("User", text_field("name")), {"name": "ann"}, options).value
    assert schema_id_of(value) == 0
    assert RegistryClient(RegistryOptions(url=registry)).schema(0) is None


def test_ids_in_headers(registry: str, serdes: ApicurioSerdes, shop: bytes) -> None:
    """As the serializers write them by default, whatever `as-confluent` says; the template is the guide's."""
    assert FROM_HEADER in GUIDE
    options = {**REGISTERING, "apicurio.registry.as-confluent": "true"}
    by_default = serdes.avro(unique("users"), "string", "ann", options)
    assert by_default.value == b"\x06ann"
    assert by_default.headers.keys() == {"apicurio.value.globalId", "apicurio.value.encoding"}

    in_headers = {**REGISTERING, **CONTENT_IDS}
    user = serdes.avro(unique("users"), record("User", text_field("name")), {"name": "ann"}, in_headers)
    assert attributes_of(registry, with_header(Avro), with_id_of_headers(user, FROM_HEADER)) == {"name": b"ann"}

    order = serdes.protobuf(unique("orders"), shop, "Order", ORDER, in_headers)
    assert order.value == ORDER
    assert order.headers["apicurio.protobuf.type"] == b"Order"
    assert attributes_of(registry, with_header(Protobuf), with_id_of_headers(order, SECOND_MESSAGE)) == ORDERED

    topic = unique("logs")
    registered(registry, f"{topic}-value", MAP, "JSON")
    assert serdes.json(topic, {"level": "warn"}, {}).value == b'{"level":"warn"}'


def with_id_of_headers(record: Serialized, template: str) -> bytes:
    event = event_of(record.value, record.headers)
    settings = settings_of(Value.settings_class(), f'{{attribute: v, value: "{template}", on_missing: error}}')
    assert Value(settings).decorate(event)
    return event.attributes["v"]
