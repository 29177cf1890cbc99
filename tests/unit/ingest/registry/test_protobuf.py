"""Descriptors of the protobuf schemas of a registry."""

from base64 import b64encode

import pytest
from google.protobuf import descriptor_pb2

from ingest.api.errors import PackageMissingError
from ingest.registry import protobuf
from ingest.registry.protobuf import descriptors

MAIN = """syntax = "proto3";
package shop;
import "common/money.proto";
import "google/protobuf/timestamp.proto";
import "confluent/meta.proto";
import "confluent/type/decimal.proto";
message Order {
  option (confluent.message_meta).doc = "an order";
  common.Money price = 1 [(confluent.field_meta).tags = "PII"];
  google.protobuf.Timestamp at = 2;
  confluent.type.Decimal tax = 3;
}
"""
MONEY = 'syntax = "proto3";\npackage common;\nmessage Money { int64 cents = 1; }\n'
REFERENCES = {"common/money.proto": MONEY.encode()}
FILES = [
    "common/money.proto",
    "google/protobuf/timestamp.proto",
    "google/protobuf/descriptor.proto",
    "confluent/meta.proto",
    "confluent/type/decimal.proto",
    "schema-7.proto",
]


@pytest.fixture(scope="module")
def compiled():
    """The files of a schema that a registry has as a text, by their names."""
    content = descriptors("schema-7.proto", MAIN.encode(), REFERENCES)
    return {each.name: each for each in descriptor_pb2.FileDescriptorSet.FromString(content).file}


def test_texts_are_compiled(compiled):
    assert list(compiled) == FILES


def test_serialized_files_give_the_same(compiled):
    root, money = descriptor_pb2.FileDescriptorProto(), compiled["common/money.proto"]
    root.CopyFrom(compiled["schema-7.proto"])
    root.name = "default"
    texts = (b64encode(each.SerializeToString()) for each in (root, money))
    content = descriptors("schema-7.proto", next(texts), {"common/money.proto": next(texts)})
    found = {each.name: each for each in descriptor_pb2.FileDescriptorSet.FromString(content).file}
    assert list(found) == [name for name in FILES if name != "google/protobuf/descriptor.proto"]
    for name in ("schema-7.proto", "common/money.proto"):
        assert found[name] == compiled[name]
    decimal = found["confluent/type/decimal.proto"].message_type[0]
    assert [(each.name, each.number, each.type, each.label) for each in decimal.field] == [
        (each.name, each.number, each.type, each.label)
        for each in compiled["confluent/type/decimal.proto"].message_type[0].field
    ]


def test_import_that_is_not_referenced():
    with pytest.raises(ValueError, match=r"common/money\.proto: File not found"):
        descriptors("schema-7.proto", MAIN.encode(), {})
    root = descriptor_pb2.FileDescriptorProto(dependency=["common/money.proto"])
    with pytest.raises(ValueError, match=r'it imports "common/money\.proto", which is not among its references'):
        descriptors("schema-7.proto", b64encode(root.SerializeToString()), {})


@pytest.mark.parametrize("name", ["/etc/x.proto", "../x.proto", "a/../../x.proto", "", "\0"])
def test_reference_outside_of_the_folder(name):
    with pytest.raises(ValueError, match="is not the name of a file"):
        descriptors("schema-7.proto", MAIN.encode(), {name: b"x"})


def test_compiler_that_is_not_installed(monkeypatch):
    monkeypatch.setattr(protobuf.importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(PackageMissingError, match=r"pip install 'attr2hbase\[protoc\]'"):
        descriptors("schema-7.proto", MAIN.encode(), REFERENCES)
