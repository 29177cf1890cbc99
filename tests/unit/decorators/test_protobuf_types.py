"""The types of google.protobuf, and unknown enum numbers of proto2, in the protobuf decorator."""

import json
from base64 import b64encode

import pytest
from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    field_mask_pb2,
    json_format,
    message_factory,
    struct_pb2,
    timestamp_pb2,
)
from hypothesis import given
from hypothesis import strategies as st

from decorators.protobuf import Protobuf
from ingest.api import DecorateError
from ingest.testing.events import event_of, settings_of

KINDS = descriptor_pb2.FieldDescriptorProto
ONE, MANY = KINDS.LABEL_OPTIONAL, KINDS.LABEL_REPEATED
MODULES = (struct_pb2, any_pb2, field_mask_pb2, timestamp_pb2, duration_pb2)


def files(enum_names, syntax="proto2"):
    """A message p.T, whose enum has these names; the same message with more of them is what a newer producer has."""
    found = descriptor_pb2.FileDescriptorSet()
    for module in MODULES:
        module.DESCRIPTOR.CopyToProto(found.file.add())
    file = found.file.add(name="t.proto", package="p", syntax=syntax)
    file.dependency.extend(each.name for each in found.file[: len(MODULES)])
    message = file.message_type.add(name="T")
    enum = message.enum_type.add(name="E")
    for name, number in enum_names.items():
        enum.value.add(name=name, number=number)
    entry = message.nested_type.add(name="MEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=KINDS.TYPE_STRING, label=ONE)
    entry.field.add(name="value", number=2, type=KINDS.TYPE_ENUM, label=ONE, type_name=".p.T.E")
    packed = descriptor_pb2.FieldOptions(packed=True)
    for number, (name, label, of) in enumerate(
        [
            ("st", ONE, "Struct"),
            ("v", ONE, "Value"),
            ("lv", ONE, "ListValue"),
            ("mask", ONE, "FieldMask"),
            ("any", ONE, "Any"),
            ("anys", MANY, "Any"),
        ],
        1,
    ):
        message.field.add(
            name=name, number=number, type=KINDS.TYPE_MESSAGE, label=label, type_name=f".google.protobuf.{of}"
        )
    message.field.add(name="e", number=7, type=KINDS.TYPE_ENUM, label=ONE, type_name=".p.T.E")
    message.field.add(name="es", number=8, type=KINDS.TYPE_ENUM, label=MANY, type_name=".p.T.E")
    message.field.add(name="ep", number=9, type=KINDS.TYPE_ENUM, label=MANY, type_name=".p.T.E", options=packed)
    message.field.add(name="m", number=10, type=KINDS.TYPE_MESSAGE, label=MANY, type_name=".p.T.MEntry")
    message.field.add(name="id", number=11, type=KINDS.TYPE_STRING, label=ONE)
    message.field.add(name="t", number=12, type=KINDS.TYPE_MESSAGE, label=ONE, type_name=".p.T")
    return found


def class_of(descriptors):
    pool = descriptor_pool.DescriptorPool()
    for file in descriptors.file:
        pool.AddSerializedFile(file.SerializeToString(deterministic=True))
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("p.T"))


OLD, NEW = files({"A": 0, "B": 1}), files({"A": 0, "B": 1, "C": 7, "D": -3})
T, NEWER = class_of(OLD), class_of(NEW)


def varint(number):
    found = b""
    while number > 127:
        found += bytes([number & 127 | 128])
        number >>= 7
    return found + bytes([number])


def settings(text="{}", message="p.T"):
    content = b64encode(OLD.SerializeToString(deterministic=True)).decode()
    return "{" + ", ".join(filter(None, [text[1:-1], f"message: {message}", f"descriptor_text: '{content}'"])) + "}"


def struct(**members):
    found = struct_pb2.Struct()
    found.update(members)
    return found.SerializeToString(deterministic=True)


def packed(name, message):
    return any_pb2.Any(
        type_url=f"type.googleapis.com/{name}", value=message.SerializeToString(deterministic=True)
    ).SerializeToString()


def message(**parts):
    """A message of which some fields are given in their encoded form."""
    found = T()
    for name, value in parts.items():
        if isinstance(value, bytes):
            getattr(found, name).ParseFromString(value)
        else:
            setattr(found, name, value)
    return found.SerializeToString(deterministic=True)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (message(st=struct(k="v", n=1.5, t=True, z=None)), {"st.k": b"v", "st.n": b"1.5", "st.t": b"true"}),
        (message(st=struct(o={"p": [1, None, {"q": "r"}]}, e={})), {"st.o.p": b'[1.0,null,{"q":"r"}]'}),
        (message(v=struct_pb2.Value(string_value="x").SerializeToString(deterministic=True)), {"v": b"x"}),
        (message(v=struct_pb2.Value(number_value=2).SerializeToString(deterministic=True)), {"v": b"2.0"}),
        (message(v=struct_pb2.Value(null_value=0).SerializeToString(deterministic=True)), {}),
        (message(v=b"\x2a" + bytes([len(struct(a="b"))]) + struct(a="b")), {"v.a": b"b"}),
        (message(lv=b"\x0a\x03\x1a\x01x\x0a\x02\x20\x01"), {"lv": b'["x",true]'}),
        (message(mask=field_mask_pb2.FieldMask(paths=["a.b_c", "d"]).SerializeToString()), {"mask": b"a.bC,d"}),
        (
            message(any=packed("p.T", T(id="u1", e=1))),
            {"any.@type": b"type.googleapis.com/p.T", "any.id": b"u1", "any.e": b"B"},
        ),
        (
            message(any=packed("google.protobuf.Duration", duration_pb2.Duration(seconds=1))),
            {"any.@type": b"type.googleapis.com/google.protobuf.Duration", "any.value": b"1s"},
        ),
        (
            message(any=packed("google.protobuf.Any", any_pb2.Any(type_url="x/y.Z", value=b"\xff"))),
            {
                "any.@type": b"type.googleapis.com/google.protobuf.Any",
                "any.value.@type": b"x/y.Z",
                "any.value.value": b"\xff",
            },
        ),
        (b"\x2a\x08\x0a\x03a.B\x12\x01\x01", {"any.@type": b"a.B", "any.value": b"\x01"}),
        (message(any=b""), {}),
    ],
)  # fmt: skip
def test_types_of_google_are_those_of_protojson(attributes_after, body, expected):
    assert attributes_after(Protobuf, settings(), body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (message(st=struct(touched="", language="中文")), {"st.touched": "", "st.language": "中文"}),
        (message(st=struct(tags=["a", {"b": None}])), {"st.tags": '["a",{"b":null}]'}),
        (message(mask=b""), {"mask": ""}),
        (
            message(mask=field_mask_pb2.FieldMask(paths=["foo_bar", "_foo_bar", "foo3_bar"]).SerializeToString()),
            {"mask": "fooBar,FooBar,foo3Bar"},
        ),
        (
            message(any=packed("google.protobuf.Timestamp", timestamp_pb2.Timestamp(seconds=1653000000, nanos=10**6))),
            {
                "any.@type": "type.googleapis.com/google.protobuf.Timestamp",
                "any.value": "2022-05-19T22:40:00.001Z",
            },
        ),
        (
            message(any=packed("google.protobuf.Duration", duration_pb2.Duration(nanos=-500_000_000))),
            {"any.@type": "type.googleapis.com/google.protobuf.Duration", "any.value": "-0.500s"},
        ),
        (NEWER(t=NEWER(e=7, m={"x": 7})).SerializeToString(deterministic=True), {"t.e": "7", "t.m.x": "7"}),
        (NEWER(ep=[0, 7, 1]).SerializeToString(deterministic=True), {"ep": '["A","B",7]'}),
    ],
)
def test_what_users_of_other_readers_expected(attributes_after, body, expected):
    """
    A Struct of Logstash's codec, FieldMasks of the tests of protobuf in C++, types within Any, enums of a newer schema.

    The parser of proto2 moves unknown numbers behind the known ones of a packed field.
    """
    found = attributes_after(Protobuf, settings(), body)
    assert found == {name: value.encode() for name, value in expected.items()}


@pytest.mark.parametrize("path", ["Foo", "foo__bar", "foo_3bar", "foo_bar_"])
def test_path_that_json_cannot_have_fails(refusal_of, path):
    """As in `SnakeCaseToCamelCase` of protobuf in C++."""
    body = message(mask=field_mask_pb2.FieldMask(paths=[path]).SerializeToString())
    assert refusal_of(Protobuf, settings(), body) == "no_json_form"


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ({"any": packed("google.protobuf.Timestamp", timestamp_pb2.Timestamp(seconds=2**60))}, "any"),
        ({"any": packed("google.protobuf.Duration", duration_pb2.Duration(nanos=2**31 - 1))}, "any"),
        ({"mask": field_mask_pb2.FieldMask(paths=["aB"]).SerializeToString()}, "mask"),
        ({"t": message(mask=field_mask_pb2.FieldMask(paths=["aB"]).SerializeToString())}, "mask"),
    ],
)
def test_value_without_a_form_in_json_is_named(parts, field):
    """ProtoJSON has no form for it, but the message is valid: the error is not that it is of another type."""
    decorator = Protobuf(settings_of(Protobuf.settings_class(), settings()))
    with pytest.raises(
        DecorateError, match=rf"the field {field} of a p\.T is a google\.protobuf\.\w+ without"
    ) as caught:
        decorator.decorate(event_of(message(**parts)))
    assert caught.value.code == "no_json_form"


def test_whole_message_without_a_form_in_json(refusal_of):
    body = packed("google.protobuf.Duration", duration_pb2.Duration(nanos=2**31 - 1))
    assert refusal_of(Protobuf, settings(message="google.protobuf.Any"), body) == "no_json_form"


def test_array_of_any(attributes_after):
    first = any_pb2.Any(type_url="t/p.T", value=T(id="x").SerializeToString(deterministic=True)).SerializeToString()
    body = b"\x32" + varint(len(first)) + first + b"\x32\x00"
    assert attributes_after(Protobuf, settings(), body) == {"anys": b'[{"@type":"t/p.T","id":"x"},{}]'}


def test_whole_value_may_be_a_struct_or_any(attributes_after):
    text = settings(message="google.protobuf.Struct")
    assert attributes_after(Protobuf, text, struct(a="b")) == {"a": b"b"}
    text = settings(message="google.protobuf.Any")
    assert attributes_after(Protobuf, text, packed("p.T", T(id="x")))["id"] == b"x"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (message(mask=field_mask_pb2.FieldMask(paths=["aB"]).SerializeToString(deterministic=True)), "no_json_form"),
        (
            message(any=any_pb2.Any(type_url="t/p.T", value=b"\x0a\x05").SerializeToString(deterministic=True)),
            "bad_protobuf",
        ),
    ],
)
def test_what_protojson_refuses_fails(refusal_of, body, code):
    assert refusal_of(Protobuf, settings(), body) == code


def test_messages_in_very_many_anys_fail(refusal_of):
    body = b""
    for _ in range(400):
        content = any_pb2.Any(type_url="t/p.T", value=body).SerializeToString(deterministic=True)
        body = b"\x2a" + varint(len(content)) + content
    assert refusal_of(Protobuf, settings(), body) == "too_deep"


VALUES = st.recursive(
    st.none() | st.booleans() | st.text(max_size=4) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(VALUES, max_size=4))
def test_list_value_is_that_of_googles_library(values):
    found = struct_pb2.ListValue()
    found.extend(values)
    event = event_of(b"\x1a" + varint(found.ByteSize()) + found.SerializeToString(deterministic=True))
    Protobuf(Protobuf.settings_class().model_validate(options())).decorate(event)
    assert json.loads(event.attributes["lv"]) == json_format.MessageToDict(found)


def options():
    return {"message": "p.T", "descriptor_text": b64encode(OLD.SerializeToString(deterministic=True)).decode()}


@pytest.mark.parametrize(
    ("newer", "expected"),
    [
        ({"e": 7}, {"e": b"7"}),
        ({"e": -3}, {"e": b"-3"}),
        ({"e": 1}, {"e": b"B"}),
        ({"es": [1, 7, 0, -3]}, {"es": b'["B","A",7,-3]'}),
        ({"es": [7]}, {"es": b"[7]"}),
        ({"ep": [7, 1, 7]}, {"ep": b'["B",7,7]'}),
        ({"m": {"a": 1, "b": 7}}, {"m.a": b"B", "m.b": b"7"}),
        ({"m": {"b": -3}}, {"m.b": b"-3"}),
    ],
)
def test_unknown_enum_numbers_of_proto2_are_kept(attributes_after, newer, expected):
    assert attributes_after(Protobuf, settings(), NEWER(**newer).SerializeToString(deterministic=True)) == expected


def test_unknown_number_of_another_wire_type_is_ignored(attributes_after):
    assert attributes_after(Protobuf, settings(), b"\x3d\x07\x00\x00\x00\x5a\x01x") == {"id": b"x"}


def test_known_value_of_a_field_precedes_an_unknown_one(attributes_after):
    assert attributes_after(Protobuf, settings(), b"\x38\x07\x38\x01") == {"e": b"B"}
    assert attributes_after(Protobuf, settings("{numbers: auto}"), b"\x38\x07") == {"e": bytes(7) + b"\x07"}
