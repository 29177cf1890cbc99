"""Canonical text of numbers, independent of the format."""

import io
import json
import math
import sqlite3
import struct
from base64 import b64encode
from contextlib import closing

import fastavro
import pytest
from google.protobuf import descriptor_pb2
from hypothesis import example, given
from hypothesis import strategies as st

from decorators.avro import Avro
from decorators.convert import Convert
from decorators.geoip import Geoip
from decorators.protobuf.decorator import Protobuf, ProtobufSettings
from ingest.formats.numbers import float32, number_text
from ingest.formats.table_file import sqlite_rows
from ingest.testing.events import event_of, settings_of
from tests.support.mmdb import database

FLOATS_32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
FLOATS_64 = st.floats(allow_nan=False, allow_infinity=False)
SCHEMA = {
    "type": "record",
    "name": "R",
    "fields": [
        {"name": "f", "type": "float"},
        {"name": "o", "type": ["null", {"type": "float"}]},
        {"name": "l", "type": {"type": "array", "items": "float"}},
        {"name": "m", "type": {"type": "map", "values": {"type": "float", "logicalType": "other"}}},
        {"name": "d", "type": "double"},
    ],
}


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.1, b"0.1"),
        (-0.0, b"-0.0"),
        (16777216.0, b"16777216.0"),
        (3.4028234663852886e38, b"3.4028235e+38"),
        (1.401298464324817e-45, b"1e-45"),
        (1.1754943508222875e-38, b"1.1754944e-38"),
        (math.inf, b"inf"),
        (-math.inf, b"-inf"),
        (math.nan, b"nan"),
        (1e300, b"1e+300"),
    ],
)
def test_text_of_32_bit_floats(number, text):
    given_number = struct.unpack(">f", struct.pack(">f", number))[0] if abs(number) < 1e39 else number
    assert number_text(float32(given_number)) == text


LARGEST_32 = (2 - 2**-23) * 2.0**127


@given(FLOATS_32)
@example(2.0**-126)
@example(2.0**-149)
@example(3.4025001647762064e38)  # 3.403e38 is none of 32 bits any more
def test_32_bit_float_has_the_fewest_digits(number):
    found = float32(number)
    packed = struct.pack(">f", number)
    assert struct.pack(">f", found) == packed
    digits = len(repr(abs(found)).partition("e")[0].replace(".", "").strip("0"))
    for fewer in range(1, digits):
        shorter = float(f"{number:.{fewer}g}")
        assert abs(shorter) > LARGEST_32 or struct.pack(">f", shorter) != packed


@given(FLOATS_64 | st.integers(-(2**64), 2**64))
def test_text_parses_back_to_the_same_number(number):
    assert struct.pack(">d", type(number)(number_text(number))) == struct.pack(">d", number)
    assert type(number)(number_text(number)) == number


@given(FLOATS_32, FLOATS_64)
@example(-0.0, -0.0)
@example(2.0**-24, 1e-7)
def test_every_format_produces_the_same_text(tmp_path_factory, single, double):
    of_single, of_double = number_text(float32(single)), number_text(double)
    assert converted("float32", struct.pack(">f", single)) == of_single
    assert converted("float64", struct.pack(">d", double)) == of_double
    assert of_avro(single, double) == {
        "f": of_single,
        "o": of_single,
        "l.0": of_single,
        "m.k": of_single,
        "d": of_double,
    }
    assert of_protobuf(single, double) == {"f": of_single, "d": of_double}
    path = tmp_path_factory.mktemp("numbers") / "db"
    assert of_sqlite(path, double) == number_text(double or 0.0)  # SQLite has no negative zero
    assert of_mmdb(path.with_name("x.mmdb"), double) == of_double


@given(FLOATS_32)
def test_number_in_an_array_has_the_same_text(single):
    (text,) = decorated(
        Avro, f"{{only: [l], schema_text: {json.dumps(json.dumps(SCHEMA))}}}", avro(single, 0.0)
    ).values()
    assert json.loads(text) == [float32(single)]


def converted(form, value):
    return decorated(Convert, f"{{decode: {form}, attribute: x}}", value)["x"]


def decorated(component, settings, body):
    event = event_of(body)
    component(settings_of(component.settings_class(), settings)).decorate(event)
    return event.attributes


def avro(single, double):
    stream = io.BytesIO()
    content = {"f": single, "o": single, "l": [single], "m": {"k": single}, "d": double}
    fastavro.schemaless_writer(stream, fastavro.parse_schema(SCHEMA), content)
    return stream.getvalue()


def of_avro(single, double):
    settings = f"{{arrays: index, schema_text: {json.dumps(json.dumps(SCHEMA))}}}"
    return decorated(Avro, settings, avro(single, double))


def of_protobuf(single, double):
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="n.proto", syntax="proto2")
    message = file.message_type.add(name="N")
    message.field.add(name="f", number=1, type=field.TYPE_FLOAT, label=field.LABEL_OPTIONAL)
    message.field.add(name="d", number=2, type=field.TYPE_DOUBLE, label=field.LABEL_OPTIONAL)
    descriptors = descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()
    settings = ProtobufSettings(message="N", descriptor_text=b64encode(descriptors).decode())
    event = event_of(b"\x0d" + struct.pack("<f", single) + b"\x11" + struct.pack("<d", double))
    Protobuf(settings).decorate(event)
    return event.attributes


def of_sqlite(path, double):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table t (d real)")
        connection.execute("insert into t values (?)", (double,))
    ((_, (value,)),) = sqlite_rows(path, None).rows
    return value


def of_mmdb(path, double):
    path.write_bytes(database({"10.0.0.0/8": {"d": double}}))
    return decorated(Geoip, f"{{path: '{path}', fields: {{d: d}}}}", b"10.0.0.1")["d"]
