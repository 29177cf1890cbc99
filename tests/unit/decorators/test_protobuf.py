"""The protobuf decorator."""

from base64 import b64encode

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, duration_pb2, message_factory, timestamp_pb2, wrappers_pb2
from hypothesis import given
from hypothesis import strategies as st

from decorators.protobuf import Protobuf
from ingest.api import DecorateError
from ingest.api.schemas import GivenSchemas, SchemaType, WriterSchema
from ingest.formats.confluent import message_indexes_of
from ingest.testing.events import event_of
from tests.support.registry import with_id

KINDS = descriptor_pb2.FieldDescriptorProto
ONE, MANY = KINDS.LABEL_OPTIONAL, KINDS.LABEL_REPEATED
FIELDS = [
    ("s", KINDS.TYPE_STRING, ONE, ""),
    ("b", KINDS.TYPE_BYTES, ONE, ""),
    ("i", KINDS.TYPE_INT64, ONE, ""),
    ("u", KINDS.TYPE_FIXED64, ONE, ""),
    ("f", KINDS.TYPE_FLOAT, ONE, ""),
    ("d", KINDS.TYPE_DOUBLE, ONE, ""),
    ("t", KINDS.TYPE_BOOL, ONE, ""),
    ("e", KINDS.TYPE_ENUM, ONE, ".p.M.E"),
    ("m", KINDS.TYPE_MESSAGE, ONE, ".p.M"),
    ("ri", KINDS.TYPE_INT32, MANY, ""),
    ("rb", KINDS.TYPE_BYTES, MANY, ""),
    ("re", KINDS.TYPE_ENUM, MANY, ".p.M.E"),
    ("rm", KINDS.TYPE_MESSAGE, MANY, ".p.M"),
    ("ms", KINDS.TYPE_MESSAGE, MANY, ".p.M.MsEntry"),
    ("mm", KINDS.TYPE_MESSAGE, MANY, ".p.M.MmEntry"),
    ("at", KINDS.TYPE_MESSAGE, ONE, ".google.protobuf.Timestamp"),
    ("took", KINDS.TYPE_MESSAGE, ONE, ".google.protobuf.Duration"),
    ("w", KINDS.TYPE_MESSAGE, ONE, ".google.protobuf.BoolValue"),
]


def add_field(message, name, number, kind, label, of):
    message.field.add(name=name, number=number, type=kind, label=label, type_name=of or None)


def descriptors(syntax):
    files = descriptor_pb2.FileDescriptorSet()
    for module in (timestamp_pb2, duration_pb2, wrappers_pb2):
        module.DESCRIPTOR.CopyToProto(files.file.add())
    file = files.file.add(name="m.proto", package="p", syntax=syntax)
    file.dependency.extend(each.name for each in files.file[:3])
    message = file.message_type.add(name="M")
    message.enum_type.add(name="E").value.add(name="ZERO", number=0)
    message.enum_type[0].value.add(name="ONE", number=1)
    for name, key, value, of in (
        ("MsEntry", KINDS.TYPE_BOOL, KINDS.TYPE_BYTES, ""),
        ("MmEntry", KINDS.TYPE_INT32, KINDS.TYPE_MESSAGE, ".p.M"),
    ):
        entry = message.nested_type.add(name=name)
        entry.options.map_entry = True
        add_field(entry, "key", 1, key, ONE, "")
        add_field(entry, "value", 2, value, ONE, of)
    for number, (name, kind, label, of) in enumerate(FIELDS, 1):
        add_field(message, name, number, kind, label, of)
    return files


def class_of(files):
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("p.M"))


TWO, THREE = descriptors("proto2"), descriptors("proto3")
M = class_of(THREE)


def settings(text="{}", files=THREE, message="p.M"):
    content = b64encode(files.SerializeToString()).decode()
    return "{" + ", ".join(filter(None, [text[1:-1], f"message: {message}", f"descriptor_text: '{content}'"])) + "}"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({}, {}),
        ({"s": "größe", "b": b"\x00\xff", "i": -(2**63), "u": 2**64 - 1}, {
            "s": "größe".encode(), "b": b"\x00\xff", "i": b"-9223372036854775808", "u": b"18446744073709551615"}),
        ({"f": 0.1, "d": 0.1, "t": True}, {"f": b"0.1", "d": b"0.1", "t": b"true"}),
        ({"f": 16777216.0}, {"f": b"16777216.0"}),
        ({"f": 3.4028234663852886e38}, {"f": b"3.4028235e+38"}),
        ({"f": float("inf"), "d": float("nan")}, {"f": b"inf", "d": b"nan"}),
        ({"e": 1}, {"e": b"ONE"}),
        ({"e": 7}, {"e": b"7"}),
        ({"m": {"s": "x", "m": {"i": 1}}}, {"m.s": b"x", "m.m.i": b"1"}),
        ({"m": {}}, {}),
        ({"ri": [1, 2], "rb": [b"a", b"\xff"], "re": [0, 1]}, {
            "ri": b"[1,2]", "rb": b'["a",{"b64":"/w=="}]', "re": b'["ZERO","ONE"]'}),
        ({"rm": [{"e": 1, "f": 0.1}, {"rb": [b"x"]}]}, {"rm": b'[{"f":0.1,"e":"ONE"},{"rb":["x"]}]'}),
        ({"ms": {True: b"\xff"}, "mm": {-5: {"s": "x"}}}, {"ms.true": b"\xff", "mm.-5.s": b"x"}),
        ({"rm": [{"mm": {number: {"i": number} for number in (3, -1, 12, 5, 2, 4)}}]}, {
            "rm": b'[{"mm":{%s}}]' % b",".join(b'"%d":{"i":%d}' % (key, key) for key in (-1, 2, 3, 4, 5, 12))}),
        ({"at": timestamp_pb2.Timestamp(seconds=1, nanos=5_000_000)}, {"at": b"1970-01-01T00:00:01.005Z"}),
        ({"took": duration_pb2.Duration(seconds=-1)}, {"took": b"-1s"}),
        ({"w": wrappers_pb2.BoolValue(value=False)}, {"w": b"false"}),
    ],
)  # fmt: skip
def test_field_of_each_type_becomes_text(attributes_after, content, expected):
    known = {name: value for name, value in content.items() if name not in ("at", "took", "w")}
    message = M(**known)
    for name in content.keys() - known.keys():
        getattr(message, name).ParseFromString(content[name].SerializeToString())
        getattr(message, name).SetInParent()
    assert attributes_after(Protobuf, settings(), message.SerializeToString()) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"i": -1, "u": 7}, {"i": b"\xff" * 8, "u": bytes(7) + b"\7"}),
        ({"f": 0.1, "d": 2.5}, {"f": bytes.fromhex("3fb999999999999a"), "d": bytes.fromhex("4004000000000000")}),
        ({"t": True, "e": 1, "ri": [1]}, {"t": b"true", "e": b"ONE", "ri": b"[1]"}),
    ],
)
def test_numbers_have_the_type_of_the_field(attributes_after, content, expected):
    assert attributes_after(Protobuf, settings("{numbers: auto}"), M(**content).SerializeToString()) == expected


def test_unsigned_number_beyond_int64_fails(refusal_of):
    assert refusal_of(Protobuf, settings("{numbers: auto}"), M(u=2**63).SerializeToString()) == "number_too_large"


def test_prefix_and_only(attributes_after):
    value = M(s="x", m={"i": 1, "ri": [4, 5]}).SerializeToString()
    text = "{prefix: '2hb_f:', separator: _, only: [m_i, m_ri_1], arrays: index}"
    assert attributes_after(Protobuf, settings(text), value) == {"2hb_f:m_i": b"1", "2hb_f:m_ri_1": b"5"}
    assert attributes_after(Protobuf, settings("{only: [m]}"), value) == {"m.i": b"1", "m.ri": b"[4,5]"}


def test_defaults_with_on_absent_default(attributes_after):
    found = attributes_after(Protobuf, settings("{on_absent: default}"), M(m={"t": True}, i=5).SerializeToString())
    of_message = {"s": b"", "b": b"", "u": b"0", "f": b"0.0", "d": b"0.0", "e": b"ZERO"}
    expected = {**of_message, "i": b"5", "t": b"false"}
    expected |= {f"m.{name}": value for name, value in of_message.items()} | {"m.i": b"0", "m.t": b"true"}
    assert found == expected
    assert attributes_after(Protobuf, settings("{on_absent: default}", TWO), b"") == {}


def test_defaults_of_many_empty_messages_fail(monkeypatch, attributes_after, refusal_of):
    """Each takes two bytes, and has the defaults of all its fields."""
    monkeypatch.setattr("ingest.api.growth.MAX_GROWN_BYTES", 10_000)
    empty = b"%b\0" % M(m={}).SerializeToString()[:1]
    assert attributes_after(Protobuf, settings("{on_absent: default}"), empty)
    body = M(rm=[{}] * 100).SerializeToString()
    assert refusal_of(Protobuf, settings("{on_absent: default}"), body) == "too_large"
    assert attributes_after(Protobuf, settings(), body) == {"rm": b"[" + b",".join([b"{}"] * 100) + b"]"}


def test_text_that_is_not_utf_8(attributes_after, refusal_of):
    assert attributes_after(Protobuf, settings(files=TWO), b"\x0a\x01\xff") == {"s": b"\xff"}
    assert refusal_of(Protobuf, settings(), b"\x0a\x01\xff") == "bad_protobuf"


def test_unknown_fields_are_ignored(attributes_after):
    assert attributes_after(Protobuf, settings(), b"\xf8\x07\x05\x18\x01") == {"i": b"1"}


@pytest.mark.parametrize(
    ("head", "code"),
    [
        (b"\0\0\0\0\x01\0", None),
        (b"\0\0\0\0\x01\x02\x04", None),
        (b"\0\0\0\0\x01\x04\x80\x01\x02", None),
        (b"", "bad_protobuf"),
        (b"\x01\0\0\0\x01\0", "bad_protobuf"),
        (b"\0\0\0\0\x01\xff", "bad_protobuf"),
        (b"\0\0\0\0\x01" + b"\xff" * 30, "bad_protobuf"),
        (b"\0\0\0\0\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", "bad_protobuf"),
    ],
)
def test_confluent_header_is_skipped_or_refused(attributes_after, refusal_of, head, code):
    text = settings("{header: confluent}")
    if code is None:
        assert attributes_after(Protobuf, text, head + b"\x18\x01") == {"i": b"1"}
    else:
        assert refusal_of(Protobuf, text, head + b"\x18\x01") == code


@pytest.mark.parametrize("head", [b"", b"\0", b"\0\0\0\0\x01", b"\0\0\0\0\x01\x02"])
def test_truncated_header_fails(refusal_of, head):
    assert refusal_of(Protobuf, settings("{header: confluent}"), head) == "bad_protobuf"


NAMED = with_id(1, b"\x03\n\x01M\x18\x01")
"""Of the message M, as Apicurio's serializers write it."""


def registered(header):
    files = descriptors("proto3")
    files.file[-1].message_type.add(name="Abcd").field.add(name="n", number=3, type=KINDS.TYPE_INT64, label=ONE)
    decorator = Protobuf(Protobuf.settings_class().model_validate({"header": header}))
    decorator.use_schemas(GivenSchemas([WriterSchema(1, SchemaType.PROTOBUF, files.SerializeToString())]))
    return decorator


@pytest.mark.parametrize(("name", "expected"), [(b"\x03\n\x01M", {"i": b"1"}), (b"\x06\n\x04Abcd", {"n": b"1"})])
def test_message_of_apicurios_name(name, expected):
    event = event_of(with_id(1, name + b"\x18\x01"))
    assert registered("apicurio").decorate(event)
    assert event.attributes == expected


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (b"\x03\n\x01N", 'the schema has no message "N" at its top level'),
        (b"\x09\n\x07MsEntry", 'the schema has no message "MsEntry" at its top level'),
        (b"\0", "the value has no name of a message after its schema ID"),
        (b"\x02\x02", "the value has no name of a message after its schema ID"),
    ],
)
def test_apicurios_name_that_names_no_message(name, reason):
    with pytest.raises(DecorateError) as caught:
        registered("apicurio").decorate(event_of(with_id(1, name + b"\x18\x01")))
    assert (caught.value.code, str(caught.value)) == ("bad_protobuf", reason)


@pytest.mark.parametrize("name", [b"M", b"Abcd", b"Xbbb", b"Xz"])
def test_apicurios_name_in_place_of_indexes_is_named(name):
    """Some can be read as indexes, which the schema does not have."""
    value = with_id(1, bytes([len(name) + 2]) + b"\n" + bytes([len(name)]) + name + b"\x18\x01")
    with pytest.raises(DecorateError) as caught:
        registered("confluent").decorate(event_of(value))
    assert caught.value.code == "bad_protobuf"
    assert str(caught.value).endswith(
        f'; the name "{name.decode()}" is in their place: `header: apicurio` reads values of Apicurio\'s serializers'
    )


def test_apicurios_name_with_given_descriptors(attributes_after, refusal_of):
    assert attributes_after(Protobuf, settings("{header: apicurio}"), NAMED) == {"i": b"1"}
    assert refusal_of(Protobuf, settings("{header: apicurio}"), with_id(1, b"\0\x18\x01")) == "bad_protobuf"
    assert refusal_of(Protobuf, settings("{header: confluent}"), NAMED) == "bad_protobuf"


def test_apicurios_name_that_reads_as_indexes_is_refused_with_given_descriptors(attributes_after, refusal_of):
    """Else `Xb` would be an unknown field of the message."""
    files = descriptor_pb2.FileDescriptorSet()
    message = files.file.add(name="x.proto").message_type.add(name="Xb")
    add_field(message, "i", 3, KINDS.TYPE_INT64, ONE, "")
    text = settings("{header: confluent}", files, "Xb")
    assert attributes_after(Protobuf, text, with_id(1, b"\x04\n\x02\x18\x01")) == {"i": b"1"}
    value = with_id(1, b"\x04\n\x02Xb\x18\x01")
    assert message_indexes_of(value) == ((5, 1), len(value) - 4)
    assert refusal_of(Protobuf, text, value) == "bad_protobuf"


def nested(depth):
    """Nested messages of this depth in the field m."""
    value = b""
    for _ in range(depth):
        size = len(value)
        length = b""
        while size > 127:
            length += bytes((size & 127 | 128,))
            size >>= 7
        value = b"\x4a" + length + bytes((size,)) + value
    return value


@pytest.mark.parametrize(
    "value",
    [b"\x0a\x05a", b"\x0a", b"\xff" * 12, b"\x0b", nested(5_000)],
)
def test_invalid_message_fails(refusal_of, value):
    assert refusal_of(Protobuf, settings(), value) == "bad_protobuf"


def test_absent_attribute_fails(refusal_of):
    assert refusal_of(Protobuf, settings("{source: y}"), b"") == "no_attribute"


def test_existing_attribute_fails_if_written_once(refusal_of):
    assert refusal_of(Protobuf, settings(), b"\x18\x01", {"i": "old"}, write_once=True) == "attribute_exists"


def test_descriptors_from_a_file(attributes_after, errors_of, tmp_path):
    file = tmp_path / "m.desc"
    file.write_bytes(THREE.SerializeToString())
    assert attributes_after(Protobuf, f"{{message: p.M, descriptor_file: '{file}'}}", b"\x18\x01") == {"i": b"1"}
    file.write_bytes(THREE.SerializeToString()[:-9])
    assert errors_of(Protobuf, f"{{message: p.M, descriptor_file: '{file}'}}") == [("wrong_type", ())]
    file.unlink()
    error = ("unknown_reference", ("descriptor_file",))
    assert errors_of(Protobuf, f"{{message: p.M, descriptor_file: '{file}'}}") == [error]


def test_descriptors_without_imports_are_rejected(errors_of):
    alone = descriptor_pb2.FileDescriptorSet(file=THREE.file[3:])
    assert errors_of(Protobuf, settings(files=alone)) == [("wrong_type", ())]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("{message: p.M}", "conflict"),
        ("{message: p.M, descriptor_text: '?'}", "wrong_type"),
        ("{message: p.M, descriptor_text: ''}", "unknown_reference"),
        (settings(message="M"), "unknown_reference"),
        (settings(message="p.M.E"), "unknown_reference"),
        (settings(message="'\\0'"), "unknown_reference"),
    ],
)
def test_invalid_descriptors_are_rejected(errors_of, text, kind):
    assert errors_of(Protobuf, text) == [(kind, ())]


CONTENT = st.fixed_dictionaries(
    {
        "s": st.text(),
        "b": st.binary(),
        "i": st.integers(-(2**63), 2**63 - 1),
        "f": st.floats(width=32, allow_nan=False),
        "d": st.floats(allow_nan=False),
        "t": st.booleans(),
        "ms": st.dictionaries(st.booleans(), st.binary()),
    }
)


@given(CONTENT)
def test_round_trip(content):
    event = event_of(M(m=content).SerializeToString())
    DECORATOR.decorate(event)
    text = {name.removeprefix("m."): value for name, value in event.attributes.items()}
    ms = {key: value for key in (True, False) if (value := text.get(f"ms.{str(key).lower()}")) is not None}
    read = M(
        s=text["s"].decode(),
        b=text["b"],
        i=int(text["i"]),
        f=float(text["f"]),
        d=float(text["d"]),
        t=text["t"] == b"true",
        ms=ms,
    )
    assert read.SerializeToString(deterministic=True) == M(**content).SerializeToString(deterministic=True)


@given(st.binary())
def test_any_bytes_parse_or_fail(value):
    event = event_of(value)
    try:
        DECORATOR.decorate(event)
    except DecorateError:
        assert event.attributes == {}


DECORATOR = Protobuf(
    Protobuf.settings_class().model_validate(
        {
            "message": "p.M",
            "descriptor_text": b64encode(THREE.SerializeToString()).decode(),
            "on_absent": "default",
        }
    )
)
